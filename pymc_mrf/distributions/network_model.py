"""The standard model of a network of items: from a table of answers to a `pymc.Model` in one call."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable

from pymc_mrf.checks import check_option
from pymc_mrf.distributions.edge_communities import EdgeCommunities, same_community
from pymc_mrf.distributions.group_weights import group_weights
from pymc_mrf.distributions.mrf import BoltzmannMachine
from pymc_mrf.distributions.network_columns import (
    Measurements,
    declare_measured,
    declare_mixed,
    declare_nominal,
    read_columns,
    read_kinds,
)
from pymc_mrf.distributions.ordinal import OrdinalMRF
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.fields.items import Items, read_items
from pymc_mrf.fields.nominal import nominal
from pymc_mrf.fields.state_numbers import one_or_each
from pymc_mrf.fields.table_columns import as_table, is_labelled_otherwise
from pymc_mrf.graph.builders import complete
from pymc_mrf.graph.coordinates import coords
from pymc_mrf.graph.structure import PairwiseGraph

MAX_GROUPS = 10
KINDS = ("auto", "binary", "ordinal", "blume-capel", "nominal", "continuous")


def network_model(
    table: Any,
    *,
    columns: Sequence | None = None,
    groups: Any = None,
    communities: Mapping | str | None = None,
    n_states: int | Sequence[int] | None = None,
    kind: str | ColumnKinds = "auto",
    prior_inclusion: Any = None,
    prior_difference: Any = 0.5,
    slab: Any = None,
    likelihood: Any = "auto",
) -> pm.Model:
    r"""Declare the standard model of a network of items: which pairs are linked, and how strongly.

    Every pair of items is a candidate edge. With s the scores of the answers, centred for each item,

    .. math::

        p(x \mid w, b) \propto \exp\Big(\sum_{u<v} w_{uv} s_u(x_u) s_v(x_v) + \sum_i b_i(x_i)\Big),

    the priors are

    - ``weight``: `SpikeAndSlab`, zero with probability one half, otherwise Cauchy with scale 2. This is the
      default of the R package bgms 0.2.0 (Marsman, van den Bergh & Haslbeck, 2025), whose interactions are
      half of our weights and have scale 1.
    - ``bias`` (binary items) or ``threshold``: Normal(0, 3), nearly the standard deviation, 3.1, of the
      default of bgms, the logit of a Beta(1/2, 1/2).

    Answers without an order (``kind="nominal"``) have a `NominalMRF`: a table of parameters for each pair,
    zero as a whole with probability one half, otherwise Normal(0, 1), the kind of slab that does not depend
    on what the answers are called, under which two answers have the coupling of an `Ising` field with
    Normal(0, 1/2); ``bias`` of every answer is Normal(0, 3). Measurements (``kind="continuous"``) have a
    `GaussianMRF` of columns in standard deviations from their means, which the model keeps as
    ``column_sd`` and ``column_mean``: ``weight`` has the same prior as above and ``diagonal`` is
    Exponential(1/2), both of bgms 0.2.0, whose priors are those of half the precision, -K_uv / 2 and K_uu /
    2, and which multiplies them by a power of the determinant of K unless ``delta = 0``; ``mean`` is
    Normal(0, 10), nearly flat as there.

    A table of several kinds has a `MixedMRF` if `kind` is what `column_kinds` found in it, with the priors of
    the parts: ``bias`` of every answer, ``diagonal``, and ``mean``, which here is in the units of the
    columns, as data and draws are. Weights, those of measurements in standard deviations (``column_sd``),
    are Normal(0, 1) if answers of any column have no order, else Cauchy with scale 2.

    Scores of items with k answers run from -(k - 1) / 2 to (k - 1) / 2 in steps of one, those of binary
    items are 0 and 1; the weights are the same for scores from 0. With many answers weights are smaller:
    a narrower slab then finds weak edges sooner, and `prior_sensitivity` shows what it changes.

    Parameters
    ----------
    table : table of pandas, polars, pyarrow or xarray (rows, items), or (n, d) array_like
        A row for each person. Items hold whole numbers that count from 0 or 1, False and True, or ordered
        categories; cells without a value are missing and are drawn with the parameters. Text, fractions,
        dates, unordered categories, numbers that differ in every row and columns with one value are no
        items: they are left out, and a warning names them. Texts and unordered categories are nominal
        answers, in the order of the alphabet; numbers of any kind are measurements.
    columns : sequence, optional
        Names of the items. What is no item is then refused.
    groups : name of a column, or (n,) array_like, optional
        Groups of rows, in sorted order. Each has a field of its own, such as ``x_A``, its thresholds, and the
        weights ``weight_A`` that `group_weights` gives it: ``weight`` is what groups have in common, and
        differences are `SpikeAndSlab`, zero where groups agree. Of two groups there is one,
        ``weight_difference_1``, the weight in the second less that in the first.
    communities : mapping or "learn", optional
        Community of each item, or "learn" for `EdgeCommunities`, a variable ``community``. Edges within
        communities then exist with probability ``p_within``, Beta(2, 2), those between with ``p_between``,
        Beta(1, 9): a stochastic block prior (Geng, Bhattacharya & Pati, 2019; Sekulovski et al., 2025).
    n_states : int, or sequence of d of them, optional
        Number of answers of all items, or of each; by default the categories, or up to the largest code.
    kind : {"auto", "binary", "ordinal", "blume-capel", "nominal", "continuous"}, or ColumnKinds
        "binary" is a `BoltzmannMachine`, "ordinal" an `OrdinalMRF` with a threshold for each answer,
        "blume-capel" one with two terms for each item, ``linear`` and ``quadratic`` about the middle of its
        answers, both Normal(0, 3). "auto" is binary if all items are, else ordinal: "nominal", which takes no
        `groups`, and "continuous" are to be asked for. What `column_kinds` found makes a `MixedMRF` of these
        columns, and takes no `groups` either.
    prior_inclusion : float or unregistered distribution, optional
        Probability of an edge, one half by default. ``pm.Beta.dist(1, 1)`` makes it a variable ``p``
        (Scott & Berger, 2010).
    prior_difference : float or unregistered distribution
        The same of a difference between groups; a distribution makes a variable ``p_difference``.
    slab : unregistered scalar distribution, optional
        Of the weights and differences that are not zero; by default ``pm.Cauchy.dist(0, 2)``, or
        ``pm.Normal.dist(0, 1)`` of nominal answers.
    likelihood : str, MonteCarlo or Pseudo
        As for the field, such as `OrdinalMRF`.

    Returns
    -------
    pymc.Model
        With the dims "node" (items), "edge" (pairs "u--v", in the order of
        ``pymc_mrf.graphs.complete(model.coords["node"])``), "state" (answers but the first; all of nominal
        ones) and "row"; "entry" of the weights of nominal and mixed fields, "answer" and "measurement" of the
        latter. The field is ``x``. `pm.sample` finds the steps.

    Raises
    ------
    TypeError, ValueError
        If a column that `columns` names is no item, codes are negative or start elsewhere than at 0 or 1, or
        not all items at the same; if there is one group only, a row has none, or `groups` has other labels
        of the rows than the table; if an item lacks a community, or `kind` does not fit the columns or
        another argument.

    Warns
    -----
    UserWarning
        Once, if columns have been left out or codes from 1 counted from 0.

    See Also
    --------
    summarize_edges : Strength, probability and Bayes factor of each edge.
    prior_sensitivity : What other priors would find.
    summarize_differences : On which edges groups differ.

    Examples
    --------
    >>> with pymc_mrf.network_model(answers) as model:
    ...     idata = pm.sample()
    >>> graph = pymc_mrf.graphs.complete(model.coords["node"])
    >>> pymc_mrf.plot_edges(idata, "weight", graph=graph)

    What differs between groups:

    >>> model = pymc_mrf.network_model(answers, groups="shifts")

    Answers and measurements:

    >>> kinds = pymc_mrf.column_kinds(table, {"trust": "ordinal", "party": "nominal"})
    >>> model = pymc_mrf.network_model(table, kind=kinds)
    """
    if not isinstance(kind, ColumnKinds):
        several = "; for columns of several kinds give what pymc_mrf.column_kinds(table) finds"
        check_option(kind, "kind", KINDS, several)
    if communities is not None and prior_inclusion is not None:
        raise ValueError("prior_inclusion has no meaning beside communities: leave one of them out")
    if kind == "nominal" and groups is not None:
        raise ValueError(
            'kind="nominal" takes no groups: declare the model of the rows of each group by itself, and '
            "compare their draws"
        )
    if isinstance(kind, ColumnKinds):
        _refuse_beside_kinds(kind, columns=columns, groups=groups, n_states=n_states)
        part, graph = read_kinds(table, kind), complete(kind.names)
        with pm.Model(coords=kind.coords(graph)) as model:
            _add_rows(model, "", part)
            p = _inclusion(prior_inclusion, communities, graph)
            declare_mixed(p, slab, part, kind, graph, likelihood)
        return model
    labels, others = _labels_of_rows(table, groups)
    items: Any
    if kind == "continuous":
        for name, given in (("n_states", n_states), ("likelihood", likelihood)):
            if given not in (None, "auto"):
                raise ValueError(
                    f'{name}={given!r} has no meaning for measurements, kind="continuous": leave it out'
                )
        items = read_columns(table, columns, others)
    else:
        items = read_items(table, columns, n_states, others, is_ordered=kind != "nominal")
        kind = _kind(kind, items)
    # the same labels as in `coords`, so that a graph of them fits
    graph = complete(items.names)
    axes = coords(graph)
    if kind not in ("binary", "continuous"):
        axes["state"] = items.labels[0 if kind == "nominal" else 1 :]
    if kind == "nominal":
        axes["entry"] = nominal(items.n_states).entry_labels(graph)
    with pm.Model(coords=axes) as model:
        p = _inclusion(prior_inclusion, communities, graph)
        if kind == "nominal":
            _add_rows(model, "", items)
            declare_nominal(p, slab, items, graph, likelihood)
            return model
        if kind == "continuous":
            pm.Data("column_mean", items.mean, dims="node")
            pm.Data("column_sd", items.sd, dims="node")
        slab = pm.Cauchy.dist(0.0, 2.0) if slab is None else slab
        weight = SpikeAndSlab("weight", p, slab, dims="edge")
        if labels is None:
            _declare(model, "", kind, weight, items, graph, likelihood)
            return model
        names = _group_names(labels, len(items.x))
        contrasts = [[-0.5], [0.5]] if len(names) == 2 else None
        p = _registered(prior_difference, "p_difference")
        weights = group_weights(weight, names, p, slab, contrasts=contrasts)
        for group, of_weight in weights.items():
            of_group = np.flatnonzero(labels == group)
            part = items._replace(x=items.x[of_group], rows=[items.rows[k] for k in of_group])
            _declare(model, f"_{group}", kind, of_weight, part, graph, likelihood)
    return model


def _refuse_beside_kinds(kinds: ColumnKinds, **given: Any) -> None:
    """Refuse kinds of columns that make no mixed field, and arguments that have no meaning beside them."""
    remedies = {
        "columns": "make kinds of these columns alone, as pymc_mrf.column_kinds(table[columns])",
        "groups": "declare the model of the rows of each group by itself, and compare their draws",
        "n_states": "tell them to pymc_mrf.column_kinds(table, n_states=...)",
    }
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} has no meaning where kind is a ColumnKinds: {remedies[name]}")
    if not len(kinds.answers):
        raise ValueError('kind has measurements only: say kind="continuous"')
    if len(kinds.names) < 2:
        raise ValueError("kind has one column, but a network has two at least")


def _labels_of_rows(table: Any, groups: Any) -> tuple[np.ndarray | None, list]:
    """Group of each row (n,), and the columns that are no items for that."""
    if groups is None:
        return None, []
    found = as_table(table)
    if not isinstance(groups, str) and np.ndim(groups) == 1:
        return _given_labels(groups, found), []
    if found is None or groups not in found.names:
        raise ValueError(
            f"groups must be the name of a column of the table, or a group for each row, not {groups!r}"
        )
    column = found.column(found.names.index(groups))
    if column.is_missing.any():
        row = found.rows[int(column.is_missing.argmax())]
        raise ValueError(f"table: row {row!r} has no group in column {groups!r}: drop such rows")
    return np.asarray(column.values), [groups]


def _given_labels(groups: Any, table: Any) -> np.ndarray:
    """Labels as they are given, one for each row of the table."""
    import pandas as pd

    if table is not None and is_labelled_otherwise(groups, table.rows):
        raise ValueError(
            "groups: its rows are labelled otherwise than those of the table: use groups.loc[table.index], "
            "or groups.to_numpy(), which goes by position"
        )
    labels = np.asarray(groups)
    missing = np.flatnonzero(pd.isna(labels) | np.ma.getmaskarray(groups))
    if missing.size:
        raise ValueError(f"groups has no value in row {missing[0]}: drop such rows of both")
    return labels


def _group_names(labels: np.ndarray, n_rows: int) -> list:
    """Check the groups of the rows and return their names."""
    if len(labels) != n_rows:
        raise ValueError(f"groups has {len(labels)} entries, but the table {n_rows} rows")
    names = sorted(set(labels.tolist()))
    if not 2 <= len(names) <= MAX_GROUPS:
        raise ValueError(
            f"groups has {len(names)} different values ({', '.join(map(repr, names[:5]))}), but groups to "
            f"compare are 2 to {MAX_GROUPS}: is it the right column?"
        )
    return names


def _kind(kind: str, items: Items) -> str:
    """Kind of the field, "auto" decided."""
    is_binary = max(items.n_states) == 2
    if kind == "auto":
        return "binary" if is_binary else "ordinal"
    if kind == "binary" and not is_binary:
        most = int(np.argmax(items.n_states))
        raise ValueError(
            f'kind="binary", but {items.names[most]!r} has {items.n_states[most]} answers: leave kind out, '
            "or merge answers with pymc_mrf.recode_states"
        )
    return kind


def _inclusion(prior: Any, communities: Any, graph: PairwiseGraph) -> Any:
    """Probability of the edges, a number or a variable of the model."""
    if communities is None:
        return _registered(0.5 if prior is None else prior, "p")
    same: Any
    if isinstance(communities, str) and communities == "learn":
        same = same_community(EdgeCommunities("community", dims="node"), graph)
    elif isinstance(communities, Mapping):
        absent = [item for item in graph.nodes if item not in communities]
        if absent:
            raise ValueError(f"communities has no entry for item {absent[0]!r}; give one for every item")
        names = list(dict.fromkeys(communities.values()))
        same = same_community([names.index(communities[item]) for item in graph.nodes], graph)
    else:
        raise TypeError(f'communities must be a dictionary by items or "learn", not {communities!r}')
    return pm.math.switch(same, pm.Beta("p_within", 2.0, 2.0), pm.Beta("p_between", 1.0, 9.0))


def _registered(prior: Any, name: str) -> Any:
    """Return a number as it is, and make an unregistered distribution a variable of the model."""
    return pm.modelcontext(None).register_rv(prior, name) if isinstance(prior, Variable) else prior


def _declare(
    model: pm.Model,
    suffix: str,
    kind: str,
    weight: Any,
    items: Items | Measurements,
    graph: PairwiseGraph,
    likelihood: Any,
) -> None:
    """Declare thresholds and field of the rows of `items`; names end in `suffix`."""
    _add_rows(model, suffix, items)
    if isinstance(items, Measurements):
        declare_measured(suffix, weight, items, graph)
        return
    options = {
        "graph": graph, "observed": items.x, "likelihood": likelihood, "dims": (f"row{suffix}", "node"),
    }  # fmt: skip
    if kind == "binary":
        bias = pm.Normal(f"bias{suffix}", 0.0, 3.0, dims="node")
        BoltzmannMachine(f"x{suffix}", weight, bias, **options)
        return
    centres = [0.5 * (k - 1) for k in items.n_states]
    scores = [np.arange(k) - c for k, c in zip(items.n_states, centres, strict=True)]
    threshold = _threshold(suffix, kind, items.n_states, centres)
    options |= {"n_states": one_or_each(items.n_states), "scores": scores}
    OrdinalMRF(f"x{suffix}", weight, threshold, **options)


def _add_rows(model: pm.Model, suffix: str, items: Items | Measurements) -> None:
    """Name the rows, by their labels if these differ."""
    has_names = len(set(items.rows)) == len(items.rows)
    model.add_coord(f"row{suffix}", items.rows if has_names else range(len(items.rows)))


def _threshold(suffix: str, kind: str, n_states: list[int], centres: list[float]) -> Any:
    """Thresholds (d, K - 1), free or of Blume and Capel."""
    if kind == "ordinal":
        return pm.Normal(f"threshold{suffix}", 0.0, 3.0, dims=("node", "state"))
    k, c = np.arange(1, max(n_states)), np.array(centres)[:, None]
    linear = pm.Normal(f"linear{suffix}", 0.0, 3.0, dims="node")
    quadratic = pm.Normal(f"quadratic{suffix}", 0.0, 3.0, dims="node")
    return linear[:, None] * k + quadratic[:, None] * ((k - c) ** 2 - c**2)
