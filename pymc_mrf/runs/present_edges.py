"""Draws of many edges of which few are present: these alone are kept, on disk and in memory.

Of 1,024 nodes a draw of all candidate edges takes 4 MB, a thousand draws of four chains 17 GB, nearly all of
them zeros. What is written down is which edges are present in each draw, and their values. Results have an
array of the usual dimensions that xarray reads lazily: what is taken of it is expanded then.
"""

import json
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import xarray as xr
from scipy.sparse import csc_array, csr_array, vstack
from xarray.backends import BackendArray
from xarray.core import indexing

from pymc_mrf.analysis.edges import MOST_JUDGED
from pymc_mrf.distributions.spike_and_slab import has_large_blocks
from pymc_mrf.steps.edges.edge_step import is_spike_and_slab

MANY_EDGES = 10_000
"""Edges of a vector from which on draws hold those present only."""

PACKED = "present_edges"  # attribute of a piece that says which variables are written so
KEPT = "kept"  # attribute of such a variable in results


def with_many_edges(model: pm.Model) -> tuple[str, ...]:
    """Name the vectors of a model of whose edges those present are kept."""
    return tuple(
        rv.name
        for rv in model.free_RVs
        if is_spike_and_slab(rv)
        and not has_large_blocks(rv)
        and rv.owner.op.n >= MANY_EDGES
        and model.rvs_to_transforms[rv] is None
    )


class Packed(NamedTuple):
    """Draws of one chain and variable: its name and dimension, its labels if there are any, and the draws."""

    dim: str
    labels: xr.DataArray | None
    draws: csr_array


class PresentDraws:
    """What is not 0 in the draws of some vectors of a chain.

    `names`: the vectors.

    Attributes: `n_bytes`: what the draws so far take.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._entries: dict[str, list[np.ndarray]] = {name: [] for name in names}
        self._values: dict[str, list[np.ndarray]] = {name: [] for name in names}
        self.n_bytes = 0

    def add(self, point: dict[str, np.ndarray]) -> None:
        for name, entries in self._entries.items():
            [entry] = np.nonzero(point[name])
            entries.append(entry.astype(np.int32))
            self._values[name].append(point[name][entry])
            self.n_bytes += entries[-1].nbytes + self._values[name][-1].nbytes

    def pack(self, posterior: xr.Dataset, model: pm.Model, with_labels: bool) -> xr.Dataset:
        """Write them to the `posterior` of all else as draws, places and values of what is not 0."""
        told: dict[str, Any] = {}
        for name, entries in self._entries.items():
            dim = model.named_vars_to_dims.get(name, (f"{name}_dim_0",))[-1]
            size, present = int(model[name].owner.op.n), f"{name}_present"
            told[name] = [dim, size]
            draw = np.repeat(np.arange(len(entries), dtype=np.int32), [len(entry) for entry in entries])
            posterior = posterior.assign(
                {
                    f"{name}_draw": (present, draw),
                    f"{name}_entry": (present, np.concatenate(entries)),
                    f"{name}_value": (present, np.concatenate(self._values[name])),
                }
            )
            if with_labels:
                labels = model.coords.get(dim)
                labels = np.arange(size) if labels is None else np.array(labels)
                posterior = posterior.assign_coords({dim: labels})
        return posterior.assign_attrs({PACKED: json.dumps(told)}) if told else posterior


def unpack(posterior: xr.Dataset, n: int, labels: Any) -> tuple[xr.Dataset, dict[str, Packed]]:
    """Return the first `n` draws of what is not packed, and of the rest by name; `labels` by dimension."""
    told, found = json.loads(posterior.attrs.get(PACKED, "{}")), {}
    for name, (dim, size) in told.items():
        places = [posterior[f"{name}_{part}"].values for part in ("value", "draw", "entry")]
        draws = csr_array((places[0], tuple(places[1:])), shape=(posterior.sizes["draw"], size))
        found[name] = Packed(dim, labels.get(dim), draws[:n])
        posterior = posterior.drop_vars([f"{name}_{part}" for part in ("value", "draw", "entry")])
    dims = {packed.dim for packed in found.values()} & set(posterior.coords)
    rest = posterior.drop_vars(dims).isel(draw=slice(0, n), missing_dims="ignore")
    rest.attrs.pop(PACKED, None)
    return rest, found


class PresentEdges(BackendArray):
    """Draws (chain, draw, r) of which xarray expands what it is asked for.

    `chains`: of equal length.
    """

    def __init__(self, chains: list[csr_array]) -> None:
        n_draws, r = chains[0].shape
        self.shape, self.dtype = (len(chains), n_draws, r), np.dtype(np.float64)
        self._draws: csc_array = vstack(chains, format="csc")

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        outer = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, outer, self._expand)

    def _expand(self, key: tuple[Any, ...]) -> np.ndarray:
        """Expand what integers, slices and arrays choose, one for each dimension."""
        chains, draws, edges = (np.arange(n)[one] for n, one in zip(self.shape, key, strict=True))
        shape = chains.shape + draws.shape + edges.shape
        rows = np.add.outer(chains * self.shape[1], draws).ravel()
        columns = np.atleast_1d(edges)
        found = self._draws[:, _range_of(columns)]
        return found[_range_of(rows)].toarray().reshape(shape)


def _range_of(places: np.ndarray) -> slice | np.ndarray:
    """Return a slice in place of places that follow one another, which is quicker to take."""
    first, n = (int(places[0]), len(places)) if len(places) else (0, 0)
    return slice(first, first + n) if np.array_equal(places, np.arange(first, first + n)) else places


def attach(posterior: xr.Dataset, chains: list[dict[str, Packed]]) -> xr.Dataset:
    """Add the packed variables of all chains to their posterior, to be expanded when they are read."""
    for name, (dim, labels, _) in chains[0].items():
        draws = indexing.LazilyIndexedArray(PresentEdges([chain[name].draws for chain in chains]))
        posterior = posterior.assign({name: (("chain", "draw", dim), draws, {KEPT: PACKED})})
        if labels is not None:
            posterior = posterior.assign_coords({dim: labels})
    return posterior


def joined(parts: list[dict[str, Packed]]) -> dict[str, Packed]:
    """Put the draws of parts of a chain, the first of which has the labels, one after the other."""
    return {
        name: first._replace(draws=vstack([part[name].draws for part in parts], format="csr"))
        for name, first in parts[0].items()
    }


def some_entries(idata: xr.DataTree) -> xr.DataTree:
    """Leave `MOST_JUDGED` edges, evenly apart, of vectors of which those present are kept, to judge them."""
    posterior = idata["posterior"].to_dataset() if "posterior" in idata.children else xr.Dataset()
    dims = [v.dims[-1] for v in posterior.data_vars.values() if v.attrs.get(KEPT) == PACKED]
    if not dims:
        return idata
    sizes = {dim: posterior.sizes[dim] for dim in dims}
    some = {dim: np.unique(np.linspace(0, n - 1, MOST_JUDGED).astype(int)) for dim, n in sizes.items()}
    return idata.assign({"posterior": xr.DataTree(posterior.isel(some).compute())})
