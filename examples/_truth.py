"""How near what was learnt comes to a known truth: of edges, and of groups of edges."""

import numba
import numpy as np
import xarray as xr

import pymc_mrf as pmrf


def precision_recall(inclusion: np.ndarray, truth: np.ndarray) -> xr.Dataset:
    """Compare inclusion probabilities (r,) with the edges that really exist, (r,), numbers other than 0.

    ``precision``, ``recall``, ``f1`` and ``n_edges`` (edges predicted) along the coordinate "threshold": 0,
    0.5 and all values of `inclusion` in increasing order, which is every set of edges that a threshold can
    choose; ``.sel(threshold=0.5)`` is the median graph. Precision is NaN where no edge is predicted.
    """
    p, present = np.asarray(inclusion), np.asarray(truth) != 0
    if p.shape != present.shape or not present.any():
        raise ValueError("inclusion and truth must have one value per edge, and truth an edge")
    thresholds = np.union1d(p, [0.0, 0.5])
    # edges above a threshold are those beyond its place in increasing order
    order = np.argsort(p, kind="stable")
    first = np.searchsorted(p[order], thresholds, side="right")
    correct_beyond = np.append(np.cumsum(present[order][::-1])[::-1], 0)
    correct, predicted = correct_beyond[first], p.size - first
    with np.errstate(invalid="ignore"):
        precision = correct / predicted
    return xr.Dataset(
        {
            "precision": ("threshold", precision),
            "recall": ("threshold", correct / present.sum()),
            "f1": ("threshold", 2.0 * correct / (predicted + present.sum())),
            "n_edges": ("threshold", predicted),
        },
        coords={"threshold": thresholds},
    )


def vi_difference(labels: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> float:
    """How much closer sampled groupings (..., r) are to the true one (r,) than random ones, in nats.

    The mean over draws of VI(random, truth) - VI(draw, truth) (Liu & Page, 2013, sec. 4). The random grouping
    of each draw is uniform among all partitions of the items into exactly as many groups as the draw has.
    Positive if the draws tell more about the truth than their number of groups does.
    """
    rows = np.asarray(labels).reshape(-1, len(truth))
    counts = np.array([len(np.unique(row)) for row in rows])
    random = np.empty_like(rows)
    random_groupings(counts, alone_probabilities(len(truth), int(counts.max())), random, rng)
    far, near = (pmrf.analysis.variation_of_information(part, truth) for part in (random, rows))
    return float((far - near).mean())


@numba.njit
def alone_probabilities(r, K):
    """P(item n is a group of its own) among the partitions of n items into k groups, (r + 1, K + 1).

    S(n - 1, k - 1) / S(n, k) with S the Stirling numbers of the second kind.
    """
    alone = np.zeros((r + 1, K + 1))
    log_s = np.full(K + 1, -np.inf)  # log S(n, .)
    log_s[0] = 0.0
    for n in range(1, r + 1):
        for k in range(min(n, K), 0, -1):
            top = max(log_s[k - 1], log_s[k] + np.log(k))
            if top == -np.inf:
                continue
            new = top + np.log(np.exp(log_s[k - 1] - top) + np.exp(log_s[k] + np.log(k) - top))
            alone[n, k] = np.exp(log_s[k - 1] - new)
            log_s[k] = new
        log_s[0] = -np.inf
    return alone


@numba.njit
def random_groupings(n_groups, alone, out, rng):
    """Draw a uniform partition into exactly ``n_groups[t]`` groups for each row of `out` (n, r).

    `n_groups` is (n,); `alone` (r + 1, K + 1) from `alone_probabilities`. Items are taken from the last to
    the first: each is alone, or joins one of the k groups of the items before it, all equally likely.
    """
    n, r = out.shape
    for t in range(n):
        k = n_groups[t]
        for i in range(r - 1, -1, -1):
            if rng.random() < alone[i + 1, k]:
                k -= 1
                out[t, i] = k
            else:
                out[t, i] = int(rng.random() * k)
