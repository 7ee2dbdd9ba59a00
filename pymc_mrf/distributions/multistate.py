"""Fields with any number of states as PyMC distributions: Potts, ordinal answers, nominal answers.

The couplings of a Potts model (Potts, 1952) are those of its generalisations; the answers of a
questionnaire are in ordered categories, or have no order and a table of parameters for each edge.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymc_mrf.checks import check_axes, check_labels
from pymc_mrf.distributions.arguments import parameter
from pymc_mrf.distributions.field_parameters import (
    by_unit,
    check_form,
    check_numbers,
    check_states_given,
    named_parameter,
    node_parameter,
    with_states,
    with_units,
)
from pymc_mrf.distributions.mrf import MarkovRandomField
from pymc_mrf.fields.families import nominal, ordinal, potts
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


class Potts(MarkovRandomField):
    r"""Potts model over states 0..K-1.

    .. math::

        p(x \mid J, h) \propto \exp\Big(\sum_{(u,v)} J_{uv}(x_u, x_v) + \sum_i h_i(x_i)\Big)

    Parameters
    ----------
    name : str
    coupling : tensor_like of float
        What the r edges add to the log probability, in graph order:

        - (r,) or scalar: :math:`J_e [x_u = x_v]`, one number per edge or one for all;
        - (r, K): :math:`J_e(x_u) [x_u = x_v]`, one number per edge and state in which both ends agree;
        - (r, K, K): :math:`J_e(x_u, x_v)`, a table per edge; the first index is the state of the edge's
          first node, as the graph lists it;
        - (K, K): one table for all edges;
        - (..., r, K, K): tables that differ between observations.

        A leading length 1 in place of r stands for all edges: (1, K) is one number per state. If the
        graph has as many edges as there are states, a matrix could mean two things and is refused:
        write ``coupling[None]`` for one table, ``coupling[:, :, None] * numpy.eye(K)`` for one number
        per edge and state.
    field : tensor_like of float, shape (..., d, K), (..., 1, K) or (K,), or 0
        Log weight of each state, per node or one row for all nodes.
    graph : networkx.Graph or PairwiseGraph
    n_states : int, optional
        Number of states K >= 2. If it is left out, they are counted: 0 to the largest one in `observed`, or
        the ordered categories of a table.
    likelihood, n_sweeps, dtype, **kwargs
        As for `AgreementMRF`.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, the form of `coupling` is ambiguous, a value is
        not finite, or the exact likelihood is asked for and the junction tree is too wide.

    Warns
    -----
    UserWarning
        If no observation is in one of the states of a node, and `field` is a free variable.

    Notes
    -----
    Adding a constant to a row of `field`, or to a table of `coupling`, changes nothing: tables and fields
    need priors, or constraints, under which their posterior is proper. Impossible combinations (-inf) are
    for `FactorGraphMRF`.

    Examples
    --------
    >>> with pm.Model():
    ...     coupling = pm.HalfNormal("coupling", 1)
    ...     Potts("x", coupling, graph=pymc_mrf.graphs.grid(4, 4), n_states=3, observed=x)
    """

    _counts_states = "all"

    @classmethod
    def _family(cls, nodes: Sequence, n_states: Any = None) -> Family:
        check_states_given(n_states, "Potts model")
        return potts(n_states)

    @classmethod
    def dist(cls, coupling, field=0.0, *, graph, n_states=None, **kwargs):
        """Unregistered variable; see the class."""
        graph = as_graph(graph)
        family = cls._family(graph.nodes, n_states)
        edge, edge_axes = _coupling(coupling, family, graph)
        node, numbers = parameter(field, "field")
        check_numbers(numbers, family, "field")
        if node.type.ndim == 0 and (numbers is None or numbers != 0.0):
            raise ValueError(
                "field must not be a scalar other than 0: the same log weight for all states changes "
                f"nothing; give shape ({graph.n_nodes}, {n_states}), or ({n_states},) for the same weights "
                "at all nodes"
            )
        node = node_parameter(field, family, graph, "field")
        return cls._variable(potts(n_states, edge_axes), [edge, node], graph, **kwargs)


def _coupling(value: Any, family: Family, graph: PairwiseGraph):
    """Symbolic coupling with an edge axis and state axes, and the number of these."""
    r, K = graph.n_edges, family.n_states
    for axis in (-1, -3):  # of two axes the first may be states
        if np.ndim(value) == -axis:
            check_labels(value, graph.edge_labels, "coupling", "edge", axis=axis)
    coupling, numbers, axes = named_parameter(value, 3, "coupling")
    check_numbers(numbers, family, "coupling")
    ndim, shape = coupling.type.ndim, coupling.type.shape
    is_table = shape == (K, K) != (r, K)
    roles = ["state", "state"] if is_table else ["edge", "state", "state"][: min(ndim, 3)]
    check_axes(axes, roles, family.axis_labels(graph), "coupling")
    if ndim < 2:
        remedy = (
            f"; for one number per state, the same for all edges, give coupling[None], shape (1, {K})"
            if shape == (K,)
            else ""
        )
        return by_unit(coupling, r, "coupling", "edge", remedy), 0
    if ndim == 2:
        if r == K and shape[0] in (None, K):
            raise ValueError(
                f"coupling of shape ({K}, {K}) is ambiguous, because the graph has as many edges as there "
                "are states: give coupling[None] for one table shared by all edges, or "
                f"coupling[:, :, None] * numpy.eye({K}) for one number per edge and agreeing state"
            )
        if is_table:
            return with_units(coupling[None], 3, r), 2
        check_form(shape, [(r, K), (1, K), (K, K)], "coupling")
        return with_units(with_states(coupling, 1, K), 2, r), 1
    check_form(shape[-3:], [(r, K, K), (1, K, K)], "coupling")
    return with_units(with_states(coupling, 2, K), 3, r), 2


class OrdinalMRF(MarkovRandomField):
    r"""Field of ordinal variables over states 0..K-1 (Marsman, van den Bergh & Haslbeck, 2025).

    .. math::

        p(x \mid w, b) \propto \exp\Big(\sum_{(u,v)} w_{uv} s_u(x_u) s_v(x_v) + \sum_i b_i(x_i)\Big)

    Parameters
    ----------
    name : str
    weight : tensor_like of float, shape (..., r), (..., 1) or scalar
        One value w per edge, in graph order, or one for all: positive values make high states of both ends
        go together, and zero is no edge.
    threshold : tensor_like of float, shape (..., d, K - 1), (..., 1, K - 1), (K - 1,) or scalar
        Log weight b of states 1 to K - 1, relative to state 0, where all neighbours have the score 0; per
        node, or the same for all. Beyond the states of a node entries have no meaning: they keep their prior.
    graph : networkx.Graph or PairwiseGraph
    n_states : int, or sequence of d of them, optional
        Number of states of every node, or of each; K is the largest. If it is left out, those of each node
        are counted: 0 to the largest state in its column of `observed`, or its ordered categories.
    scores : (K,) sequence of float, or sequence of d of them, optional
        Increasing scores s of the states; 0..K-1 by default. One vector for all nodes, of which those with
        fewer states have the first numbers, or one for each node, as long as it has states.
    likelihood, n_sweeps, dtype, **kwargs
        As for `AgreementMRF`.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, a parameter is not finite, scores do not increase,
        or the exact likelihood is asked for and the junction tree is too wide.

    Warns
    -----
    UserWarning
        If no observation is in one of a node's states, and the thresholds are a free variable.

    Notes
    -----
    With two states this is `BoltzmannMachine`, the only threshold of a node being its bias. A model of
    Blume and Capel, with a linear and a quadratic term about a reference state c, is a threshold:

    >>> k = np.arange(1, n_states)
    >>> threshold = linear[:, None] * k + quadratic[:, None] * ((k - c) ** 2 - c**2)

    with ``scores=np.arange(n_states) - c``.

    Examples
    --------
    Scores about the middle state and a wide prior keep the thresholds from bending the weights:

    >>> scores = np.arange(5) - 2
    >>> with pm.Model(coords={**pymc_mrf.coords(graph), "state": range(1, 5)}):
    ...     weight = pm.Normal("weight", 0, 0.5, dims="edge")
    ...     threshold = pm.Normal("threshold", 0, 3, dims=("node", "state"))
    ...     OrdinalMRF("x", weight, threshold, graph=graph, n_states=5, scores=scores, observed=x)

    Two answers beside five, as a yes or no beside grades, with scores of the same range for both:

    >>> scores = [[-1, 1] if k == 2 else np.linspace(-1, 1, k) for k in n_states]
    """

    _counts_states = "node"

    @classmethod
    def _family(cls, nodes: Sequence, n_states: Any = None, scores: Any = None) -> Family:
        check_states_given(n_states, "ordinal field, or one for each node")
        return ordinal(n_states, scores, nodes)

    @classmethod
    def dist(cls, weight, threshold=0.0, *, graph, n_states=None, scores=None, **kwargs):
        """Unregistered variable; see the class."""
        graph = as_graph(graph)
        family = cls._family(graph.nodes, n_states, scores)
        return cls._dist(family, weight, threshold, graph=graph, **kwargs)


class NominalMRF(MarkovRandomField):
    r"""Field of nominal variables over states 0..K-1, with a table of parameters for each edge.

    .. math::

        p(x \mid w, b) \propto \exp\Big(\sum_{(u,v)} T_{uv}(x_u, x_v) + \sum_i b_i(x_i)\Big), \qquad
        T_{uv} = U_u^\top W_{uv} U_v

    An edge has :math:`(K_u - 1)(K_v - 1)` parameters, :math:`W_{uv}`, in sum-to-zero coding: :math:`U_i`,
    (K_i - 1, K_i), are orthonormal contrasts of the states of node i (Helmert), so that the rows and the
    columns of the table :math:`T_{uv}` sum to zero, and its Frobenius norm is that of :math:`W_{uv}`.

    Parameters
    ----------
    name : str
    weight : tensor_like of float, shape (..., P) or (r, W)
        Parameters W of all edges, one edge after the other in graph order, those of an edge row by row: P of
        them, `table_sizes` of each edge. A matrix (r, W) if all nodes have the same number of states, W = (K
        - 1)^2. An edge whose parameters are all zero is absent.
    bias : tensor_like of float, shape (..., d, K), (..., 1, K), (K,) or 0
        Log weight of each state; per node, or the same for all. Beyond the states of a node entries have no
        meaning: they keep their prior.
    graph : networkx.Graph or PairwiseGraph
    n_states : int, or sequence of d of them, optional
        Number of states of every node, or of each; K is the largest. If it is left out, those of each node
        are counted: 0 to the largest state in its column of `observed`, or its ordered categories.
    likelihood, n_sweeps, dtype, **kwargs
        As for `AgreementMRF`, but "path" and, with a `SpikeAndSlab`, "particles", which do
        not serve tables.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, a parameter is not finite, or the exact
        likelihood is asked for and the junction tree is too wide.

    Warns
    -----
    UserWarning
        If no observation is in one of a node's states, and the biases are a free variable.

    Notes
    -----
    With ``SpikeAndSlab(..., blocks=table_sizes(graph, n_states))`` as the weight, tables are present or
    absent as a whole, and `EdgeGibbs` moves them. The prior is the same whatever the states are called if the
    slab is ``pm.Normal.dist(0, sigma)`` and the biases of a node are alike: its density depends on the norm
    of the table only. Other slabs depend on the contrasts.

    With two states this is an Ising field with couplings w / 2, and the fields (b[1] - b[0]) / 2.

    Adding a constant to a row of `bias` changes nothing: biases need a prior under which their posterior is
    proper.

    References
    ----------
    Agresti (2013, ch. 9) for log-linear models; Ekeberg et al. (2013) for tables that sum to zero, and their
    norms as measures of strength (`edge_strength`).

    Examples
    --------
    >>> n_states = [3, 4, 2]
    >>> with pm.Model():
    ...     blocks = pymc_mrf.fields.table_sizes(graph, n_states)
    ...     weight = pymc_mrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 1), blocks=blocks)
    ...     bias = pm.Normal("bias", 0, 2, shape=(3, 4))
    ...     NominalMRF("x", weight, bias, graph=graph, n_states=n_states, observed=x)
    """

    _counts_states = "node"

    @classmethod
    def _family(cls, nodes: Sequence, n_states: Any = None) -> Family:
        check_states_given(n_states, "nominal field, or one for each node")
        return nominal(n_states, nodes)

    @classmethod
    def dist(cls, weight, bias=0.0, *, graph, n_states=None, **kwargs):
        """Unregistered variable; see the class."""
        graph = as_graph(graph)
        return cls._dist(cls._family(graph.nodes, n_states), weight, bias, graph=graph, **kwargs)
