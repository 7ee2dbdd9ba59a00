"""The ordinal field: scores and numbers of states, cells drawn by trees, and what it refuses."""

import warnings

import arviz as az
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.multistate import OrdinalMRF
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.graph.coordinates import coords
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.steps.latent import latent_field
from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs
from tests.reference import enumeration
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


def log_tables(own=(K,) * D, scores=(range(K),) * D):
    """Of `WEIGHT` and `THRESHOLD`, from the formula."""
    scores = np.array([np.resize(one, K) for one in scores])  # those beyond its states mean nothing
    edge = [w * np.outer(scores[u], scores[v]) for w, (u, v) in zip(WEIGHT, EDGES, strict=True)]
    node = np.column_stack([np.zeros(D), THRESHOLD])
    return np.array(edge), np.where(np.arange(K) < np.array(own)[:, None], node, -np.inf)


def ordinal(weight, threshold=0.0, n_states=K, **kwargs):
    return OrdinalMRF.dist(weight, threshold, graph=GRAPH, n_states=n_states, **kwargs)


def evaluate(*outputs):
    return pytensor.function([], list(outputs), mode="FAST_COMPILE")()


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


def test_shapes_of_draws_and_rows_of_their_own():
    assert evaluate(ordinal(0.3, 0.1, OWN))[0].shape == (D,)
    assert evaluate(ordinal(0.3, 0.1, OWN, size=(2, 5)))[0].shape == (2, 5, D)
    # the first row's thresholds leave state 0 only, the second row's the highest state of each node
    threshold = np.array([-200.0, 200.0])[:, None, None] * np.array([1.0, 2.0])
    (x,) = evaluate(ordinal(0.3, threshold, OWN, size=(2,)))
    np.testing.assert_array_equal(x, [[0] * D, [2, 1, 2, 1]])


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
    edge, node = log_tables(OWN, OWN_SCORES)
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
        (lambda: observed_ordinal([[0, 1, 3, 0]], n_states=K), ValueError, "not a state of node 'c'"),
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
    p = enumeration.probabilities(EDGES, *log_tables())
    np.testing.assert_allclose(f(THRESHOLD), np.log(p[enumeration.configuration_index(x[None], K)[0]]))
    for shape in ((D, K), (D + 1, K - 1)):
        with pytest.raises(AssertionError, match="SpecifyShape"):
            f(np.zeros(shape))
