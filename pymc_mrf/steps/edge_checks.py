"""What `EdgeGibbs` finds out about itself: few particles, strong couplings, weights that stand still."""

import numpy as np

from pymc_mrf.fields.coupling_strength import STRONG_INFLUENCE, influence_radius
from pymc_mrf.steps.base import ChainCount
from pymc_mrf.steps.observed_field import ObservedField

EDGE_NOISE = 0.5
"""Largest noise of the log-likelihood ratios that is no reason to warn: they are corrected for it."""

COUPLING_DRAWS = 20
"""Draws, about, at which the strength of couplings is looked at under a pseudo-likelihood."""


def too_few_particles(name: str, squares: list[float], n_particles: int) -> list[str]:
    """Warn if the noise, root mean of its `squares` over the draws, is above its target."""
    rms = float(np.sqrt(np.mean(squares)))
    if rms <= EDGE_NOISE:
        return []
    enough = int(np.ceil(1.2 * n_particles * (rms / EDGE_NOISE) ** 2))
    return [
        f"The {n_particles} particles of EdgeGibbs are too few for {name}: estimated log-likelihood "
        f"ratios have a noise of {rms:.2f}, above {EDGE_NOISE:g}. Try n_particles={enough}"
    ]


def is_kept(count: ChainCount) -> bool:
    """Whether the next draw is one of those at which couplings are looked at."""
    return count.n_draws % max(count.length // COUPLING_DRAWS, 1) == 0


def strong_couplings(field: ObservedField, weights: list[np.ndarray]) -> list[str]:
    """Warn if the pseudo-likelihood was used although couplings are strong.

    Parameters
    ----------
    field : ObservedField
    weights : list of (r,) arrays
        Some draws; the median over them of `influence_radius` counts, as in `pymc_mrf.diagnose`.
    """
    graph, radii = field.graph, []
    for w in weights:
        present = np.flatnonzero(w)
        tables = field.family.edge_tables(w[present])
        radii.append(influence_radius(graph.edges[present], tables, graph.n_nodes))
    radius = float(np.median(radii))
    if radius < STRONG_INFLUENCE:
        return []
    return [
        f'The nodes of {field.name} are too strongly coupled for likelihood="pseudo": the influence of '
        f"neighbours is {radius:.2f}, above {STRONG_INFLUENCE:g}, so that the draws of EdgeGibbs may be far "
        'from the posterior. Use likelihood="exact" if the junction tree is small, else "particles"; '
        "plot_ppc_edges shows what the fit misses"
    ]


def never_changed(name: str, count: ChainCount) -> list[str]:
    """Warn if no draw changed an edge or a weight."""
    if not count.stood_still:
        return []
    return [
        f"{name} never changed in {count.n_draws} draws: EdgeGibbs changed neither an edge nor a weight, "
        "and these draws are no sample. Tune longer (pm.sample(tune=...)), start elsewhere "
        "(initvals={...}), or give the slab more room if it ends near the values"
    ]
