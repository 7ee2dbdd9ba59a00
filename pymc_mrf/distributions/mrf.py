"""Pairwise Markov random fields as PyMC distributions: one core, one named form per family."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from pymc_mrf.checks import check_labels
from pymc_mrf.distributions.arguments import parameter
from pymc_mrf.distributions.field import (
    Field,
    check_shape,
    chosen_likelihood,
    latent_if_all_missing,
    observed_values,
    without_nan,
)
from pymc_mrf.distributions.mrf_rv import DRAW_SWEEPS, MarkovRandomFieldRV
from pymc_mrf.distributions.parents import field_node, free_parents
from pymc_mrf.fields.families import BOLTZMANN, ISING, Family, agreement
from pymc_mrf.graph.junction_tree import field_tree
from pymc_mrf.graph.structure import PairwiseGraph, as_graph, coords


def check_observed(observed: Any, family: Family, graph: PairwiseGraph, name: str) -> None:
    """Refuse observed values that are not states, and shapes that do not fit the graph."""
    check_labels(observed, graph.nodes, f"{name}: observed", "node")
    what = f"the {graph.n_nodes} nodes of the graph, in node order"
    values = observed_values(observed, graph.n_nodes, what, family.states[0], name)
    missing = "declare missing cells with numpy.ma.masked_invalid(x)"
    family.check_states(values, name=f"{name}: observed", missing=missing)


def check_numbers(numbers: np.ndarray | None, family: Family, label: str) -> None:
    """Refuse numbers outside the domain of a parameter; None stands for random ones."""
    if numbers is None:
        return
    wrong, domain = ~np.isfinite(numbers), "finite"
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


def check_dims(rv, name: str, graph: PairwiseGraph) -> None:
    """Refuse coordinates of the model that are those of another graph, or of another order.

    Else their disagreement with the data would show after sampling, or never.
    """
    model = pm.modelcontext(None)
    dims = model.named_vars_to_dims.get(name)
    if dims and dims[-1] is not None and (coordinates := model.coords.get(dims[-1])) is not None:
        labels, own = list(coordinates), coords(graph)["node"]
        if len(labels) != graph.n_nodes or (labels != own and set(labels) & set(own)):
            if labels == list(range(len(own))):
                return  # numbers by position
            raise ValueError(
                f"{name}: the coordinates of dimension {dims[-1]!r} are not the nodes of the graph in its "
                "order; use pm.Model(coords=pymc_mrf.coords(graph))"
            )
    for parent in free_parents(field_node(rv), model) if field_node(rv) is not None else []:
        dims = model.named_vars_to_dims.get(parent.name) or (None,)
        labels = [str(label) for label in model.coords.get(dims[-1]) or ()]
        if len(labels) == graph.n_edges and labels != list(graph.edge_labels):
            if set(labels) & set(graph.edge_labels):
                raise ValueError(
                    f"{name}: the coordinates of dimension {dims[-1]!r}, that of {parent.name}, are not the "
                    "edges of the graph in its order; use pm.Model(coords=pymc_mrf.coords(graph))"
                )


class MarkovRandomField(Field):
    """Core of the named pairwise fields; not used directly."""

    rv_type = MarkovRandomFieldRV

    @classmethod
    def rv_op(cls, *parameters, graph, family, likelihood, n_sweeps, size=None, rng=None):
        """Build the random variable."""
        rng = pt.random.shared_rng(seed=None) if rng is None else rng
        op = MarkovRandomFieldRV(graph, family, likelihood, n_sweeps)
        return op(*parameters, size=size, rng=rng, return_next_rng=True)[1]

    @classmethod
    def _family(cls, *args: Any, **kwargs: Any) -> Family:
        raise NotImplementedError("use a named field such as pymc_mrf.Ising")

    def __new__(cls, name, *args, graph=None, observed=None, **kwargs):
        """Register the field with the model on the context stack, after checking the data."""
        if graph is None:
            raise TypeError(
                f"{cls.__name__} {name!r} needs graph=, a networkx.Graph or one of pymc_mrf.graphs"
            )
        graph = as_graph(graph)
        if observed is not None:
            options = {key: kwargs[key] for key in ("n_states",) if key in kwargs}
            family = cls._family(**options)
            family.check_nodes(graph.n_nodes)
            check_observed(observed, family, graph, name)
            observed = without_nan(observed, family.states[0])
            observed, kwargs = latent_if_all_missing(observed, kwargs)
        rv = super().__new__(cls, name, *args, graph=graph, observed=observed, **kwargs)
        check_dims(rv, name, graph)
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
    def _variable(cls, family, parameters, graph, *, likelihood="auto", n_sweeps=DRAW_SWEEPS, **kwargs):
        check_shape(kwargs.get("shape"), graph.n_nodes, "nodes of the graph")
        likelihood = chosen_likelihood(likelihood, n_sweeps, lambda: field_tree(graph, family.n_states))
        return super().dist(
            parameters,
            graph=graph,
            family=family,
            likelihood=likelihood,
            n_sweeps=n_sweeps,
            **kwargs,
        )


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
    likelihood : {"auto", "exact", "pseudo", "particles"}
        How log p is evaluated. "exact": by junction tree, with gradient; possible on graphs of small
        treewidth. "pseudo": product of full conditionals (Besag, 1975), with gradient, approximate.
        "particles": unnormalised energy, for steps that simulate the field. "auto": "exact" if the
        tables of the junction tree have at most 2 ** 20 cells, else "particles".
    n_sweeps : int
        Gibbs sweeps behind each random draw (prior and posterior predictive) that is not exact; draws
        are exact if the likelihood is "exact" and the tables have at most 2 ** 14 cells.
    **kwargs
        ``observed`` (..., d), ``dims``, ``shape`` and so on, as for every PyMC distribution. Missing
        cells are declared by a masked array; if all of them are masked, the variable is a latent one.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, values are outside their domain, or the
        exact likelihood is asked for and the junction tree is too wide.
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
    graph, likelihood, n_sweeps, **kwargs
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
    graph, likelihood, n_sweeps, **kwargs
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
