"""`likelihood="monte-carlo"`: which fields have it, and their log-partition function by a sample."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph import Apply, Op
from pytensor.graph.basic import Variable

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.fields.families import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import monte_carlo_edges as kernels
from pymc_mrf.likelihood.reference_search import TOLERANCE, SampledField


@dataclass(frozen=True)
class MonteCarlo:
    """Options of the Monte Carlo likelihood: ``likelihood=pymc_mrf.MonteCarlo(seed=1)``.

    Parameters
    ----------
    tolerance : float
        Error of the estimated log-likelihood ratio of two values of a parameter one posterior standard
        deviation apart, in nats, that nine in ten parameters in doubt have at most. The length of the
        simulation follows from it. The logarithm of a Bayes factor of an edge in doubt, whose weight is two
        to three standard deviations from zero, has an error as many times larger.
    seed : int
        Of the simulation, beside the data: another one gives an independent likelihood of the same field, by
        which results can be checked.

    Raises
    ------
    ValueError
        If the tolerance is not positive, or the seed is negative.
    """

    tolerance: float = TOLERANCE
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the options."""
        if not 0.0 < self.tolerance < np.inf:
            raise ValueError(
                f"tolerance must be a positive number of nats, such as {TOLERANCE}, not {self.tolerance!r}"
            )
        whole_number(self.seed, "seed", 0)


def is_monte_carlo(likelihood: Any) -> bool:
    """Whether an option `likelihood` asks for a Monte Carlo likelihood."""
    return isinstance(likelihood, MonteCarlo) or likelihood == "monte-carlo"


def refusal(name: str, reason: str, remedy: str = "") -> ValueError:
    """Say why a field has no Monte Carlo likelihood."""
    remedy = remedy or 'use likelihood="exact", "particles" or "pseudo"'
    return ValueError(f'{name}: likelihood="monte-carlo" {reason}; {remedy}')


def sampled_field(
    options: MonteCarlo,
    family: Family,
    graph: PairwiseGraph,
    parameters: list,
    observed: Any,
    x: np.ma.MaskedArray | None,
    name: str,
) -> SampledField:
    """Simulate a field at its reference, for parameters (symbolic) and observed values `x` of a model."""
    if x is None:
        raise refusal(
            name, "is made from observed data", 'use "exact", "particles" or "pseudo" for a latent field'
        )
    if isinstance(observed, Variable):
        raise refusal(
            name, "is made once, for data that do not change", "give an array in place of pm.Data"
        )
    if family.edge_axes:
        raise refusal(
            name, f"needs one number per edge, but {family.edge_parameter} has one for each state"
        )
    if any(p.type.ndim > 1 + k for p, k in zip(parameters, (0, family.node_axes), strict=False)):
        raise refusal(
            name,
            "needs parameters that all rows share, without dimensions of rows",
            'use "exact" or "pseudo", or declare one field for each kind of rows',
        )
    if not graph.n_edges:
        raise refusal(name, "needs a graph with edges", 'use likelihood="exact"')
    return SampledField.of(filled(x, graph, family), graph, family, options.seed, options.tolerance)


def filled(x: np.ma.MaskedArray, graph: PairwiseGraph, family: Family) -> np.ndarray:
    """State indices (n, d) int8 of values, with others of the same node where they are missing."""
    d = graph.n_nodes
    mask = np.ma.getmaskarray(x).reshape(-1, d)
    values = np.array(np.ma.getdata(x)).reshape(-1, d)
    rng = np.random.default_rng(0)
    for i in np.flatnonzero(mask.any(axis=0)):
        known = values[~mask[:, i], i]
        known = known if len(known) else np.array([family.states[0]])
        values[mask[:, i], i] = rng.choice(known, mask[:, i].sum())
    return family.encode(values, n_nodes=d)


class LogPartitionBySample(NumbaOp, Op):
    """Log-partition function, less that at the reference, and its gradient by the natural parameters.

    Inputs are the natural parameters (p,), those of the edges first, and the arrays of `sample_inputs`.
    """

    __props__ = ()

    def make_node(self, natural, *arrays):
        """Build the node."""
        inputs = [pt.as_tensor(v) for v in (natural, *arrays)]
        return Apply(self, inputs, [pt.dscalar(), pt.dvector()])

    def implementation(self, jit):
        """Evaluate by the view of the edge sampler: all edges active, no data."""

        def log_partition(natural, *arrays):
            gradient = np.zeros(natural.shape[0])
            value = kernels.log_partition_by_sample(natural, *arrays, gradient)
            return np.asarray(value), gradient

        return log_partition

    def pullback(self, inputs, outputs, cotangents):
        """Multiply by the gradient; the sample is not differentiated."""
        gradient = self(*inputs, return_list=True)[1]
        return [cotangents[0] * gradient, *(disconnected_type() for _ in inputs[1:])]

    def connection_pattern(self, node):
        """Only the natural parameters are connected, to the value."""
        return [[True, False], *([False, False] for _ in node.inputs[1:])]


def log_partition_by_sample(op, parameters):
    """Symbolic log-partition function, up to a constant, of a field with the `sampled` of its Op."""
    family, graph, reference = op.family, op.graph, op.sampled.reference
    F, G = family.edge_features, family.node_basis
    lift = np.linalg.lstsq((G - G[:, :1]).T, (F - F[:, :1]).T, rcond=None)[
        0
    ]  # (q, M), as of `edge_field`
    plain = reference.recentred(
        np.zeros_like(reference.centre), np.tile(lift, (graph.n_nodes, 1)), graph.edges
    )
    arrays = [
        graph.edges,
        F,
        G,
        family.edge_statistic.ravel(),
        F[:, plain.states].astype(np.float32),
        plain.states,
        plain.place,
        plain.gap,
        plain.excess,
    ]
    # shared, so that no graph contains, compares or compiles them
    inputs = [pytensor.shared(array, borrow=True) for array in arrays]
    return LogPartitionBySample()(op.flat_natural(parameters), *inputs, return_list=True)[0]
