"""Pairwise Markov random fields as PyMC distributions: one core, one named form per family."""

from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors

from pymc_mrf.checks import axes_of_values, check_axes, check_labels, warn_user
from pymc_mrf.distributions._numba import on_first_use
from pymc_mrf.distributions.adjusted_pseudo import adjustment
from pymc_mrf.distributions.arguments import parameter
from pymc_mrf.distributions.field import (
    PAIRWISE_LIKELIHOODS,
    DiscreteField,
    check_likelihood,
    check_shape,
    exact_or_particles,
    latent_if_all_missing,
    observed_values,
    read_observed,
    registered_node,
    state_dtype,
    without_nan,
)
from pymc_mrf.distributions.field_rv import DRAW_SWEEPS
from pymc_mrf.distributions.monte_carlo import MonteCarlo, is_monte_carlo, sampled_field, unasked_sample
from pymc_mrf.distributions.mrf_rv import MarkovRandomFieldRV
from pymc_mrf.distributions.named_axes import axes_of_variable, dimensions, with_lengths
from pymc_mrf.distributions.parents import strip_views
from pymc_mrf.distributions.path import find_path, rows_of, unasked_path
from pymc_mrf.distributions.path_range import register_checks
from pymc_mrf.distributions.remedies import listed, possible
from pymc_mrf.distributions.state_axes import by_blocks, by_unit
from pymc_mrf.fields.families import BOLTZMANN, ISING, agreement
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.junction_tree import field_tree, is_cheap
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph, as_graph

on_first_use.append(register_checks)


def check_observed(
    observed: Any, family: Family, graph: PairwiseGraph | LaggedGraph, name: str
) -> np.ma.MaskedArray:
    """Refuse observed values that are not states, and shapes that do not fit the graph; return the values."""
    what = f"the {graph.n_nodes} nodes of the graph, in node order"
    values = observed_values(observed, graph.n_nodes, what, family.states[0], name)
    missing = "declare missing cells with numpy.ma.masked_invalid(x)"
    family.check_states(values, name=f"{name}: observed", missing=missing)
    return np.ma.masked_array(values, mask=np.ma.getmask(observed))


def check_rows(node, x: np.ndarray, name: str, *others: str) -> None:
    """Refuse parameters that differ between rows of another number than those of the data `x` (..., d).

    `others` are the names of parameters of nodes beside the family's.
    """
    family = node.op.family
    labels = [(family.edge_parameter, family.edge_axes), (family.node_parameter, family.node_axes)]
    labels += [(other, 0) for other in others]
    for (label, n_axes), given in zip(labels, node.op.dist_params(node), strict=False):
        batch = given.type.shape[: given.type.ndim - 1 - n_axes]
        for n, m in zip(batch[::-1], x.shape[-2::-1], strict=False):
            if n not in (None, 1, m):
                raise ValueError(
                    f"{name}: {label} has {n} rows, but `observed` has {m}: a {label} that depends on "
                    "covariates needs those of the same rows"
                )


FEWEST_ROWS = 10  # in fewer, a column is constant by chance


def warn_of_columns(node, x: np.ma.MaskedArray, name: str) -> None:
    """Warn of columns of the data `x` (..., d) that leave parameters of their nodes or edges to the prior."""
    warn_of_states(node, x, name)
    if node.op.family.node_parameter is not None:
        if _has_own_parameters(node, node.op.dist_params(node)[:1]):
            _warn_of_twins(node, x.reshape(-1, x.shape[-1]), name)


def warn_of_states(node, x: np.ma.MaskedArray, name: str) -> None:
    """Warn of states and nodes of the data `x` (..., d) that leave node parameters to the prior."""
    family = node.op.family
    has_thresholds = family.node_axes > 0
    if has_thresholds and strip_views(node.op.dist_params(node)[1]) in pm.modelcontext(None).free_RVs:
        _warn_of_unseen_states(node, x, name)
    elif family.node_parameter is not None and _has_own_parameters(node, node.op.dist_params(node)):
        _warn_of_constant_columns(node, x, name)


def _has_own_parameters(node, parameters: list) -> bool:
    """Whether free variables behind parameters have an entry for each node or edge at least.

    Those that nodes or edges share are finite whatever a column is.
    """
    model, graph = pm.modelcontext(None), node.op.graph
    fewest = min(graph.n_nodes, graph.n_edges)
    reached = set(ancestors(model.replace_rvs_by_values(parameters)))
    shapes = [rv.type.shape for rv in model.free_RVs if model.rvs_to_values[rv] in reached]
    return any(None in shape or np.prod(shape) >= fewest for shape in shapes)


def _listed(labels: list) -> str:
    """Name up to five of some."""
    more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
    return ", ".join(map(str, labels[:5])) + more


def _warn_of_constant_columns(node, x: np.ma.MaskedArray, name: str) -> None:
    """Warn of nodes that are in one state in all rows.

    The likelihood grows for ever with the bias of such a node, or with its weights if the bias is a number.
    """
    rows, graph = x.reshape(-1, x.shape[-1]), node.op.graph
    if len(rows) < FEWEST_ROWS:
        return
    constant = np.flatnonzero(np.ma.filled(rows.max(axis=0) == rows.min(axis=0), False))
    if len(constant):
        warn_user(
            f"{name} never changes at {_listed([graph.nodes[i] for i in constant])}: only the priors keep "
            "the parameters of such nodes and of their edges finite"
        )


def _warn_of_twins(node, rows: np.ma.MaskedArray, name: str) -> None:
    """Warn of edges whose nodes are in the same state in all rows (n, d), or in the other one of two.

    The likelihood grows for ever with the size of their weights.
    """
    family, graph = node.op.family, node.op.graph
    is_missing = np.ma.getmaskarray(rows).T
    z = family.encode(rows.filled(family.states[0]), n_nodes=graph.n_nodes).T  # (d, n)
    for told, at_ends in (("agree", z), ("differ", 1 - z)):
        if told == "differ" and family.n_states > 2:
            continue
        left, n = graph.edges, 64
        while len(left):  # few are left after some rows
            u, v = left.T
            alike = z[u, :n] == at_ends[v, :n]
            seen = ~(is_missing[u, :n] | is_missing[v, :n])
            left = left[(alike | ~seen).all(axis=1)]
            if n >= len(rows):
                break
            n *= 8
        kept = [
            (i, j)
            for i, j in left.tolist()
            if (both := ~(is_missing[i] | is_missing[j])).sum() >= FEWEST_ROWS
            and len(set(z[i][both])) > 1
        ]
        if kept:
            pairs = [f"{graph.nodes[i]}--{graph.nodes[j]}" for i, j in kept]
            warn_user(
                f"{name}: the nodes of {_listed(pairs)} always {told}: only the prior keeps the "
                f"{family.edge_parameter} of such an edge finite; leave one of the two nodes out, or give "
                "the prior some thought"
            )


def _warn_of_unseen_states(node, x: np.ma.MaskedArray, name: str) -> None:
    """Warn of states that the data `x` (..., d) do not show, whose node parameters are free."""
    family, graph = node.op.family, node.op.graph
    rows = x.reshape(-1, graph.n_nodes)
    seen = np.array([(rows == state).filled(False).any(axis=0) for state in family.states]).T
    unseen = ~seen & family.possible(graph.n_nodes)
    nodes = np.flatnonzero(unseen.any(axis=1))
    if len(nodes):
        listed = "; ".join(
            f"{', '.join(str(family.states[k]) for k in np.flatnonzero(unseen[i]))} of {graph.nodes[i]}"
            for i in nodes[:5]
        )
        more = f"; and those of {len(nodes) - 5} more nodes" if len(nodes) > 5 else ""
        own = _fewer_states(seen) if family.has_reference_state else ""
        zero = ", or if it is state 0 all those of its node," if family.has_reference_state else ""
        warn_user(
            f"{name} shows no observation in some states: {listed}{more}. Only the prior keeps the "
            f"{family.node_parameter} of such a state{zero} finite: "
            f"{own}merge states with pymc_mrf.recode_states(x, "
            "new_states), which keeps missing cells, or give the prior some thought"
        )


def _fewer_states(seen: np.ndarray) -> str:
    """Name the numbers of states that nodes have in the data, (d, K), if some end before the last state."""
    own = [max(int(np.flatnonzero(row)[-1]) + 1, 2) if row.any() else len(row) for row in seen]
    if not min(own) < len(seen[0]):
        return ""
    listed = ", ".join(map(str, own)) if len(own) <= 20 else f"{own[0]}, {own[1]}, ..."
    return f"if the last ones are no answers of their nodes, give n_states=[{listed}]; else "


LARGEST = 1e100  # of a parameter: sums of larger ones may overflow


def check_numbers(numbers: np.ndarray | None, family: Family, label: str) -> None:
    """Refuse numbers outside the domain of a parameter; None stands for random ones."""
    if numbers is None:
        return
    wrong, domain = ~(np.abs(numbers) <= LARGEST), f"finite, at most {LARGEST:g} in size"
    if family.is_log_odds:
        wrong, domain = ~((numbers > 0) & (numbers < 1)), "in the open interval (0, 1)"
    if wrong.any():
        cell = tuple(np.argwhere(wrong)[0].tolist())
        where = f" at {list(cell)}" if cell else ""
        raise ValueError(f"{label} must be {domain}; it has the value {numbers[cell]}{where}")


def named_parameter(value: Any, n_core: int, name: str) -> tuple[Any, np.ndarray | None, list]:
    """Return a symbolic parameter, its numbers if it has some, and the names of its axes.

    Lengths of dimensions are known for the last `n_core` axes.
    """
    symbolic, numbers = parameter(value, name)
    if not isinstance(value, Variable):
        return symbolic, numbers, axes_of_values(value, name)
    axes = axes_of_variable(symbolic)
    return with_lengths(symbolic, axes, n_core), numbers, axes


def edge_parameter(value: Any, family: Family, graph: PairwiseGraph | LaggedGraph):
    """Symbolic edge parameters (..., r), numbers checked."""
    name = family.edge_parameter
    labels, role = family.axis_labels(graph), "entry" if family.has_blocks else "edge"
    check_labels(value, labels[role], name, role)
    symbolic, numbers, axes = named_parameter(value, 1, name)
    check_numbers(numbers, family, name)
    is_matrix = family.has_blocks and symbolic.type.ndim == 2
    check_axes(axes[:1] if is_matrix else axes, ["edge" if is_matrix else role], labels, name)
    if family.has_blocks:
        return by_blocks(symbolic, family.block_sizes(graph.edges), name)
    return by_unit(symbolic, graph.n_edges, name, "edge")


def node_parameter(value: Any, family: Family, graph: PairwiseGraph, name: str):
    """Symbolic node parameters (..., d) called `name`, numbers checked."""
    check_labels(value, graph.nodes, name, "node")
    symbolic, numbers, axes = named_parameter(value, 1, name)
    check_numbers(numbers, family, name)
    check_axes(axes, ["node"], family.axis_labels(graph), name)
    return by_unit(symbolic, graph.n_nodes, name, "node")


def check_dims(variable: str, name: str, graph: PairwiseGraph) -> None:
    """Refuse dimensions of a variable whose last one is not that of the nodes of a field's graph."""
    model = pm.modelcontext(None)
    axes = dimensions(model.named_vars_to_dims.get(variable) or (), variable, model)
    check_axes(axes, ["node"], {"node": graph.nodes, "edge": graph.edge_labels}, name)
    for axis in axes[-1:]:
        if axis and axis[0].length not in (None, graph.n_nodes):
            raise ValueError(
                f"{name}: dimension {axis[0].dim!r} has {axis[0].length} entries, but the graph has "
                f"{graph.n_nodes} nodes; use pm.Model(coords=pymc_mrf.coords(graph))"
            )


class MarkovRandomField(DiscreteField):
    """Core of the named pairwise fields; not used directly."""

    rv_type = MarkovRandomFieldRV

    @classmethod
    def rv_op(cls, *parameters, op, size=None, rng=None):
        """Build the random variable."""
        rng = pt.random.shared_rng(seed=None) if rng is None else rng
        return op(*parameters, size=size, rng=rng, return_next_rng=True)[1]

    @classmethod
    def _family(cls, *args: Any, **kwargs: Any) -> Family:
        raise NotImplementedError("use a named field such as pymc_mrf.Ising")

    @classmethod
    def _count_states(
        cls, observed: Any, graph: PairwiseGraph, name: str, columns: Any
    ) -> dict[str, Any]:
        """Count the states in the data, of fields whose number of states is not known otherwise."""
        return {}

    def __new__(cls, name, *args, graph=None, observed=None, columns=None, weights=None, **kwargs):
        """Register the field with the model on the context stack, after checking the data."""
        if graph is None:
            raise TypeError(
                f"{cls.__name__} {name!r} needs graph=, a networkx.Graph or one of pymc_mrf.graphs"
            )
        graph = as_graph(graph)
        if kwargs.get("n_states", 0) is None:
            del kwargs["n_states"]
        if "n_states" not in kwargs:
            kwargs |= cls._count_states(observed, graph, name, columns)
        options = {key: kwargs[key] for key in ("n_states",) if key in kwargs}
        family = cls._family(**options)
        family.check_nodes(graph.n_nodes)
        states = family.node_states(graph.n_nodes)
        observed = read_observed(observed, graph.nodes, states, name, columns=columns, weights=weights)
        x = None if observed is None else check_observed(observed, family, graph, name)
        kwargs["data"] = observed, x, name
        if kwargs.get("likelihood", "auto") in ("auto", "path"):
            kwargs["n_rows"] = rows_of(x, kwargs, name)
        if x is not None:
            observed = without_nan(observed, family.states[0])
            observed, kwargs = latent_if_all_missing(observed, kwargs)
        rv = super().__new__(cls, name, *args, graph=graph, observed=observed, **kwargs)
        check_dims(name, name, graph)
        if isinstance(observed, SharedVariable):
            check_dims(str(observed.name), name, graph)
        if x is not None and observed is not None:
            node = registered_node(rv)
            check_rows(node, x, name)
            warn_of_columns(node, x, name)
        return rv

    @classmethod
    def _dist(cls, family, edge, node, *, graph, **kwargs):
        """Variable of a family whose parameters have no state axes."""
        graph = as_graph(graph)
        parameters = [edge_parameter(edge, family, graph)]
        if family.node_parameter is not None:
            parameters.append(node_parameter(node, family, graph, family.node_parameter))
        return cls._variable(family, parameters, graph, **kwargs)

    @classmethod
    def _variable(
        cls,
        family,
        parameters,
        graph,
        *,
        likelihood="auto",
        n_sweeps=DRAW_SWEEPS,
        dtype="int64",
        n_rows=None,
        data=(None, None, "dist"),
        **kwargs,
    ):
        check_shape(kwargs.get("shape"), graph.n_nodes, "nodes of the graph")
        dtype = state_dtype(dtype, family.states)
        options = MonteCarlo() if isinstance(likelihood, str) else likelihood
        likelihood = "monte-carlo" if is_monte_carlo(likelihood) else likelihood
        tree = partial(field_tree, graph, family.n_states)
        check_likelihood(likelihood, n_sweeps, tree, parameters, PAIRWISE_LIKELIHOODS)
        path = sampled = None
        if likelihood == "path":
            path = find_path(
                family, parameters, graph, n_rows or 1, lambda: listed(possible(tree, parameters))
            )
        elif likelihood == "monte-carlo":
            sampled = sampled_field(options, family, graph, parameters, *data)
        elif likelihood == "auto":
            # the first of these that serves; `dist` knows no rows, for which a simulation would be
            if n_rows and not is_cheap(tree()):
                path = unasked_path(family, parameters, graph, n_rows)
                sampled = None if path else unasked_sample(family, graph, parameters, *data)
            likelihood = "path" if path else "monte-carlo" if sampled else exact_or_particles(tree)
        make = partial(MarkovRandomFieldRV, graph, family, likelihood, n_sweeps, dtype=dtype)
        op = make(path=path, sampled=sampled)
        if likelihood == "adjusted-pseudo":
            op = make(adjusted=adjustment(op, parameters, *data))
        return super().dist(parameters, op=op, **kwargs)


class AgreementMRF(MarkovRandomField):
    r"""Agreement field of Liu & Page (2013, eq. 1).

    .. math::

        p(x \mid \theta) \propto \prod_{(u,v)} \theta_{uv}^{[x_u = x_v]} (1-\theta_{uv})^{[x_u \ne x_v]}

    Parameters
    ----------
    name : str
    theta : tensor_like of float, shape (..., r), (..., 1) or scalar
        One value in (0, 1) per edge, in graph order; above 1/2 the two nodes attract each other.
    graph : networkx.Graph or PairwiseGraph
    n_states : int
        Number of states K >= 2; values are 0..K-1.
    likelihood : str or MonteCarlo
        "auto", "exact", "pseudo", "adjusted-pseudo", "path", "monte-carlo" or "particles".
        How log p is evaluated. "exact": by junction tree, with gradient; possible on graphs of small
        treewidth. "pseudo": product of full conditionals (Besag, 1975), with gradient, approximate.
        "adjusted-pseudo": the same, after an affine map of the parameters that gives it the mode and
        the curvature of the likelihood (Bouranis, Friel & Maire, 2017), found by simulation when the field is
        declared; for observed, complete data and continuous parameters that all rows share.
        "path": with gradient, for `Ising`, `Potts` and `AgreementMRF` fields whose only parameter is one
        coupling, a scalar or a scalar times constants, the weights of the edges (of an `AgreementMRF`, the
        sigmoid of these), and for `Ising` fields, and `Potts` fields of two or three states, that attract
        neighbours and have one field for all nodes as well: by thermodynamic integration (Gelman & Meng,
        1998, eq. 6), simulated once per graph and weights, and saved.
        "monte-carlo": with gradient, from a sample of the field at one place near the posterior (Geyer &
        Thompson, 1992), which is simulated when the field is declared: a fixed, smooth function, for graphs
        of any treewidth and observed data of many rows, with or without missing cells, parameters that all
        rows share and one number per edge, whatever its prior; `MonteCarlo` has its options.
        "particles": unnormalised energy, for steps that simulate the field. "auto": "exact" if the
        tables of the junction tree have at most 2 ** 20 cells; else "path" if there is one, for rows
        that have at most 2 ** 14 nodes together and whose coupling is random, a single row of up to four
        states and no negative couplings 2 ** 16 nodes, or 2 ** 12 nodes of two states in a field; else
        "monte-carlo" if its reference is found and its noise at most 1.2 times the
        default tolerance, for random edges, and without a `SpikeAndSlab` for as many rows as
        edges at least, or ten times as many where a `DirichletProcess` groups those of a graph of
        four edges to a node, not on others; else "particles".
    n_sweeps : int
        Gibbs sweeps behind each random draw (prior and posterior predictive) that is not exact, every second
        one over clusters where an attractive field may order; a warning tells where they are too few. Draws
        are exact if the likelihood is "exact" and the tables have at most 2 ** 14 cells.
    dtype : str
        Integer type of the values of a hidden field, by default "int64". Draws of a large one take an eighth
        of the memory as "int8", to be used as indices, ``level[x]``, or after a cast,
        ``x.astype("int64")``: elsewhere numbers of such a type wrap around without a word, as in ``100 * x``
        and ``x + x`` but not in ``x.sum()``, and PyTensor computes functions such as ``exp(x)`` in single
        precision.
    **kwargs
        ``observed`` (..., d), ``dims``, ``shape`` and so on, as for every PyMC distribution. Missing
        cells are declared by a masked array; if all of them are masked, the variable is a latent one.
        `observed` may be a table as well, of pandas, polars, pyarrow or xarray: its columns are found by the
        names of the nodes, those of ``columns=[...]`` instead if it is given, and cells without a value are
        missing (`prepare` has all rules).

        ``weights`` (n,), whole numbers: how many observations each row of `observed` (n, d) stands for, as in
        a table of frequencies. The model has the rows so often, in their order: parameters that differ
        between rows, coordinates, predictive draws and pointwise log-likelihoods have sum(weights) rows.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, values are outside their domain, the exact
        likelihood is asked for and the junction tree is too wide, a path and there are other parameters
        than one coupling and one field, or a Monte Carlo likelihood and there are no observed data, they are
        in pm.Data, or parameters differ between rows.

    Warns
    -----
    UserWarning
        If a path is not known well enough for the number of observations.
    """

    rv_type = MarkovRandomFieldRV
    rv_op = MarkovRandomField.rv_op

    @classmethod
    def _family(cls, n_states: int = 2) -> Family:
        return agreement(n_states)

    @classmethod
    def dist(cls, theta, *, graph, n_states=2, **kwargs):
        """Unregistered variable; see the class."""
        return cls._dist(cls._family(n_states), theta, None, graph=graph, **kwargs)


class Ising(MarkovRandomField):
    r"""Ising model over states -1 and +1.

    .. math::

        p(x \mid J, h) \propto \exp\Big(\sum_{(u,v)} J_{uv} x_u x_v + \sum_i h_i x_i\Big)

    Parameters
    ----------
    name : str
    coupling : tensor_like of float, shape (..., r), (..., 1) or scalar
        One value J per edge, in graph order, or one for all: positive values make the two nodes agree,
        negative ones differ, and zero is no edge.
    field : tensor_like of float, shape (..., d), (..., 1) or scalar
        One value h per node, in graph order, or one for all: positive values favour +1.
    graph, likelihood, n_sweeps, dtype, **kwargs
        As for `AgreementMRF`.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, a parameter is not finite, or the exact
        likelihood is asked for and the junction tree is too wide.

    References
    ----------
    Ising (1925).
    """

    rv_type = MarkovRandomFieldRV
    rv_op = MarkovRandomField.rv_op

    @classmethod
    def _family(cls) -> Family:
        return ISING

    @classmethod
    def dist(cls, coupling, field=0.0, *, graph, **kwargs):
        """Unregistered variable; see the class."""
        return cls._dist(ISING, coupling, field, graph=graph, **kwargs)


class BoltzmannMachine(MarkovRandomField):
    r"""Boltzmann machine without hidden units, over states 0 and 1 (Chen & Welling, 2012).

    .. math::

        p(x \mid w, b) \propto \exp\Big(\sum_{(u,v)} w_{uv} x_u x_v + \sum_i b_i x_i\Big)

    Parameters
    ----------
    name : str
    weight : tensor_like of float, shape (..., r), (..., 1) or scalar
        One value w per edge, in graph order, or one for all: what it adds to the log probability if both
        nodes are 1. Zero is no edge.
    bias : tensor_like of float, shape (..., d), (..., 1) or scalar
        One value b per node, in graph order, or one for all: the log odds of 1 where all neighbours are 0.
    graph, likelihood, n_sweeps, dtype, **kwargs
        As for `AgreementMRF`.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, a parameter is not finite, or the exact
        likelihood is asked for and the junction tree is too wide.

    References
    ----------
    Ackley, Hinton & Sejnowski (1985); Chen & Welling (2012).
    """

    rv_type = MarkovRandomFieldRV
    rv_op = MarkovRandomField.rv_op

    @classmethod
    def _family(cls) -> Family:
        return BOLTZMANN

    @classmethod
    def dist(cls, weight, bias=0.0, *, graph, **kwargs):
        """Unregistered variable; see the class."""
        return cls._dist(BOLTZMANN, weight, bias, graph=graph, **kwargs)
