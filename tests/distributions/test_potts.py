"""The Potts model: every form of its parameters against enumeration, and what it refuses."""

import arviz as az
import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import special

from pymc_mrf.distributions.dirichlet_process import DirichletProcess
from pymc_mrf.distributions.mrf import AgreementMRF, Ising
from pymc_mrf.distributions.multistate import Potts
from pymc_mrf.graph import builders
from pymc_mrf.graph.coordinates import coords
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration
from tests.reference.derivatives import assert_gradients
from tests.statistics import Z, assert_frequencies

GRAPH = PairwiseGraph("abcd", [("a", "b"), ("c", "b"), ("c", "a"), ("c", "d")])
R, D, K = 4, 4, 3
EDGES = GRAPH.edges
VALUES = np.random.default_rng(5)
PER_EDGE, PER_STATE = VALUES.normal(size=R), VALUES.normal(size=(R, K))
TABLES, TABLE = VALUES.normal(size=(R, K, K)), VALUES.normal(size=(K, K))
FIELD = VALUES.normal(size=(D, K))


def tables(coupling, field):
    """Log tables cell by cell, from the formula; coupling a function of edge and two states."""
    edge, node = np.zeros((R, K, K)), np.zeros((D, K))
    for e in range(R):
        for a in range(K):
            for b in range(K):
                edge[e, a, b] = coupling(e, a, b)
    for i in range(D):
        for a in range(K):
            node[i, a] = field(i, a)
    return edge, node


FORMS = {
    "scalar": (0.7, 0, tables(lambda e, a, b: 0.7 if a == b else 0.0, lambda i, a: 0.0)),
    "edge": (
        PER_EDGE,
        FIELD,
        tables(lambda e, a, b: PER_EDGE[e] if a == b else 0.0, lambda i, a: FIELD[i, a]),
    ),
    "edge, state": (
        PER_STATE,
        FIELD[0],
        tables(lambda e, a, b: PER_STATE[e, a] if a == b else 0.0, lambda i, a: FIELD[0, a]),
    ),
    "state": (
        PER_STATE[:1],
        FIELD[:1],
        tables(lambda e, a, b: PER_STATE[0, a] if a == b else 0.0, lambda i, a: FIELD[0, a]),
    ),
    "edge, table": (
        TABLES,
        FIELD.tolist(),
        tables(lambda e, a, b: TABLES[e, a, b], lambda i, a: FIELD[i, a]),
    ),
    "table": (TABLE, FIELD, tables(lambda e, a, b: TABLE[a, b], lambda i, a: FIELD[i, a])),
    "table, broadcast": (
        TABLE[None],
        FIELD,
        tables(lambda e, a, b: TABLE[a, b], lambda i, a: FIELD[i, a]),
    ),
}
STATES = enumeration.configurations(D, K)


def potts(coupling, field=0, **kwargs):
    return Potts.dist(coupling, field, graph=GRAPH, n_states=K, **kwargs)


def log_conditionals(p):
    """Half the sum over the nodes of the log conditional probability of every configuration."""
    expected = np.zeros(len(STATES))
    for i in range(D):
        rest = np.delete(STATES, i, axis=1)
        for row in range(len(STATES)):
            expected[row] += 0.5 * np.log(p[row] / p[np.all(rest == rest[row], axis=1)].sum())
    return expected


@pytest.mark.parametrize("form", FORMS)
def test_densities_of_every_form(form):
    coupling, field, log_tables = FORMS[form]
    p = enumeration.probabilities(EDGES, *log_tables)
    illegal = STATES.copy()
    illegal[0, 2] = K
    outputs = []
    for likelihood in ("exact", "pseudo", "particles"):
        rv = potts(coupling, field, likelihood=likelihood, size=(len(STATES),))
        outputs += [pm.logp(rv, STATES), pm.logp(rv, illegal)[0]]
    exact, a, pseudo, b, particles, c = pytensor.function([], outputs, mode="FAST_COMPILE")()
    np.testing.assert_allclose(exact, np.log(p), atol=1e-10)
    np.testing.assert_allclose(pseudo, log_conditionals(p), atol=1e-10)
    np.testing.assert_allclose(
        particles, enumeration.log_potentials(STATES, EDGES, *log_tables), atol=1e-10
    )
    assert a == b == c == -np.inf


def test_gradients_by_finite_differences(rng):
    x = rng.integers(K, size=(5, D))
    vectors = [
        pt.vector("J"), pt.matrix("J_state"), pt.tensor3("tables"), pt.tensor4("row_tables"),
        pt.matrix("h"), pt.vector("h_shared"), pt.tensor3("row_h"),
    ]  # fmt: skip
    shapes = [(R,), (R, K), (R, K, K), (5, R, K, K), (D, K), (K,), (5, D, K)]
    J, J_state, edge_tables, row_tables, h, h_shared, row_h = vectors
    pairs = [(J, h), (J_state, h_shared), (edge_tables, h), (row_tables, h), (J, row_h)]
    terms = [(*pair, likelihood) for pair in pairs for likelihood in ("exact", "pseudo")]
    costs = [
        pm.logp(potts(edge, node, likelihood=likelihood, size=(5,)), x).sum()
        for edge, node, likelihood in terms
    ]
    weights = rng.normal(size=len(costs))
    total = (pt.stack(costs) * weights).sum()
    f = pytensor.function(vectors, [total, *pytensor.grad(total, vectors)])
    point = [rng.normal(size=shape) for shape in shapes]
    assert_gradients(f, point)


def test_draws_match_enumeration(rng):
    forms = ["edge, state", "edge, table", "table"]
    likelihoods = ["exact", "particles", "pseudo"]
    rvs = [
        potts(*FORMS[form][:2], likelihood=likelihood, n_sweeps=50, size=(3000,))
        for form, likelihood in zip(forms, likelihoods, strict=True)
    ]
    assert [rv.owner.op.draws_exactly for rv in rvs] == [True, False, False]
    p = [enumeration.probabilities(EDGES, *FORMS[form][2]) for form in forms]
    for draws, expected in zip(pm.draw(rvs, random_seed=rng), p, strict=True):
        assert_draws(draws, expected)
    # negative control: draws of one form are not draws of another
    with pytest.raises(AssertionError):
        assert_draws(draws, p[0])


def assert_draws(x, p):
    """Rows of `x` have the frequencies `p`."""
    assert_frequencies(np.bincount(enumeration.configuration_index(x, K), minlength=len(p)), p)


def test_shapes_of_draws_and_rows_of_their_own(rng):
    assert potts(0.3).eval(mode="FAST_COMPILE").shape == (D,)
    assert potts(0.3, size=(2, 5)).eval(mode="FAST_COMPILE").shape == (2, 5, D)
    edge, node = FORMS["edge, table"][2]
    p = [enumeration.probabilities(EDGES, sign * edge, node) for sign in (1.0, -1.0)]
    rv = potts(np.stack([edge, -edge]), FIELD, likelihood="exact", size=(3000, 2))
    for x in (pm.draw(rv, random_seed=rng), rv.eval(mode="FAST_COMPILE")):
        for k in range(2):
            assert_draws(x[:, k], p[k])
        with pytest.raises(AssertionError):
            assert_draws(x[:, 0], p[1])  # negative control


def test_two_states_are_an_agreement_field_and_an_ising_model(rng):
    theta, J, h = rng.uniform(size=R), rng.normal(size=R), rng.normal(size=D)
    binary = enumeration.configurations(D, 2)
    log_odds = np.log(theta) - np.log1p(-theta)
    size = (len(binary),)
    outputs = [
        pm.logp(AgreementMRF.dist(theta, graph=GRAPH, size=size), binary),
        pm.logp(Potts.dist(log_odds, graph=GRAPH, n_states=2, size=size), binary),
        pm.logp(Ising.dist(J, h, graph=GRAPH, size=size), 2 * binary - 1),
        pm.logp(
            Potts.dist(2 * J, np.stack([-h, h], axis=1), graph=GRAPH, n_states=2, size=size), binary
        ),
    ]
    a, b, c, d = pytensor.function([], outputs, mode="FAST_COMPILE")()
    np.testing.assert_allclose(a, b, atol=1e-10)
    np.testing.assert_allclose(c, d, atol=1e-10)


@pytest.mark.slow
def test_nuts_posterior_and_predictive_draws():
    """One shared coupling: the posterior on a grid of its values, every configuration enumerated."""
    x = potts(0.8, size=(25,)).eval(mode="FAST_COMPILE")
    with pm.Model(coords={**coords(GRAPH), "obs": range(25)}) as model:
        coupling = pm.Normal("coupling", 0, 1)
        Potts("x", coupling, graph=GRAPH, n_states=K, observed=x, dims=("obs", "node"))
        prior = pm.sample_prior_predictive(2, random_seed=1)
        idata = pm.sample(400, tune=200, chains=2, cores=1, random_seed=2, progressbar=False, quiet=True)
        predictive = pm.sample_posterior_predictive(
            idata.isel(draw=slice(5)), random_seed=1, progressbar=False
        )
    u, v = EDGES.T
    grid = np.linspace(-2.0, 3.0, 1001)
    log_z = np.log(np.exp(np.outer(grid, (STATES[:, u] == STATES[:, v]).sum(axis=1))).sum(axis=1))
    log_p = grid * (x[:, u] == x[:, v]).sum() - len(x) * log_z - 0.5 * grid**2
    p = np.exp(log_p - log_p.max())
    mean = p @ grid / p.sum()
    draws = idata.posterior.coupling.values
    assert abs(draws.mean() - mean) < Z * float(az.mcse(draws))
    assert prior.prior_predictive.x.dims == ("chain", "draw", "obs", "node")
    assert predictive.posterior_predictive.x.shape == (2, 5, 25, D)
    assert set(np.unique(predictive.posterior_predictive.x)) == {0, 1, 2}
    again = cloudpickle.loads(cloudpickle.dumps(model))
    assert again["x"].owner.op == model["x"].owner.op


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_masked_cells_are_imputed():
    x = np.ma.masked_array([[0, 1, 2, 0], [1, 99, 1, 1]], mask=[[0] * 4, [0, 1, 0, 0]])
    with pm.Model() as model:
        Potts("x", PER_STATE, FIELD, graph=GRAPH, n_states=K, observed=x)
    logp = model.compile_logp(mode="FAST_COMPILE")
    complete = np.array([[0, 1, 2, 0], [1, 2, 1, 1]])
    expected = pm.logp(potts(PER_STATE, FIELD, size=(2,)), complete).eval(mode="FAST_COMPILE").sum()
    np.testing.assert_allclose(logp({"x_unobserved": np.array([2])}), expected)
    assert logp({"x_unobserved": np.array([3])}) == -np.inf


def test_latent_fields_start_in_the_first_state_and_data_may_change():
    x = np.array([[0, 1, 2, 0], [1, 1, 1, 1]])
    with pm.Model() as model:
        data = pm.Data("data", x)
        coupling = pm.Normal("coupling", 0, 1, shape=(R, K))
        Potts("latent", 0.5, graph=GRAPH, n_states=K)
        Potts("x", coupling, graph=GRAPH, n_states=K, observed=data, shape=data.shape)
        logp = model.compile_logp(vars=[model["x"]], mode="FAST_COMPILE")
        point = model.initial_point()
        np.testing.assert_array_equal(point["latent"], np.zeros(D))
        np.testing.assert_allclose(logp(point), -2 * D * np.log(K))
        pm.set_data({"data": x[[0, 1, 0]]})
        np.testing.assert_allclose(logp(point), -3 * D * np.log(K))


def observed_potts(x=((0, 1, 2, 0),), coupling=0.1, **kwargs):
    with pm.Model():
        Potts("x", coupling, **{"graph": GRAPH, "n_states": K, **kwargs}, observed=np.array(x))


def grouped():
    with pm.Model():
        theta = DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=(R, K))
        Potts("x", theta, graph=GRAPH, n_states=K, observed=[[0, 1, 2, 0]])


SQUARE = builders.chain(4)  # as many edges as states: 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: observed_potts([[0, 1, 3, 0]]), ValueError, r"observed\[0, 2\] is 3"),
        (lambda: observed_potts([[0.0, 1, np.nan, 0]]), ValueError, "masked_invalid"),
        (lambda: observed_potts([[0, 1, 2]]), ValueError, "last dimension must be the 4 nodes"),
        (lambda: observed_potts(coupling=np.nan), ValueError, "coupling must be finite"),
        (lambda: potts(np.full((R, K, K), -np.inf)), ValueError, "coupling must be finite.*-inf"),
        (lambda: potts(0.1, [0.0, np.inf, 0.0]), ValueError, "field must be finite"),
        (lambda: potts(np.zeros(5)), ValueError, "length 5, but there are 4: give one value per edge"),
        (lambda: potts(np.zeros(K)), ValueError, r"coupling\[None\], shape \(1, 3\)"),
        (lambda: potts(np.zeros((5, K))), ValueError, r"shape \(5, 3\), but must have shape \(4, 3\)"),
        (lambda: potts(np.zeros((R, 2))), ValueError, r"shape \(4, 2\), but must have"),
        (lambda: potts(np.zeros((5, K, K))), ValueError, r"\(4, 3, 3\) or \(1, 3, 3\)"),
        (lambda: potts(0.1, 0.5), ValueError, "scalar other than 0"),
        (lambda: potts(0.1, np.zeros(D)), ValueError, r"field has shape \(4,\), but must .* \(3,\)"),
        (lambda: potts(0.1, np.zeros((5, K))), ValueError, r"field has shape \(5, 3\)"),
        (
            lambda: Potts.dist(np.zeros((3, 3)), graph=SQUARE, n_states=3),
            ValueError,
            "as many edges as there are states",
        ),
        (
            lambda: Potts.dist(pt.matrix(), graph=SQUARE, n_states=3),
            ValueError,
            "is ambiguous",
        ),
        (lambda: potts(0.1, likelihood="mean"), ValueError, "likelihood must be one of"),
        (lambda: Potts.dist(0.1, graph=GRAPH, n_states=1), ValueError, "n_states must be between"),
        (lambda: Potts.dist(0.1, graph=GRAPH, n_states=2.5), TypeError, "n_states must be an integer"),
        (lambda: Potts.dist(0.1, graph=GRAPH), TypeError, "n_states"),
        (grouped, ValueError, "theta is a DirichletProcess.*as a vector with one coupling per edge"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_ambiguous_matrices_have_two_clear_spellings():
    J = np.arange(9.0).reshape(3, 3) / 9
    x = np.array([0, 1, 1, 0])
    shared = Potts.dist(J[None], graph=SQUARE, n_states=3, likelihood="particles")
    own = Potts.dist(J[:, :, None] * np.eye(3), graph=SQUARE, n_states=3, likelihood="particles")
    outputs = pytensor.function([], [pm.logp(shared, x), pm.logp(own, x)], mode="FAST_COMPILE")()
    np.testing.assert_allclose(outputs, [J[0, 1] + J[1, 1] + J[1, 0], J[1, 1]])


def test_one_table_for_a_graph_of_one_edge(rng):
    table = rng.normal(size=(3, 3))
    x = Potts.dist(table, graph=builders.chain(2), n_states=3, likelihood="exact")
    states = np.array(np.meshgrid(range(3), range(3), indexing="ij")).reshape(2, -1).T
    logp = np.array([float(pm.logp(x, z).eval()) for z in states])
    np.testing.assert_allclose(logp, (table - special.logsumexp(table)).ravel())
