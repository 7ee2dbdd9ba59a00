"""The Potts model as a PyMC distribution: Potts (1952), with the couplings of its generalisations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymc_mrf.checks import check_axes, check_labels
from pymc_mrf.distributions.arguments import parameter
from pymc_mrf.distributions.field_parameters import (
    check_numbers,
    check_states_given,
    named_parameter,
    node_parameter,
)
from pymc_mrf.distributions.mrf import MarkovRandomField
from pymc_mrf.distributions.state_axes import by_unit, check_form, with_states, with_units
from pymc_mrf.fields.families import potts
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
