"""Whether a pseudo-likelihood is no substitute: strong couplings, or edges that it counts too often."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.traversal import ancestors
from scipy.special import expit, logit

from pymc_mrf.distributions.chain_record import SampleRecord
from pymc_mrf.distributions.likelihood import AGAINST, FOR, NOTE, Finding
from pymc_mrf.distributions.remedies import (
    in_place_of_pseudo,
    is_no_pseudo,
    possible_of,
    possible_of_all,
)
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.fields.pairwise_tables import STRONG_INFLUENCE, influence_radius
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.likelihood.pseudo.conditional_weights import COUNTED_ONCE

WEAK = 0.7  # radius below which the pseudo-likelihood is commonly close to the likelihood

# From docs/_results/pseudo_likelihood_calibration.md: beyond these two limits more than twice as many edges
# are false as claimed, and about as many as expected; within them the difference is smaller, or of few edges.
EXCESS_SHARE = 0.1
"""How large the share of false edges, beyond those claimed, may be among those found without a warning."""
EXCESS_NUMBER = 1.0
"""Their number, likewise."""


AS_CANDIDATES = "Take its edges for candidates: no other likelihood serves this model"
COUNT_ONCE = 'Declare with likelihood="pseudo", which counts each edge once'


def strong_couplings(field: Any, weights: Iterable[np.ndarray], instead: str) -> list[str]:
    """Warn if the pseudo-likelihood was used although couplings are strong.

    Parameters
    ----------
    field : ObservedField
    weights : iterable of (r,) arrays
        Some draws; the median over them of `influence_radius` counts, as in `pymc_mrf.diagnose`.
    instead : str
        Another likelihood of the field, "" if there is none.
    """
    graph, radii = field.graph, []
    for w in weights:
        tables = field.family.edge_tables(w, graph.edges)
        present = tables.any(axis=(1, 2))
        radii.append(influence_radius(graph.edges[present], tables[present], graph.n_nodes))
    radius = float(np.median(radii))
    if radius < STRONG_INFLUENCE:
        return []
    return [
        f"The nodes of {field.name} are strongly coupled: the influence of neighbours is {radius:.2f}, above "
        f'{STRONG_INFLUENCE:g}, where likelihood="pseudo" is less near to the posterior. '
        f"{f'Compare with {instead}' if instead else AS_CANDIDATES}; plot_ppc_edges shows what the fit misses"
    ]


def false_edges(inclusion: np.ndarray, log_odds: np.ndarray, weight: float) -> tuple[int, float, float]:
    """Edges that a pseudo-likelihood includes with probability above one half, and how many are false.

    Both ends of an edge count the same rows: if their conditionals have weight 1, what the data say for it
    is doubled. If all of its Bayes factor were, the right one would be the square root. The price of a wide
    slab is not doubled, so that more edges are false: a Bayes factor may even speak for an edge where the
    right one speaks against it.

    Parameters
    ----------
    inclusion : (r,) array
    log_odds : (r,) array
        Of presence, a priori.
    weight : float
        Of the conditionals; one half counts an edge once.

    Returns
    -------
    tuple
        Number of these edges; of the false ones among them that the probabilities claim; that are to be
        expected at least, every Bayes factor being counted once.
    """
    found = inclusion > 0.5
    claimed = inclusion[found]
    prior = log_odds[found]
    right = expit(prior + COUNTED_ONCE / weight * (logit(claimed) - prior))
    return len(claimed), float((1.0 - claimed).sum()), float((1.0 - right).sum())


def is_overstated(n_found: int, claimed: float, expected: float) -> bool:
    """Whether `false_edges` are a reason to warn."""
    return expected - claimed > max(EXCESS_NUMBER, EXCESS_SHARE * n_found)


def overstated_edges(
    name: str, field: str, inclusion: np.ndarray, log_odds: np.ndarray, weight: float
) -> list[str]:
    """Warn if a pseudo-likelihood that counts edges more than once includes more false ones than it claims.

    Parameters
    ----------
    name, field : str
        Of the edges, and of the field.
    inclusion, log_odds : (r,) arrays
    weight : float
        As of `false_edges`.
    """
    n_found, claimed, expected = false_edges(inclusion, log_odds, weight)
    if not is_overstated(n_found, claimed, expected):
        return []
    return [
        f"The pseudo-likelihood of {field} with weight={weight:g} is too sure of its edges: of the {n_found} "
        f"entries of {name} with an inclusion probability above 0.5 it claims that {claimed / n_found:.0%} "
        f"are zero, but about {expected / n_found:.0%} are to be expected, because both ends of an edge "
        f"count the same rows. {COUNT_ONCE}"
    ]


class PseudoRecord(SampleRecord):
    """What the draws of a chain claim by a pseudo-likelihood.

    Attributes
    ----------
    included, log_odds : (r,) arrays
        Sums over the draws: whether each edge is present, and the log odds of that a priori.
    weights : list of pairs of arrays
        Parameters of all edges of all fields at some of the draws: places and values of those not 0, as most
        of many edges are absent.
    """

    remembers = ("included", "log_odds", "weights")

    def __init__(self) -> None:
        super().__init__()
        self.included, self.log_odds = np.zeros((2, 0))
        self.weights: list[tuple[np.ndarray, np.ndarray]] = []

    def add_edges(self, present, log_odds, parameters):
        """Add up the edges, and keep the parameters."""
        if not len(self.included):
            self.included, self.log_odds = np.zeros((2, len(present)))
        self.included += present
        self.log_odds += log_odds
        if parameters is not None:
            [places] = np.nonzero(parameters)
            self.weights.append((places, parameters[places]))

    def warn(self, name: str, fields: list[Any]) -> list[str]:
        """Warn of claims about the edges called `name` of fields of `ObservedField`, for one reason only."""
        if not self.weights:
            return []  # no edges were moved one by one
        n, twice = len(self.squares), seen_twice(fields, len(self.included))
        claims = self.included[twice] / n, self.log_odds[twice] / n
        said = overstated_edges(name, fields[0].name, *claims, fields[0].likelihood.weight)
        if said or not fields[0].likelihood.looks_at_couplings:
            return said
        instead = in_place_of_pseudo(possible_of_all(fields, is_no_pseudo))
        sizes = [field.factors.size for field in fields]
        for field, first in zip(fields, np.cumsum(sizes) - sizes, strict=True):
            said += strong_couplings(field, self._means(field, first), instead)
        return said

    def _means(self, field: Any, first: int) -> Iterator[np.ndarray]:
        """Mean parameters (r,) over the rows of a field, whose own begin at `first`, draw by draw."""
        rows = [len(block) for block in field.blocks]
        for places, values in self.weights:
            eta = np.zeros(field.factors.size)
            own = (places >= first) & (places < first + len(eta))
            eta[places[own] - first] = values[own]
            yield np.average(eta.reshape(len(rows), -1), axis=0, weights=rows)


def seen_twice(fields: list[Any], n_entries: int) -> np.ndarray:
    """Whether each entry of the vector is that of an edge both of whose ends count the same rows."""
    seen = np.zeros(n_entries, dtype=bool)
    for field in fields:
        if field.family.has_blocks:
            return ~seen
        used = (field.factors != 0.0).any(axis=0)
        if isinstance(field.graph, LaggedGraph):
            used &= field.graph.lag_of == 0  # an arrow has one end
        seen[field.entries[used]] = True
    return seen


def unjudged(what: str, rv: Any, node: Any, draws: Any) -> list[Finding]:
    """Say that the couplings of `what` are not looked at."""
    instead = in_place_of_pseudo(possible_of(node, draws.model, is_no_pseudo))
    text = f"pseudo-likelihood of {what}: the strength of its couplings is not looked at"
    remedy = f"compare with {instead}" if instead else "compare predictive draws with the data"
    return [Finding(NOTE, str(rv.name), float("nan"), text, remedy)]


def judged(rv: Any, node: Any, draws: Any) -> list[Finding]:
    """Judge the couplings of a pairwise field at some posterior draws."""
    instead = in_place_of_pseudo(possible_of(node, draws.model, is_no_pseudo))
    table, graph = node.op.log_tables(node.op.dist_params(node), pt)[0], node.op.graph
    radii = []
    for tables in draws.at_some(table):
        rows = tables.reshape(-1, *tables.shape[-3:])
        radii.append(max(influence_radius(graph.edges, row, graph.n_nodes) for row in rows))
    return [_finding(rv.name, float(np.median(radii)), instead)]


def overstated(node: Any, draws: Any) -> list[Finding]:
    """Judge the edges of a field that draws include, by the first field of each vector of them."""
    free = draws.model.free_RVs
    reached = set(ancestors(node.inputs, blockers=free))
    vectors = [rv for rv in free if rv in reached and isinstance(rv.owner.op, SpikeAndSlabRV)]
    weight = node.op.likelihood.weight
    return [found for rv in vectors if draws.is_first(rv) for found in _overstated(rv, weight, draws)]


def _overstated(rv: Any, weight: float, draws: Any) -> list[Finding]:
    inclusion = (draws.of(rv.name)[..., rv.owner.op.heads] != 0).mean(axis=(0, 1))
    p = rv.owner.op.shape_and_arguments(rv.owner.inputs)[1]
    log_odds = np.mean([logit(value) for value in draws.at_some(p)], axis=0)
    n_found, claimed, expected = false_edges(inclusion, log_odds, weight)
    if not is_overstated(n_found, claimed, expected):
        return []
    text = (
        f"pseudo-likelihood with weight={weight:g} that is too sure of its edges: of the {n_found} with an "
        f"inclusion probability above 0.5 it claims that {claimed / n_found:.0%} are zero, but about "
        f"{expected / n_found:.0%} are to be expected"
    )
    return [Finding(AGAINST, str(rv.name), expected / n_found, text, COUNT_ONCE)]


def _finding(name: str, radius: float, instead: str) -> Finding:
    about = f"influence of neighbours {radius:.2f}, median of the posterior"
    if radius < WEAK:
        return Finding(FOR, name, radius, f"pseudo-likelihood of weak couplings: {about}", "")
    remedy = f"{instead or AS_CANDIDATES}; see plot_ppc_edges for what the fit misses"
    if radius < STRONG_INFLUENCE:
        text = f"pseudo-likelihood of couplings of medium strength: {about}"
        return Finding(NOTE, name, radius, text, remedy)
    text = (
        f"pseudo-likelihood of strongly coupled nodes: {about}, above {STRONG_INFLUENCE:g}. Its posterior "
        "may be far off, that of couplings which edges share most"
    )
    return Finding(AGAINST, name, radius, text, remedy)
