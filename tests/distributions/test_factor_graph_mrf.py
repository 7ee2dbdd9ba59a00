"""Factor graphs as PyMC distributions, against enumeration."""

import itertools

import arviz as az
import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_mrf.distributions.dirichlet_process import DirichletProcess
from pymc_mrf.distributions.factor_graph_mrf import FactorGraphMRF
from pymc_mrf.distributions.mrf import Ising
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.graph import builders
from pymc_mrf.likelihood.pseudo.likelihood import Pseudo
from tests.reference import factor_graph as reference
from tests.reference.derivatives import assert_gradients
from tests.statistics import Z, assert_frequencies

# a loop through factors of one, two and three variables; variable 4 is in no other factor
SCOPES = [(2, 0), (0, 1, 3), (3,), (3, 2), (4,)]
CARDS = [2, 3, 2, 4, 3]
D = len(CARDS)
# the means of one over the sizes of the factors of several variables; 1 without any
COUNTED_ONCE = [5 / 12, 1 / 3, 1 / 2, 5 / 12, 1.0]
SHAPES = [tuple(CARDS[v] for v in scope) for scope in SCOPES]
STATES = np.array(list(itertools.product(*map(range, CARDS))))
VALUES = np.random.default_rng(9)
TABLES = [VALUES.normal(size=shape) for shape in SHAPES]
HARD = [table.copy() for table in TABLES]
HARD[1][0, 1, :] = -np.inf
HARD[3][2, 1] = -np.inf


def field(tables=TABLES, scopes=SCOPES, cardinalities=CARDS, **kwargs):
    return FactorGraphMRF.dist(tables, scopes=scopes, cardinalities=cardinalities, **kwargs)


def exact(tables):
    """Probabilities of all configurations, in the order of STATES."""
    return np.array(list(reference.probabilities(SCOPES, CARDS, tables).values()))


def log_conditionals(p, weights):
    """Weighted sum over the variables of the log conditional probability of every configuration."""
    expected = np.zeros(len(STATES))
    for i in range(D):
        rest = np.delete(STATES, i, axis=1)
        for row in range(len(STATES)):
            total = p[np.all(rest == rest[row], axis=1)].sum()
            expected[row] += weights[i] * np.log(p[row] / total) if p[row] > 0 else -np.inf
    return expected


@pytest.mark.parametrize("tables", [TABLES, HARD], ids=["finite", "hard"])
def test_densities(tables):
    p = exact(tables)
    illegal = STATES.copy()
    illegal[0, 2] = 2
    outputs = []
    for likelihood in ("exact", "pseudo", "particles"):
        rv = field(tables, likelihood=likelihood, size=(len(STATES),))
        outputs += [pm.logp(rv, STATES), pm.logp(rv, illegal)[0]]
    log_p, a, pseudo, b, particles, c = pytensor.function([], outputs, mode="FAST_COMPILE")()
    with np.errstate(divide="ignore"):
        expected = np.log(p)
    np.testing.assert_allclose(log_p, expected, atol=1e-10)
    np.testing.assert_allclose(pseudo, log_conditionals(p, COUNTED_ONCE), atol=1e-10)
    usual = field(tables, likelihood=Pseudo(weight=1), size=(len(STATES),))
    usual = pm.logp(usual, STATES).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(usual, log_conditionals(p, np.ones(D)), atol=1e-10)
    potentials = list(reference.weights(SCOPES, CARDS, tables).values())
    np.testing.assert_allclose(particles, potentials, atol=1e-10)
    assert a == b == c == -np.inf


def test_gradients_by_finite_differences(rng):
    """Tables shared by the rows, tables of their own, -inf entries."""
    x = STATES[exact(HARD) > 0][rng.integers(30, size=4)]
    inputs = [pt.tensor(f"table_{f}", shape=(None,) * len(shape)) for f, shape in enumerate(SHAPES)]
    rows = pt.tensor("row_table", shape=(4, *SHAPES[1]))
    hard = [table + np.where(np.isneginf(h), h, 0.0) for table, h in zip(inputs, HARD, strict=True)]
    own = [inputs[0], rows, *inputs[2:]]
    terms = [(t, likelihood) for t in (inputs, own, hard) for likelihood in ("exact", "pseudo")]
    costs = [
        pm.logp(field(tables, likelihood=likelihood, size=(4,)), x).sum() for tables, likelihood in terms
    ]
    total = (pt.stack(costs) * rng.normal(size=len(costs))).sum()
    variables = [*inputs, rows]
    f = pytensor.function(variables, [total, *pytensor.grad(total, variables)])
    point = [rng.normal(size=shape) for shape in [*SHAPES, (4, *SHAPES[1])]]
    assert_gradients(f, point)


@pytest.mark.compiled
@pytest.mark.slow
def test_draws_match_enumeration_in_numba_and_python(rng):
    rvs = [
        field(HARD, likelihood="exact", size=(3000,)),
        field(HARD, likelihood="pseudo", n_sweeps=50, size=(3000,)),
        field(TABLES, likelihood="particles", n_sweeps=50, size=(3000,)),
    ]
    assert [rv.owner.op.draws_exactly for rv in rvs] == [True, False, False]
    p = [exact(HARD), exact(HARD), exact(TABLES)]
    strides = np.cumprod([1, *CARDS[:0:-1]])[::-1]
    in_numba = pm.draw(rvs[:2], random_seed=rng)
    in_python = pytensor.function([], rvs, mode="FAST_COMPILE")()
    for x, expected in zip([*in_numba, *in_python], [*p[:2], *p], strict=True):
        assert_frequencies(np.bincount(x @ strides, minlength=len(expected)), expected)
    with pytest.raises(AssertionError):  # negative control
        assert_frequencies(np.bincount(in_python[2] @ strides, minlength=len(p[0])), p[0])


def test_shapes_of_draws_and_rows_of_their_own():
    assert field().eval(mode="FAST_COMPILE").shape == (D,)
    assert field(size=(2, 3)).eval(mode="FAST_COMPILE").shape == (2, 3, D)
    table = np.zeros((4, 2, 2))
    for row, (a, b) in enumerate(itertools.product(range(2), repeat=2)):
        table[row, a, b] = 50.0
    rv = field([table], [(1, 0)], [2, 2], size=(4,))
    np.testing.assert_array_equal(rv.eval(mode="FAST_COMPILE"), [[0, 0], [1, 0], [0, 1], [1, 1]])


@pytest.mark.compiled
@pytest.mark.slow
def test_impossible_draws_are_refused():
    """No configuration of this field is possible. Numba has compiled its draws for the test above."""
    tables = [np.full_like(TABLES[0], -np.inf), *TABLES[1:]]
    never = field(tables, likelihood="exact", size=(3000,))
    assert pm.logp(never, np.zeros((3000, D), dtype=int)).eval(mode="FAST_COMPILE")[0] == -np.inf
    gibbs = field(tables, likelihood="pseudo", n_sweeps=50, size=(3000,))
    for rv in (never, gibbs):
        with pytest.raises(ValueError, match="no configuration of positive probability"):
            rv.eval(mode="FAST_COMPILE")
    with pytest.raises(ValueError, match="no configuration of positive probability"):
        pm.draw(gibbs)


def test_ten_variables_and_auto():
    rv = field([np.zeros((2,) * 10)], [range(10)], [2] * 10)
    assert rv.owner.op.likelihood.name == "exact"
    value = pm.logp(rv, np.ones(10, dtype=int)).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(value, -10 * np.log(2))
    pairs = list(itertools.combinations(range(25), 2))
    wide = [np.zeros((2, 2))] * len(pairs)
    assert field(wide, pairs, [2] * 25).owner.op.likelihood.name == "particles"
    more = list(itertools.combinations(range(30), 2))
    with pytest.raises(ValueError, match="width 29"):
        field([np.zeros((2, 2))] * len(more), more, [2] * 30, likelihood="exact")


@pytest.mark.slow
def test_nuts_of_a_noisy_or():
    """Posterior of the leak, on a grid; tables are computed from it. Predictive draws, pickling."""
    rng = np.random.default_rng(3)
    causes = (rng.random((40, 2)) < 0.4).astype(int)
    q = np.array([[1.0, 0.3], [0.4, 0.12]])  # P(no effect | causes), without leak
    effect = (rng.random(40) < 1 - 0.8 * q[causes[:, 0], causes[:, 1]]).astype(int)
    x = np.column_stack([causes, effect])
    prior = np.log([0.6, 0.4])
    with pm.Model(coords={"obs": range(40), "finding": ["cause 1", "cause 2", "effect"]}) as model:
        leak = pm.Beta("leak", 1, 4)
        p = 1 - (1 - leak) * q
        FactorGraphMRF(
            "x",
            [prior, prior, pm.math.log(pm.math.stack([1 - p, p], axis=-1))],
            scopes=[(0,), (1,), (0, 1, 2)],
            cardinalities=[2, 2, 2],
            observed=x,
            dims=("obs", "finding"),
        )
        idata = pm.sample(
            1000, tune=500, chains=2, cores=1, random_seed=2, progressbar=False, quiet=True
        )
        predictive = pm.sample_posterior_predictive(
            idata.isel(draw=slice(5)), random_seed=1, progressbar=False
        )
    grid = (np.arange(2000) + 0.5) / 2000
    log_p = 3 * np.log1p(-grid)
    for a, b, c in x:
        no = (1 - grid) * q[a, b]
        log_p += np.log(1 - no if c else no)
    weight = np.exp(log_p - log_p.max())
    draws = idata.posterior.leak.values
    assert abs(draws.mean() - weight @ grid / weight.sum()) < Z * float(az.mcse(draws))
    assert predictive.posterior_predictive.x.dims == ("chain", "draw", "obs", "finding")
    assert predictive.posterior_predictive.x.shape == (2, 5, 40, 3)
    again = cloudpickle.loads(cloudpickle.dumps(model))
    assert again["x"].owner.op == model["x"].owner.op


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_masked_cells_are_imputed():
    x = np.ma.masked_array([[0, 1, 1, 3, 2], [1, 9, 1, 0, 0]], mask=[[0] * 5, [0, 1, 0, 0, 0]])
    with pm.Model() as model:
        FactorGraphMRF("x", TABLES, scopes=SCOPES, cardinalities=CARDS, observed=x)
    assert field_node(model["x_unobserved"]).op.graph.n_variables == D
    logp = model.compile_logp(mode="FAST_COMPILE")
    p = dict(zip(map(tuple, STATES), exact(TABLES), strict=True))
    expected = np.log(p[0, 1, 1, 3, 2]) + np.log(p[1, 2, 1, 0, 0])
    np.testing.assert_allclose(logp({"x_unobserved": np.array([2])}), expected)
    assert logp({"x_unobserved": np.array([3])}) == -np.inf


def test_fields_without_any_observed_cell_are_latent():
    with pm.Model() as model:
        observed = np.ma.masked_all(D, dtype=int)
        x = FactorGraphMRF("x", TABLES, scopes=SCOPES, cardinalities=CARDS, observed=observed)
    assert model.free_RVs == [x] and model.initial_point()["x"].shape == (D,)


def test_symbolic_tables_are_checked_at_run_time():
    table = pt.vector("table")
    rv = field([table], [(0,)], [3])
    f = pytensor.function([table], pm.logp(rv, np.array([1])), mode="FAST_COMPILE")
    np.testing.assert_allclose(f([0.0, np.log(2.0), -np.inf]), np.log(2 / 3))
    for bad in ([0.0, np.nan, 0.0], [0.0, 0.0, np.inf]):
        with pytest.raises(ValueError, match="finite, or -inf"):
            f(bad)
    with pytest.raises(AssertionError):
        f([0.0, 1.0])


def test_one_tensor_for_tables_of_equal_shapes():
    tables = VALUES.normal(size=(3, 2, 2))
    scopes, x = [(0, 1), (2, 1), (3, 2)], np.array([[0, 1, 1, 0], [1, 1, 0, 0]])
    outputs = [
        pm.logp(field(t, scopes, [2] * 4, size=(2,)), x)
        for t in (pt.constant(tables), tables, [*tables])
    ]
    one, array, several = pytensor.function([], outputs, mode="FAST_COMPILE")()
    np.testing.assert_array_equal(one, several)
    np.testing.assert_array_equal(array, several)


def observed_field(x, **kwargs):
    with pm.Model():
        FactorGraphMRF("x", TABLES, scopes=SCOPES, cardinalities=CARDS, observed=x, **kwargs)


def particles_model(parameter, tables):
    with pm.Model() as model:
        v = parameter()
        FactorGraphMRF(
            "x", tables(v), scopes=[(0,), (0, 1)], cardinalities=[2, 2], likelihood="particles",
            observed=[[0, 1]],
        )  # fmt: skip
        Ising("y", v, graph=builders.chain(2), likelihood="particles", observed=[[1, 1]])
    return model


def test_steps_of_pairwise_fields_refuse():
    """Whoever asks for the family does not know factor graphs."""
    with pytest.raises(NotImplementedError, match="a FactorGraphMRF is none"):
        _ = field().owner.op.family


def grouped():
    particles_model(
        lambda: DirichletProcess("v", 1.0, pm.Normal.dist(0, 1), shape=1),
        lambda v: [pt.stack([0.0, v[0]]), np.zeros((2, 2))],
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: observed_field([[0, 1, 2, 0, 0]]), ValueError, r"observed\[0, 2\] is 2.*0..1"),
        (lambda: observed_field([[0, -1, 1, 0, 0]]), ValueError, r"observed\[0, 1\] is -1"),
        (lambda: observed_field([[0, 0.5, 1, 0, 0]]), ValueError, r"is 0.5"),
        (lambda: observed_field([[0, np.nan, 1, 0, 0]]), ValueError, "masked_invalid"),
        (lambda: observed_field([["a"] * 5]), ValueError, "must be numeric"),
        (lambda: observed_field([[0, 1]]), ValueError, "last dimension must be the 5 variables"),
        (lambda: observed_field(np.zeros((0, 5))), ValueError, "no rows"),
        (lambda: field(TABLES[:2]), ValueError, "tables has 2 entries but scopes has 5"),
        (lambda: field([TABLES[0].T, *TABLES[1:]][::-1]), ValueError, r"tables\[0\] must have shape"),
        (lambda: field([pt.matrix(shape=(3, 3)), *TABLES[1:]]), ValueError, r"tables\[0\] must have"),
        (lambda: field([pt.vector(), *TABLES[1:]]), ValueError, r"tables\[0\] must have shape \(2, 2\)"),
        (lambda: field(pt.tensor3()), ValueError, "give a list with one table per factor"),
        (
            lambda: field(pt.tensor3(shape=(2, 3, 3)), [(0, 2)] * 2),
            ValueError,
            r"tables must have shape \(2, 2, 2\)",
        ),
        (lambda: field([np.nan + TABLES[0], *TABLES[1:]]), ValueError, r"tables\[0\]\[0, 0\] is nan"),
        (lambda: field([np.inf + TABLES[0], *TABLES[1:]]), ValueError, r"is inf; log tables hold"),
        (lambda: field([], []), ValueError, "scopes is empty"),
        (lambda: field([0], [range(11)], [2] * 11), ValueError, "more than the limit of 10"),
        (lambda: field([np.zeros(2)], [(7,)]), ValueError, "names variable 7"),
        (lambda: field(likelihood="mean"), ValueError, "likelihood must be one of"),
        (lambda: field(n_sweeps=0), ValueError, "n_sweeps must be a positive"),
        (grouped, ValueError, "v is a DirichletProcess"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
