"""Pieces that kernels are made of, against a line of NumPy each."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.fields.mixed import layout_of
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import _jit, gaussian, mixed_missing, word_vectors
from pymc_mrf.kernels.edges import edge_moves
from pymc_mrf.kernels.groups import listed_groups
from pymc_mrf.kernels.simulation import cell_blocks, series
from pymc_mrf.kernels.trees import tree_messages
from pymc_mrf.kernels.views import (
    binary_pairs,
    mixed_edges,
    mixed_tilts,
    particle_edges,
    pseudo_edges,
    sample_sums,
    shared_blocks,
    state_pairs,
    table_blocks,
    weighted_sample,
)
from pymc_mrf.likelihood.pseudo.pseudo_edges import fill_moments
from tests.kernels.plain import as_python
from tests.reference import enumeration

N, K = 11, 3
PAIR = np.arange(K * K)


def weights(rng):
    return rng.gamma(2.0, size=N).astype(np.float32)


def test_sums_over_a_sample(rng):
    """Of moments, products, counts and weights, over pieces that are no multiple of the lanes."""
    a, b, weight = rng.normal(size=(3, N)).astype(np.float32)
    c = a * b - 0.3 * a + 0.2 * b
    moments = [(weight * c).sum(), (weight * c**2).sum()]
    assert_allclose(as_python(sample_sums.sum_moments)(a, b, 0.3, -0.2, weight), moments, rtol=1e-5)
    features, centre = np.array([[a, b]]), np.array([[-0.2], [0.3]])
    found = as_python(sample_sums.sum_feature_moments)(features, 0, 1, centre, weight)
    assert_allclose(found, moments, rtol=1e-5)
    assert_allclose(as_python(sample_sums.sum_pair)(a, b, weight), (a * b * weight).sum(), rtol=1e-5)
    assert_allclose(as_python(sample_sums.sum_powers)(a), [a.sum(), (a**2).sum()], rtol=1e-5)
    assert as_python(sample_sums.largest_of)(a, 5) == a[:5].max()
    assert_allclose(as_python(sample_sums.row_product)(a, b), a @ b, rtol=1e-6)
    x, y = rng.integers(K, size=(2, N))
    counts, factor = np.ones((sample_sums.LANES, K * K)), rng.gamma(2.0, size=K * K)
    as_python(sample_sums.count_pair)(x, y, weight, N, K, counts)
    assert_allclose(counts.sum(axis=0), np.bincount(x * K + y, weight, K * K), rtol=1e-6)
    moved, sums = weight.copy(), np.zeros(N, dtype=np.float32)
    total = as_python(sample_sums.multiply_weights)(x, y, K, factor, moved)
    assert_allclose(moved, weight * factor[x * K + y], rtol=1e-6)
    assert_allclose(total, moved.sum(), rtol=1e-5)
    as_python(sample_sums.add_table)(x, factor, sums)
    as_python(sample_sums.add_products)(a, b, np.float32(0.5), sums)
    as_python(sample_sums.add_row)(a, 2.0, sums)
    assert_allclose(sums, factor[x] + 0.5 * a * b + 2.0 * a, rtol=1e-5, atol=1e-6)


def test_statistics_of_a_sample(rng):
    """Of edges by their cells, and of nodes by their basis."""
    states, edges = rng.integers(K, size=(3, N)).astype(np.int8), np.array([[0, 1], [2, 1]])
    cells, basis = rng.normal(size=(2, K * K)), rng.normal(size=(2, K))
    values = np.empty((2 + 6, N), dtype=np.float32)
    as_python(sample_sums.fill_statistics)(states, edges, cells, basis, values)
    own = [cell[states[u] * K + states[v]] for cell, (u, v) in zip(cells, edges, strict=True)]
    assert_allclose(values, [*own, *basis[:, states].swapaxes(0, 1).reshape(6, N)], rtol=1e-6)


def test_remainders_of_a_weighted_sample(rng):
    """The third and higher cumulants: log mean exp less mean and half the variance, or less the mean."""
    y = rng.normal(size=N)
    sums = np.exp(y).sum(), y.sum(), (y**2).sum(), float(N)
    log_mean = np.log(np.exp(y).mean())
    remainder = as_python(weighted_sample.remainder)
    assert_allclose(remainder(*sums, 0.0), log_mean - y.mean())
    assert_allclose(remainder(*sums, 1.0), log_mean - y.mean() - 0.5 * y.var())


@pytest.mark.parametrize("n_states", [2, K])
def test_pairs_of_particles(n_states, rng):
    """Weighted means over particles in which both ends are independent."""
    W = weights(rng)
    P_u, P_v = special.softmax(rng.normal(size=(2, n_states, N)), axis=1)
    joint = np.einsum("j,aj,bj->ab", W, P_u, P_v) / W.sum()
    p, c = np.empty(n_states**2), rng.gamma(2.0, size=n_states**2)
    each = np.einsum("aj,bj,ab->j", P_u, P_v, c.reshape(n_states, n_states))
    if n_states == 2:
        sums = W.sum(), W @ P_u[1], W @ P_v[1], W @ (P_u[1] * P_v[1])
        as_python(binary_pairs.probabilities_of_pair)(*sums, p)
        divided = np.empty(N)
        as_python(binary_pairs.divide_weights)(W, P_u[1], P_v[1], c, divided)
        assert_allclose(divided, W / each, rtol=1e-6)
    else:
        tables = np.zeros(K), np.array([0.0, 0.0, -np.inf])
        as_python(state_pairs.probabilities_of_pair)(W * P_u, P_v, *tables, p)
        assert not p.reshape(K, K)[:, 2].any()  # a state that the node has not
        as_python(state_pairs.probabilities_of_pair)(W * P_u, P_v, np.zeros(K), np.zeros(K), p)
        rows, means = np.empty((K, N)), np.empty(N)
        as_python(state_pairs.average_over_pair)(P_u, P_v, c, rows, means)
        assert_allclose(means, each, rtol=1e-6)
        assert_allclose(rows, np.einsum("bj,ab->aj", P_v, c.reshape(K, K)), rtol=1e-6)
    assert_allclose(p, joint.ravel(), rtol=1e-5)


def test_states_of_a_binary_pair_are_drawn_by_one_number(rng):
    """Over a grid of uniform numbers each of the four states comes as often as it is probable."""
    n = 10_000
    p, q, f = 0.3, 0.6, np.array([1.0, 2.0, 0.5, 3.0])
    room = SimpleNamespace(factors=f, uniform=(np.arange(n) + 0.5) / n, flips=np.empty((2, n)))
    particles = SimpleNamespace(W=np.ones(n), T=np.zeros((2, n)), room=room)
    as_python(binary_pairs.draw_binary_pair)(particles, np.full(n, p), np.full(n, q), 0, 1)
    joint = np.outer([1 - p, p], [1 - q, q]).ravel() * f
    assert_allclose(particles.W, joint.sum())
    found = np.bincount((2 * particles.T[0] + particles.T[1]).astype(int), minlength=4) / n
    assert_allclose(found, joint / joint.sum(), atol=2 / n)


def test_means_and_weights_of_particles(rng):
    p, c = rng.dirichlet(np.ones(K * K)), rng.normal(size=K * K)
    found = as_python(particle_edges.mean_and_variance)(p, c)
    assert_allclose(found, [p @ c, p @ c**2 - (p @ c) ** 2])
    W, D, out = rng.gamma(2.0, size=N), rng.normal(0, 3, N), np.empty(N)
    log_ratio = as_python(particle_edges.reweight)(W, D, N, out)
    assert_allclose(log_ratio, np.log((W * np.exp(D)).sum() / W.sum()))
    assert_allclose(out, W * np.exp(D - D.max()))


def test_tables_of_blocks(rng):
    """The gain of a block by the table of its pair, and the parts of a block that fields share."""
    x, s, n = rng.normal(size=2), rng.normal(size=2), 7.0
    field = SimpleNamespace(cells=rng.normal(size=(3, K * K)))
    log_p = np.log(rng.dirichlet(np.ones(K * K)))
    room = SimpleNamespace(table=np.empty(K * K), p=np.empty(K * K))
    gain = as_python(table_blocks.pair_gain)(field, 1, x, log_p, s, n, room)
    table = x @ field.cells[1:]
    assert_allclose(gain, x @ s - n * special.logsumexp(log_p + table))
    assert_allclose(room.p, special.softmax(log_p + table))
    factors, offset = rng.normal(size=(2, 2, 3))
    whole = SimpleNamespace(factors=factors, offset=offset, g=rng.normal(size=2), H=np.eye(2))
    at, g, H = np.empty(2), np.ones(2), np.ones((2, 2))
    as_python(shared_blocks.place_part)(whole, 1, 1, x, at)
    assert_allclose(at, offset[1, 1:] + factors[1, 1:] * x)
    as_python(shared_blocks.clear)(2, g, H)
    as_python(shared_blocks.add_part)(whole, 1, 1, 2, g, H)
    assert_allclose(g, factors[1, 1:] * whole.g)
    assert_allclose(H, np.diag(factors[1, 1:] ** 2))


def test_information_of_a_block_by_rows(rng):
    """Covariances of one end times second moments of the other, its source, centred: means over rows."""
    S, n = rng.normal(size=(2, 2, N)), rng.integers(1, 4, N)  # end, feature, row
    moments = np.empty((2, 3, 2))
    fill_moments(moments, S[::-1], n[None, None].astype(float))
    centre = rng.normal(size=(3, 2, 2))
    products = np.array([[[0, 0]], [[0, 1]], [[1, 1]]])
    field = SimpleNamespace(features=np.empty((1, 2, 1)), products=products, centre=centre)
    sums, sources = SimpleNamespace(moments=moments), np.array([[0, 1]] * 3)
    whole = SimpleNamespace(field=field, sums=sums, sources=sources)
    for end in range(2):
        assert_allclose(moments[1 - end, 2], (n * S[end]).sum(axis=1) / n.sum())
        assert_allclose(moments[1 - end, :2], np.cov(S[end], fweights=n, ddof=0))
    C, H = np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.5, -0.3], [-0.3, 0.8]]]), np.empty((3, 3))
    find = as_python(pseudo_edges.rough_information)
    H[:] = [[find(whole, i, j, *C) for j in range(3)] for i in range(3)]
    expected = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for end in range(2):
                (a, k), (b, l) = products[i, 0][[end, 1 - end]], products[j, 0][[end, 1 - end]]
                other = S[1 - end]
                Z = (other[k] - centre[i, 1 - end, a]) * (other[l] - centre[j, 1 - end, b])
                expected[i, j] += C[end][a, b] * (n * Z).sum() / n.sum()
    assert_allclose(H, expected)


def test_limits_of_the_cone():
    """Values outside are brought to 95 % of the way; the origin is absence, where that is inside."""
    look = SimpleNamespace(low=-1.0, high=3.0, may_end=True)
    within = as_python(gaussian.brought_within)
    assert_allclose([within(look, x) for x in (-5.0, 0.4, 9.0)], [-0.9, 0.4, 2.9])
    assert as_python(gaussian.origin)(look) == 0.0
    assert as_python(gaussian.origin)(SimpleNamespace(low=1.0, high=3.0, may_end=False)) == 2.0


def test_rank_two_changes_of_a_covariance(rng):
    """Means h' S and three entries of S after a change of two rows of the precision."""
    A = rng.normal(size=(4, 4))
    precision, h = A @ A.T + 4 * np.eye(4), rng.normal(size=4)
    S = np.linalg.inv(precision)
    moved, (i, j) = np.zeros((4, 4)), (1, 3)
    moved[i, i], moved[j, j], moved[i, j], moved[j, i] = 0.3, -0.2, 0.1, 0.1
    new = S + S @ moved @ S
    change = as_python(mixed_edges.change_rows)
    turn, entries = change(S, i, j, moved[i, i], moved[i, j], moved[j, j])
    assert_allclose(entries, new[[i, i, j], [i, j, j]])
    m = S @ h
    assert_allclose(np.reshape(turn, (2, 2)) @ m[[i, j]], (new @ h)[[i, j]])


def test_probabilities_of_listed_states(rng):
    p = rng.gamma(2.0, size=N)
    expected = p / p.sum()
    as_python(mixed_tilts.normalise)(p)
    assert_allclose(p, expected)


def rows_of_arrays(graph):
    """A graph as kernels of sweeps read it."""
    neighbours = [[] for _ in range(graph.n_nodes)]
    for e, (u, v) in enumerate(graph.edges):
        neighbours[u].append((v, e))
        neighbours[v].append((u, e))
    flat = np.array([one for own in neighbours for one in own])
    return SimpleNamespace(
        indptr=np.cumsum([0, *map(len, neighbours)]),
        neighbors=flat[:, 0], edge_ids=flat[:, 1], edges=graph.edges,
    )  # fmt: skip


def test_scores_of_a_block_of_cells(rng):
    """By their own scores and the edges inside, against all configurations."""
    graph = PairwiseGraph(range(4), [(0, 1), (2, 1), (2, 3), (0, 3)])
    edges, nodes, members = rng.normal(size=(4, K, K)), rng.normal(size=(4, K)), np.array([2, 1, 3])
    place, joint = np.full(4, -1), np.empty(K**3)
    place[members] = range(3)
    arrays = rows_of_arrays(graph)
    as_python(cell_blocks.joint_scores)(nodes[members], members, place, edges, arrays, joint)
    x = enumeration.configurations(3, K)  # of members, the first digit slowest
    z = np.zeros((len(x), 4), dtype=int)
    z[:, members] = x
    expected = nodes[members, x].sum(axis=1)
    for e in (1, 2):
        expected += edges[e, z[:, graph.edges[e, 0]], z[:, graph.edges[e, 1]]]
    assert_allclose(joint[x @ K ** np.arange(3)], expected)


def test_rows_of_a_series(rng):
    """Local fields from earlier rows, and the probability of a row with a link among all its states."""
    x, scores, eta = rng.integers(2, size=(3, 2)), np.tile([0.0, 1.0], (2, 1)), rng.normal(size=3)
    # an arrow from node 0 to node 1 at lag 1, one to itself at lag 2, and a link
    arrows = SimpleNamespace(
        in_ptr=np.array([0, 1, 4]), in_edge=np.array([2, 0, 1, 2]),
        in_lag=np.array([0, 1, 2, 0]), source=np.array([1, 0, 1, 0]),
    )  # fmt: skip
    rows, table = np.array([2, 1, 0]), rng.normal(size=(2, 2))
    found = as_python(series.local_field)(x, rows, 1, eta, scores, arrows)
    assert_allclose(found, eta @ [x[1, 0], x[0, 1], x[2, 0]])
    states = enumeration.configurations(2, 2)
    arguments = x, rows, eta, table, scores, arrows, states, np.empty(4)
    log_p = table[range(2), states].sum(axis=1) + states[:, 1] * (eta[:2] @ [x[1, 0], x[0, 1]])
    log_p += eta[2] * states.prod(axis=1)
    [own] = np.flatnonzero((states == x[2]).all(axis=1))
    found = as_python(series.log_probability_of_row)(*arguments)
    assert_allclose(found, special.log_softmax(log_p)[own])


@pytest.mark.parametrize("gone", [[0], [1], [0, 1]], ids=str)
def test_missing_measurements_of_mixed_rows(gone, rng):
    """Without noise their draws are the conditional means, by the joint normal of an answer's state."""
    kinds = pmrf.fields.ColumnKinds(("a", "u", "v"), ("ordinal", "continuous", "continuous"), (2, 0, 0))
    layout = layout_of(pmrf.graphs.complete(kinds.names), kinds)
    w, diagonal = np.array([0.4, -0.3, 0.5]), np.array([1.2, 0.9])
    states, y, free = np.ones((1, 1), dtype=np.int8), rng.normal(size=(1, 2)), np.zeros((1, 2), bool)
    free[0, gone] = True
    expected, known = y[0].copy(), [k for k in range(2) if k not in gone]
    of_pair = layout.kind == layout.kind.max()  # of both measurements
    precision = np.diag(diagonal)
    precision[0, 1] = precision[1, 0] = -w[of_pair][0]
    h = w[~of_pair] * layout.features[0, 1]
    expected[gone] = np.linalg.solve(
        precision[np.ix_(gone, gone)], h[gone] - precision[np.ix_(gone, known)] @ y[0, known]
    )
    still = SimpleNamespace(standard_normal=lambda: 0.0)
    redraw = as_python(mixed_missing.redraw_missing)
    redraw(layout, w, np.zeros(2), diagonal, states, y, np.zeros((1, 1), bool), free, 1, still)
    assert_allclose(y[0], expected)


ROOM = np.empty(K), np.empty(K)
FORMS = {  # messages by the tables of an edge and of nodes, and what begins, absorbs and sends them
    "odds": (
        lambda J, edge, node: tree_messages.ChainOdds(np.empty(2), np.exp([J]), np.exp(node[:, 1:])),
        tree_messages.begin_with_odds, tree_messages.absorb_in_odds, tree_messages.send_odds,
    ),
    "agreement": (
        lambda J, edge, node: tree_messages.ChainAgreement(
            np.empty((2, K)), np.exp([J]), np.exp(node)[..., None]
        ),
        tree_messages.begin_with_weights, tree_messages.absorb_agreement, tree_messages.send_agreement,
    ),
    "scaled": (
        lambda J, edge, node: tree_messages.ChainScaled(
            np.empty((2, K)), np.exp(np.array([[edge, edge.T]])), np.exp(node)[..., None]
        ),
        tree_messages.begin_with_weights, tree_messages.absorb_in_weights, tree_messages.send_weights,
    ),
    "logs": (
        lambda J, edge, node: tree_messages.ChainLogs(np.empty((2, K)), edge[None], node[None], *ROOM),
        tree_messages.begin_with_logs, tree_messages.absorb_in_logs, tree_messages.send_logs,
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_messages_of_a_pair(form, rng):
    """A node absorbs a neighbour that is given, and sends on to its parent what is known of it."""
    make, begin, absorb, send = FORMS[form]
    J, node = 0.7, rng.normal(size=(2, 2 if form == "odds" else K))
    node[:, 0] = 0.0
    edge = np.diag([0.0, J]) if form == "odds" else J * np.eye(K)
    messages = make(J, edge, node)

    def known(p):
        if form == "odds":
            return special.softmax([0.0, np.log(messages.odds[p])])
        return special.softmax(messages.nu[p] if form == "logs" else np.log(messages.nu[p]))

    for p in range(2):
        as_python(begin)(messages, p, p, 0)
    as_python(absorb)(messages, 0, 0, np.array([1]), 0)
    joint = node[0] + edge[1]
    assert_allclose(known(0), special.softmax(joint))
    as_python(send)(messages, 0, 1, 0)
    assert_allclose(
        known(1), special.softmax(special.logsumexp(joint[:, None] + edge, axis=0) + node[1])
    )


def test_words_in_compiled_code_are_those_of_numpy(rng):
    @_jit.jit
    def compute(a, b, shift, out):
        v, w = word_vectors.load(a, 0), word_vectors.load(b, 1)
        s = word_vectors.splat(shift)
        word_vectors.store(out, 0, ((v ^ w) & ~s) + ((v << shift) | (w >> s)))
        return word_vectors.any_set(v & ~v), word_vectors.any_set(v | w)

    n = word_vectors.N_WORDS
    a, b = rng.integers(2**63, size=(2, n + 1), dtype=np.uint64)
    out, expected = np.zeros((2, n), dtype=np.uint64)
    assert compute(a, b, np.uint64(5), out) == (False, True)
    assert compute.py_func(a, b, np.uint64(5), expected) == (False, True)
    np.testing.assert_array_equal(out, expected)
    v, w = a[:n], b[1:]
    five = np.uint64(5)
    np.testing.assert_array_equal(out, ((v ^ w) & ~five) + ((v << five) | (w >> five)))


def test_every_other_pass_tells_of_the_edges_whose_turn_it_is(rng):
    """Absent edges that are not worth a look are passed over, but for those."""
    presence = edge_moves.Presence(np.zeros(4), np.zeros(4), 2, 1, 1.5, 1.0)
    told = []
    sweep = as_python(
        edge_moves.sweep_edges,
        present_value=lambda view, e: 0.0,
        no_value=lambda view, e: 0.0,
        is_absent=lambda view, x: x == 0.0,
        glance=lambda view, e: (0.0, 1.0),
        look_at=lambda view, e, x: (0.0, 1.0),
        is_hopeless=lambda *_: True,
        rough_fit=lambda view, e, slab: (None, -20.0, 0.0),
        propose=lambda view, slab, fit, rng: 0.3,
        log_biases=lambda view, e, x, bias: 0.0,
        gain_alone=lambda view, e, x: 0.0,
        log_presence=lambda view, e, x, gained, absent, prior, fit: 10 * e + x,
        tell_presence=lambda presence, e, log_odds, weight: told.append((e, log_odds, weight)),
    )
    prior = edge_moves.EdgePrior(np.zeros(4), None, None)
    assert sweep(None, np.arange(4), prior, True, rng, presence, rng, 5) == (0, 0)
    assert told == [(1, 10.3, 1.5), (3, 30.3, 1.5)] * 3


def test_how_often_edges_are_present_is_learnt():
    """Means move towards the odds of absent edges, at most even, and towards 1 for those present."""
    values, odds = np.array([0.0, 0.0, 0.8]), np.array([np.log(0.25), 3.0])
    probability, share = np.full(3, 0.4), np.full(3, 0.4)
    learn = as_python(
        edge_moves.learn_presence,
        is_absent=lambda view, x: x == 0.0,
        present_value=lambda view, e: values[e],
        glance=lambda view, e: (0.0, 1.0),
        log_highest_odds=lambda view, e, prior, explained, h: odds[e],
    )
    learn(None, np.arange(3), None, 0.5, probability, share)
    assert_allclose(probability, [0.5 * (0.4 + 0.2), 0.5 * (0.4 + 0.5), 0.4])
    assert_allclose(share, [0.2, 0.2, 0.7])


def test_information_of_groups_by_listed_rows(rng):
    """Rows times covariances of the sums of statistics under the listed probabilities."""
    states = enumeration.configurations(3, 2).T  # of one block of three nodes
    edges, groups = np.array([[0, 1], [1, 2], [0, 2]]), np.array([0, 1, 0])
    P, n = rng.dirichlet(np.ones(8), 2), np.array([4.0, 3.0])
    cells = rng.normal(size=(3, 4))
    rows = SimpleNamespace(
        states=states, size=np.array([8]), histories=np.array([[0, 2]]), block=np.zeros(3, int), n=n
    )
    field = SimpleNamespace(edges=edges, basis=np.ones((1, 2)), statistic=cells)
    view, out = SimpleNamespace(field=field, rows=rows, P=P), np.zeros((2, 2))
    as_python(
        listed_groups.add_group_information,
        second_state=lambda view, e, h, s: states[edges[e, 1], s],
    )(view, groups, out)
    f = np.zeros((2, 8))
    for own, cell, (u, v) in zip(groups, cells, edges, strict=True):
        f[own] += cell[2 * states[u] + states[v]]
    expected = sum(rows * np.cov(f, aweights=p, ddof=0) for rows, p in zip(n, P, strict=True))
    assert_allclose(out, expected)
