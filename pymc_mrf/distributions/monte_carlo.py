"""`likelihood="monte-carlo"`: its options, and which fields have it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors

from pymc_mrf.checks import warn_user, whole_number
from pymc_mrf.distributions.arguments import GivenData, is_random
from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.entries import entries_behind
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.distributions.remedies import advice, check_fixed, possible, refusal
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.junction_tree import JunctionTree, field_tree, is_cheap
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.draw_cost import (
    BY_CONFIGURATION,
    DENSITY,
    GROUPED,
    SPARSE,
    exact_operations,
    sample_operations,
)
from pymc_mrf.likelihood.edges.exact_edges import is_enumerated
from pymc_mrf.likelihood.edges.reference_search import PILOT_SIZE, TOLERANCE, NoReferenceError
from pymc_mrf.likelihood.edges.sampled_field import SampledField

logger = logging.getLogger("pymc_mrf")

FAR_OFF = 1.2  # times the tolerance, from which on the noise that was reached is told

FREE, GAIN = 2e7, 2.0
"""Operations of a draw up to which an exact likelihood is used, whatever a sample costs: a simulation takes
seconds, and a thousand draws twenty. How many times cheaper a sample has to be beyond, having an error."""

DENSE, MANY_ROWS = 4, 10.0
"""Edges to a node, and rows to an edge, from which on groups are drawn faster from a sample than with
particles. Of the 190 edges of 20 nodes effective draws of the worst entry a second were half as many with
1,000 rows, 2.5 times as many with 5,000; of the 480 edges of a grid with 600 rows a fifth."""


@dataclass(frozen=True)
class MonteCarlo:
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
    """Whether an option `likelihood` asks for a Monte Carlo likelihood.

    Raises
    ------
    TypeError
        If it is the class of the options and not an object of it.
    """
    if likelihood is MonteCarlo:
        raise TypeError(
            "likelihood=pymc_mrf.MonteCarlo is a class: call it, likelihood=pymc_mrf.MonteCarlo()"
        )
    return isinstance(likelihood, MonteCarlo) or likelihood == "monte-carlo"


def sampled_field(
    options: MonteCarlo, family: Family, graph: PairwiseGraph, parameters: list, data: GivenData
) -> SampledField:
    """Simulate a field at its reference, for parameters (symbolic) and data of a model."""

    def refuse(reason: str) -> ValueError:
        left = possible(lambda: field_tree(graph, family.n_states), parameters)
        return refusal(name, "monte-carlo", reason, advice(left, "use", family, parameters))

    name = data.name
    if reason := _why_not(family, graph, parameters, data.values):
        raise refuse(reason)
    check_fixed(data, "monte-carlo")
    try:
        sampled = _simulated(options, family, graph, data.values)
    except NoReferenceError as error:
        raise refuse(str(error)) from error
    noise, size = sampled.reference.noise, sampled.reference.states.shape[1]
    if _is_noisy(noise, options):
        warn_user(
            f'{name}: the sample behind likelihood="monte-carlo" has its largest size, {size} points, and '
            f"its log-likelihood ratios a noise of {noise:.2f}, above the tolerance, {options.tolerance:g}: "
            'with few rows for the number of parameters compare with likelihood="particles"'
        )
    return sampled


def unasked_sample(
    family: Family,
    graph: PairwiseGraph,
    parameters: list,
    data: GivenData,
    tree: Callable[[], JunctionTree],
) -> SampledField | None:
    """Sample of a field under ``likelihood="auto"``; None where "exact" or "particles" does better.

    That is where there is none, where it misses the tolerance, where the edges are known, or where they are
    all present and rows fewer than they are: the weights of the points vary by the ratio of both then. Where
    the field has an exact likelihood that is used unasked, it has to cost more than `FREE` operations a draw,
    and `GAIN` times what the sample does. Elsewhere, for groups of edges, see `DENSE`. A field whose vector
    of edges feeds others, declared before, has their likelihood if it may.
    """
    x, name = data.values, data.name
    if isinstance(data.observed, Variable) or not is_random(parameters[0]):
        return None
    if _why_not(family, graph, parameters, x):
        return None
    entries = entries_behind(parameters[0])
    is_sparse = any(isinstance(v.owner.op, SpikeAndSlabRV) for v in entries)
    is_grouped = any(isinstance(v.owner.op, DirichletProcessRV) for v in entries)
    assert x is not None
    options, rows_to_an_edge = MonteCarlo(), x.size / (graph.n_nodes * graph.n_edges)
    if not is_sparse and rows_to_an_edge < 1.0:
        return None
    kind = SPARSE if is_sparse else GROUPED if is_grouped else DENSITY
    of_exact = np.inf
    if is_cheap(tree()):
        before = _likelihoods_of(entries)
        if "exact" in before:
            return None
        of_exact = exact_operations(tree(), graph.edges, kind)
        if is_sparse and len(entries) == 1 and is_enumerated(family, tree()):
            of_exact = BY_CONFIGURATION * family.n_states**graph.n_nodes
        least = GAIN * sample_operations(PILOT_SIZE, graph.n_edges, kind)
        if "monte-carlo" in before:
            of_exact = np.inf
        elif of_exact < max(FREE, least):
            return None
    elif is_grouped and (graph.n_edges < DENSE * graph.n_nodes or rows_to_an_edge < MANY_ROWS):
        return None
    try:
        sampled = _simulated(options, family, graph, x)
    except NoReferenceError as error:
        logger.info('%s: likelihood="monte-carlo" %s', name, error)
        return None
    noise, size = sampled.reference.noise, sampled.reference.states.shape[1]
    of_sample = sample_operations(size, graph.n_edges, kind)
    serves = not _is_noisy(noise, options) and GAIN * of_sample <= of_exact
    beside = f", of {of_exact:.2g} by the junction tree" if np.isfinite(of_exact) else ""
    logging.getLogger("pymc" if serves else "pymc_mrf").info(
        f'{name}: {size} points for likelihood="monte-carlo" have a noise of {noise:.2f} nats, '
        f"and a draw takes some {of_sample:.2g} operations{beside}; "
        f'likelihood="auto" {"is" if serves else "is not"} it'
    )
    return sampled if serves else None


def _likelihoods_of(entries: list[Variable]) -> set[str]:
    """Likelihoods of the fields of the model, so far, that some of these vectors feed."""
    model = pm.modelcontext(None)
    nodes = [field_node(rv) for rv in [*model.observed_RVs, *model.free_RVs]]
    fed = [node for node in nodes if node and any(v in entries for v in ancestors(node.inputs))]
    return {node.op.likelihood for node in fed}


def _why_not(
    family: Family, graph: PairwiseGraph, parameters: list, x: np.ma.MaskedArray | None
) -> str | None:
    """Say why a field has no sample, whatever its data; None if it may have one."""
    if x is None or np.ma.getmaskarray(x).all():
        return "is made from observed data"
    if family.edge_axes:
        return f"needs one number per edge, but {family.edge_parameter} has one for each state"
    if any(p.type.ndim > 1 + k for p, k in zip(parameters, (0, family.node_axes), strict=False)):
        return "needs parameters that all rows share, without dimensions of rows"
    return None if graph.n_edges else "needs a graph with edges"


def _simulated(options: MonteCarlo, family: Family, graph: PairwiseGraph, x: Any) -> SampledField:
    values, missing = filled(x, graph, family)

    def announce() -> None:
        logging.getLogger("pymc").info(
            f"pymc_mrf looks for the reference of a field of {graph.n_nodes} nodes and {graph.n_edges} "
            f"edges, {len(values)} rows, and simulates a sample there: seconds, or minutes for hundreds of "
            "nodes"
        )

    return SampledField.of(values, missing, graph, family, options.seed, options.tolerance, announce)


def _is_noisy(noise: float, options: MonteCarlo) -> bool:
    """Whether the noise that was reached is well above the tolerance."""
    return noise > FAR_OFF * options.tolerance


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
