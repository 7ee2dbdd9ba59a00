"""Discrete Markov random fields as PyMC distributions: one core, one named form per family.

The random variable holds the graph, the family and the way its likelihood is evaluated as static
properties; its inputs are the parameters that users write.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Discrete, PartialObservedRV
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.logprob.abstract import _logprob
from pymc.pytensorf import floatX
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import ancestors
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.basic import tensor_copy
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.shape import SpecifyShape

from pymc_mrf.distributions._numba import source_version
from pymc_mrf.distributions.intractable import IntractableLogPartition
from pymc_mrf.distributions.pseudo_likelihood import LogPseudoLikelihood
from pymc_mrf.fields.families import BOLTZMANN, ISING, Family, agreement
from pymc_mrf.graph.structure import GraphArrays, PairwiseGraph, as_graph
from pymc_mrf.kernels import gibbs

LIKELIHOODS = ("auto", "pseudo", "particles")
DISPLAY_NAMES = {"agreement": "AgreementMRF", "ising": "Ising", "boltzmann": "BoltzmannMachine"}
DEFAULT_SWEEPS = 100


class MarkovRandomFieldRV(RandomVariable):
    """Random variable over the d nodes of `graph`.

    Random draws are by single-site Gibbs: every row is a chain of its own, started from independent
    uniform states and moved by `n_sweeps` chromatic sweeps. They are exact only as far as that many
    sweeps forget the start.
    """

    dtype = "int64"
    __props__ = (
        "name",
        "signature",
        "dtype",
        "inplace",
        "graph",
        "family",
        "likelihood",
        "n_sweeps",
    )

    def __init__(
        self,
        graph: PairwiseGraph | None = None,
        family: Family | None = None,
        likelihood: str = "particles",
        n_sweeps: int = DEFAULT_SWEEPS,
        name: str | None = None,
        signature: str | None = None,
        dtype: str = "int64",
        inplace: bool = False,
    ) -> None:
        if graph is None or family is None:
            raise TypeError("MarkovRandomFieldRV needs a graph and a family")
        self.graph = graph
        self.family = family
        self.likelihood = likelihood
        self.n_sweeps = n_sweeps
        name = DISPLAY_NAMES[family.name]
        self._print_name = (name, rf"\operatorname{{{name}}}")
        signature = "(r)->(d)" if family.node_parameter is None else "(r),(d)->(d)"
        super().__init__(name=name, signature=signature, dtype=dtype, inplace=inplace)

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return (pt.as_tensor(self.graph.n_nodes, dtype="int64"),)

    def rng_fn(self, rng, *args):
        """Draw rows by Gibbs sampling; `args` are the parameters and the size."""
        *parameters, size = args
        batch = np.broadcast_shapes(*(p.shape[:-1] for p in parameters))
        if size is not None:
            batch = tuple(size)
        d = self.graph.n_nodes
        shared = all(p.size == p.shape[-1] for p in parameters)
        x = np.empty((int(np.prod(batch)), d), dtype=np.int8)
        gibbs.uniform_states(x, self.family.n_states, rng)
        if shared:
            self._sweep(x, [p.reshape(-1) for p in parameters], rng)
        else:
            rows = [np.broadcast_to(p, (*batch, p.shape[-1])) for p in parameters]
            flat = [p.reshape(-1, p.shape[-1]) for p in rows]
            for c in range(len(x)):
                self._sweep(x[c : c + 1], [p[c] for p in flat], rng)
        return np.array(self.family.states, dtype=np.int64)[x].reshape(*batch, d)

    def _sweep(self, x, parameters, rng):
        eta = self.family.natural(parameters[0])
        b = parameters[1] if len(parameters) == 2 else np.zeros(self.graph.n_nodes)
        tables = self.family.edge_tables(eta), self.family.node_tables(b)
        gibbs.gibbs_sweeps(x, *tables, self.graph.arrays, self.n_sweeps, rng)


_SAMPLER_VERSION = source_version(gibbs)


@numba_core_rv_funcify.register(MarkovRandomFieldRV)
def _numba_draw(op, node):
    edges, indptr, neighbors, edge_ids, order, color_ptr = op.graph.arrays
    d, n_states, n_sweeps = op.graph.n_nodes, op.family.n_states, op.n_sweeps
    edge_statistic, node_statistic = op.family.edge_statistic, op.family.node_statistic
    states = np.array(op.family.states, dtype=np.int64)
    by_logit = op.family.name == "agreement"

    @numba_njit
    def draw(rng, eta, b):
        graph = GraphArrays(edges, indptr, neighbors, edge_ids, order, color_ptr)
        edge_tables = eta.reshape(-1, 1, 1) * edge_statistic
        node_tables = b.reshape(-1, 1) * node_statistic
        x = np.empty((1, d), dtype=np.int8)
        gibbs.uniform_states(x, n_states, rng)
        gibbs.gibbs_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng)
        return states[x[0]]

    if by_logit:

        @numba_njit
        def random(rng, theta):
            return draw(rng, np.log(theta) - np.log1p(-theta), np.zeros(d))

    else:

        @numba_njit
        def random(rng, eta, b):
            return draw(rng, eta.astype(np.float64), b.astype(np.float64))

    return random, _SAMPLER_VERSION


def _expand(parameter, ndim):
    """Drop leading length-1 dimensions down to `ndim` dimensions."""
    return parameter.reshape(parameter.shape[parameter.ndim - ndim :], ndim=ndim)


def _shared_by_rows(parameters) -> bool:
    return all(all(p.type.broadcastable[:-1]) for p in parameters)


def _natural(op: MarkovRandomFieldRV, parameters):
    """Symbolic eta (..., r) and node parameters (..., d)."""
    first = parameters[0]
    if op.family.name == "agreement":
        return pt.log(first) - pt.log1p(-first), pt.zeros((op.graph.n_nodes,))
    return first, parameters[1]


def _energy(op: MarkovRandomFieldRV, indices, eta, b):
    """sum_e eta_e f + sum_i b_i g, per row; `indices` (..., d)."""
    u, v = op.graph.edges[:, 0], op.graph.edges[:, 1]
    if op.family.name == "agreement":
        f = pt.eq(indices[..., u], indices[..., v]).astype("float64")
        return (f * eta).sum(axis=-1)
    values = pt.constant(np.array(op.family.states, dtype=np.float64))[indices]
    return (values[..., u] * values[..., v] * eta).sum(axis=-1) + (values * b).sum(axis=-1)


def _pseudo(op: MarkovRandomFieldRV, indices, eta, b):
    tables = (
        eta[..., None, None] * op.family.edge_statistic,
        b[..., None] * op.family.node_statistic,
    )
    core = LogPseudoLikelihood(op.graph)
    indices = indices.astype("int8")
    if _shared_by_rows((eta, b)):
        rows = core(
            indices.reshape((-1, op.graph.n_nodes)), _expand(tables[0], 3), _expand(tables[1], 2)
        )
        return rows.reshape(indices.shape[:-1], ndim=indices.ndim - 1)
    return Blockwise(core)(indices[..., None, :], *tables)[..., 0]


@_logprob.register(MarkovRandomFieldRV)
def _mrf_logprob(op, values, rng, size, *parameters, **kwargs):
    [value] = values
    # imputed cells arrive as floats, and Metropolis proposes values that are no states
    legal = pt.zeros_like(value, dtype="bool")
    indices = pt.zeros_like(value, dtype="int64")
    for k, state in enumerate(op.family.states):
        here = pt.eq(value, state)
        legal = legal | here
        indices = indices + k * here
    eta, b = _natural(op, parameters)
    if op.likelihood == "pseudo":
        logp = _pseudo(op, indices, eta, b)
    else:
        logp = _energy(op, indices, eta, b) - IntractableLogPartition()(*parameters)
    logp = pt.switch(pt.all(legal, axis=-1), logp, -np.inf)
    if op.family.name == "agreement":
        theta = parameters[0]
        return check_parameters(logp, pt.all((theta > 0) & (theta < 1)), msg="0 < theta < 1")
    finite = [pt.all(pt.isfinite(p)) for p in parameters]
    names = f"{op.family.edge_parameter} and {op.family.node_parameter}"
    return check_parameters(logp, *finite, msg=f"{names} must be finite")


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


def tag_parents(node, model: pm.Model) -> None:
    """Tell the free variables from which the field's parameters are computed about the field.

    Step assignment sees one variable at a time; the tag lets it know what the variable feeds.
    """
    free = set(model.free_RVs)
    for variable in ancestors(node.op.dist_params(node), blockers=model.free_RVs):
        if variable in free:
            fields = getattr(variable.tag, "mrf_likelihoods", ())
            variable.tag.mrf_likelihoods = (*fields, node.op.likelihood)


def field_node(rv):
    """Apply node of the field behind a model variable, None if there is none.

    A field with missing cells is split by PyMC into an observed and a free variable; both lead to
    the node.
    """
    node = rv.owner
    while node is not None and not isinstance(node.op, MarkovRandomFieldRV):
        if not isinstance(node.op, PartialObservedRV):
            return None
        node = node.inputs[0].owner
    return node


def strip_views(variable):
    """Return the variable behind added dimensions, shape assertions and named copies."""
    while variable.owner is not None and (
        isinstance(variable.owner.op, DimShuffle | SpecifyShape) or variable.owner.op == tensor_copy
    ):
        variable = variable.owner.inputs[0]
    return variable


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
        likelihood = "particles" if likelihood == "auto" else likelihood
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
    likelihood : {"auto", "pseudo", "particles"}
        How log p is evaluated. "pseudo": product of full conditionals (Besag, 1975), with gradient,
        approximate. "particles": unnormalised energy for steps that simulate the field. "auto" means
        "particles".
    n_sweeps : int
        Gibbs sweeps behind each random draw (prior and posterior predictive).
    **kwargs
        ``observed`` (..., d), ``dims``, ``shape`` and so on, as for every PyMC distribution. Missing
        cells are declared by a masked array.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together or values are outside their domain.
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
