"""Edge parameters of several groups of rows: what they have in common, and sparse differences."""

import re
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from pytensor.graph.basic import Variable

from pymc_mrf.checks import check_labels, numeric_array, repeated, sequence, warn_user
from pymc_mrf.distributions.arguments import parameter
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab, SpikeAndSlabRV, check_probabilities

CONTRASTS = "_contrasts"  # ends the name of the data by which groups are known
DIFFERENCE = "_difference_"  # stands between the name and the number of a difference
MAX_DIVIDED = 6  # groups; their divisions into two are 31, those of seven 63
OTHER = re.compile(r"contrasts|difference_\d+|.*observed")  # endings of what is no variable of a group


def group_contrasts(n_groups: int) -> np.ndarray:
    """Contrasts (k, q) of k groups, of every division into two sides: the second side less the first.

    The first group is on the first side. Every partition of the groups is one into the groups that no
    contrast of some set tells apart. Beyond `MAX_DIVIDED` groups, each group less all others: partitions
    with more than one class of several groups are missing then.
    """
    k = n_groups
    if k > MAX_DIVIDED:
        return np.eye(k) - 1.0 / k
    numbers = 2 * np.arange(1, 2 ** (k - 1))
    sides = (numbers >> np.arange(k)[:, None]) & 1
    return sides - sides.mean(axis=0)


def sums_of_terms(contrasts: np.ndarray) -> list[tuple[int, ...]]:
    """List sets of terms, two or more, that are all zero where a network lacks an edge or networks agree.

    Term 0 is what the groups have in common, term j the difference j. The networks are those of each group;
    those that agree are each two groups, and all of them.
    """
    groups = range(len(contrasts))
    is_in = np.pad(contrasts != 0.0, ((0, 0), (1, 0)), constant_values=True)
    apart = [tell_apart(contrasts, chosen) for chosen in (*combinations(groups, 2), groups)]
    differ = np.pad(apart, ((0, 0), (1, 0)))
    sets = {tuple(np.flatnonzero(row).tolist()) for row in (*is_in, *differ)}
    return sorted(terms for terms in sets if len(terms) > 1)


def tell_apart(contrasts: np.ndarray, groups: Sequence[int]) -> np.ndarray:
    """Tell which differences (q,) are not the same for all of some groups, by their places."""
    return np.ptp(contrasts[list(groups)], axis=0) > 0.0


def term_names(name: str, contrasts: np.ndarray) -> list[str]:
    """Names of the terms, of `sums_of_terms`, of the parameters of groups that have `name` in common."""
    return [name, *(f"{name}{DIFFERENCE}{j + 1}" for j in range(contrasts.shape[1]))]


def commons_of(dims: Mapping[Any, Any]) -> list[str]:
    """Names of what groups have in common, by the dims of the data of a model or of its results."""
    commons = {str(name).removesuffix(CONTRASTS): name for name in dims}
    return [
        common
        for common, name in commons.items()
        if common != name and tuple(dims[name]) == ("group", f"{common}_difference")
    ]


def kept_contrasts(idata: xr.DataTree) -> dict[str, xr.DataArray]:
    """Contrasts (group, difference) that results hold, by the names of what groups have in common."""
    data: Any = idata["constant_data"].data_vars if "constant_data" in idata.children else {}
    commons = commons_of({name: values.dims for name, values in data.items()})
    return {common: data[f"{common}{CONTRASTS}"] for common in commons}


def labels_of_groups(labels: Sequence[Hashable]) -> list:
    """Labels as coordinates, which files can hold: texts, numbers or truth values as they are; else texts."""
    plain = [
        label.item() if isinstance(label, np.bool_ | np.number | np.str_) else label for label in labels
    ]
    kinds = {type(label) for label in plain}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return plain
    texts = list(map(str, plain))
    return list(map(repr, plain)) if repeated(texts) else texts


def group_names(labels: Sequence[Hashable]) -> list[str]:
    """End the names of variables of each label: letters, digits and underscores, all different.

    A label that is such an ending keeps it. In others what is none of these characters becomes "_", and a
    number after it tells equal ones apart; 1.0 is "1".
    """
    texts = [
        str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
        for label in labels
    ]
    taken = {text for text in texts if re.fullmatch(r"\w+", text) and not OTHER.fullmatch(text)}
    found = []
    for text in texts:
        name = text
        if text not in taken:
            stem = re.sub(r"\W+", "_", text).strip("_")
            if not stem or OTHER.fullmatch(stem):
                stem = f"group_{stem}".rstrip("_")
            name, k = stem, 1
            while name in taken:
                k += 1
                name = f"{stem}_{k}"
            taken.add(name)
        found.append(name)
    return found


def group_weights(
    weight: Any,
    groups: Sequence[Hashable],
    p: Any,
    slab: Any,
    *,
    contrasts: Any = None,
    blocks: Sequence[int] | None = None,
) -> dict[Hashable, Any]:
    r"""Give each of several groups its own edge parameters, most of which are the same in all groups.

    The parameters of group g are :math:`w_e + \sum_j C_{gj} \delta_{je}`, each vector :math:`\delta_j` a
    `SpikeAndSlab`. Two groups agree on an edge where all differences are zero for which their C differ.

    Parameters
    ----------
    weight : variable of the model
        What the groups have in common, one entry per edge, such as a `SpikeAndSlab`; or entries in blocks.
    groups : sequence of k hashables
        Labels of at least two groups, of any kind and in any order.
    p : tensor_like of float
        Probability that two groups differ on an edge, the same for all pairs of groups: a scalar or one per
        edge. With `contrasts`, that of every difference, as in `SpikeAndSlab`.
    slab : unregistered scalar distribution
        Of every difference, as in `SpikeAndSlab`.
    contrasts : (k, q) array_like, optional
        The matrix C, each of whose columns sums to 0. By default one column for every division of the groups
        into two sides, on which the parameters are :math:`\delta_j` apart: one of two groups, the second less
        the first; 3, 7, 15 and 31 of three to six groups.
    blocks : sequence of int, optional
        As in `SpikeAndSlab`; by default those of `weight`, if it has any.

    Returns
    -------
    dict
        By group, the variable that is the edge parameter of the group's field. The model gets the
        differences, called ``weight_difference_1`` and so on (``weight`` being the name of `weight`); as
        deterministic variables the parameters of the groups, ``weight_GROUP``; and as data C,
        ``weight_contrasts``, with the dims "group", the labels, and "weight_difference". In names, what is no
        letter, digit or underscore in a label becomes an underscore, and numbers tell apart what would be
        the same.

    Raises
    ------
    TypeError, ValueError
        If `weight` is no vector of the model on the context stack, groups are fewer than two or twice the
        same, contrasts do not fit them, or the model has a coordinate "group" of other labels; and as
        `SpikeAndSlab`.

    Warns
    -----
    UserWarning
        If there are more than six groups and no `contrasts`: each group then has a difference of its own from
        the others, so that of groups that differ from the others no two are equal.

    See Also
    --------
    summarize_differences : On which edges the groups differ.
    compare_networks : Whether they differ at all, and in global strength.

    Notes
    -----
    On every edge the groups fall into classes that are equal, and all partitions are possible. Each division
    is there with probability :math:`1 - (1 - p)^{2^{2 - k}}`, so that any two groups, which :math:`2^{k - 2}`
    divisions tell apart, differ with probability p, and all agree with probability
    :math:`(1 - p)^{2 - 2^{2 - k}}`: of three with p = 1/2 it is .35, each one group alone differs with .15,
    and all differ with .21. The prior depends neither on labels nor on their order, nor is the partition of
    some groups another one if further groups are in the study. With orthonormal contrasts, as of Helmert, it
    would depend on the order which groups can be equal while others differ; of more than three groups,
    ``numpy.eye(k) - 1 / k`` lacks the partitions of which two classes have several groups.

    Each division is a vector that is sampled in turn and moves the fields of all groups, so that a draw of k
    groups takes up to :math:`k 2^{k - 1}` times as long as one of a single group: 32 of four, 192
    of six. What it takes is told before sampling where it is more than .05 seconds.

    The function `bgmCompare` of the R package bgms has the eigenvectors of :math:`I - 1/k` for contrasts, of
    two groups those here, and one indicator of an edge for all of its contrasts: groups are all equal, or all
    different.

    Examples
    --------
    >>> with pm.Model(coords=pymc_mrf.coords(graph)) as model:
    ...     weight = pymc_mrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 1), dims="edge")
    ...     of_group = pymc_mrf.group_weights(weight, list(tables), 0.5, pm.Normal.dist(0, 0.5))
    ...     for k, (group, x) in enumerate(tables.items()):
    ...         bias = pm.Normal(f"bias_{k}", 0, 2, dims="node")
    ...         pymc_mrf.BoltzmannMachine(f"x_{k}", of_group[group], bias, graph=graph, observed=x)
    ...     idata = pm.sample()
    >>> pymc_mrf.summarize_differences(idata, "weight", graph=graph, model=model)
    """
    model = pm.modelcontext(None)
    if not isinstance(weight, Variable) or model.named_vars.get(weight.name) is not weight:
        raise TypeError(f"weight must be a variable of the model, with a name, not {weight!r}")
    if weight.type.ndim != 1:
        raise ValueError(
            f"weight must be a vector, one entry per edge, but {weight.name} has {weight.type.ndim} axes"
        )
    labels = sequence(groups, "groups", "labels")
    k = len(labels)
    if k < 2 or len(set(labels)) < k:
        raise ValueError(f"groups must be two or more different labels, not {labels!r}")
    if contrasts is None:
        contrasts, p = group_contrasts(k), _of_each_division(p, k)
        _warn_of_many(k)
    else:
        contrasts = _checked(contrasts, labels)
    _add_groups(model, weight.name, labels, contrasts)
    dims = model.named_vars_to_dims.get(weight.name)
    shape = {"dims": dims} if dims else {"shape": weight.type.shape}
    if blocks is None and weight.owner is not None and isinstance(weight.owner.op, SpikeAndSlabRV):
        blocks = weight.owner.op.blocks or None
    differences = [
        SpikeAndSlab(name, p, slab, blocks=blocks, **shape)
        for name in term_names(weight.name, contrasts)[1:]
    ]
    found = {}
    for label, name, row in zip(labels, group_names(labels_of_groups(labels)), contrasts, strict=True):
        found[label] = weight
        for factor, difference in zip(row, differences, strict=True):
            if factor:
                found[label] = found[label] + factor * difference
        pm.Deterministic(f"{weight.name}_{name}", found[label], dims=dims)
    return found


def _of_each_division(p: Any, n_groups: int) -> Any:
    """Probability of each difference if two groups are to differ with probability `p`."""
    contrasts = group_contrasts(n_groups)
    n_apart = np.count_nonzero(contrasts[0] != contrasts[1])
    if n_apart == 1:
        return p
    p, numbers = parameter(p, "p")
    check_probabilities(numbers)
    return (
        -pt.expm1(pt.log1p(-p) / n_apart) if numbers is None else -np.expm1(np.log1p(-numbers) / n_apart)
    )


def _warn_of_many(n_groups: int) -> None:
    """Tell what more groups than `MAX_DIVIDED` cannot be."""
    if n_groups > MAX_DIVIDED:
        warn_user(
            f"groups are {n_groups}, more than {MAX_DIVIDED}: on an edge, some may be equal and each of the "
            "others by itself, but those that differ from the rest are never equal to each other. Merge "
            "groups, or give contrasts to pymc_mrf.group_weights"
        )


def _add_groups(model: pm.Model, name: str, labels: list, contrasts: np.ndarray) -> None:
    """Keep labels and contrasts with the model, and so with its draws."""
    shown = labels_of_groups(labels)
    known = list(model.coords.get("group", shown))
    if known != shown:
        raise ValueError(
            f"groups are {shown!r}, but the model has the coordinate 'group' already, {known!r}: give that "
            "another name"
        )
    model.add_coord("group", shown)
    model.add_coord(f"{name}_difference", range(1, contrasts.shape[1] + 1))
    pm.Data(f"{name}{CONTRASTS}", contrasts, dims=("group", f"{name}_difference"))


def _checked(contrasts: Any, labels: list) -> np.ndarray:
    """Contrasts as an array of floats, one row for each group."""
    check_labels(contrasts, labels, "contrasts", "group", axis=-2)
    found = numeric_array(contrasts, "contrasts", "iuf").astype(np.float64)
    if found.ndim != 2 or len(found) != len(labels) or not found.shape[1]:
        raise ValueError(
            f"contrasts must have one row for each of the {len(labels)} groups, not the shape {found.shape}"
        )
    sums = np.abs(found.sum(axis=0))
    wrong = np.flatnonzero(~(sums <= 1e-9 * np.abs(found).sum(axis=0)) | ~found.any(axis=0))
    if wrong.size:
        raise ValueError(
            f"contrasts: column {wrong[0]} is {found[:, wrong[0]].tolist()}; each must sum to 0, so that "
            "`weight` is the mean of the groups, and not be 0 throughout"
        )
    return found
