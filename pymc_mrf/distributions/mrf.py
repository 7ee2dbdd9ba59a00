"""Discrete Markov random fields as PyMC distributions: one core, one named form per family."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.pytensorf import floatX
from pytensor.compile.sharedvalue import SharedVariable

from pymc_mrf.distributions.mrf_rv import (
    DEFAULT_SWEEPS,
    MarkovRandomFieldRV,
    field_node,
    field_tree,
    tag_parents,
)
from pymc_mrf.fields.families import BOLTZMANN, ISING, Family, agreement
from pymc_mrf.graph.junction_tree import check_tractable, is_cheap
from pymc_mrf.graph.structure import PairwiseGraph, as_graph

LIKELIHOODS = ("auto", "exact", "pseudo", "particles")


def _check_observed(observed: Any, family: Family, graph: PairwiseGraph, name: str) -> None:
    """Refuse observed values that are not states, and shapes that do not fit the graph."""
    columns = getattr(observed, "columns", None)
    if columns is not None and set(columns) == set(graph.nodes) and list(columns) != [*graph.nodes]:
        raise ValueError(
            f"{name}: the columns of `observed` are the graph's nodes in another order; "
            "use observed[list(graph.nodes)]"
        )
    if isinstance(observed, SharedVariable):
        observed = observed.get_value()
    elif isinstance(observed, pt.TensorVariable):
        observed = observed.eval()
    mask = np.ma.getmaskarray(observed) if isinstance(observed, np.ma.MaskedArray) else None
    values = np.asarray(np.ma.getdata(observed) if mask is not None else observed)
    if values.ndim == 0 or values.shape[-1] != graph.n_nodes:
        raise ValueError(
            f"{name}: `observed` has shape {values.shape}, but its last dimension must be the "
            f"{graph.n_nodes} nodes of the graph, in node order"
        )
    if values.size == 0:
        raise ValueError(f"{name}: `observed` has no rows; at least one observation is needed")
    if mask is not None:
        values = np.where(mask, family.states[0], values)
    family.check_states(values, name=f"{name}: observed")


def _parameter(value: Any, length: int, label: str, family: Family, unit: str):
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
    if isinstance(value, float | int | np.ndarray | list | tuple):
        numbers = np.asarray(value, dtype=np.float64)
        wrong = ~np.isfinite(numbers)
        domain = "finite"
        if family.name == "agreement":
            wrong = ~((numbers > 0) & (numbers < 1))
            domain = "in the open interval (0, 1)"
        if wrong.any():
            raise ValueError(f"{label} must be {domain}; it has the value {numbers[wrong].flat[0]}")
    return parameter


class MarkovRandomField(Discrete):
    """Core of the named fields; not used directly."""

    rv_type = MarkovRandomFieldRV

    @classmethod
    def rv_op(cls, *parameters, graph, family, likelihood, n_sweeps, size=None, rng=None):
        """Build the random variable."""
        rng = pt.random.shared_rng(seed=None) if rng is None else rng
        op = MarkovRandomFieldRV(graph, family, likelihood, n_sweeps)
        return op(*parameters, size=size, rng=rng, return_next_rng=True)[1]

    @classmethod
    def _family(cls, n_states: int) -> Family:
        raise NotImplementedError("use a named field such as pymc_mrf.Ising")

    def __new__(cls, name, *args, graph, observed=None, n_states=2, **kwargs):
        """Register the field with the model on the context stack, after checking the data."""
        graph = as_graph(graph)
        family = cls._family(n_states)
        if observed is not None:
            _check_observed(observed, family, graph, name)
        if family.name == "agreement":
            kwargs["n_states"] = n_states
        rv = super().__new__(cls, name, *args, graph=graph, observed=observed, **kwargs)
        model = pm.modelcontext(None)
        registered = model[f"{name}_observed"] if f"{name}_observed" in model.named_vars else rv
        tag_parents(field_node(registered), model)
        return rv

    @classmethod
    def _dist(cls, family, edge, node, *, graph, likelihood, n_sweeps, **kwargs):
        graph = as_graph(graph)
        if likelihood not in LIKELIHOODS:
            options = ", ".join(f'"{option}"' for option in LIKELIHOODS)
            raise ValueError(f"likelihood must be one of {options}, not {likelihood!r}")
        if isinstance(n_sweeps, bool) or not isinstance(n_sweeps, int) or n_sweeps < 1:
            raise ValueError(f"n_sweeps must be a positive integer, not {n_sweeps!r}")
        if likelihood in ("auto", "exact"):
            tree = field_tree(graph, family.n_states)
            if likelihood == "exact":
                check_tractable(tree)
            likelihood = "exact" if likelihood == "exact" or is_cheap(tree) else "particles"
        parameters = [_parameter(edge, graph.n_edges, family.edge_parameter, family, "edge")]
        if family.node_parameter is not None:
            label = family.node_parameter
            parameters.append(_parameter(node, graph.n_nodes, label, family, "node"))
        return super().dist(
            parameters,
            graph=graph,
            family=family,
            likelihood=likelihood,
            n_sweeps=n_sweeps,
            **kwargs,
        )

    def support_point(rv, size, *parameters):
        """All nodes in the first state."""
        op = rv.owner.op
        shape = (op.graph.n_nodes,) if rv_size_is_none(size) else (*size, op.graph.n_nodes)
        return pt.full(shape, op.family.states[0], dtype="int64")


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
    def _family(cls, n_states: int) -> Family:
        return agreement(n_states)

    @classmethod
    def dist(cls, theta, *, graph, n_states=2, likelihood="auto", n_sweeps=DEFAULT_SWEEPS, **kwargs):
        """Unregistered variable; see the class."""
        family = agreement(n_states)
        options = {"graph": graph, "likelihood": likelihood, "n_sweeps": n_sweeps}
        return cls._dist(family, theta, None, **options, **kwargs)


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
    def _family(cls, n_states: int) -> Family:
        return ISING

    @classmethod
    def dist(cls, coupling, field=0.0, *, graph, likelihood="auto", n_sweeps=DEFAULT_SWEEPS, **kwargs):
        """Unregistered variable; see the class."""
        options = {"graph": graph, "likelihood": likelihood, "n_sweeps": n_sweeps}
        return cls._dist(ISING, coupling, field, **options, **kwargs)


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
    def _family(cls, n_states: int) -> Family:
        return BOLTZMANN

    @classmethod
    def dist(cls, weight, bias=0.0, *, graph, likelihood="auto", n_sweeps=DEFAULT_SWEEPS, **kwargs):
        """Unregistered variable; see the class."""
        options = {"graph": graph, "likelihood": likelihood, "n_sweeps": n_sweeps}
        return cls._dist(BOLTZMANN, weight, bias, **options, **kwargs)
