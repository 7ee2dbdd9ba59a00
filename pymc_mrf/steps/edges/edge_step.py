"""What the steps for edges share: the variables and fields they find, the prior, the start of a chain."""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.pytensorf import constant_fold
from pytensor.graph.replace import graph_replace

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.arguments import value_of
from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.parents import (
    FreeBias,
    feeds_intractable,
    field_node,
    free_behind,
    free_bias,
    free_terms,
)
from pymc_mrf.distributions.remedies import possible_of_all
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV, has_large_blocks
from pymc_mrf.distributions.symbolic_tables import strip_views
from pymc_mrf.steps.common.base import MRFStep
from pymc_mrf.steps.common.expressions import FAR, children, fields_fed, varies_by_row
from pymc_mrf.steps.common.observed_field import ObservedField, check_vector, observed_fields
from pymc_mrf.steps.edges.edge_prior import (
    KINDS,
    EdgePriorReader,
    NodeReader,
    has_readable_prior,
    have_common_form,
)

SLABS = "pm.Normal, pm.StudentT, pm.Cauchy or pm.Laplace"

LARGEST_CONDITION = 1e6  # of the factors of sums of biases


def check_blocks(rv, fields: list[ObservedField], step: str) -> None:
    """Refuse blocks where edges have one parameter, other blocks than theirs, and what does not serve them.

    Raises
    ------
    ValueError
        That says what to declare instead.
    """
    op, field = rv.owner.op, fields[0]
    if not field.family.has_blocks:
        if has_large_blocks(rv):
            raise ValueError(
                f"{rv.name} has blocks, but each edge of {field.name} has one "
                f"{field.family.edge_parameter}: leave blocks out, or declare {field.name} as a "
                "pymc_mrf.NominalMRF"
            )
        return
    sizes = field.family.block_sizes(field.graph.edges)
    if not np.array_equal(op.blocks or np.ones(op.n), sizes):
        has = f"blocks of {_few(op.blocks)} entries" if op.blocks else "no blocks"
        raise ValueError(
            f"{rv.name} has {has}, but the edges of {field.name} have tables of {_few(sizes)} parameters, "
            f"which {step} adds and removes as a whole: declare it with "
            f"blocks={field.family.blocks_asked}"
        )
    for other in fields:
        own = other.family.block_sizes(other.graph.edges)
        fits = np.array_equal(own, sizes) and np.array_equal(
            other.entries, np.arange(len(other.entries))
        )
        if fits and len(other.blocks) == 1:
            continue
        raise ValueError(
            f"{step} samples parameters of blocks that are the same in all rows, and the same edges of all "
            f"fields, but those of {other.name} differ between rows, or have edges or states of their own: "
            "give the rows of each group a field, with a SpikeAndSlab of its own, or with sums of the same "
            "vectors, as w + 0.5 * delta and w - 0.5 * delta"
        )
    if not field.likelihood.serves_blocks:
        raise ValueError(
            f'{step} does not sample tables of edges under likelihood="{field.likelihood.name}" of '
            f"{field.name}: {field.advice(lambda kind: kind.serves_blocks, 'declare it with')}"
        )
    if type(op.scalar.op) not in KINDS:
        raise ValueError(
            f"{step} samples tables of edges whose slab is {SLABS}, but that of {rv.name} is another: give "
            "one of these"
        )


def _few(sizes) -> str:
    """Name the first of some sizes."""
    more = ", ..." if len(sizes) > 5 else ""
    return ", ".join(str(int(k)) for k in sizes[:5]) + more


def is_spike_and_slab(rv) -> bool:
    """Whether a variable is a spike-and-slab vector of this package."""
    return rv.owner is not None and isinstance(rv.owner.op, SpikeAndSlabRV)


class Biases(NamedTuple):
    """Free variables that are the biases of fields, or of which these are sums.

    Attributes
    ----------
    free : list of FreeBias
        As many as fields, or as parameters of the nodes of one; none if edge samplers cannot move all.
    factors : (F, F) array or None
        The biases of field f are sum_g factors[f, g] times the variable g; None if each is that of a field.
    """

    free: list[FreeBias]
    factors: np.ndarray | None


NO_BIASES = Biases([], None)


def biases_of_fields(rv, model: pm.Model) -> Biases:
    """Find the free variables behind the biases of all fields of `rv`, if edge samplers can move them."""
    nodes = [field_node(child) for child in children(rv, model) if child not in model.free_RVs]
    nodes = [node for node in nodes if node is not None]
    read = [node.op.edge_and_node_parameters(node) for node in nodes]
    if not nodes or any(len(of_field) < 2 for of_field in read) or any(map(varies_by_row, nodes)):
        return NO_BIASES
    is_shared = len(nodes) > 1 or strip_views(read[0][0]) is not rv
    if is_shared and nodes[0].op.family.has_blocks:
        return NO_BIASES  # which NUTS moves
    parameters = [parameter for _, *of_nodes in read for parameter in of_nodes]
    if len(nodes) > 1 and len(parameters) > len(nodes):
        return NO_BIASES
    shapes = [shape for n in nodes for shape in n.op.family.node_shapes(n.op.graph.n_nodes)]
    found, factors = [free_bias(parameter, model) for parameter in parameters], None
    free = [bias for bias in found if bias is not None]
    if len(free) < len(nodes):
        terms = [rv for rv in model.free_RVs if any(rv in free_terms(p, model) for p in parameters)]
        factors = constant_factors(parameters, terms)
        free = [FreeBias(rv, None) for rv in terms] if factors is not None else []
    is_movable = len({bias.rv for bias in free}) == len(parameters) and all(
        has_readable_prior(bias.rv)
        and tuple(value_of(bias.rv.shape)) == shape
        and all(any(field_node(child) is node for node in nodes) for child in children(bias.rv, model))
        for bias, shape in zip(free, shapes, strict=False)
    )
    if not is_movable or (len(nodes) > 1 and not have_common_form(free)):
        return NO_BIASES
    if factors is not None and len(set(shapes)) > 1:
        return NO_BIASES
    return Biases(free, factors)


def belongs_to_nuts(rv) -> bool:
    """Whether no step of edges moves these biases, which only the model of the context tells.

    Without one, `EdgeGibbs.__new__` finds out.
    """
    model = pm.Model.get_context(error_if_none=False)
    if model is None or rv not in model.free_RVs or feeds_intractable(rv):
        return False
    edges = filter(is_spike_and_slab, model.free_RVs)
    return not any(bias.rv is rv for w in edges for bias in biases_of_fields(w, model).free)


def constant_factors(parameters: list, terms: list) -> np.ndarray | None:
    """Find C (F, F) such that parameter f is sum_g C[f, g] times term g, of one shape all.

    None if there is none that tells the terms from the parameters, or their shapes differ.
    """
    shapes = {tuple(value_of(term.shape)) for term in terms}
    if len(shapes) != 1 or len(parameters) != len(terms):
        return None
    [shape], rng = shapes, np.random.default_rng(0)

    def at(values):  # NaN where they depend on anything else
        known = {rv: pt.constant(v, dtype=rv.dtype) for rv, v in zip(terms, values, strict=True)}
        found = constant_fold(graph_replace(parameters, known, strict=False), raise_not_constant=False)
        numbers = [v if isinstance(v, np.ndarray) else np.nan for v in found]
        return np.array([np.broadcast_arrays(v, np.empty(shape))[0].reshape(shape) for v in numbers])

    units = np.eye(len(terms)).reshape(*(len(terms),) * 2, *np.ones_like(shape)) * np.ones(shape)
    factors = np.array([at(unit).reshape(len(terms), -1)[:, 0] for unit in units]).T
    for size in (1.0, FAR):
        values = size * rng.standard_normal((len(terms), *shape))
        if not np.allclose(at(values), np.tensordot(factors, values, 1)):
            return None
    return factors if np.linalg.cond(factors) < LARGEST_CONDITION else None


class EdgeTarget(NamedTuple):
    """Variables of an edge sampler, and the fields whose edges they are.

    Attributes
    ----------
    rv : TensorVariable
    biases : Biases
        `NO_BIASES` if they are not to be moved.
    fields : list of ObservedField
    likelihood : Likelihood
        Of the first of them.
    """

    rv: Any
    biases: Biases
    fields: list[ObservedField]
    likelihood: Likelihood


def edge_target(
    rvs, model: pm.Model, step: str, likelihoods: tuple[type[Likelihood], ...], mixes: bool, fills: bool
) -> EdgeTarget:
    """Find the spike-and-slab variable and the biases among `rvs`, and check all that can be.

    `mixes`: whether the step takes several fields, and sums of which the variable is one term; `fills`:
    whether it takes missing cells.

    Raises
    ------
    TypeError, ValueError
        If there is not one spike-and-slab variable, the edge parameter of observed fields with a suitable
        likelihood, or anything beside it that is not the biases of these fields.
    """
    found = [rv for rv in rvs if is_spike_and_slab(rv)]
    if len(found) != 1:
        names = ", ".join(rv.name for rv in rvs)
        raise TypeError(f"{step} samples one pymc_mrf.SpikeAndSlab, but got {names}")
    [rv] = found
    if not fields_fed(rv, model):
        raise ValueError(
            f"{rv.name} is a SpikeAndSlab that reaches no Markov random field, and {step} samples edges "
            "of a field: pass it as the weight to pymc_mrf.BoltzmannMachine or as the coupling to "
            "pymc_mrf.Ising with `observed` data; for draws from the prior use pm.sample_prior_predictive"
        )
    _check_transform(rv, model, step)
    check_vector(rv, model, step, "SpikeAndSlab per field; they may share p and the slab's scale")
    fields = observed_fields(rv, model, step, likelihoods, mixes, fills, takes_several=mixes)
    field = fields[0]
    check_blocks(rv, fields, step)
    if field.family.edge_axes or (field.family.is_log_odds and not mixes):
        raise ValueError(
            f"{step} samples couplings of Ising and Potts, one per edge, and weights of BoltzmannMachine and "
            f"OrdinalMRF, but {rv.name} is the {field.family.edge_parameter} of {field.name}; declare "
            f"{field.name} as one of these, where zero is no edge, or give it a DirichletProcess"
        )
    used = np.concatenate([f.entries[(f.factors != 0.0).any(axis=0)] for f in fields])
    unused = np.setdiff1d(np.arange(rv.owner.op.n), used)
    if len(unused):
        raise ValueError(
            f"{step} samples parameters of edges, but entry {unused[0]} of {rv.name} is that of none: "
            f"declare {rv.name} without it"
        )
    others = [other for other in rvs if other is not rv]
    biases = biases_of_fields(rv, model)
    parameters = [parameter for f in fields for parameter in f.node_parameters]
    near = free_behind(parameters, model)
    for other in others:
        if other not in near:
            raise ValueError(
                f"{step} moves {rv.name} and the {field.family.node_parameter} of {field.name}: leave "
                f"{other.name} out of `vars`"
            )
        if not any(other is bias.rv for bias in biases.free):
            raise ValueError(
                f"{step} moves the {field.family.node_parameter} of {field.name} if it is one free variable "
                "of all nodes, as it is or as the logit of a pm.Beta, that feeds nothing else, and whose "
                "entries all have the same prior or one of pm.Normal, pm.Cauchy, pm.StudentT and pm.Laplace, "
                f"and if so are those of other fields of {rv.name}, or if those of all fields are sums of as "
                f"many such variables, as b + 0.5 * d and b - 0.5 * d; {other.name} is not: "
                f"leave it out of `vars`, as in {step}([{rv.name}])"
            )
    left = [bias.rv.name for bias in biases.free if bias.rv not in others]
    if others and left:
        raise ValueError(
            f"{step} moves the {field.family.node_parameter} of all fields of {rv.name} or of none: pass "
            f"{left[0]} as well, or leave out {others[0].name}"
        )
    return EdgeTarget(rv, biases if others else NO_BIASES, fields, field.likelihood)


def _check_transform(rv, model: pm.Model, step: str) -> None:
    if model.rvs_to_transforms[rv] is not None:
        raise ValueError(
            f"{step} moves values as they are, but {rv.name} has a transform: declare it without "
            "`transform`, or leave it out of `vars` if it is not the edges"
        )


def simulation_options(
    field: ObservedField,
    likelihood: Likelihood,
    n_particles: int | None,
    n_sweeps: int | None,
    least_particles: int,
) -> dict[str, int]:
    """Check the options of a simulation that were given; return them by name.

    Raises
    ------
    ValueError
        If one is out of range, or nothing is simulated under this likelihood.
    """
    options = {}
    for name, value, least in (("n_particles", n_particles, least_particles), ("n_sweeps", n_sweeps, 1)):
        if value is not None:
            options[name] = whole_number(value, name, least)
    if options and not likelihood.is_intractable:
        other = field.advice(lambda kind: kind.is_intractable, ", or declare the field with")
        raise ValueError(
            f"{next(iter(options))} is an option for fields that are simulated, but {field.name} has "
            f'likelihood="{likelihood.name}": leave it out{other}'
        )
    return options


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
            remedy = "use pymc_mrf.steps.EdgeGibbs"
            if serves:
                left = possible_of_all(self._fields, lambda kind: issubclass(kind, serves))
                own = f"give each field a vector of its own, as it is, for its {field.family.edge_parameter}"
                remedy = field.advice(lambda kind: kind in left, "declare with") or own
            raise ValueError(
                f'{step} samples {what} under likelihood="{likelihood.name}", but {why}: {remedy}'
            )

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
