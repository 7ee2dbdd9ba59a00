"""`likelihood="monte-carlo"`: a sample at a reference near the data, weighted for other parameters."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors

from pymc_mrf.checks import warn_user, whole_number
from pymc_mrf.distributions._numba import ValueAndSlopes
from pymc_mrf.distributions.arguments import is_random
from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.likelihood import OF_SAMPLE, DeclaredField, Likelihood, possible
from pymc_mrf.distributions.parents import fields_of
from pymc_mrf.distributions.remedies import advice, check_fixed, refusal
from pymc_mrf.distributions.scalar import entries_behind
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.junction_tree import is_cheap
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.views import log_partition_by_sample as kernels
from pymc_mrf.likelihood.draw_cost import (
    BY_CONFIGURATION,
    DENSITY,
    GROUPED,
    SPARSE,
    exact_operations,
    sample_operations,
)
from pymc_mrf.likelihood.edges.edge_field import features_at, features_of, lift_of
from pymc_mrf.likelihood.exact.exact_edges import is_enumerated
from pymc_mrf.likelihood.monte_carlo.checks import poor_sample, sample_findings
from pymc_mrf.likelihood.monte_carlo.monte_carlo_edges import (
    MonteCarloEdges,
    MonteCarloGroups,
    node_limits,
)
from pymc_mrf.likelihood.monte_carlo.reference import Reference
from pymc_mrf.likelihood.monte_carlo.reference_search import PILOT_SIZE, TOLERANCE, NoReferenceError
from pymc_mrf.likelihood.monte_carlo.sampled_field import SampledField

logger = logging.getLogger("pymc_mrf")

FAR_OFF = 1.2  # times the tolerance, from which on the noise that was reached is told

FREE, GAIN = 2e7, 2.0
"""Operations of a draw up to which an exact likelihood is used, whatever a sample costs: a simulation takes
seconds, and a thousand draws twenty. How many times cheaper a sample has to be beyond, having an error."""

DENSE, MANY_ROWS = 4, 10.0
"""Edges to a node, and rows to an edge, from which on groups are drawn faster from a sample than with
particles. Of the 190 edges of 20 nodes effective draws of the worst entry a second were half as many with
1,000 rows, 2.5 times as many with 5,000; of the 480 edges of a grid with 600 rows a fifth."""


class LogPartitionBySample(ValueAndSlopes):
    """Log-partition function, less that at the reference, and its gradient by the natural parameters.

    Inputs are the natural parameters (p,), those of the edges first, and the arrays of the sample.
    """

    __props__ = ()
    what = "the Monte Carlo log-partition function"

    def outputs(self, *inputs):
        return [pt.dscalar(), pt.dvector()]

    def implementation(self, jit):
        """Weigh the sample as the view of the edge sampler does."""

        def log_partition(natural, *arrays):
            gradient = np.zeros(natural.shape[0])
            value = kernels.log_partition_by_sample(natural, *arrays, gradient)
            return np.asarray(value), gradient

        return log_partition


def log_partition_by_sample(graph, family, reference, natural):
    """Symbolic log-partition function, up to a constant, at natural parameters, by a `Reference`."""
    F, G = features_of(family, graph.n_nodes), family.node_basis
    pair, products = family.edge_products(graph.edges)
    edges = graph.edges[pair]
    plain = reference.recentred(np.zeros_like(reference.centre), lift_of(family, graph.n_nodes), edges)
    arrays = [
        edges,
        products,
        F,
        G,
        np.ascontiguousarray(features_at(F, plain.states).swapaxes(0, 1), dtype=np.float32),
        plain.states,
        plain.place,
        plain.gap,
        plain.excess,
        plain.apart,
        np.concatenate([plain.reach, node_limits(G, graph.n_nodes)]),
    ]
    # shared, so that no graph contains, compares or compiles them
    inputs = [pytensor.shared(array, borrow=True) for array in arrays]
    return LogPartitionBySample()(natural, *inputs, return_list=True)[0]


@dataclass(frozen=True)
class MonteCarlo(Likelihood):
    """Options of the Monte Carlo likelihood: ``likelihood=pymc_mrf.MonteCarlo(seed=1)``.

    Parameters
    ----------
    tolerance : float
        Error, in nats, of the logarithm of the Bayes factor of an edge in doubt, and of the log-likelihood
        ratio of two values of a bias one posterior standard deviation apart, that nine in ten of them have at
        most; typical ones have half of it. The length of the simulation follows from it, and the time of a
        draw is proportional to its inverse square. 0.3 makes at most 0.075 of an inclusion probability of
        one half.
    seed : int
        Of the simulation, which follows from the data, the field, these options and nothing else: the
        `random_seed` of ``pm.sample`` plays no part, and all chains, processes and resumed runs have the same
        likelihood. Another seed gives an independent one, by which results can be checked.
    sampled : SampledField, optional
        What a field finds when it is declared.

    Raises
    ------
    ValueError
        If the tolerance is not positive, or the seed is negative.
    """

    name: ClassVar[str] = "monte-carlo"
    invariant: ClassVar[str] = OF_SAMPLE
    no_probability: ClassVar[str] = "log probabilities up to a constant only"
    edges: ClassVar[Any] = MonteCarloEdges
    groups: ClassVar[Any] = MonteCarloGroups

    tolerance: float = TOLERANCE
    seed: int = 0
    sampled: SampledField | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < np.inf:
            raise ValueError(
                f"tolerance must be a positive number of nats, such as {TOLERANCE}, not {self.tolerance!r}"
            )
        whole_number(self.seed, "seed", 0)

    @classmethod
    def serves(cls, field: DeclaredField) -> bool:
        """Whether data do not change, and an edge has one number or a block, the same in all rows."""
        return field.is_fixed and field.op.may_be_sampled and field.rows_are_alike

    def prepare(self, field: DeclaredField) -> "MonteCarlo":
        """Simulate the field at its reference."""

        def refuse(reason: str) -> ValueError:
            return refusal(name, self, reason, advice(field, possible(field), "use"))

        data, name = field.data, field.data.name
        if reason := _why_not(field):
            raise refuse(reason)
        check_fixed(data, self)
        try:
            found = self._simulated(field)
        except NoReferenceError as error:
            raise refuse(str(error)) from error
        noise, size = found.reference.noise, found.reference.states.shape[1]
        if found._is_noisy:
            warn_user(
                f'{name}: the sample behind likelihood="monte-carlo" has its largest size, {size} points, '
                f"and its log-likelihood ratios a noise of {noise:.2f}, above the tolerance, "
                f"{self.tolerance:g}: with few rows for the number of parameters compare with "
                'likelihood="particles"'
            )
        return found

    @classmethod
    def unasked(cls, field: DeclaredField) -> "MonteCarlo | None":
        """Where neither "exact" nor "particles" does better.

        They do where there is no sample, where it misses the tolerance, where the edges are known, or where
        they are all present and rows fewer than they are: the weights of the points vary by the ratio of both
        then. Where the field has an exact likelihood that is used unasked, it has to cost more than `FREE`
        operations a draw, and `GAIN` times what the sample does. Elsewhere, for groups of edges, see `DENSE`.
        A field whose vector of edges feeds others, declared before, has their likelihood if it may.
        """
        op, (observed, x, name) = field.op, field.data
        if not field.n_rows or isinstance(observed, Variable) or not is_random(field.parameters[0]):
            return None
        if _why_not(field):
            return None
        entries, graph, family = entries_behind(field.parameters[0]), op.graph, op.family
        is_sparse = any(isinstance(v.owner.op, SpikeAndSlabRV) for v in entries)
        is_grouped = any(isinstance(v.owner.op, DirichletProcessRV) for v in entries)
        rows_to_an_edge = x.size / (graph.n_nodes * graph.n_edges)
        if not is_sparse and rows_to_an_edge < 1.0:
            return None
        kind = SPARSE if is_sparse else GROUPED if is_grouped else DENSITY
        of_exact = np.inf
        if is_cheap(op.tree):
            before = _likelihoods_of(entries)
            if any(one.uses_tree for one in before):
                return None
            of_exact = exact_operations(op.tree, graph.edges, kind)
            if is_sparse and len(entries) == 1 and is_enumerated(family, op.tree):
                of_exact = BY_CONFIGURATION * family.n_states**graph.n_nodes
            least = GAIN * sample_operations(PILOT_SIZE, graph.n_edges, kind)
            if any(isinstance(one, MonteCarlo) for one in before):
                of_exact = np.inf
            elif of_exact < max(FREE, least):
                return None
        elif is_grouped and (graph.n_edges < DENSE * graph.n_nodes or rows_to_an_edge < MANY_ROWS):
            return None
        try:
            found = cls()._simulated(field)
        except NoReferenceError as error:
            logger.info('%s: likelihood="monte-carlo" %s', name, error)
            return None
        noise, size = found.reference.noise, found.reference.states.shape[1]
        of_sample = sample_operations(size, graph.n_edges, kind)
        serves = not found._is_noisy and GAIN * of_sample <= of_exact
        beside = f", of {of_exact:.2g} by the junction tree" if np.isfinite(of_exact) else ""
        logging.getLogger("pymc" if serves else "pymc_mrf").info(
            f'{name}: {size} points for likelihood="monte-carlo" have a noise of {noise:.2f} nats, '
            f"and a draw takes some {of_sample:.2g} operations{beside}; "
            f'likelihood="auto" {"is" if serves else "is not"} it'
        )
        return found if serves else None

    def _simulated(self, field: DeclaredField) -> "MonteCarlo":
        graph, family = field.op.graph, field.op.family
        values, missing = filled(field.data.values, graph, family)

        def announce() -> None:
            logging.getLogger("pymc").info(
                f"pymc_mrf looks for the reference of a field of {graph.n_nodes} nodes and {graph.n_edges} "
                f"edges, {len(values)} rows, and simulates a sample there: seconds, or minutes for hundreds "
                "of nodes"
            )

        options = self.seed, self.tolerance, announce
        return replace(self, sampled=SampledField.of(values, missing, graph, family, *options))

    @property
    def reference(self) -> Reference:
        """Return the sample."""
        assert self.sampled is not None
        return self.sampled.reference

    @property
    def _is_noisy(self) -> bool:
        """Whether the noise that was reached is well above the tolerance."""
        return self.reference.noise > FAR_OFF * self.tolerance

    def log_partition(self, op: Any, parameters: Sequence, value: Any) -> Any:
        """Weigh the sample."""
        natural = op.flat_natural(parameters)
        return log_partition_by_sample(op.graph, op.family, self.reference, natural)

    def of_edges(self, blocks: Sequence["MonteCarlo"]) -> dict[str, Any]:
        """Return their samples."""
        return {"references": [one.reference for one in blocks]}

    def of_groups(self) -> dict[str, Any]:
        """Return the sample."""
        return {"reference": self.reference}

    def against_chain(self, name: str, fields: list, record: Any, n_particles: int = 0) -> list[str]:
        """Whether the sample was too small, or far from the draws."""
        references = [field.likelihood.reference for field in fields for _ in field.blocks]
        return poor_sample(fields[0].name, record, references)

    def findings(self, rv: Any, node: Any, draws: Any) -> list:
        """Whether the sample covers the posterior."""
        return sample_findings(self.reference, rv, node, draws)


def _likelihoods_of(entries: list[Variable]) -> list[Likelihood]:
    """Likelihoods of the fields of the model, so far, that some of these vectors feed."""
    nodes = [node for _, node in fields_of(pm.modelcontext(None))]
    fed = [node for node in nodes if any(v in entries for v in ancestors(node.inputs))]
    return [node.op.likelihood for node in fed]


def _why_not(field: DeclaredField) -> str | None:
    """Say why a field has no sample, whatever its data; None if it may have one."""
    family, x = field.op.family, field.data.values
    if x is None or np.ma.getmaskarray(x).all():
        return "is made from observed data"
    if family.edge_axes:
        return f"needs one number per edge, but {family.edge_parameter} has one for each state"
    if any(p.type.ndim > 1 + k for p, k in zip(field.parameters, (0, family.node_axes), strict=False)):
        return "needs parameters that all rows share, without dimensions of rows"
    return None if field.op.graph.n_edges else "needs a graph with edges"


def filled(x: np.ma.MaskedArray, graph: PairwiseGraph, family: Family) -> tuple[np.ndarray, np.ndarray]:
    """State indices (n, d) int8 of values, others of the same node in missing cells; and these, (n, d)."""
    d = graph.n_nodes
    mask = np.ma.getmaskarray(x).reshape(-1, d)
    values = np.array(np.ma.getdata(x)).reshape(-1, d)
    rng = np.random.default_rng(0)
    for i in np.flatnonzero(mask.any(axis=0)):
        known = values[~mask[:, i], i]
        known = known if len(known) else np.array([family.states[0]])
        values[mask[:, i], i] = rng.choice(known, mask[:, i].sum())
    return family.encode(values, n_nodes=d), mask
