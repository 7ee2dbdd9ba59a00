"""Data, results and priors of the R package bgms 0.2.0; tests/data/bgms/README.md describes the files."""

import gzip
import json
from pathlib import Path
from typing import NamedTuple

import arviz as az
import numpy as np
import pymc as pm
from scipy import stats

import pymc_mrf as pmrf

FOLDER = Path(__file__).parent.parent / "data" / "bgms"
NAMES = ("anes96", "ordinal10", "lattice100", "senate05")


class Bgms(NamedTuple):
    """What bgms found, edges (0, 1), (0, 2), ... of the complete graph.

    Attributes
    ----------
    inclusion : (n_runs, r) array
    by_chain : (2, r) array
        Inclusion probabilities of the two chains of the first run.
    ess_per_second : (float, float)
        Effective draws of the weights per CPU second, median and minimum.
    draws, tune : int
        Of each of two chains.
    seconds : float
        CPU time of the first run.
    """

    inclusion: np.ndarray
    by_chain: np.ndarray
    ess_per_second: tuple[float, float]
    draws: int
    tune: int
    seconds: float


def text(name: str) -> str:
    path = FOLDER / name
    if path.exists():
        return path.read_text()
    return gzip.decompress((FOLDER / f"{name}.gz").read_bytes()).decode()


def data(name: str) -> np.ndarray:
    """Rows (n, d) of states from 0."""
    if name == "anes96":
        voters = pmrf.datasets.load_anes96()
        return np.column_stack([voters.x, voters.tv_news])
    if name == "senate05":
        return np.asarray(pmrf.datasets.load_senate109(session=1).x)
    return np.loadtxt(text(f"{name}.csv").splitlines(), delimiter=",", skiprows=1, dtype=np.int64)


def results(name: str) -> Bgms:
    found = json.loads(text(f"{name}.json"))
    draws, tune = (500, 500) if name in ("lattice100", "senate05") else (2000, 1000)
    median, least = found["ess_per_cpu_second"]
    return Bgms(
        np.array(found["inclusion"]),
        np.array(found["inclusion_by_chain_first_run"]),
        (median, least),
        draws,
        tune,
        found["cpu_seconds"][0],
    )


def trusted(name: str) -> np.ndarray:
    """Which edges to compare (r,): tests/data/bgms/README.md says why not all of ordinal10."""
    first, second = np.triu_indices(data(name).shape[1], 1)
    if name != "ordinal10":
        return np.ones(len(first), dtype=bool)
    return ~(np.isin(first, (2, 3)) | np.isin(second, (2, 3)))


def model(x: np.ndarray, p: float = 0.5) -> pm.Model:
    """The model of bgms: its priors, thresholds as logits of Beta(1/2, 1/2), and the pseudo-likelihood."""
    d, k = x.shape[1], x.max(axis=0) + 1
    options = {"graph": pmrf.graphs.complete(d), "observed": x, "likelihood": pmrf.Pseudo(weight=1)}
    with pm.Model() as result:
        w = pmrf.SpikeAndSlab("w", p, pm.Cauchy.dist(0, 2), shape=options["graph"].n_edges)
        q = pm.Beta("q", 0.5, 0.5, shape=d if k.max() == 2 else (d, k.max() - 1))
        if k.max() == 2:
            pmrf.BoltzmannMachine("x", w, pm.math.logit(q), **options)
        else:
            pmrf.OrdinalMRF("x", w, pm.math.logit(q), n_states=k, **options)
    return result


def pooled(variances: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Variances of means m (r,) of zeros and ones as one multiple of m (1 - m) for all edges (r,)."""
    bernoulli = mean * (1.0 - mean)
    return bernoulli * variances.sum() / bernoulli.sum()


def inclusion(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inclusion probabilities, and their Monte-Carlo errors, of weights w (chain, draw, r)."""
    present = (w != 0).astype(float)
    moved = present.min(axis=(0, 1)) < present.max(axis=(0, 1))
    # an edge that is in all draws or in none: as if it had differed in one
    n = present[..., 0].size
    error = np.full(present.shape[-1], 1.0 / n)
    error[moved] = np.maximum(az.mcse(present[..., moved], method="mean"), 1.0 / n)
    mean = present.mean(axis=(0, 1))
    # of few draws the error of one edge is itself uncertain: those of all edges together are not
    return mean, np.maximum(error, np.sqrt(pooled(error**2, mean)))


def variances(found: Bgms) -> tuple[np.ndarray, np.ndarray]:
    """Monte-Carlo variances of the inclusion probabilities of bgms, both (r,).

    From the spread between its runs and chains: of every edge by itself; and as a multiple of m (1 - m), m
    its inclusion probability, the same for all edges.
    """
    m, chains = found.inclusion.mean(axis=0), found.by_chain
    per_edge = (chains[0] - chains[1]) ** 2 / 4.0 / len(found.inclusion)
    if len(found.inclusion) > 1:
        per_edge = np.maximum(per_edge, found.inclusion.var(axis=0, ddof=1) / len(found.inclusion))
    return per_edge, pooled(per_edge, m)


def least_error(found: Bgms) -> float:
    """Error of an edge that is in all draws or in none."""
    return 1.0 / (2 * found.draws * len(found.inclusion))


def tail(found: Bgms, kept: np.ndarray) -> float:
    """How much heavier than those of normals the tails of the errors of bgms are, at least 1.

    Some edges mix worse than others: the largest difference between the two chains, in pooled errors, over
    what is the median of the largest for as many normals.
    """
    _, pooled = variances(found)
    error = 2.0 * np.sqrt(len(found.inclusion) * (pooled + least_error(found) ** 2))
    largest = np.abs((found.by_chain[0] - found.by_chain[1]) / error)[kept].max()
    return max(float(largest / stats.norm.isf(0.5 * (1.0 - 0.5 ** (1.0 / kept.sum())))), 1.0)


def differences(found: Bgms, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Our inclusion probability less that of bgms, and the Monte-Carlo error of the difference, both (r,).

    The variance of bgms is the larger of both `variances`.
    """
    ours, error = inclusion(w)
    variance = np.maximum(*variances(found)) + least_error(found) ** 2
    return ours - found.inclusion.mean(axis=0), np.sqrt(error**2 + variance)
