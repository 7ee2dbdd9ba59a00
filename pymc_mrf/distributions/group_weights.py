"""Edge parameters of several groups of rows: what they have in common, and sparse differences."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable

from pymc_mrf.checks import check_labels, numeric_array, sequence
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab


def group_contrasts(n_groups: int) -> np.ndarray:
    """Orthonormal contrasts (k, k - 1) of k groups: each group with the mean of those before it (Helmert)."""
    contrasts = np.triu(np.ones((n_groups, n_groups - 1)))
    j = np.arange(1, n_groups)
    contrasts[j, j - 1] = -j
    return contrasts / np.sqrt(j * (j + 1.0))


def group_weights(
    weight: Any, groups: Sequence[Hashable], p: Any, slab: Any, *, contrasts: Any = None
) -> dict[Hashable, Any]:
    r"""Give each of several groups its own edge parameters, most of which are the same in all groups.

    The parameters of group g are :math:`w_e + \sum_j C_{gj} \delta_{je}`, each vector :math:`\delta_j` a
    `SpikeAndSlab`. Groups agree on an edge where all of its differences are zero.

    Parameters
    ----------
    weight : variable of the model
        What the groups have in common, one entry per edge, such as a `SpikeAndSlab`.
    groups : sequence of k hashables
        Labels of at least two groups.
    p, slab
        Of every difference, as in `SpikeAndSlab`.
    contrasts : (k, q) array_like, optional
        The matrix C, each of whose columns sums to 0. By default k - 1 orthonormal ones, of the first group
        with the second, of these two with the third, and so on.

    Returns
    -------
    dict
        By group, the variable that is the edge parameter of the group's field. The model gets the
        differences, called ``weight_difference_1`` and so on (``weight`` being the name of `weight`), and as
        deterministic variables the parameters of the groups, ``weight_GROUP``.

    Raises
    ------
    TypeError, ValueError
        If `weight` is no vector of the model on the context stack, groups are fewer than two or twice the
        same, or contrasts do not fit them; and as `SpikeAndSlab`.

    See Also
    --------
    summarize_differences : On which edges the groups differ.
    compare_networks : Whether they differ at all, and in global strength.

    Notes
    -----
    Where all differences are there and contrasts are orthonormal, any two groups differ by :math:`\sqrt 2`
    times the standard deviation of a normal slab, whatever their number and order (Rouder et al., 2012).
    Their order does matter for which groups may be equal while others differ: of three the first and the
    second, no other two. ``numpy.eye(k) - 1 / k`` treats all groups alike: k differences, each of one group
    from the rest, of which one is redundant. Two groups have one difference :math:`\delta`, and
    ``contrasts=[[0.5], [-0.5]]`` makes it that of their parameters.

    The function `bgmCompare` of the R package bgms has the eigenvectors of :math:`I - 1/k` for contrasts, of
    two groups those of the last line, and one indicator of an edge for all of its contrasts.

    Examples
    --------
    >>> with pm.Model(coords=pymc_mrf.coords(graph)) as model:
    ...     weight = pymc_mrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 1), dims="edge")
    ...     of_group = pymc_mrf.group_weights(weight, list(tables), 0.5, pm.Normal.dist(0, 0.5))
    ...     for group, x in tables.items():
    ...         bias = pm.Normal(f"bias_{group}", 0, 2, dims="node")
    ...         pymc_mrf.BoltzmannMachine(f"x_{group}", of_group[group], bias, graph=graph, observed=x)
    ...     idata = pm.sample()
    >>> pymc_mrf.summarize_differences(idata, ["weight_young", "weight_old"], graph=graph, model=model)
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
    contrasts = group_contrasts(k) if contrasts is None else _checked(contrasts, labels)
    dims = model.named_vars_to_dims.get(weight.name)
    shape = {"dims": dims} if dims else {"shape": weight.type.shape}
    differences = [
        SpikeAndSlab(f"{weight.name}_difference_{j}", p, slab, **shape)
        for j in range(1, contrasts.shape[1] + 1)
    ]
    found = {}
    for label, row in zip(labels, contrasts, strict=True):
        found[label] = weight
        for factor, difference in zip(row, differences, strict=True):
            if factor:
                found[label] = found[label] + factor * difference
        pm.Deterministic(f"{weight.name}_{label}", found[label], dims=dims)
    return found


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
