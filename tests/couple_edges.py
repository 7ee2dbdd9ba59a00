"""A complete engine of edges and its view, as the developer guide tells of them.

It serves graphs in which no two candidate edges share a node: the biases of its ends tell all about an edge.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.views import exact_edges, questions
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.edges.edge_field import room_for


class Couples(NamedTuple):
    """A field without paths of two edges."""

    field: questions.Field
    data: questions.FieldData
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    log_p: np.ndarray  # (K K,), of the states of the pair without its edge


@questions.look_at.register(Couples)
def look_at_couple(view, e, x):
    field, (q, K) = view.field, view.field.basis.shape
    for k in range(K * K):
        view.log_p[k] = 0.0
        for end, state in ((0, k // K), (1, k % K)):
            i = field.edges[e, end]
            view.log_p[k] += field.floor[i, state]
            for a in range(q):
                view.log_p[k] += view.b[i * q + a] * field.basis[a, state]
    exact_edges.subtract_edge(0.0, field.cells[e], view.log_p)  # normalises
    n = exact_edges.rows_of(view, e)
    return exact_edges.explained_at_zero(view.log_p, field.cells[e], view.data.s[e], n)


@questions.follow.register(Couples)
def follow_couple(view, e, old, new):
    pass  # nothing is kept


# the view has the table of the pair; the other answers about an edge follow
questions.likelihood_terms.register(Couples)(exact_edges.table_terms.py_func)


@questions.add_slopes.register(Couples)
def add_slopes_of_couples(view, active, slope):
    value, k = 0.0, active.shape[0]
    for e in range(view.w.shape[0]):
        look_at_couple(view, e, view.w[e])
        value += questions.gain(view, e, view.w[e])
        g = questions.likelihood_terms(view, e, view.w[e])[1]
        for a in range(k):
            slope[a] += g if active[a] == e else 0.0
    return value


class CoupleEngine(EdgeEngine):
    """Exact moves of edges that share no node; the biases are given."""

    def __init__(self, x, graph, family, moves_biases):
        assert not moves_biases and len(np.unique(graph.edges)) == graph.edges.size
        field, data = self.take_data(x, graph, family, False)
        self.view = Couples(**room_for(field, data, 0), log_p=np.zeros(field.cells.shape[1]))

    def refresh(self, rng):
        pass  # nothing to be brought up to date

    def stretch(self, rng):
        return rng.uniform(1, 3)  # long joint moves cost little here
