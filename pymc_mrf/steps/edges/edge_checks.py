"""What `EdgeGibbs` finds out about itself: few particles, what a pseudo-likelihood overstates, no moves."""

import numpy as np
from scipy.special import expit, logit

from pymc_mrf.fields.coupling_strength import STRONG_INFLUENCE, influence_radius
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.likelihood.conditional_weights import COUNTED_ONCE
from pymc_mrf.steps.common.chain_state import ChainCount, Remembering
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.common.sample_checks import EDGE_NOISE

# From docs/_results/pseudo_likelihood_calibration.md: beyond these two limits more than twice as many edges
# are false as claimed, and about as many as expected; within them the difference is smaller, or of few edges.
EXCESS_SHARE = 0.1
"""How large the share of false edges, beyond those claimed, may be among those found without a warning."""
EXCESS_NUMBER = 1.0
"""Their number, likewise."""


AS_CANDIDATES = "Take its edges for candidates: no other likelihood serves this model"
COUNT_ONCE = 'Declare with likelihood="pseudo", which counts each edge once'


def too_few_particles(name: str, noise: float, n_particles: int) -> list[str]:
    """Warn if the noise is above its target."""
    if noise <= EDGE_NOISE:
        return []
    enough = int(np.ceil(1.2 * n_particles * (noise / EDGE_NOISE) ** 2))
    return [
        f"The {n_particles} particles of EdgeGibbs are too few for {name}: estimated log-likelihood "
        f"ratios have a noise of {noise:.2f}, above {EDGE_NOISE:g}. Try n_particles={enough}"
    ]


def strong_couplings(field: ObservedField, weights: list[np.ndarray], instead: str) -> list[str]:
    """Warn if the pseudo-likelihood was used although couplings are strong.

    Parameters
    ----------
    field : ObservedField
    weights : list of (r,) arrays
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


class PseudoClaims(Remembering):
    """What the draws of a chain claim by a pseudo-likelihood.

    Attributes
    ----------
    n_draws : int
    included, log_odds : (r,) arrays
        Sums over the draws: whether each edge is present, and the log odds of that a priori.
    weights : list of arrays
        Parameters of all edges of all fields at some of the draws.
    """

    remembers = ("n_draws", "included", "log_odds", "weights")

    def __init__(self) -> None:
        self.n_draws, self.included, self.log_odds = 0, np.zeros(1), np.zeros(1)
        self.weights: list[np.ndarray] = []

    def add(self, present: np.ndarray, log_odds: np.ndarray) -> None:
        """Add a draw with these edges (r,)."""
        self.n_draws += 1
        self.included, self.log_odds = self.included + present, self.log_odds + log_odds

    def warn(self, name: str, fields: list[ObservedField], instead: str) -> list[str]:
        """Warn of claims about the edges called `name`, for one reason only.

        `instead` is another likelihood of the fields, "" if there is none.
        """
        twice = seen_twice(fields, len(self.included))
        claims = self.included[twice] / self.n_draws, self.log_odds[twice] / self.n_draws
        said = overstated_edges(name, fields[0].name, *claims, fields[0].conditional_weight)
        if said or any(f.likelihood != "pseudo" or isinstance(f.graph, LaggedGraph) for f in fields):
            return said  # rows of fields in time are not those of a field
        ends = np.cumsum([field.factors.size for field in fields])[:-1]
        for field, eta in zip(fields, np.split(np.array(self.weights), ends, 1), strict=True):
            rows = [len(block) for block in field.blocks]
            means = np.average(eta.reshape(len(eta), len(rows), -1), axis=1, weights=rows)
            said += strong_couplings(field, list(means), instead)
        return said


def seen_twice(fields: list[ObservedField], n_entries: int) -> np.ndarray:
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


def never_changed(name: str, count: ChainCount) -> list[str]:
    """Warn if no draw changed an edge or a weight."""
    if not count.stood_still:
        return []
    return [
        f"{name} never changed in {count.n_draws} draws: EdgeGibbs changed neither an edge nor a weight, "
        "and these draws are no sample. Tune longer (pm.sample(tune=...)), start elsewhere "
        "(initvals={...}), or give the slab more room if it ends near the values"
    ]
