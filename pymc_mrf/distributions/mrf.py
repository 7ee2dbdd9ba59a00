"""Pairwise Markov random fields as PyMC distributions: one core, one named form per family."""

from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.tensor.shape import SpecifyShape

from pymc_mrf.checks import check_labels, warn_user
from pymc_mrf.distributions.adjusted_pseudo import adjustment, complete_data, refusal
from pymc_mrf.distributions.arguments import parameter
from pymc_mrf.distributions.field import (
    PAIRWISE_LIKELIHOODS,
    Field,
    check_shape,
    chosen_likelihood,
    latent_if_all_missing,
    observed_values,
    read_observed,
    registered_node,
    state_dtype,
    without_nan,
)
from pymc_mrf.distributions.mrf_rv import DRAW_SWEEPS, MarkovRandomFieldRV
from pymc_mrf.distributions.parents import free_parents, strip_views
from pymc_mrf.distributions.path import find_path, rows_of, unasked_path
from pymc_mrf.fields.families import BOLTZMANN, ISING, Family, agreement
from pymc_mrf.graph.junction_tree import field_tree, is_cheap
from pymc_mrf.graph.structure import PairwiseGraph, as_graph, coords


def check_observed(observed: Any, family: Family, graph: PairwiseGraph, name: str) -> np.ma.MaskedArray:
    """Refuse observed values that are not states, and shapes that do not fit the graph; return the values."""
    what = f"the {graph.n_nodes} nodes of the graph, in node order"
    values = observed_values(observed, graph.n_nodes, what, family.states[0], name)
    missing = "declare missing cells with numpy.ma.masked_invalid(x)"
    family.check_states(values, name=f"{name}: observed", missing=missing)
    return np.ma.masked_array(values, mask=np.ma.getmask(observed))


def check_rows(node, x: np.ndarray, name: str) -> None:
    """Refuse parameters that differ between rows of another number than those of the data `x` (..., d)."""
    family = node.op.family
    labels = (family.edge_parameter, family.edge_axes), (family.node_parameter, family.node_axes)
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
    """Warn of columns of the data `x` (..., d) that leave parameters of their nodes to the prior."""
    has_thresholds = node.op.family.node_axes > 0
    if has_thresholds and strip_views(node.op.dist_params(node)[1]) in pm.modelcontext(None).free_RVs:
        _warn_of_unseen_states(node, x, name)
    else:
        _warn_of_constant_columns(node, x, name)


def _warn_of_constant_columns(node, x: np.ma.MaskedArray, name: str) -> None:
    """Warn of nodes that are in one state in all rows.

    The likelihood grows for ever with the bias of such a node, or with its weights if the bias is a number.
    Parameters that nodes or edges share, and those of fields without node parameters, are finite even so.
    """
    rows, graph = x.reshape(-1, x.shape[-1]), node.op.graph
    shapes = [rv.type.shape for rv in free_parents(node, pm.modelcontext(None))]
    fewest = min(graph.n_nodes, graph.n_edges)
    is_shared = all(None not in shape and np.prod(shape) < fewest for shape in shapes)
    if is_shared or node.op.family.node_parameter is None or len(rows) < FEWEST_ROWS:
        return
    constant = np.flatnonzero(np.ma.filled(rows.max(axis=0) == rows.min(axis=0), False))
    if len(constant):
        labels = ", ".join(str(graph.nodes[i]) for i in constant[:5])
        more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
        warn_user(
            f"{name} never changes at {labels}{more}: only the priors keep the "
            "parameters of such nodes and of their edges finite"
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
        reference = ", or if it is state 0 all those of its node," if family.name == "ordinal" else ""
        warn_user(
            f"{name} shows no observation in some states: {listed}{more}. Only the prior keeps the "
            f"{family.node_parameter} of such a state{reference} finite: collapse categories, as by "
            "numpy.take(new_states, x), or give the prior some thought"
        )


LARGEST = 1e100  # of a parameter: sums of larger ones may overflow


def check_numbers(numbers: np.ndarray | None, family: Family, label: str) -> None:
    """Refuse numbers outside the domain of a parameter; None stands for random ones."""
    if numbers is None:
        return
    wrong, domain = ~(np.abs(numbers) <= LARGEST), f"finite, at most {LARGEST:g} in size"
    if family.is_log_odds:
        wrong, domain = ~((numbers > 0) & (numbers < 1)), "in the open interval (0, 1)"
    if wrong.any():
        raise ValueError(f"{label} must be {domain}; it has the value {numbers[wrong].flat[0]}")


def vector_parameter(value: Any, length: int, label: str, unit: str):
    """Symbolic parameter of shape (..., length); scalars are repeated."""
    if value.type.ndim == 0:
        value = pt.full((length,), value)
    known = value.type.shape[-1]
    if known is not None and known != length:
        raise ValueError(
            f"{label} has length {known} but the graph has {length} {unit}s; give one value per "
            f'{unit} in graph order (dims="{unit}" with coords=pymc_mrf.coords(graph)), or a scalar'
        )
    if known is None:
        value = pt.specify_shape(value, (*[None] * (value.type.ndim - 1), length))
    return value


def edge_parameter(value: Any, family: Family, graph: PairwiseGraph):
    """Symbolic edge parameters (..., r), numbers checked."""
    name = family.edge_parameter
    check_labels(value, graph.edge_labels, name, "edge")
    symbolic, numbers = parameter(value, name)
    symbolic = vector_parameter(symbolic, graph.n_edges, name, "edge")
    check_numbers(numbers, family, name)
    return symbolic


def _node_parameter(value: Any, family: Family, graph: PairwiseGraph):
    """Symbolic node parameters (..., d), numbers checked."""
    name = str(family.node_parameter)
    check_labels(value, graph.nodes, name, "node")
    symbolic, numbers = parameter(value, name)
    symbolic = vector_parameter(symbolic, graph.n_nodes, name, "node")
    check_numbers(numbers, family, name)
    return symbolic


def check_node_dim(variable: str, name: str, graph: PairwiseGraph) -> None:
    """Refuse coordinates of the last dimension of a variable that are not the nodes of a field's graph."""
    model = pm.modelcontext(None)
    dims = model.named_vars_to_dims.get(variable)
    if not dims or dims[-1] is None or (coordinates := model.coords.get(dims[-1])) is None:
        return
    labels, own = list(coordinates), coords(graph)["node"]
    if labels == list(range(graph.n_nodes)):
        return  # numbers by position
    if len(labels) != graph.n_nodes or (labels != own and set(labels) & set(own)):
        raise ValueError(
            f"{name}: the coordinates of dimension {dims[-1]!r} are not the nodes of the graph in its order; "
            "use pm.Model(coords=pymc_mrf.coords(graph))"
        )


def check_dims(rv, name: str, graph: PairwiseGraph) -> None:
    """Refuse coordinates of the model that are those of another graph, or of another order.

    Else their disagreement with the data would show after sampling, or never. Pairs of nodes are those of the
    graph whichever of the two comes first.
    """
    check_node_dim(name, name, graph)
    model = pm.modelcontext(None)
    own = [frozenset(label.split("--")) for label in graph.edge_labels]
    node = registered_node(rv)
    for given in node.op.dist_params(node):
        _check_lengths(given, name, model)
    for parent in free_parents(node, model):
        dims = model.named_vars_to_dims.get(parent.name) or (None,)
        labels = [str(label) for label in model.coords.get(dims[-1]) or ()]
        pairs = [frozenset(label.split("--")) for label in labels]
        if len(pairs) == graph.n_edges and pairs != own and set(pairs) & set(own):
            raise ValueError(
                f"{name}: the coordinates of dimension {dims[-1]!r}, that of {parent.name}, are not the "
                "edges of the graph in its order; use pm.Model(coords=pymc_mrf.coords(graph))"
            )


def _check_lengths(parameter, name: str, model: pm.Model) -> None:
    """Refuse a parameter whose dimensions have another length than the field asks for, at run time only."""
    variable = parameter
    while variable.owner is not None and (
        isinstance(variable.owner.op, SpecifyShape)
        or getattr(variable.owner.op, "is_left_expand_dims", False)
    ):
        variable = variable.owner.inputs[0]
    dims = model.named_vars_to_dims.get(variable.name) or ()
    shape = parameter.type.shape[parameter.type.ndim - len(dims) :]
    for dim, n in zip(dims, shape, strict=True):
        coordinates = model.coords.get(dim)
        if coordinates is not None and n not in (None, len(coordinates)):
            raise ValueError(
                f"{name}: dimension {dim!r} of {variable.name} has {len(coordinates)} coordinates, but "
                f"{variable.name} must have shape {shape} here"
            )


class MarkovRandomField(Field):
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

    def __new__(cls, name, *args, graph=None, observed=None, columns=None, weights=None, **kwargs):
        """Register the field with the model on the context stack, after checking the data."""
        if graph is None:
            raise TypeError(
                f"{cls.__name__} {name!r} needs graph=, a networkx.Graph or one of pymc_mrf.graphs"
            )
        graph = as_graph(graph)
        options = {key: kwargs[key] for key in ("n_states",) if key in kwargs}
        family = cls._family(**options)
        family.check_nodes(graph.n_nodes)
        states = family.node_states(graph.n_nodes)
        observed = read_observed(observed, graph.nodes, states, name, columns=columns, weights=weights)
        x = None if observed is None else check_observed(observed, family, graph, name)
        if kwargs.get("likelihood") == "adjusted-pseudo":
            kwargs["adjust_to"] = complete_data(observed, x, name), name
        if kwargs.get("likelihood", "auto") in ("auto", "path"):
            kwargs["n_rows"] = rows_of(x, kwargs, name)
        if x is not None:
            observed = without_nan(observed, family.states[0])
            observed, kwargs = latent_if_all_missing(observed, kwargs)
        rv = super().__new__(cls, name, *args, graph=graph, observed=observed, **kwargs)
        check_dims(rv, name, graph)
        if isinstance(observed, SharedVariable):
            check_node_dim(observed.name, name, graph)
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
            parameters.append(_node_parameter(node, family, graph))
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
        adjust_to=None,
        n_rows=None,
        **kwargs,
    ):
        check_shape(kwargs.get("shape"), graph.n_nodes, "nodes of the graph")
        path = None
        if likelihood == "path":
            path = find_path(family, parameters, graph, n_rows or 1)
        elif likelihood == "auto" and n_rows == 1 and not is_cheap(field_tree(graph, family.n_states)):
            path = unasked_path(family, parameters, graph)
            likelihood = "path" if path else "auto"
        likelihood = chosen_likelihood(
            likelihood, n_sweeps, lambda: field_tree(graph, family.n_states), PAIRWISE_LIKELIHOODS
        )
        make = partial(
            MarkovRandomFieldRV,
            graph,
            family,
            likelihood,
            n_sweeps,
            dtype=state_dtype(dtype, family.states),
        )
        op = make(path=path)
        if likelihood == "adjusted-pseudo":
            if adjust_to is None:
                raise refusal(
                    "dist", "needs observed data", "declare the field in a model, with `observed`"
                )
            op = make(adjusted=adjustment(op, parameters, *adjust_to))
        return super().dist(parameters, op=op, **kwargs)


class AgreementMRF(MarkovRandomField):
    r"""Agreement field of Liu & Page (2013, eq. 1).

    .. math::

        p(x \mid \theta) \propto \prod_{(u,v)} \theta_{uv}^{[x_u = x_v]} (1-\theta_{uv})^{[x_u \ne x_v]}

    Parameters
    ----------
    name : str
    theta : tensor_like of float, shape (..., r) or scalar
        One value in (0, 1) per edge, in graph order; above 1/2 the two nodes attract each other.
    graph : networkx.Graph or PairwiseGraph
    n_states : int
        Number of states K >= 2; values are 0..K-1.
    likelihood : {"auto", "exact", "pseudo", "adjusted-pseudo", "path", "particles"}
        How log p is evaluated. "exact": by junction tree, with gradient; possible on graphs of small
        treewidth. "pseudo": product of full conditionals (Besag, 1975), with gradient, approximate.
        "adjusted-pseudo": the same, after an affine map of the parameters that gives it the mode and
        the curvature of the likelihood (Bouranis, Friel & Maire, 2017), found by simulation when the field is
        declared; for observed, complete data and continuous parameters that all rows share.
        "path": with gradient, for `Ising`, `Potts` and `AgreementMRF` fields whose only parameter is one
        coupling, a scalar, and for `Ising` fields, and `Potts` fields of two or three states, that attract
        neighbours and have one field for all nodes as well: by thermodynamic integration (Gelman & Meng,
        1998, eq. 6), simulated once per graph and saved.
        "particles": unnormalised energy, for steps that simulate the field. "auto": "exact" if the
        tables of the junction tree have at most 2 ** 20 cells; else "path" if there is one, for one row of at
        most 2 ** 14 nodes whose coupling is random, or 2 ** 12 nodes of two states in a field; else
        "particles".
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
        likelihood is asked for and the junction tree is too wide, or a path and there are other parameters
        than one coupling and one field.

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
    coupling : tensor_like of float, shape (..., r) or scalar
        One value J per edge, in graph order, or one for all: positive values make the two nodes agree,
        negative ones differ, and zero is no edge.
    field : tensor_like of float, shape (..., d) or scalar
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
    weight : tensor_like of float, shape (..., r) or scalar
        One value w per edge, in graph order, or one for all: what it adds to the log probability if both
        nodes are 1. Zero is no edge.
    bias : tensor_like of float, shape (..., d) or scalar
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
