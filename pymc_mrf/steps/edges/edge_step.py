"""What the steps for edges share: the variables and the fields they find, the prior, the start of a chain."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.distributions.remedies import advice_of, possible_of
from pymc_mrf.steps.common.base import MRFStep
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.edges.edge_prior import EdgePriorReader, NodeReader
from pymc_mrf.steps.edges.edge_target import edge_target, simulation_options


class EdgeStep(MRFStep):
    """Base of the steps for a `SpikeAndSlab`, part of the edge parameters of fields, and for their biases.

    A subclass says by `invariant` which kinds of likelihood it serves, which of them where there are several
    fields, the variable is one term of a sum or rows differ in their parameters, and whether it serves fields
    of more states, or other statistics, than `Family.is_binary_product`, and of data with missing cells; and
    supplies `_move`.
    """

    serves_many_states: bool = False
    serves_sums: tuple[type[Likelihood], ...] = ()
    fills_missing_cells: bool = False
    least_particles: int = 1

    def __init__(self, vars, n_particles: int | None, n_sweeps: int | None, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        model = self._model
        name, mixes = type(self).__name__, bool(self.serves_sums)
        self._target = edge_target(self._rvs, model, name, self.serves, mixes, self.fills_missing_cells)
        rv, biases, fields, likelihood = self._target
        self._is_shared = len(fields) > 1 or not fields[0].is_plain or len(fields[0].blocks) > 1
        self._fields = fields
        self._check_field(rv, fields[0], likelihood)
        self._options = simulation_options(
            fields[0], likelihood, n_particles, n_sweeps, self.least_particles
        )
        self._held = [field.held for field in fields]
        self._name = model.rvs_to_values[rv].name
        parts = [(field, k) for field in fields for k in range(max(len(field.node_parameters), 1))]
        self._nodes = [
            NodeReader(biases.free[i] if biases.free else None, field, model, self._compile_kwargs, k)
            for i, (field, k) in enumerate(parts)
        ]
        self._bias_names = [node.name for node in self._nodes if node.name]
        self._prior = EdgePriorReader(
            rv,
            self._nodes,
            biases.factors,
            model,
            self._compile_kwargs,
            is_joined=len(parts) > len(fields),
        )

    def _check_field(self, rv, field: ObservedField, likelihood: Likelihood) -> None:
        """Refuse fields that the step cannot move under this likelihood."""
        step, what, serves = type(self).__name__, "", self.serves
        if self._is_shared and not isinstance(likelihood, self.serves_sums):
            what, serves = f"one field, of which {rv.name} itself is the parameter,", self.serves_sums
            why = f"{rv.name} feeds several, or is one term of a sum, or parameters differ between rows"
        elif not self.serves_many_states and not field.family.is_binary_product:
            what, serves = "BoltzmannMachine and Ising fields", ()
            why = (
                f"{field.name}, of which {rv.name} is the {field.family.edge_parameter}, has more states, or "
                "other statistics"
            )
        if what:
            remedy = "use pymc_mrf.EdgeGibbs"
            if serves:
                left = self._possible(lambda kind: issubclass(kind, serves))
                own = f"give each field a vector of its own, as it is, for its {field.family.edge_parameter}"
                node = field_node(self._model[field.name])
                remedy = advice_of(node, left, "declare with") if left else own
            raise ValueError(
                f'{step} samples {what} under likelihood="{likelihood.name}", but {why}: {remedy}'
            )

    def _possible(self, among: Callable[[type[Likelihood]], bool]) -> list[type[Likelihood]]:
        """Likelihoods with which the fields may be declared, of some."""
        nodes = [field_node(self._model[field.name]) for field in self._fields]
        first, *others = (possible_of(node, self._model, among) for node in nodes)
        return [one for one in first if all(one in left for left in others)]

    def _update(self, point):
        prior, b = self._prior.read(point)
        w = np.array(point[self._name], dtype=np.float64)
        if not self.started:
            w, b = self._begin(point, w, b, prior)
            self.started = True
        stats, moved = self._move(w, b, prior)
        return {**point, self._name: w, **self._prior.write(b, point)}, stats, moved

    @abstractmethod
    def _begin(self, point, w, b, prior) -> tuple[np.ndarray, np.ndarray]:
        """Prepare a chain that starts at weights `w` (r,) and biases `b`; return its start."""

    @abstractmethod
    def _move(self, w, b, prior) -> tuple[dict[str, Any], bool]:
        """Change `w` (r,) and `b` in place; the statistics, and whether anything moved."""
