"""Groups of equal parameters in a posterior: how many, which, and one grouping to report.

A parameter vector with exact ties is a partition of its entries: entries of one value form a group.
Functions on arrays come first, their labelled forms follow. Logarithms are natural.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, sampled_vector
from pymc_mrf.checks import check_same_labels
from pymc_mrf.kernels.groups import partitions as kernels

# with 3, every one of 900 noisy posteriors of 5 items led to the best of all partitions; with 1, 7 %
# did not
STARTS_PER_FAMILY = 3
SEARCHED_ROWS = 200  # that starts are improved on


def rank_labels(values: np.ndarray) -> np.ndarray:
    """Replace the values of each row (..., r) by their dense ranks 0, 1, ..., int32: equal if they are."""
    order = np.argsort(values, axis=-1)
    in_order = np.take_along_axis(values, order, axis=-1)
    ranks = np.zeros(values.shape, dtype=np.int32)
    np.cumsum(in_order[..., 1:] != in_order[..., :-1], axis=-1, out=ranks[..., 1:])
    labels = np.empty_like(ranks)
    np.put_along_axis(labels, order, ranks, axis=-1)
    return labels


def co_clustering_matrix(labels: np.ndarray) -> np.ndarray:
    """Share (r, r) of the rows of `labels` (n, r) int32 in which two items are in one group."""
    counts = np.zeros((labels.shape[1], labels.shape[1]), dtype=np.int32)
    kernels.co_occurrence(np.ascontiguousarray(labels), counts)
    return counts / labels.shape[0]


def vi_rows(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Variation of information between the last axes of `a` and `b`, leading axes broadcast."""
    for name, labels in (("a", a), ("b", b)):
        if labels.dtype.kind not in "iub":
            raise TypeError(
                f"{name} must hold integer group labels, not {labels.dtype}; "
                "group_labels turns sampled values into labels"
            )
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"a and b must label the same items along their last axis; shapes {a.shape}, {b.shape}"
        )
    if a.shape[-1] == 0:
        raise ValueError("a and b label no items; a grouping needs at least one")
    a, b = np.broadcast_arrays(rank_labels(a), rank_labels(b))
    r = a.shape[-1]
    out = np.zeros(a.shape[:-1])
    if out.size:
        flat_a, flat_b = a.reshape(-1, r), b.reshape(-1, r)
        flat = np.empty(out.size)
        kernels.variation_of_information(
            np.ascontiguousarray(flat_a), np.ascontiguousarray(flat_b), flat
        )
        out = flat.reshape(out.shape)
    return out


def hierarchical_candidates(similarity: np.ndarray, max_groups: int) -> np.ndarray:
    """Cuts of average- and complete-linkage trees on 1 - similarity, one row per cut, int32."""
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    distances = squareform(1.0 - similarity, checks=False)
    n_groups = np.arange(1, max_groups + 1)
    cuts = [
        hierarchy.cut_tree(hierarchy.linkage(distances, method), n_groups).T
        for method in ("average", "complete")
    ]
    return np.concatenate(cuts).astype(np.int32)


def minimise_expected_vi(labels: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Search the grouping with the smallest mean variation of information to the rows of `labels`.

    All starts are improved on some of the rows, and the best of them on all: on 2,000 groupings of 279 edges
    that takes less than half of the time of improving each on all rows, and finds the same.

    Parameters
    ----------
    labels : (n, r) int32 array
    rng : numpy.random.Generator
        Orders the items in the greedy search.

    Returns
    -------
    grouping : (r,) int32 array
    expected_vi : float
    """
    labels = np.ascontiguousarray(labels)
    r = labels.shape[1]
    n_groups = int(labels.max()) + 1
    similarity = co_clustering_matrix(labels)
    appearance = np.empty_like(labels)
    kernels.first_appearance(labels, appearance)
    families = [np.unique(appearance, axis=0)]
    if r > 1:
        families.append(hierarchical_candidates(similarity, n_groups))
    starts = [np.zeros((1, r), dtype=np.int32), np.arange(r, dtype=np.int32)[None]]
    for candidates in families:
        bound = np.empty(len(candidates))
        kernels.vi_lower_bound(candidates, similarity, bound)
        starts.append(candidates[np.argsort(bound, kind="stable")[:STARTS_PER_FAMILY]])

    def improve_all(groupings: np.ndarray, rows: np.ndarray) -> np.ndarray:
        members = np.empty_like(rows)
        start = np.empty((len(rows), n_groups + 1), dtype=np.int32)
        kernels.members_by_group(rows, members, start)
        for grouping in groupings:
            kernels.reassign_greedily(grouping, rows, members, start, rng)
        return np.array([vi_rows(grouping, labels).mean() for grouping in groupings])

    some = np.ascontiguousarray(labels[:: -(-len(labels) // SEARCHED_ROWS)])
    groupings = np.unique(rank_labels(np.concatenate(starts)), axis=0)
    best = groupings[np.argsort(improve_all(groupings, some), kind="stable")[:STARTS_PER_FAMILY]]
    expected = improve_all(best, labels)
    return best[np.argmin(expected)], float(expected.min())


def group_labels(idata: xr.DataTree, var_name: str, *, group: str = "posterior") -> xr.DataArray:
    """Group of every entry of a parameter vector, in every draw.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        A vector whose exact ties are groups, such as a `DirichletProcess`.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.DataArray
        Integer labels with the dims of the variable. In each draw 0 is the group of the smallest
        value, 1 of the next, and so on.

    Raises
    ------
    TypeError, ValueError
        If the variable is not a finite vector with chains and draws.
    """
    values = sampled_vector(idata, var_name, group)
    return values.copy(data=rank_labels(values.values)).rename(f"{var_name}_group")


def n_groups(idata: xr.DataTree, var_name: str, *, group: str = "posterior") -> xr.DataArray:
    """Count the groups of equal entries in every draw.

    Parameters
    ----------
    idata, var_name, group
        As in `group_labels`.

    Returns
    -------
    xarray.DataArray
        Integers with dims ("chain", "draw"), at least 1.
    """
    labels = group_labels(idata, var_name, group=group)
    return (labels.max(str(labels.dims[-1])) + 1).rename(f"{var_name}_n_groups")


def co_clustering(idata: xr.DataTree, var_name: str, *, group: str = "posterior") -> xr.DataArray:
    """Posterior probability that two entries have the same value.

    Parameters
    ----------
    idata, var_name, group
        As in `group_labels`. Chains are pooled.

    Returns
    -------
    xarray.DataArray
        Symmetric, in [0, 1], with dims (item, item + "_bis"), such as ("edge", "edge_bis").
    """
    labels = group_labels(idata, var_name, group=group)
    dim = labels.dims[-1]
    matrix = co_clustering_matrix(labels.values.reshape(-1, labels.sizes[dim]))
    items = labels[dim].values
    return xr.DataArray(
        matrix,
        dims=(dim, f"{dim}_bis"),
        coords={dim: items, f"{dim}_bis": items},
        name=f"{var_name}_co_clustering",
    )


def point_grouping(idata: xr.DataTree, var_name: str, *, group: str = "posterior") -> xr.DataArray:
    """One grouping to report: it minimises the posterior expected variation of information.

    Starting points are the best, by the lower bound of Wade & Ghahramani (2018), of all sampled
    groupings and of the cuts of average- and complete-linkage trees, besides the two trivial
    groupings. From each of them single items are moved greedily under the expectation itself, as
    by Dahl, Johnson & Müller (2022), over some of the draws; then, from the best of what is found, over all.
    The result is a local minimum, the same for the same draws.

    Parameters
    ----------
    idata, var_name, group
        As in `group_labels`. Chains are pooled.

    Returns
    -------
    xarray.DataArray
        Integer labels of the items, groups in increasing order of their posterior mean value.
        ``attrs["expected_vi"]`` is the expected variation of information, in nats.
    """
    values = sampled_vector(idata, var_name, group)
    dim = values.dims[-1]
    labels = rank_labels(values.values.reshape(-1, values.sizes[dim]))
    # the search has no randomness of its own to report: a fixed order of visits
    grouping, expected_vi = minimise_expected_vi(labels, np.random.default_rng(0))
    means = values.mean(SAMPLE_DIMS)
    grouping = np.unique(grouping, return_inverse=True)[1]
    group_means = np.bincount(grouping, weights=means.values) / np.bincount(grouping)
    rank = np.argsort(np.argsort(group_means, kind="stable"))
    return xr.DataArray(
        rank[grouping].astype(np.int32),
        dims=(dim,),
        coords=means.coords,
        name=f"{var_name}_point_grouping",
        attrs={"expected_vi": expected_vi},
    )


def variation_of_information(a: Any, b: Any) -> Any:
    """Distance between groupings: H(a | b) + H(b | a), in nats (Meilă, 2003).

    Parameters
    ----------
    a, b : integer arrays or xarray.DataArray
        Group labels of the same items along the last axis (for labelled arrays: along the last
        dimension of `a`, or of `b` if `a` is plain). Any integers will do; leading dimensions
        broadcast.

    Returns
    -------
    array or xarray.DataArray
        Of the leading dimensions; between 0, for equal groupings, and log(number of items).

    Raises
    ------
    TypeError
        If labels are not integers.
    ValueError
        If the items differ in number or in coordinates.
    """
    if not (isinstance(a, xr.DataArray) and isinstance(b, xr.DataArray)):
        check_same_labels(a, b, "a", "b")
    if not isinstance(a, xr.DataArray) and not isinstance(b, xr.DataArray):
        return vi_rows(_label_array(a, "a"), _label_array(b, "b"))
    labelled = a if isinstance(a, xr.DataArray) else b
    if not labelled.dims:
        raise ValueError("a and b must label items along their last dimension; one of them is a scalar")
    dim = labelled.dims[-1]
    a, b = (_labelled(labels, dim, name) for labels, name in ((a, "a"), (b, "b")))
    if a.sizes[dim] != b.sizes[dim]:
        raise ValueError(f"a labels {a.sizes[dim]} items along {dim!r}, b labels {b.sizes[dim]}")
    try:
        a, b = xr.align(a, b, join="exact")
    except ValueError as error:
        raise ValueError(
            f"a and b label other items, or in another order, along {dim!r}; put them in one order, "
            f"as in b.sel({dim}=a[{dim!r}])"
        ) from error
    return xr.apply_ufunc(
        vi_rows, a, b, input_core_dims=[[dim], [dim]], join="exact", keep_attrs=False
    ).rename("variation_of_information")


def _label_array(labels: Any, name: str) -> np.ndarray:
    if np.ma.is_masked(labels):
        raise ValueError(f"{name} has masked labels; every item needs a group")
    try:
        return np.asarray(labels)
    except ValueError as error:
        raise ValueError(
            f"{name} must be a rectangular array of group labels, not {labels!r}"
        ) from error


def _labelled(labels: Any, dim: Hashable, name: str) -> xr.DataArray:
    """Give a plain vector the dimension `dim`; check that a labelled array has it."""
    if not isinstance(labels, xr.DataArray):
        labels = _label_array(labels, name)
        if labels.ndim != 1:
            raise ValueError(
                f"{name} has shape {labels.shape}; beside a labelled array a plain one must be a "
                "vector of labels"
            )
        return xr.DataArray(labels, dims=(dim,))
    if dim not in labels.dims:
        raise ValueError(f"{name} has dims {labels.dims}, without the item dimension {dim!r}")
    return labels
