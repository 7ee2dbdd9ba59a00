"""The ordinal field: every form of its parameters against enumeration, and what it refuses."""

import warnings

import arviz as az
import cloudpickle
import networkx as nx
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.mrf import BoltzmannMachine
from pymc_mrf.distributions.multistate import OrdinalMRF
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.graph.coordinates import coords
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.steps.latent import latent_field
from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs
from tests.reference import enumeration
from tests.reference.derivatives import assert_gradients
from tests.statistics import Z, assert_frequencies

GRAPH = PairwiseGraph("abcd", [("a", "b"), ("c", "b"), ("c", "a"), ("c", "d")])
R, D, K = 4, 4, 3
EDGES = GRAPH.edges
OWN = [3, 2, 3, 2]
"""States of each node, where they differ."""
SCORES = [-1.0, 0.5, 2.0]
OWN_SCORES = [[-1, 0.5, 2], [-1, 1], [0, 1, 3], [0.5, 2]]
VALUES = np.random.default_rng(5)
WEIGHT, THRESHOLD = 0.6 * VALUES.normal(size=R), VALUES.normal(size=(D, K - 1))
STATES = enumeration.configurations(D, K)

# weight, threshold, options; weight by edge, threshold by node and state, score of a state, states of a node
FORMS = {
    "scalars": (0.4, -0.3, {}, lambda e: 0.4, lambda i, a: -0.3, lambda i, a: a, [K] * D),
    "no threshold": (0.4, 0, {}, lambda e: 0.4, lambda i, a: 0.0, lambda i, a: a, [K] * D),
    "edge; node, state": (
        WEIGHT, THRESHOLD, {}, lambda e: WEIGHT[e], lambda i, a: THRESHOLD[i, a - 1], lambda i, a: a, [K] * D,
    ),
    "state": (
        WEIGHT, THRESHOLD[0], {}, lambda e: WEIGHT[e], lambda i, a: THRESHOLD[0, a - 1],
        lambda i, a: a, [K] * D,
    ),
    "one, state": (
        WEIGHT, THRESHOLD[:1].tolist(), {}, lambda e: WEIGHT[e], lambda i, a: THRESHOLD[0, a - 1],
        lambda i, a: a, [K] * D,
    ),
    "scores": (
        WEIGHT, THRESHOLD, {"scores": SCORES}, lambda e: WEIGHT[e], lambda i, a: THRESHOLD[i, a - 1],
        lambda i, a: SCORES[a], [K] * D,
    ),
    "own states": (
        WEIGHT, THRESHOLD, {"n_states": OWN}, lambda e: WEIGHT[e], lambda i, a: THRESHOLD[i, a - 1],
        lambda i, a: a, OWN,
    ),
    "own states, scores": (
        WEIGHT, 0.3, {"n_states": np.array(OWN), "scores": np.array(SCORES)}, lambda e: WEIGHT[e],
        lambda i, a: 0.3, lambda i, a: SCORES[a], OWN,
    ),
    "own scores": (
        WEIGHT, THRESHOLD, {"n_states": OWN, "scores": OWN_SCORES}, lambda e: WEIGHT[e],
        lambda i, a: THRESHOLD[i, a - 1], lambda i, a: OWN_SCORES[i][a] if a < OWN[i] else 0.0, OWN,
    ),
    "own scores of as many states": (
        0.4, THRESHOLD, {"scores": np.add.outer(range(D), SCORES)}, lambda e: 0.4,
        lambda i, a: THRESHOLD[i, a - 1], lambda i, a: i + SCORES[a], [K] * D,
    ),
}  # fmt: skip


def log_tables(form):
    """Log tables cell by cell, from the formula."""
    _, _, _, weight, threshold, score, own = FORMS[form]
    edge, node = np.zeros((R, K, K)), np.zeros((D, K))
    for e in range(R):
        for a in range(K):
            for b in range(K):
                edge[e, a, b] = weight(e) * score(EDGES[e, 0], a) * score(EDGES[e, 1], b)
    for i in range(D):
        for a in range(K):
            node[i, a] = -np.inf if a >= own[i] else threshold(i, a) if a > 0 else 0.0
    return edge, node


def ordinal(weight, threshold=0.0, n_states=K, **kwargs):
    return OrdinalMRF.dist(weight, threshold, graph=GRAPH, n_states=n_states, **kwargs)


def of_form(form, **kwargs):
    weight, threshold, options, *_ = FORMS[form]
    return ordinal(weight, threshold, **options, **kwargs)


def log(p):
    """Logarithms, -inf of zero."""
    return np.log(p, where=p > 0, out=np.full(p.shape, -np.inf))


def log_conditionals(p):
    """Half the sum over the nodes of the log conditional probability of every configuration."""
    expected = np.zeros(len(STATES))
    for i in range(D):
        rest = np.delete(STATES, i, axis=1)
        for row in range(len(STATES)):
            if p[row] == 0.0:
                expected[row] = -np.inf
            else:
                expected[row] += 0.5 * np.log(p[row] / p[np.all(rest == rest[row], axis=1)].sum())
    return expected


def evaluate(*outputs):
    return pytensor.function([], list(outputs), mode="FAST_COMPILE")()


def assert_draws(x, p):
    """Rows of `x` have the frequencies `p`; impossible configurations never occur."""
    counts = np.bincount(enumeration.configuration_index(x, K), minlength=len(p))
    assert not counts[p == 0.0].any()
    assert_frequencies(counts[p > 0.0], p[p > 0.0])


@pytest.mark.parametrize("form", FORMS)
def test_densities_of_every_form(form):
    tables = log_tables(form)
    p = enumeration.probabilities(EDGES, *tables)
    assert (p > 0).sum() == np.prod(FORMS[form][-1])
    illegal = STATES.copy()
    illegal[0, 2], illegal[1, 1] = K, -1
    outputs = []
    for likelihood in ("exact", "pseudo", "particles"):
        rv = of_form(form, likelihood=likelihood, size=(len(STATES),))
        outputs += [pm.logp(rv, STATES), pm.logp(rv, illegal)[:2]]
    exact, a, pseudo, b, particles, c = evaluate(*outputs)
    np.testing.assert_allclose(exact, log(p), atol=1e-10)
    np.testing.assert_allclose(pseudo, log_conditionals(p), atol=1e-10)
    np.testing.assert_allclose(particles, enumeration.log_potentials(STATES, EDGES, *tables), atol=1e-10)
    assert np.all(np.concatenate([a, b, c]) == -np.inf)


def test_gradients_by_finite_differences(rng):
    n = 5
    x = rng.integers(OWN, size=(n, D))
    vectors = [
        pt.scalar("w_shared"), pt.vector("w"), pt.matrix("row_w"),
        pt.scalar("b_shared"), pt.vector("b_state"), pt.matrix("b"), pt.tensor3("row_b"),
    ]  # fmt: skip
    shapes = [(), (R,), (n, R), (), (K - 1,), (D, K - 1), (n, D, K - 1)]
    w_shared, w, row_w, b_shared, b_state, b, row_b = vectors
    pairs = [(w_shared, b), (w, b_state), (row_w, b_shared), (w, row_b), (row_w, row_b)]
    terms = [(*pair, likelihood) for pair in pairs for likelihood in ("exact", "pseudo")]
    costs = []
    for edge, node, likelihood in terms:
        for n_states, scores in ((OWN, OWN_SCORES), (K, None)):
            rv = ordinal(edge, node, n_states, scores=scores, likelihood=likelihood, size=(n,))
            costs.append(pm.logp(rv, x).sum())
    total = (pt.stack(costs) * rng.normal(size=len(costs))).sum()
    f = pytensor.function(vectors, [total, *pytensor.grad(total, vectors)])
    point = [np.asarray(0.5 * rng.normal(size=shape)) for shape in shapes]
    assert_gradients(f, point)


@pytest.mark.parametrize("likelihood", ["exact", "pseudo", "particles"])
def test_thresholds_beyond_the_states_of_a_node_change_nothing(likelihood, rng):
    x = rng.integers(OWN, size=(6, D))
    b = pt.matrix("b")
    weight = pt.as_tensor(WEIGHT)
    cost = pm.logp(ordinal(weight, b, OWN, likelihood=likelihood, size=(6,)), x).sum()
    beyond = np.arange(1, K) >= np.array(OWN)[:, None]
    point, other = THRESHOLD.copy(), THRESHOLD.copy()
    other[beyond] = [700.0, -700.0]
    f = pytensor.function([b], cost)
    assert f(point) == f(other)
    other[0, 1] += 0.1  # control: one that has a meaning
    assert f(point) != f(other)
    if likelihood != "particles":  # which have no gradient
        gradient = pytensor.function([b], pytensor.grad(cost, b))(point)
        assert np.all(gradient[beyond] == 0.0)
        assert np.all(gradient[~beyond] != 0.0)


@pytest.mark.parametrize("likelihood", ["exact", "pseudo", "particles"])
def test_leading_dimensions_are_those_of_rows(likelihood, rng):
    weight, threshold = rng.normal(size=(2, 1, R)), rng.normal(size=(3, D, K - 1))
    x = rng.integers(OWN, size=(2, 3, D))
    rows = pm.logp(ordinal(weight, threshold, OWN, likelihood=likelihood), x)
    single = [
        pm.logp(ordinal(weight[k, 0], threshold[l], OWN, likelihood=likelihood), x[k, l])
        for k in range(2)
        for l in range(3)
    ]
    together, *one_by_one = evaluate(rows, *single)
    assert together.shape == (2, 3)
    np.testing.assert_allclose(together.ravel(), one_by_one, atol=1e-10)


@pytest.mark.compiled
@pytest.mark.slow
def test_draws_match_enumeration_in_numba_and_python(rng):
    """Numba draws those from sweeps of the last form; its exact draws are tested with Potts fields."""
    forms = ["own states", "own scores", "own scores", "own states"]
    likelihoods = ["exact", "particles", "exact", "pseudo"]
    rvs = [
        of_form(form, likelihood=likelihood, n_sweeps=50, size=(3000,))
        for form, likelihood in zip(forms, likelihoods, strict=True)
    ]
    assert [rv.owner.op.draws_exactly for rv in rvs] == [True, False, True, False]
    p = [enumeration.probabilities(EDGES, *log_tables(form)) for form in forms]
    draws = evaluate(*rvs)
    for x, expected in zip([pm.draw(rvs[-1], random_seed=rng), *draws], [p[-1], *p], strict=True):
        assert_draws(x, expected)
    # negative control: draws of one form are not draws of another
    with pytest.raises(AssertionError):
        assert_draws(draws[0], p[1])


def test_shapes_of_draws_and_rows_of_their_own():
    assert evaluate(ordinal(0.3, 0.1, OWN))[0].shape == (D,)
    assert evaluate(ordinal(0.3, 0.1, OWN, size=(2, 5)))[0].shape == (2, 5, D)
    # the first row's thresholds leave state 0 only, the second row's the highest state of each node
    threshold = np.array([-200.0, 200.0])[:, None, None] * np.array([1.0, 2.0])
    (x,) = evaluate(ordinal(0.3, threshold, OWN, size=(2,)))
    np.testing.assert_array_equal(x, [[0] * D, [2, 1, 2, 1]])


@pytest.mark.parametrize("likelihood", ["exact", "pseudo", "particles"])
def test_two_states_are_a_boltzmann_machine(likelihood, rng):
    bias = rng.normal(size=D)
    binary = enumeration.configurations(D, 2)
    options = {"graph": GRAPH, "likelihood": likelihood, "size": (len(binary),)}
    a, b, c = evaluate(
        pm.logp(BoltzmannMachine.dist(WEIGHT, bias, **options), binary),
        pm.logp(OrdinalMRF.dist(WEIGHT, bias[:, None], n_states=2, **options), binary),
        pm.logp(OrdinalMRF.dist(WEIGHT, bias[:, None], n_states=[2] * D, **options), binary),
    )
    np.testing.assert_allclose(a, b, atol=1e-10)
    np.testing.assert_array_equal(b, c)


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_a_shift_of_scores_is_one_of_thresholds_and_a_scale_is_one_of_weights(likelihood):
    """w (s + c) (t + c) = w s t + w c s + w c t + constant."""
    shift, scale = 1.3, 2.5
    at_node = np.zeros(D)
    for e, (u, v) in enumerate(EDGES):
        at_node[u] += WEIGHT[e]
        at_node[v] += WEIGHT[e]
    scores = np.array(SCORES)
    shifted = THRESHOLD + shift * at_node[:, None] * (scores[1:] - scores[0])
    possible = STATES[(STATES < OWN).all(axis=1)]
    options = {"n_states": OWN, "likelihood": likelihood, "size": (len(possible),)}
    a, b, c, d, unlike = evaluate(
        pm.logp(ordinal(WEIGHT, THRESHOLD, scores=scores + shift, **options), possible),
        pm.logp(ordinal(WEIGHT, shifted, scores=scores, **options), possible),
        pm.logp(ordinal(WEIGHT, THRESHOLD, scores=scale * scores, **options), possible),
        pm.logp(ordinal(scale**2 * WEIGHT, THRESHOLD, scores=scores, **options), possible),
        pm.logp(ordinal(WEIGHT, THRESHOLD, scores=scores, **options), possible),
    )
    np.testing.assert_allclose(a, b, atol=1e-10)
    np.testing.assert_allclose(c, d, atol=1e-10)
    assert np.abs(a - unlike).max() > 0.1 and np.abs(c - unlike).max() > 0.1


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_scores_of_a_node_times_a_constant_are_weights_of_its_edges_times_it(likelihood):
    scale = np.array([1.0, 2.5, 1.0, 0.4])
    scores = [c * np.array(own) for c, own in zip(scale, OWN_SCORES, strict=True)]
    possible = STATES[(STATES < OWN).all(axis=1)]
    options = {"n_states": OWN, "likelihood": likelihood, "size": (len(possible),)}
    by_scores, by_weights, unlike = evaluate(
        pm.logp(ordinal(WEIGHT, THRESHOLD, scores=scores, **options), possible),
        pm.logp(
            ordinal(WEIGHT * scale[EDGES].prod(axis=1), THRESHOLD, scores=OWN_SCORES, **options),
            possible,
        ),
        pm.logp(ordinal(WEIGHT, THRESHOLD, scores=OWN_SCORES, **options), possible),
    )
    np.testing.assert_allclose(by_scores, by_weights, atol=1e-10)
    assert np.abs(by_scores - unlike).max() > 0.1


def test_a_model_of_blume_and_capel_is_a_threshold(rng):
    """As in the class's docstring: linear x + quadratic (x - c) ** 2, products about c."""
    n_states, c = 4, 2
    graph = PairwiseGraph(range(3), [(0, 1), (2, 1)])
    w, linear, quadratic = rng.normal(size=2), rng.normal(size=3), rng.normal(size=3)
    k = np.arange(1, n_states)
    threshold = linear[:, None] * k + quadratic[:, None] * ((k - c) ** 2 - c**2)
    states = enumeration.configurations(3, n_states)
    score = np.zeros(len(states))
    for row, x in enumerate(states):
        for e, (u, v) in enumerate(graph.edges):
            score[row] += w[e] * (x[u] - c) * (x[v] - c)
        for i in range(3):
            score[row] += linear[i] * x[i] + quadratic[i] * (x[i] - c) ** 2
    scores = np.arange(n_states) - c
    size = (len(states),)
    rv = OrdinalMRF.dist(w, threshold, graph=graph, n_states=n_states, scores=scores, size=size)
    np.testing.assert_allclose(*evaluate(pm.logp(rv, states)), score - np.logaddexp.reduce(score))


MISSING = np.ma.masked_array(
    [[9, 9, 9, 1], [2, 0, 1, 9], [0, 1, 9, 0]],
    mask=[[1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0]],
)
"""Cells as in `OWN`; under the mask no states."""


def completions():
    """All possible states of the masked cells, in row-major order, (m, 5)."""
    cards = np.broadcast_to(OWN, MISSING.shape)[MISSING.mask]
    return np.stack(np.meshgrid(*map(range, cards), indexing="ij"), axis=-1).reshape(-1, len(cards))


def completed(cells):
    x = np.array(MISSING.data)
    x[MISSING.mask] = cells
    return x


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_masked_cells_are_imputed(likelihood):
    with pm.Model() as model:
        OrdinalMRF(
            "x", WEIGHT, THRESHOLD, graph=GRAPH, n_states=OWN, scores=OWN_SCORES, observed=MISSING,
            likelihood=likelihood,
        )  # fmt: skip
    logp = model.compile_logp()
    cells = np.array([2, 1, 1, 0, 2])
    rv = ordinal(WEIGHT, THRESHOLD, OWN, scores=OWN_SCORES, likelihood=likelihood, size=(3,))
    (expected,) = evaluate(pm.logp(rv, completed(cells)).sum())
    np.testing.assert_allclose(logp({"x_unobserved": cells}), expected)
    assert np.isfinite(logp(model.initial_point()))
    for beyond in ([2, 2, 1, 0, 2], [2, 1, 1, 2, 2], [3, 1, 1, 0, 2]):
        assert logp({"x_unobserved": np.array(beyond)}) == -np.inf


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
@pytest.mark.parametrize("whole", [True, False], ids=["as a whole", "tree by tree"])
@pytest.mark.parametrize("likelihood", ["exact", "particles"])
def test_tree_gibbs_draws_masked_cells_from_their_conditional_distribution(
    whole, likelihood, monkeypatch
):
    if not whole:
        monkeypatch.setattr(latent_field, "EXACT_CELLS", 0)
    with pm.Model() as model:
        OrdinalMRF(
            "x", WEIGHT, THRESHOLD, graph=GRAPH, n_states=OWN, scores=OWN_SCORES, observed=MISSING,
            likelihood=likelihood,
        )  # fmt: skip
    edge, node = log_tables("own scores")
    states = completions()
    score = np.array([enumeration.log_potentials(completed(z), EDGES, edge, node).sum() for z in states])
    p = np.exp(score - np.logaddexp.reduce(score))
    n = 3000
    step = TreeGibbs([model["x_unobserved"]], model=model, rng=1, n_sweeps=5)
    step.setup_chain(np.random.default_rng(1), 20, n)
    point, draws = model.initial_point(), []
    for _ in range(20 + n):
        point, _ = step.step(point)
        draws.append(point["x_unobserved"])
    rows = {tuple(z): k for k, z in enumerate(states)}  # impossible states have no row
    counts = np.bincount([rows[tuple(z)] for z in draws[20:]], minlength=len(p))
    assert_frequencies(counts, p)


def test_latent_fields_start_in_the_first_state_and_data_may_change():
    x = np.array([[0, 1, 2, 0], [1, 1, 1, 1]])
    with pm.Model() as model:
        data = pm.Data("data", x)
        weight = pm.Normal("weight", 0, 1, shape=R)
        OrdinalMRF("latent", 0.5, np.zeros((3, D, K - 1)), graph=GRAPH, n_states=OWN)
        OrdinalMRF("x", weight, graph=GRAPH, n_states=OWN, observed=data, shape=data.shape)
        logp = model.compile_logp(vars=[model["x"]])
        point = model.initial_point()
        np.testing.assert_array_equal(point["latent"], np.zeros((3, D)))
        np.testing.assert_allclose(logp(point), -2 * np.log(OWN).sum())
        pm.set_data({"data": x[[0, 1, 0]]})
        np.testing.assert_allclose(logp(point), -3 * np.log(OWN).sum())
        pm.set_data({"data": [[0, 2, 0, 0]]})  # beyond the second node's states
        assert logp(point) == -np.inf


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_nuts_posterior_with_missing_cells_and_predictive_draws():
    """One shared weight: the posterior on a grid of its values, every configuration enumerated."""
    x = np.ma.masked_array(ordinal(0.5, -0.3, OWN, size=(25,)).eval(mode="FAST_COMPILE"), mask=False)
    x[3, 0] = x[3, 2] = x[7, 1] = np.ma.masked
    with pm.Model(coords={**coords(GRAPH), "obs": range(25)}):
        weight = pm.Normal("weight", 0, 1)
        OrdinalMRF("x", weight, -0.3, graph=GRAPH, n_states=OWN, observed=x, dims=("obs", "node"))
        prior = pm.sample_prior_predictive(2, random_seed=1)
        idata = pm.sample(400, tune=200, chains=2, cores=1, random_seed=2, progressbar=False, quiet=True)
        predictive = pm.sample_posterior_predictive(
            idata.isel(draw=slice(5)), var_names=["x"], random_seed=1, progressbar=False
        )
    states = STATES[(STATES < OWN).all(axis=1)]
    u, v = EDGES.T
    energies = (states[:, u] * states[:, v]).sum(axis=1)
    base = -0.3 * (states > 0).sum(axis=1)
    grid = np.linspace(-1.5, 2.5, 1001)
    log_weights = np.outer(grid, energies) + base  # (1001, configurations)
    log_p = -0.5 * grid**2 - 25 * np.logaddexp.reduce(log_weights, axis=1)
    for row in x:
        agree = (states == row).filled(True).all(axis=1)
        log_p += np.logaddexp.reduce(log_weights[:, agree], axis=1)
    p = np.exp(log_p - log_p.max())
    mean = p @ grid / p.sum()
    draws = idata.posterior.weight.values
    assert abs(draws.mean() - mean) < Z * float(az.mcse(draws))
    assert np.all(idata.posterior.x_unobserved.values <= np.array([2, 2, 1]))
    assert prior.prior_predictive.x.shape == (1, 2, 25, D)
    draws = predictive.posterior_predictive.x.values
    assert np.isnan(draws[:, :, x.mask]).all()
    np.testing.assert_array_equal(np.nanmax(draws.reshape(-1, D), axis=0), np.array(OWN) - 1)


def test_dimensions_and_copies():
    x = np.array([[0, 1, 2, 0], [1, 0, 0, 1], [2, 1, 1, 1]])  # every state of every node
    with pm.Model(coords={**coords(GRAPH), "obs": range(3)}) as model:
        weight = pm.Normal("weight", 0, 0.5, dims="edge")
        threshold = pm.Normal("threshold", 0, 1, shape=(D, K - 1))
        options = {"graph": GRAPH, "n_states": OWN, "scores": SCORES}
        OrdinalMRF("x", weight, threshold, observed=x, dims=("obs", "node"), **options)
        OrdinalMRF("latent", weight, threshold, dims="node", **options)
        prior = pm.sample_prior_predictive(3, random_seed=1)
    assert prior.prior_predictive.x.dims == ("chain", "draw", "obs", "node")
    assert prior.prior.latent.dims == ("chain", "draw", "node")
    assert list(prior.prior.latent.node.values) == list("abcd")
    again = cloudpickle.loads(cloudpickle.dumps(model))
    assert again["x"].owner.op == model["x"].owner.op
    point = model.initial_point(random_seed=1)
    np.testing.assert_array_equal(again.compile_logp()(point), model.compile_logp()(point))
    with pytest.raises(
        ValueError, match="coordinates of dimension 'node' are not the nodes of the graph"
    ):
        with pm.Model(coords={"node": list("dcba")}):
            OrdinalMRF("x", 0.1, graph=GRAPH, n_states=OWN, observed=x[0], dims="node")


def test_fields_that_differ_in_scores_or_states_are_different_variables():
    ops = [
        ordinal(0.1, **options).owner.op
        for options in (
            {},
            {"scores": SCORES},
            {"n_states": OWN},
            {"n_states": OWN, "scores": SCORES},
            {"n_states": OWN, "scores": OWN_SCORES},
        )
    ]
    assert all(a != b for k, a in enumerate(ops) for b in ops[:k])
    assert ordinal(0.1, scores=range(K)).owner.op == ops[0]


def observed_ordinal(x=((0, 1, 2, 0),), **kwargs):
    with pm.Model():
        options = {"weight": 0.1, "graph": GRAPH, "n_states": OWN, **kwargs}
        OrdinalMRF("x", **options, observed=np.array(x))


def with_dims(edge, states):
    with pm.Model(coords={**coords(GRAPH), "pair": range(3), "state": states}):
        weight = pm.Normal("weight", 0, 1, dims=edge)
        threshold = pm.Normal("threshold", 0, 1, dims=("node", "state"))
        OrdinalMRF("x", weight, threshold, graph=GRAPH, n_states=K, observed=[[0, 1, 2, 0]])


def two_fields(shift):
    """One vector of weights for two graphs."""
    with pm.Model():
        weight = SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 1), shape=R)
        OrdinalMRF("x", weight, graph=GRAPH, n_states=K, observed=[[0, 1, 2, 0]])
        pair = PairwiseGraph("ab", [("a", "b")])
        OrdinalMRF("y", weight + shift, graph=pair, n_states=K, observed=[[0, 1]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: observed_ordinal([[0, 1, 2, 0], [1, 2, 2, 2]]), ValueError,
            r"x: observed\[1, 1\] is 2, which is not a state of node 'b' \(states: 0, 1\); 2 such cells",
        ),
        (lambda: observed_ordinal([[3, 1, 2, 0]]), ValueError, r"observed\[0, 0\] is 3.*\(states: 0, 1, 2\)"),
        (lambda: observed_ordinal([[0, 1, 0.5, 0]]), ValueError, r"observed\[0, 2\] is 0.5"),
        (lambda: observed_ordinal([[0, -1, 0, 0]]), ValueError, r"observed\[0, 1\] is -1"),
        (lambda: observed_ordinal([[0, 1, 3, 0]], n_states=K), ValueError, "not a state of node 'c'"),
        (lambda: observed_ordinal([[0.0, 1, np.nan, 0]]), ValueError, "masked_invalid"),
        (lambda: observed_ordinal([[0, 1, 2]]), ValueError, "last dimension must be the 4 nodes"),
        (lambda: observed_ordinal(n_states=[3, 2]), ValueError, "n_states has 2 entries .* 4 nodes"),
        (lambda: ordinal(0.1, n_states=[3, 2, 3, 2, 3]), ValueError, "n_states has 5 entries .* 4 nodes"),
        (lambda: ordinal(0.1, n_states=1), ValueError, "n_states must be between 2 and 127, not 1"),
        (
            lambda: ordinal(0.1, n_states=[3, 1, 3, 2]), ValueError,
            r"n_states\[1\], of node .*, must be between 2 and 127, not 1; leave nodes with",
        ),
        (lambda: ordinal(0.1, n_states=128), ValueError, "not 128"),
        (lambda: ordinal(0.1, n_states=3.0), TypeError, "n_states must be an integer, not 3.0"),
        (lambda: ordinal(0.1, n_states=[3, 2.0, 3, 2]), TypeError, r"n_states\[1\], of .* an .* not 2.0"),
        (lambda: ordinal(0.1, n_states=True), TypeError, "n_states must be an integer, not True"),
        (lambda: ordinal(0.1, n_states="3"), TypeError, "n_states must be an integer, not '3'"),
        (lambda: ordinal(0.1, n_states=None), TypeError, "n_states is missing: give .* or one for each node"),
        (lambda: OrdinalMRF.dist(0.1, graph=GRAPH), TypeError, "n_states"),
        (lambda: ordinal(0.1, scores=[0, 2, 1]), ValueError, r"scores must be 3 increasing .* \[0, 2, 1\]"),
        (lambda: ordinal(0.1, scores=[0, 1, 1]), ValueError, "scores must be 3 increasing numbers"),
        (lambda: ordinal(0.1, scores=[0, 1]), ValueError, "scores must be 3 increasing numbers"),
        (lambda: ordinal(0.1, n_states=OWN, scores=[0, 1]), ValueError, "scores must be 3 increasing"),
        (lambda: ordinal(0.1, scores=[0, 1, np.nan]), ValueError, "scores must be 3 increasing numbers"),
        (lambda: ordinal(0.1, scores=["a", "b", "c"]), ValueError, "scores must be numeric"),
        (
            lambda: ordinal(0.1, n_states=OWN, scores=[SCORES] * D), ValueError,
            r"scores\[1\], of node 'b', must be 2 increasing numbers, one for each state, not \[-1",
        ),
        (
            lambda: ordinal(0.1, scores=[SCORES, SCORES[::-1], SCORES, SCORES]), ValueError,
            r"scores\[1\], of node 'b', must be 3 increasing numbers",
        ),
        (
            lambda: ordinal(0.1, scores=[SCORES] * 3), ValueError,
            "scores has 3 vectors but there are 4 nodes; give one vector of scores for all nodes, or one for",
        ),
        (lambda: ordinal(np.nan), ValueError, "weight must be finite"),
        (lambda: ordinal(np.zeros(5)), ValueError, "weight has length 5, but there are 4: give one"),
        (lambda: ordinal("a"), ValueError, "weight must be numeric"),
        (lambda: ordinal(0.1, [0.0, np.inf]), ValueError, r"threshold must be finite.* the value inf"),
        (lambda: ordinal(0.1, None), ValueError, "threshold must be numeric"),
        (lambda: ordinal(0.1, np.zeros(K)), ValueError, r"threshold has shape \(3,\), but must .* \(2,\)"),
        (
            lambda: ordinal(0.1, np.zeros(D)), ValueError,
            r"threshold has shape \(4,\), but must have shape \(4, 2\) or \(1, 2\) or \(2,\)",
        ),
        (
            lambda: ordinal(0.1, np.zeros((D, K))), ValueError,
            r"threshold has shape \(4, 3\), but must have shape \(4, 2\) or \(1, 2\)",
        ),
        (lambda: ordinal(0.1, np.zeros((K - 1, D))), ValueError, r"threshold has shape \(2, 4\), but must"),
        (lambda: ordinal(0.1, likelihood="mean"), ValueError, "likelihood must be one of"),
        (lambda: ordinal(0.1, shape=(2, 3)), ValueError, "its last entry must be 4, the number of nodes"),
        (lambda: OrdinalMRF.dist(0.1, graph=nx.DiGraph([(0, 1)]), n_states=3), ValueError, "directed"),
        (
            lambda: with_dims("edge", range(K)), ValueError,
            r"threshold has shape \(4, 3\), but must have shape \(4, 2\) or \(1, 2\)",
        ),
        (
            lambda: with_dims("pair", range(K - 1)), ValueError,
            "weight has length 3, but there are 4: give one value per edge",
        ),
        (lambda: two_fields(0.0), ValueError, "weight has length 4, but there are 1: give one"),
        (
            lambda: observed_ordinal([[0, 1, 2, 0]] * 5, threshold=np.zeros((6, D, K - 1))), ValueError,
            "x: threshold has 6 rows, but `observed` has 5: .* covariates needs those of the same rows",
        ),
        (
            lambda: observed_ordinal([[0, 1, 2, 0]] * 5, weight=np.zeros((6, R))), ValueError,
            "x: weight has 6 rows, but `observed` has 5",
        ),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


SHOWN = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [2, 0, 1, 0]])
"""All states of node a, states 0 and 1 of b, one state of c and of d."""


def warnings_about(x, shape=(D, K - 1), field=OrdinalMRF, **options):
    with warnings.catch_warnings(record=True) as caught, pm.Model():
        warnings.simplefilter("always")
        field("x", 0.1, pm.Normal("b", 0, 1, shape=shape), graph=GRAPH, observed=x, **options)
    return [str(warning.message) for warning in caught]


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_states_without_an_observation_are_named_once():
    every = np.tile(np.arange(K)[:, None], D)
    [said] = warnings_about(SHOWN, n_states=K)
    assert said.startswith(
        "x shows no observation in some states: 2 of b; 0, 2 of c; 1, 2 of d. Only the prior keeps the "
        "threshold of such a state, or if it is the first all those of its node, finite: if the last ones"
    )
    assert " of b" not in warnings_about(SHOWN, n_states=OWN)[0]  # has no state 2
    masked = np.ma.masked_array(every, mask=(every == 1) & (np.arange(D) == 3))
    assert any(said.startswith("x shows no observation in some states: 1 of d. Only") for said in
               warnings_about(masked, n_states=K))  # fmt: skip
    [said] = warnings_about(SHOWN, (D, K), pmrf.Potts, n_states=K)
    assert "2 of d. Only the prior keeps the field of such a state finite" in said
    # all are seen, or the thresholds are shared by the nodes, or have no prior
    assert warnings_about(every, n_states=K) == warnings_about(SHOWN, (1, K - 1), n_states=K) == []
    observed_ordinal()


def test_many_nodes_with_unseen_states_are_counted():
    graph = PairwiseGraph(range(8), [(0, 1)])
    with pm.Model(), pytest.warns(UserWarning, match="1, 2 of 4; and those of 3 more nodes. Only"):
        threshold = pm.Normal("threshold", 0, 1, shape=(8, 2))
        OrdinalMRF("x", 0.1, threshold, graph=graph, n_states=3, observed=np.zeros((2, 8), dtype=int))


def test_shapes_unknown_until_run_time_are_checked_then():
    threshold = pt.matrix("threshold")
    x = np.array([0, 1, 2, 0])
    f = pytensor.function([threshold], pm.logp(ordinal(WEIGHT, threshold), x))
    p = enumeration.probabilities(EDGES, *log_tables("edge; node, state"))
    np.testing.assert_allclose(f(THRESHOLD), np.log(p[enumeration.configuration_index(x[None], K)[0]]))
    for shape in ((D, K), (D + 1, K - 1)):
        with pytest.raises(AssertionError, match="SpecifyShape"):
            f(np.zeros(shape))
