"""How many rows does it take? Networks simulated, fitted and compared with the truth, at several sizes."""

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.analysis.centrality import node_measures
from pymc_mrf.analysis.edges import edge_inclusion, edge_values, prior_probabilities
from pymc_mrf.checks import sequence, whole_number
from pymc_mrf.distributions.field_record import scale_of
from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
from pymc_mrf.distributions.mixed_rv import MixedFieldRV
from pymc_mrf.distributions.mrf_rv import EXACT_DRAW_CELLS, MarkovRandomFieldRV
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph.coordinates import node_names
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.runs.progress import duration
from pymc_mrf.runs.replicates import replicate

log = logging.getLogger("pymc.pymc_mrf")

SAMPLING = {"draws": 1000, "tune": 500, "chains": 2, "cores": 1, "progressbar": False, "quiet": True}
OF_TRUTH = {"true_weight": "edge", "true_strength": "node"}
OF_FITS = {
    "inclusion": "edge",
    "bayes_factor": "edge",
    "bayes_factor_bound": "edge",
    "mean": "edge",
    "strength": "node",
    "seconds": "",
}


class Truth(NamedTuple):
    """A field with known parameters.

    `graph`: the candidate edges. `weight` (r,). `content`: all of its numbers. `rows`: draws rows (n, d)
    from their number and a generator. `scale` (d,), optional: of a Gaussian field, what its measurements
    are divided by.
    """

    graph: PairwiseGraph
    weight: np.ndarray
    content: bytes
    rows: Callable[[int, np.random.Generator], np.ndarray]
    scale: np.ndarray | None = None


@dataclass(frozen=True)
class Study:
    """What a replicate needs; its text tells one study from another in a store."""

    build: Callable[[np.ndarray], pm.Model]
    truth: Any
    sizes: list[int]
    var_name: str
    random_seed: int
    options: dict[str, Any] = field(repr=False)
    prior_inclusion: Any = None

    def __repr__(self) -> str:
        first = self.draw_truth(np.random.default_rng(self.seeds(0)))
        known = [] if self.prior_inclusion is None else [np.asarray(self.prior_inclusion).tolist()]
        digest = hashlib.sha256(
            repr((first.weight.tolist(), sorted(self.options.items()), *known)).encode() + first.content
        )
        return (
            f"sizes={self.sizes}, random_seed={self.random_seed}, var_name={self.var_name!r}, truth and "
            f"options {digest.hexdigest()[:12]}"
        )

    def seeds(self, *of: int) -> np.random.SeedSequence:
        """Return the seeds of a replicate, or of one size of it.

        They are others than those of ``default_rng(random_seed)``, by which the truth may have been drawn.
        """
        return np.random.SeedSequence(self.random_seed, spawn_key=of)

    def draw_truth(self, rng: np.random.Generator) -> Truth:
        return read_truth(self.truth(rng) if callable(self.truth) else self.truth)


def plan_study(
    truth: Any,
    build: Callable[[np.ndarray], pm.Model],
    sizes: Sequence[int],
    *,
    replicates: int = 20,
    var_name: str = "weight",
    prior_inclusion: Any = None,
    random_seed: int | None = None,
    store: str | PathLike | None = None,
    client: Any = None,
    progressbar: bool = True,
    **kwargs: Any,
) -> xr.Dataset:
    """Simulate tables of several sizes from a known network, fit each, and keep what was found.

    The first replicate of every size is run first, and the log then says how long the others will take. With
    a store the study may be stopped there, or anywhere, and the same call goes on, also with more replicates.

    Parameters
    ----------
    truth : field variable, or callable
        Made by ``pymc_mrf.BoltzmannMachine.dist(weight, bias, graph=graph)`` or another field with one number
        per edge, also by `GaussianMRF`. Weights of 0 are absent edges. A function of a
        `numpy.random.Generator` that makes such a variable gives each replicate a truth of its own, such as a
        draw from the posterior of earlier data.
    build : callable
        Makes the `pymc.Model` of a table (n, d), with the edges of the graph of the truth. A store does not
        look at what it does.
    sizes : sequence of int
        Increasing numbers of rows. In a replicate, smaller tables are the first rows of larger ones.
    replicates : int
        Of every size.
    var_name : str
        The `SpikeAndSlab` on the edges.
    prior_inclusion : float or (r,) array_like, optional
        Prior probability of the edges, if models do not tell it.
    random_seed : int, optional
        Governs everything; needed with a store.
    store, client, progressbar
        As in `replicate`, of which each fit is one.
    **kwargs
        Of `pymc.sample`; by default 1000 draws after 500 tuning steps, in two chains one after the other.

    Returns
    -------
    xarray.Dataset
        With the dimensions "replicate", "n", "edge" and "node": the true ``true_weight`` and
        ``true_strength``, and of each fit ``inclusion``, ``bayes_factor`` and ``bayes_factor_bound`` as of
        `edge_inclusion`, the posterior ``mean`` of the weights, that of the ``strength`` of nodes, and
        ``seconds``. NaN where a fit failed. Weights of measurements are in the units of the truth, whatever
        the `scale` of the fields that are fitted.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, `truth` is no pairwise field of known parameters, or there is a store of
        another study.
    RuntimeError
        If all fits of the first replicate fail, with the reason of one.

    See Also
    --------
    summarize_plan : What can be expected at each size.
    plot_plan : A picture of it.

    Examples
    --------
    >>> truth = pymc_mrf.BoltzmannMachine.dist(weight, bias, graph=graph)
    >>> study = pymc_mrf.plan_study(truth, build, [100, 300, 1000], store="plan", random_seed=1)
    >>> pymc_mrf.summarize_plan(study)
    """
    if not callable(build):
        raise TypeError(f"build must be a function of a table that makes a pymc.Model, not {build!r}")
    sizes = [whole_number(n, "sizes", 2) for n in sequence(sizes, "sizes", "numbers of rows")]
    if not sizes or np.any(np.diff(sizes) <= 0):
        raise ValueError(f"sizes must be one or more increasing numbers of rows, not {sizes}")
    replicates = whole_number(replicates, "replicates", 1)
    if random_seed is None:
        if store is not None:
            raise ValueError("random_seed must be given with a store, or the study could not go on")
        random_seed = int(np.random.default_rng().integers(2**31))
    random_seed = whole_number(random_seed, "random_seed", 0)
    options = {**SAMPLING, **kwargs}
    study = Study(build, truth, sizes, var_name, random_seed, options, prior_inclusion)
    first = study.draw_truth(np.random.default_rng(study.seeds(0)))
    if prior_inclusion is not None:  # or they are none of the edges
        prior_probabilities(prior_inclusion, first.graph.n_edges)
    run = partial(
        replicate, partial(fit_study, study=study), store=store, client=client, progressbar=progressbar
    )
    pilot = run(range(len(sizes)))
    if not pilot.results:
        raise RuntimeError(f"no fit of the first replicate succeeded:\n{pilot.failures[0]}")
    found = dict(pilot.results)
    if replicates > 1:
        _tell_time(pilot.results, sizes, replicates - 1, client, store)
        found |= run(range(len(sizes), replicates * len(sizes))).results
    return _as_dataset(found, sizes, replicates, first.graph)


def read_truth(variable: Any) -> Truth:
    """Take the graph and the numbers from a field variable."""
    op = getattr(getattr(variable, "owner", None), "op", None)
    what = op._print_name[0] if isinstance(op, RandomVariable) else type(variable).__name__
    if isinstance(op, MixedFieldRV) or (isinstance(op, MarkovRandomFieldRV) and op.family.has_blocks):
        raise TypeError(
            f"truth is a {what}, whose edges may have several parameters, but studies compare one number "
            "per edge: draw tables by pymc.draw, and fit and compare them with pymc_mrf.replicate and "
            "pymc_mrf.analysis.edge_strength"
        )
    if not isinstance(op, MarkovRandomFieldRV | GaussianFieldRV) or op.family.edge_axes:
        raise TypeError(
            "truth must be a pairwise field with one number per edge, such as "
            f"pymc_mrf.BoltzmannMachine.dist(weight, bias, graph=graph), or a function that makes one, not a "
            f"{what}"
        )
    if variable.type.ndim > 1:
        raise ValueError(
            "truth is many rows of a field: make it without size and shape, as rows are drawn here"
        )
    parameters = op.dist_params(variable.owner)
    if any(v.owner and isinstance(v.owner.op, RandomVariable) for v in ancestors(parameters)):
        raise ValueError(
            "truth has random parameters: give numbers, or a function of a numpy.random.Generator that "
            "draws them"
        )
    values = [p.eval() for p in parameters]
    if isinstance(op, GaussianFieldRV):
        return _measured_truth(op, *values)
    graph, tables = op.graph, op.log_tables(values)
    edge_tables = np.broadcast_to(tables[0], (graph.n_edges, *tables[0].shape[-2:]))
    weight = op.family.natural(np.broadcast_to(values[0], graph.n_edges))
    kept = np.flatnonzero(weight)
    # networkx would list them in another order
    present = PairwiseGraph(
        graph.nodes, [(graph.nodes[u], graph.nodes[v]) for u, v in graph.edges[kept]]
    )
    node_tables = np.broadcast_to(tables[1], (graph.n_nodes, tables[1].shape[-1]))
    known = PairwiseField(present, edge_tables[kept], node_tables)
    is_exact = known.junction_tree.n_cells <= EXACT_DRAW_CELLS

    def rows(n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw exactly if the edges that are present allow it, else by Gibbs sweeps."""
        return op.decode(known.sample(n, "exact" if is_exact else "gibbs", rng=rng))

    return Truth(graph, weight, known.log_tables().tobytes(), rows)


def _measured_truth(op: GaussianFieldRV, *values: np.ndarray) -> Truth:
    """Take the graph and the numbers, weight, diagonal and mean, of a Gaussian field."""
    graph, d = op.graph, op.graph.n_nodes
    weight, diagonal, mean = (
        np.broadcast_to(v, (k,)).astype(np.float64)
        for v, k in zip(values, (graph.n_edges, d, d), strict=True)
    )
    (u, v), K = graph.edges.T, np.diag(diagonal)
    K[u, v] = K[v, u] = -weight
    if not np.linalg.eigvalsh(K)[0] > 0.0:
        raise ValueError(
            "truth is a GaussianMRF whose precision is not positive definite: give smaller weights, or a "
            "larger diagonal"
        )
    S, scale = np.linalg.inv(K), np.array(op.scale)

    def rows(n: int, rng: np.random.Generator) -> np.ndarray:
        return mean + scale * rng.multivariate_normal(np.zeros(d), S, size=n, method="cholesky")

    content = np.concatenate([weight, diagonal, mean, scale]).tobytes()
    return Truth(graph, weight, content, rows, scale)


def fit_study(seed: int, study: Study) -> dict[str, Any]:
    """Simulate one table and fit it; seeds count the sizes of a replicate, and then the replicates."""
    start = time.perf_counter()
    number, place = divmod(seed, len(study.sizes))
    rng = np.random.default_rng(study.seeds(number))
    truth = study.draw_truth(rng)
    rows = truth.rows(study.sizes[-1], rng)[: study.sizes[place]]
    chain_seed = study.seeds(number, place).generate_state(1)[0]
    model = study.build(rows)
    with model:
        idata = pm.sample(**{"random_seed": int(chain_seed), **study.options})
    weight = edge_values(idata, study.var_name, truth.graph, "posterior")
    units = np.ones(truth.graph.n_edges)
    if truth.scale is not None:
        units = (truth.scale / scale_of(model, study.var_name))[truth.graph.edges].prod(axis=1)
    in_units = xr.DataTree.from_dict({"posterior": (weight * units).to_dataset(name=study.var_name)})
    known = study.prior_inclusion
    options = {"model": model} if known is None else {"prior_inclusion": known}
    edges = edge_inclusion(idata, study.var_name, **options)
    measured = node_measures(in_units, study.var_name, graph=truth.graph, measures=["strength"])
    true_strength = np.zeros(truth.graph.n_nodes)
    np.add.at(true_strength, truth.graph.edges.ravel(), np.repeat(np.abs(truth.weight), 2))
    return {
        "true_weight": truth.weight,
        "true_strength": true_strength,
        **{name: edges[name].values for name, dim in OF_FITS.items() if dim == "edge"},
        "mean": units * edges["mean"].values,
        "strength": measured.strength.mean(("chain", "draw")).values,
        "seconds": time.perf_counter() - start,
    }


def _tell_time(
    pilot: dict[int, Any], sizes: list[int], n_replicates: int, client: Any, store: Any
) -> None:
    seconds = np.array([pilot[k]["seconds"] if k in pilot else np.nan for k in range(len(sizes))])
    # more rows take no less time: what is above that is compilation, in the first fit
    seconds = np.fmin.accumulate(seconds[::-1])[::-1]
    workers = 1 if client is None else max(1, len(client.nthreads()))
    total = np.nansum(seconds) * n_replicates / workers
    log.info(
        f"plan_study: {n_replicates * len(sizes)} more fits will take {duration(total)}"
        f"{f' on {workers} workers' if workers > 1 else ''}"
        f"{', less those that the store has' if store is not None else ''}; one takes "
        + ", ".join(f"{s:.1f} s with {n} rows" for n, s in zip(sizes, seconds, strict=True))
    )


def _as_dataset(
    found: dict[int, Any], sizes: list[int], replicates: int, graph: PairwiseGraph
) -> xr.Dataset:
    labels = {"edge": list(graph.edge_labels), "node": node_names(graph)}
    data = {}
    for name, dim in {**OF_TRUTH, **OF_FITS}.items():
        dims = ["replicate"] if name in OF_TRUTH else ["replicate", "n"]
        shape = [replicates, len(sizes)][: len(dims)] + ([len(labels[dim])] if dim else [])
        values = np.full(shape, np.nan)
        for seed, fit in found.items():
            values[divmod(seed, len(sizes))[: len(dims)]] = fit[name]
        data[name] = (dims + ([dim] if dim else []), values)
    return xr.Dataset(data, coords={"replicate": np.arange(replicates), "n": sizes, **labels})
