"""The standard model of a network of items: from a table of answers to a `pymc.Model` in one call."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable

from pymc_mrf.checks import check_option, quoted, warn_user
from pymc_mrf.distributions.edge_communities import EdgeCommunities, same_community
from pymc_mrf.distributions.group_weights import group_names, group_weights, labels_of_groups
from pymc_mrf.distributions.mrf import BoltzmannMachine
from pymc_mrf.distributions.multistate import OrdinalMRF
from pymc_mrf.distributions.network_columns import (
    TableRows,
    declare_measured,
    declare_mixed,
    declare_nominal,
    keep_units,
    read_rows,
)
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.fields.column_reader import find_columns, when_of_rows
from pymc_mrf.fields.families import one_or_each
from pymc_mrf.fields.table_columns import Table, as_numbered_table, as_table, check_row_labels
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

    - ``weight``: `SpikeAndSlab`, zero with probability one half, otherwise Cauchy with scale 2. Of half our
      weights, as the R package bgms 0.2.0 (Marsman, van den Bergh & Haslbeck, 2025) reports, it has scale 1,
      the default of its `bgmCompare`; that of its `bgm` is ``slab=pm.Normal.dist(0, 2)``.
    - ``bias`` (binary items) or ``threshold``: Normal(0, 3), nearly the standard deviation, 3.1, of the
      default of bgms, the logit of a Beta(1/2, 1/2).

    Answers without an order (``kind="nominal"``) have a `NominalMRF`: a table of parameters for each pair,
    zero as a whole with probability one half, otherwise Normal(0, 1), the kind of slab that does not depend
    on what the answers are called, under which two answers have the coupling of an `Ising` field with
    Normal(0, 1/2); ``bias`` of every answer is Normal(0, 3). Measurements (``kind="continuous"``) have a
    `GaussianMRF` whose `scale` are the standard deviations of the columns, which the model keeps as
    ``column_sd``, beside their means, ``column_mean``. ``weight`` has the same prior as above and
    ``diagonal`` is Exponential(1/2), that of bgms 0.2.0, whose priors are those of half the precision, -K_uv
    / 2 and K_uu / 2, and which multiplies them by a power of the determinant of K unless ``delta = 0``.
    ``mean`` is Normal about the mean of the column, its standard deviation ten times that of the column:
    nearly flat as there. It is in the units of the columns, as data, draws and predictions are.

    A table of several kinds has a `MixedMRF` if `kind` is what `column_kinds` found in it, with the priors of
    the parts: ``bias`` of every answer, ``diagonal``, and ``mean``. Weights are Normal(0, 1) if answers of
    any column have no order, else Cauchy with scale 2.

    The field remembers the table: `predict_nodes` and all that takes further rows reads them by its codes,
    categories and units.

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
        Groups of rows, in sorted order; labels of any kind. Each has a field of its own, such as ``x_A``, its
        node parameters, and the weights ``weight_A`` that `group_weights` gives it: ``weight`` is what groups
        have in common, and differences are `SpikeAndSlab`, zero where groups agree. Of two groups there is
        one, ``weight_difference_1``, the weight in the second less that in the first; of more, some may be
        equal where others differ, whatever their names and order. Names of variables end in the label,
        letters, digits and underscores alone, as `group_weights` tells; the dim "group" has the labels.
        Of several kinds of columns, groups are no column of `kind`.
    communities : mapping or "learn", optional
        Community of each item, or "learn" for `EdgeCommunities`, a variable ``community``. Edges within
        communities then exist with probability ``p_within``, Beta(2, 2), those between with ``p_between``,
        Beta(1, 9): a stochastic block prior (Geng, Bhattacharya & Pati, 2019; Sekulovski et al., 2026).
    n_states : int, or sequence of d of them, optional
        Number of answers of all items, or of each; by default the categories, or up to the largest code.
    kind : {"auto", "binary", "ordinal", "blume-capel", "nominal", "continuous"}, or ColumnKinds
        "binary" is a `BoltzmannMachine`, "ordinal" an `OrdinalMRF` with a threshold for each answer,
        "blume-capel" one with two terms for each item, ``linear`` and ``quadratic`` about the middle of its
        answers, both Normal(0, 3). "auto" is binary if all items are, else ordinal: "nominal" and
        "continuous" are to be asked for. What `column_kinds` found makes a `MixedMRF` of these columns.
    prior_inclusion : float or unregistered distribution, optional
        Probability of an edge, one half by default. ``pm.Beta.dist(1, 1)`` makes it a variable ``p``
        (Scott & Berger, 2010).
    prior_difference : float or unregistered distribution
        Probability that two groups differ on an edge; a distribution makes a variable ``p_difference``.
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
        Once, if columns have been left out or codes from 1 counted from 0; or if the labels of the rows
        are dates, or a column has dates or is called "day" or the like, that increase from row to row, as in
        a diary: rows are taken for independent ones.

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

    >>> with pymc_mrf.network_model(answers, groups="shifts") as model:
    ...     idata = pm.sample()
    >>> pymc_mrf.compare_networks(idata, "weight", graph=graph, model=model)
    >>> pymc_mrf.summarize_differences(idata, "weight", graph=graph, between=["day", "night"], model=model)

    Answers and measurements:

    >>> kinds = pymc_mrf.column_kinds(table, {"trust": "ordinal", "party": "nominal"})
    >>> model = pymc_mrf.network_model(table, kind=kinds)
    """
    if not isinstance(kind, ColumnKinds):
        several = "; for columns of several kinds give what pymc_mrf.column_kinds(table) finds"
        check_option(kind, "kind", KINDS, several)
    if communities is not None and prior_inclusion is not None:
        raise ValueError("prior_inclusion has no meaning beside communities: leave one of them out")
    labels, others = _labels_of_rows(table, groups)
    part, kind, axes = _read_table(table, columns, others, n_states, kind, likelihood)
    # the same labels as in `coords`, so that a graph of them fits
    graph, kinds = complete(axes["node"]), part.kinds
    has_blocks = "entry" in axes
    with pm.Model(coords=axes) as model:
        p = _inclusion(prior_inclusion, communities, graph)
        if len(part.sd):
            keep_units(part, "measurement" if has_blocks else "node")
        if slab is None:
            is_nominal = "nominal" in kinds.kinds
            slab = pm.Normal.dist(0.0, 1.0) if is_nominal else pm.Cauchy.dist(0.0, 2.0)
        blocks = kinds.block_sizes(graph) if has_blocks else None
        weight = SpikeAndSlab("weight", p, slab, blocks=blocks, dims="entry" if has_blocks else "edge")
        if labels is None:
            _declare(model, "", kind, weight, part, graph, likelihood)
            return model
        members = _members(labels, len(part.labels))
        p = _registered(prior_difference, "p_difference")
        weights = group_weights(weight, list(members), p, slab)
        names = group_names(labels_of_groups(list(members)))
        for (group, rows), name in zip(members.items(), names, strict=True):
            own = part._replace(x=part.x[rows], labels=[part.labels[k] for k in rows])
            _declare(model, f"_{name}", kind, weights[group], own, graph, likelihood)
    return model


def _read_table(
    table: Any, columns: Any, others: list, n_states: Any, kind: str | ColumnKinds, likelihood: Any
) -> tuple[TableRows, str, dict]:
    """Read the columns of a table; their kind, "auto" decided; and the coordinates of the model."""
    found = as_numbered_table(table, "table")
    given: Any = kind.names if isinstance(kind, ColumnKinds) else columns
    _tell_of_time(found, [*others, *(() if given is None else given)])
    if isinstance(kind, ColumnKinds):
        _refuse_beside_kinds(kind, others, columns=columns, n_states=n_states)
        return read_rows(found, kind), "mixed", kind.coords(complete(kind.names))
    if kind == "continuous":
        for name, given in (("n_states", n_states), ("likelihood", likelihood)):
            if given not in (None, "auto"):
                raise ValueError(
                    f'{name}={given!r} has no meaning for measurements, kind="continuous": leave it out'
                )
    of_kind = "ordinal" if kind in ("auto", "blume-capel") else kind
    record = find_columns(found, of_kind, columns, n_states, others)
    axes = coords(complete(record.names))
    if kind == "auto":
        kind = "binary" if max(record.n_states) == 2 else "ordinal"
    if kind not in ("binary", "continuous"):
        axes["state"] = record.state_labels[0 if kind == "nominal" else 1 :]
    if kind == "nominal":
        axes["entry"] = record.entry_labels(complete(record.names))
    return read_rows(found, record), kind, axes


def _tell_of_time(table: Table, used: Sequence) -> None:
    """Warn of rows that are in time by what the table tells; `used` are columns that are something else."""
    if when := when_of_rows(table, used):
        warn_user(
            f"table: from row to row {when} increase{'s' if when.startswith('column') else ''}, as in a "
            "diary, but rows are taken for independent ones: if one depends on the row before, learn arrows "
            "from row to row, by a pymc_mrf.KineticMRF with time= and series= for the columns that say when "
            "and who"
        )


def _refuse_beside_kinds(kinds: ColumnKinds, others: list, **given: Any) -> None:
    """Refuse kinds of columns that make no mixed field, and arguments that have no meaning beside them."""
    remedies = {
        "columns": "make kinds of these columns alone, as pymc_mrf.column_kinds(table[columns])",
        "n_states": "tell them to pymc_mrf.column_kinds(table, n_states=...)",
    }
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} has no meaning where kind is a ColumnKinds: {remedies[name]}")
    if others and others[0] in kinds.names:
        raise ValueError(
            f"groups={others[0]!r} is a column of the network as well: leave it out of kind, as "
            f"pymc_mrf.column_kinds(table.drop(columns={others[0]!r}))"
        )
    if not len(kinds.answers):
        raise ValueError('kind has measurements only: say kind="continuous"')
    if len(kinds.names) < 2:
        raise ValueError("kind has one column, but a network has two at least")


def _labels_of_rows(table: Any, groups: Any) -> tuple[list | None, list]:
    """Return the groups of the rows, and the columns that are no items for that."""
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
    return list(column.values), [groups]


def _given_labels(groups: Any, table: Any) -> list:
    import pandas as pd

    check_row_labels(groups, table, "groups", "the table")
    labels = pd.Series(np.asarray(groups))
    is_masked = np.ma.getmaskarray(groups) if np.ma.isMaskedArray(groups) else False
    missing = np.flatnonzero(labels.isna() | is_masked)
    if missing.size:
        raise ValueError(f"groups has no value in row {missing[0]}: drop such rows of both")
    return labels.tolist()


def _members(labels: list, n_rows: int) -> dict[Any, np.ndarray]:
    """Check the groups of the rows, and return the rows of each, in sorted order of their labels."""
    if len(labels) != n_rows:
        raise ValueError(f"groups has {len(labels)} entries, but the table {n_rows} rows")
    rows: dict[Any, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    if not 2 <= len(rows) <= MAX_GROUPS:
        raise ValueError(
            f"groups has {len(rows)} different values ({quoted(rows, 5)}), but groups "
            f"to compare are 2 to {MAX_GROUPS}: is it the right column?"
        )
    is_of_one_kind = len({type(label) for label in rows}) == 1
    order = sorted(rows) if is_of_one_kind else sorted(rows, key=str)
    return {label: np.array(rows[label]) for label in order}


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
    items: TableRows,
    graph: PairwiseGraph,
    likelihood: Any,
) -> None:
    """Declare node parameters and field of the rows of `items`; names end in `suffix`."""
    _add_rows(model, suffix, items)
    if kind == "mixed":
        declare_mixed(suffix, weight, items, graph, likelihood)
        return
    if kind == "continuous":
        declare_measured(suffix, weight, items, graph)
        return
    if kind == "nominal":
        declare_nominal(suffix, weight, items, graph, likelihood)
        return
    options = {
        "graph": graph, "observed": items.x, "record": items.kinds, "likelihood": likelihood,
        "dims": (f"row{suffix}", "node"),
    }  # fmt: skip
    if kind == "binary":
        bias = pm.Normal(f"bias{suffix}", 0.0, 3.0, dims="node")
        BoltzmannMachine(f"x{suffix}", weight, bias, **options)
        return
    n_states = list(items.kinds.n_states)
    centres = [0.5 * (k - 1) for k in n_states]
    scores = [np.arange(k) - c for k, c in zip(n_states, centres, strict=True)]
    threshold = _threshold(suffix, kind, n_states, centres)
    options |= {"n_states": one_or_each(n_states), "scores": scores}
    OrdinalMRF(f"x{suffix}", weight, threshold, **options)


def _add_rows(model: pm.Model, suffix: str, items: TableRows) -> None:
    labels = items.labels
    model.add_coord(f"row{suffix}", labels if len(set(labels)) == len(labels) else range(len(labels)))


def _threshold(suffix: str, kind: str, n_states: list[int], centres: list[float]) -> Any:
    """Thresholds (d, K - 1), free or of Blume and Capel."""
    if kind == "ordinal":
        return pm.Normal(f"threshold{suffix}", 0.0, 3.0, dims=("node", "state"))
    k, c = np.arange(1, max(n_states)), np.array(centres)[:, None]
    linear = pm.Normal(f"linear{suffix}", 0.0, 3.0, dims="node")
    quadratic = pm.Normal(f"quadratic{suffix}", 0.0, 3.0, dims="node")
    return linear[:, None] * k + quadratic[:, None] * ((k - c) ** 2 - c**2)
