"""Pairwise Markov random fields as PyMC distributions: one core, one named form per family."""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.pytensorf import floatX

from pymc_mrf.distributions.field import Field, chosen_likelihood, observed_values
from pymc_mrf.distributions.mrf_rv import DEFAULT_SWEEPS, MarkovRandomFieldRV, field_tree
from pymc_mrf.fields.families import BOLTZMANN, ISING, Family, agreement
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


def check_observed(observed: Any, family: Family, graph: PairwiseGraph, name: str) -> None:
    """Refuse observed values that are not states, and shapes that do not fit the graph."""
    columns = getattr(observed, "columns", None)
    if columns is not None and set(columns) == set(graph.nodes) and list(columns) != [*graph.nodes]:
        raise ValueError(
            f"{name}: the columns of `observed` are the graph's nodes in another order; "
            "use observed[list(graph.nodes)]"
        )
    what = f"the {graph.n_nodes} nodes of the graph, in node order"
    values = observed_values(observed, graph.n_nodes, what, family.states[0], name)
    family.check_states(values, name=f"{name}: observed")


def check_numbers(value: Any, family: Family, label: str) -> None:
    """Refuse numbers outside the domain of a parameter; symbolic values pass."""
    if not isinstance(value, float | int | np.ndarray | list | tuple):
        return
    numbers = np.asarray(value, dtype=np.float64)
    wrong, domain = ~np.isfinite(numbers), "finite"
    if family.is_log_odds:
        wrong, domain = ~((numbers > 0) & (numbers < 1)), "in the open interval (0, 1)"
    if wrong.any():
        raise ValueError(f"{label} must be {domain}; it has the value {numbers[wrong].flat[0]}")


def vector_parameter(value: Any, length: int, label: str, unit: str):
    """Symbolic parameter of shape (..., length); scalars are repeated."""
    parameter = floatX(pt.as_tensor_variable(value))
    if parameter.type.ndim == 0:
        parameter = pt.full((length,), parameter)
    known = parameter.type.shape[-1]
    if known is not None and known != length:
        raise ValueError(
            f"{label} has length {known} but the graph has {length} {unit}s; give one value per "
            f'{unit} in graph order (dims="{unit}" with coords=pymc_mrf.coords(graph)), or a scalar'
        )
    if known is None:
        parameter = pt.specify_shape(parameter, (*[None] * (parameter.type.ndim - 1), length))
    return parameter


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

    def __new__(cls, name, *args, graph, observed=None, **kwargs):
        """Register the field with the model on the context stack, after checking the data."""
        graph = as_graph(graph)
        if observed is not None:
            options = {key: kwargs[key] for key in ("n_states",) if key in kwargs}
            check_observed(observed, cls._family(**options), graph, name)
        return super().__new__(cls, name, *args, graph=graph, observed=observed, **kwargs)

    @classmethod
    def _dist(cls, family, edge, node, *, graph, **kwargs):
        """Variable of a family whose parameters have no state axes."""
        graph = as_graph(graph)
        parameters = [vector_parameter(edge, graph.n_edges, family.edge_parameter, "edge")]
        check_numbers(edge, family, family.edge_parameter)
        if family.node_parameter is not None:
            parameters.append(vector_parameter(node, graph.n_nodes, family.node_parameter, "node"))
            check_numbers(node, family, family.node_parameter)
        return cls._variable(family, parameters, graph, **kwargs)

    @classmethod
    def _variable(
        cls, family, parameters, graph, *, likelihood="auto", n_sweeps=DEFAULT_SWEEPS, **kwargs
    ):
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
        cells are declared by a masked array.

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
    field : tensor_like of float, shape (..., d) or scalar
    graph, likelihood, n_sweeps, **kwargs
        As for `AgreementMRF`.
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
    bias : tensor_like of float, shape (..., d) or scalar
    graph, likelihood, n_sweeps, **kwargs
        As for `AgreementMRF`.
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
