"""`likelihood="path"` in models: densities, gradients, what is refused."""

from functools import partial

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.arguments import rows_of
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.fields.families import potts as potts_family
from pymc_mrf.graph import builders
from pymc_mrf.likelihood.path import path_form as path
from pymc_mrf.likelihood.path.coupling_path import TARGET
from tests.marks import slow
from tests.reference.derivatives import assert_gradients
from tests.statistics import Z

GRAPH = builders.grid(3, 3)
X = np.random.default_rng(4).integers(0, 3, (2, 9))


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """Paths of one module's tests are simulated once."""
    made = tmp_path_factory.mktemp("paths")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path, "folder", lambda: made)
        yield made


def ising(likelihood):
    return pmrf.Ising("x", pm.Normal("J"), graph=GRAPH, observed=2 * (X > 0) - 1, likelihood=likelihood)


def agreement(likelihood):
    theta = pm.math.sigmoid(pm.HalfNormal("J", 1))
    return pmrf.AgreementMRF("x", theta, graph=GRAPH, n_states=3, observed=X, likelihood=likelihood)


def potts(likelihood):
    coupling = pm.Normal("J", pm.Normal("m"), 1)
    return pmrf.Potts("x", coupling, graph=GRAPH, n_states=3, observed=X, likelihood=likelihood)


WEIGHTS = np.random.default_rng(1).exponential(size=GRAPH.n_edges)


def weighted_ising(likelihood, weights=WEIGHTS):
    J, x = pm.Normal("J"), 2 * (X > 0) - 1
    return pmrf.Ising("x", weights * J / 2, graph=GRAPH, observed=x, likelihood=likelihood)


def weighted_agreement(likelihood):
    J = pm.Deterministic("v", -WEIGHTS * pm.Normal("J"))
    return pmrf.AgreementMRF(
        "x", pm.math.sigmoid(J), graph=GRAPH, n_states=3, observed=X, likelihood=likelihood
    )


def weighted_potts(likelihood):
    J = pm.Normal("J", shape=1) * WEIGHTS
    return pmrf.Potts("x", J, graph=GRAPH, n_states=3, observed=X, likelihood=likelihood)


def weighted_ising_in_a_field(likelihood):
    J, h = pm.HalfNormal("J"), pm.Normal("h")
    return pmrf.Ising("x", J * WEIGHTS, h, graph=GRAPH, observed=2 * (X > 0) - 1, likelihood=likelihood)


def ising_in_a_field(likelihood):
    J, h = pm.HalfNormal("J"), pm.Normal("h")
    return pmrf.Ising("x", J, h, graph=GRAPH, observed=2 * (X > 0) - 1, likelihood=likelihood)


def potts_in_a_field(likelihood):
    J, h = pm.HalfNormal("J"), pm.ZeroSumNormal("h", shape=3)
    return pmrf.Potts("x", J, h, graph=GRAPH, n_states=3, observed=X, likelihood=likelihood)


def error_of(found):
    """Standard error of A, at most."""
    if hasattr(found, "errors_at_knots"):
        return found.errors_at_knots.max()
    return 0.05


def densities_at(likelihoods, makes):
    """Log density of models at three points each, (3, models)."""
    found = []
    for likelihood, make in zip(likelihoods, makes, strict=True):
        with pm.Model() as model:
            make(likelihood)
        density, start = model.compile_logp(), model.initial_point()
        points = [
            {name: J * np.arange(1, 1 + v.size).reshape(v.shape) for name, v in start.items()}
            for J in (-0.3, 0.2, 0.6)
        ]
        found.append([density(point) for point in points])
    return np.array(found).T


@pytest.mark.parametrize(
    "make",
    [
        ising,
        slow(agreement),
        potts,
        slow(ising_in_a_field),
        slow(potts_in_a_field),
        weighted_ising,
        slow(weighted_agreement),
        slow(weighted_potts),
        weighted_ising_in_a_field,
    ],
)
@pytest.mark.ordinary("ising", "weighted_ising")
def test_density_is_the_exact_one_within_its_error(make):
    with pm.Model() as model:
        error = error_of(field_node(make("path")).op.likelihood.path)
    f = model.logp_dlogp_function(ravel_inputs=True)
    f.set_extra_values({})
    n_free = sum(v.size for v in model.initial_point().values())
    assert_gradients(f, [0.3 + 0.2 * np.arange(n_free)])
    found = densities_at(("path", "exact"), (make, make))
    assert (np.abs(found[:, 0] - found[:, 1]) < 2 * Z * error).all(), found
    assert np.ptp(found[:, 1]) > 2 * Z * error


def test_weights_matter_and_their_unit_does_not():
    """Control: with the weights of other edges, densities are off by far more than the error."""

    with pm.Model():
        error = error_of(field_node(weighted_ising("path")).op.likelihood.path)
    for weights in (WEIGHTS[::-1], np.ones(12)):
        other = partial(weighted_ising, weights=weights)
        found = densities_at(("path", "exact"), (other, weighted_ising))
        assert np.abs(found[:, 0] - found[:, 1]).max() > 2 * Z * error
    files = set(path.folder().iterdir())
    for weights in (-7.0 * WEIGHTS, np.full(12, 7.0)):
        with pm.Model():
            found = field_node(weighted_ising("path", weights)).op.likelihood.path
    assert set(path.folder().iterdir()) == files
    assert (found.weights == 1.0).all()


@pytest.mark.parametrize(("n_rows", "weights"), [slow(1, WEIGHTS), (40, WEIGHTS), slow(40, np.ones(12))])
def test_posterior_of_one_coupling_is_the_exact_one(n_rows, weights):
    """Mean and standard deviation of J by quadrature: along a path, exactly, and with wrong weights."""
    x = pmrf.PairwiseField(GRAPH, potts_family(2).edge_tables(0.8 * weights), np.zeros((9, 2))).sample(
        n_rows, "exact", rng=np.random.default_rng(n_rows)
    )
    J, found = np.linspace(-2.0, 4.0, 301), []
    for likelihood, used in (("path", weights), ("exact", weights), ("exact", weights[::-1] ** 2 + 1)):
        with pm.Model() as model:
            coupling = pm.Normal("J")
            pmrf.Potts("x", coupling * used, graph=GRAPH, n_states=2, observed=x, likelihood=likelihood)
        density = model.compile_logp()
        log_p = np.array([density({"J": np.array(t)}) for t in J])
        p = np.exp(log_p - log_p.max()) / np.exp(log_p - log_p.max()).sum()
        found.append([p @ J, np.sqrt(p @ J**2 - (p @ J) ** 2)])
    along, exact, wrong = np.array(found)
    assert abs(along[0] - exact[0]) < Z * TARGET * exact[1]
    assert along[1] == pytest.approx(exact[1], rel=Z * TARGET)
    assert abs(along[0] - wrong[0]) > Z * TARGET * exact[1]


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_is_as_in_python():
    with pm.Model() as model:
        ising_in_a_field("path")
    point = model.initial_point()
    point |= {name: np.array(0.7) for name in point}
    expected = model.compile_logp(mode="FAST_COMPILE")(point)
    assert model.compile_logp()(point) == pytest.approx(expected, rel=1e-12)


def test_couplings_that_the_prior_has_not_are_impossible():
    with pm.Model() as model:
        J = pm.Normal("J", 2, 0.1)
        x = pmrf.Ising("x", J, graph=GRAPH, observed=2 * (X > 0) - 1, likelihood="path")
        assert not field_node(x).op.likelihood.path.is_signed
    logp = model.compile_logp()
    assert np.isfinite(logp({"J": np.array(1e-3)}))
    assert logp({"J": np.array(-1e-3)}) == -np.inf
    with pm.Model():
        flat = pmrf.Ising("x", pm.Flat("J"), graph=GRAPH, likelihood="path")
        assert field_node(flat).op.likelihood.path.is_signed


def test_rows_are_counted():
    with pm.Model(coords={"row": range(5)}):
        assert rows_of(X, {}, "x") == 2
        assert rows_of(None, {"shape": (4, 9)}, "x") == 4
        assert rows_of(None, {"dims": ("row", "node")}, "x") == 5
        assert rows_of(None, {}, "x") == 1


def test_missing_cells_have_no_log_likelihood():
    data = np.ma.masked_array(2 * (X > 0) - 1, X == 1)
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        pmrf.Ising("x", pm.Normal("J"), graph=GRAPH, observed=data, likelihood="path")
    with pytest.warns(UserWarning, match="no log probabilities of rows with missing cells"):
        f = model.compile_fn(model.logp(vars=model.observed_RVs, sum=False), inputs=model.value_vars)
    assert np.isnan(f(model.initial_point())[0]).all()
    assert np.isfinite(model.compile_logp()(model.initial_point()))


@pytest.mark.slow
def test_auto_takes_a_path_for_some_rows_of_a_wide_graph(monkeypatch, caplog):
    caplog.set_level("INFO", "pymc_mrf")
    wide = builders.grid(5, 20)
    for name in ("exact", "path", "monte_carlo"):
        monkeypatch.setattr(f"pymc_mrf.likelihood.{name}.likelihood.is_cheap", lambda tree: False)
    with pm.Model():
        J, h = pm.HalfNormal("J"), pm.Normal("h")
        x = np.ones((2, 100), dtype=int)
        weights = np.linspace(0.5, 1.5, wide.n_edges)
        # in place of that of the wide graph
        grid = path.saved_grid(GRAPH, np.ones(12), 2, 1, path.folder(), str)
        monkeypatch.setattr(path, "saved_grid", lambda *_: grid)
        likelihoods = {
            "path": [
                pmrf.Ising("a", J, graph=wide),
                pmrf.Ising("b", J, graph=wide, observed=x[:1]),
                pmrf.Ising("c", J, graph=wide, observed=x),
                pmrf.Ising("n", J * weights, graph=wide, observed=x),
                pmrf.Ising("k", J, h, graph=wide),
                pmrf.Ising("o", J * weights, h, graph=wide, shape=(2, 100)),
                pmrf.Potts("l", J, [0.1, 0], graph=wide, n_states=2),
            ],
            "particles": [
                pmrf.Ising("p", J * pm.Data("weights", weights), graph=wide),
                pmrf.Ising("d", J, pm.Normal("v", shape=100), graph=wide),
                pmrf.Potts("f", J, [0.1, 0.0, 0.2], graph=wide, n_states=3),
                pmrf.Ising("e", 0.3, graph=wide),
                pmrf.Ising.dist(J, graph=wide),
            ],
            "pseudo": [pmrf.Ising("g", J, graph=wide, likelihood="pseudo")],
        }
        monkeypatch.setattr(path, "LARGEST_FIELD_UNASKED", 199)
        likelihoods["particles"].append(pmrf.Ising("m", J, h, graph=wide, shape=(2, 100)))
        monkeypatch.setattr(path, "LARGEST_UNASKED", 199)
        likelihoods["particles"].append(pmrf.Ising("i", J, graph=wide, observed=x))
        likelihoods["path"].append(pmrf.Ising("q", J, graph=wide))
        monkeypatch.setattr(path, "LARGEST_UNASKED", 99)
        likelihoods["path"].append(pmrf.Ising("r", J, graph=wide))
        likelihoods["particles"] += [
            pmrf.Ising("s", h, graph=wide),
            pmrf.Potts("t", J, graph=wide, n_states=5),
        ]
        assert "may be off by up to 0.0" in caplog.text and '"auto" is not it' not in caplog.text
        monkeypatch.setattr(path, "NEGLIGIBLE", 1e-3)
        likelihoods["particles"].append(pmrf.Ising("j", J, graph=wide))
        assert '"auto" is not it' in caplog.text
    for likelihood, fields in likelihoods.items():
        assert {field_node(field).op.likelihood.name for field in fields} == {likelihood}


@pytest.mark.parametrize("option", [{"n_sweeps": 0}, {"dtype": float}], ids=["n_sweeps", "dtype"])
def test_options_are_checked_before_a_simulation(option, monkeypatch):
    monkeypatch.setattr(path, "saved_path", None)
    with pm.Model(), pytest.raises(ValueError, match=next(iter(option))):
        pmrf.Ising("x", pm.HalfNormal("J"), graph=GRAPH, likelihood="path", **option)


def test_an_error_that_matters_is_told(monkeypatch):
    monkeypatch.setattr(path, "NEGLIGIBLE", 1e-3)
    with (
        pm.Model(),
        pytest.warns(UserWarning, match=r"off by up to 0\.0\d of its .* near theta = 0\.\d"),
    ):
        agreement("path")


def boltzmann():
    pmrf.BoltzmannMachine("x", pm.Normal("w"), graph=GRAPH, likelihood="path")


def vector():
    pmrf.Ising("x", pm.Normal("w", shape=12), graph=GRAPH, likelihood="path")


def changing_weights():
    weights = pm.Data("contrast", WEIGHTS)
    pmrf.Ising("x", pm.Normal("w") * weights, graph=GRAPH, likelihood="path")


def weights_of_both_signs():
    pmrf.Ising("x", pm.Normal("w") * np.linspace(-1, 1, 12), graph=GRAPH, likelihood="path")


def no_weights():
    pmrf.Ising("x", pm.Normal("w") * np.zeros(12), graph=GRAPH, likelihood="path")


def weights_with_nan():
    pmrf.Ising("x", pm.Normal("w") * np.append(WEIGHTS[1:], np.nan), graph=GRAPH, likelihood="path")


def table():
    coupling = pm.Normal("w", shape=(1, 3))
    pmrf.Potts("x", coupling, graph=GRAPH, n_states=3, likelihood="path")


def repulsion():
    pmrf.Ising("x", pm.Normal("w"), pm.Normal("h"), graph=GRAPH, likelihood="path")


def unlike_nodes():
    pmrf.Ising("x", pm.HalfNormal("w"), pm.Normal("h", shape=9), graph=GRAPH, likelihood="path")


def unlike_rows():
    field = pm.Normal("h", shape=(9, 3))
    pmrf.Potts("x", pm.HalfNormal("w"), field, graph=GRAPH, n_states=3, likelihood="path")


def many_states():
    field = pm.Normal("h", shape=4)
    pmrf.Potts("x", pm.HalfNormal("w"), field, graph=GRAPH, n_states=4, likelihood="path")


def three_states_of_many_nodes():
    coupling, field = pm.HalfNormal("w"), pm.Normal("h", shape=3)
    graph = builders.grid(16, 17)
    pmrf.Potts("x", coupling, field, graph=graph, n_states=3, likelihood="path")


def spiky_field():
    h = pmrf.SpikeAndSlab("h", 0.5, pm.Normal.dist(0, 1), shape=2)
    pmrf.Ising("x", pm.HalfNormal("w"), h[0], graph=GRAPH, likelihood="path")


def spiky():
    w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=2)
    pmrf.Ising("x", w[0], graph=GRAPH, likelihood="path")


def lonely():
    graph = pmrf.PairwiseGraph(range(3), [])
    pmrf.Ising("x", pm.Normal("w"), graph=graph, likelihood="path")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (boltzmann, "one weight, not for BoltzmannMachine: use likelihood="),
        (vector, "coupling must be a scalar .* vector of 12 values: pass the one number"),
        (changing_weights, r"depends on contrast, which pm.set_data .*\(give weights as an array\)"),
        (weights_of_both_signs, "weights .* must be .* of one sign, .* go from -1.0 to 1.0: use"),
        (no_weights, "not all 0, but they go from 0.0 to 0.0"),
        (weights_with_nan, "has nan in row 11"),
        (table, "one coupling, not for a coupling for each state"),
        (repulsion, "coupling must attract neighbours .* pm.HalfNormal, .* whose step is Exchange"),
        (
            unlike_nodes,
            "field must be the same for all nodes .* pass the one number .* or use likelihood=",
        ),
        (unlike_rows, r"field must be the same for all nodes .* pass the one vector \(3,\) .* or use"),
        (
            many_states,
            "field must be 0 .* more than 3 states, .* there are 4: leave it out, .* Exchange",
        ),
        (three_states_of_many_nodes, "field must be 0 .* than 256 nodes, .* are 272: .* Exchange"),
        (spiky_field, "field must have a density .* depends on h, .* give it another prior"),
        (spiky, "must have a density .* depends on w, .* give it another prior"),
        (lonely, "needs a graph with edges"),
    ],
)
def test_other_fields_are_refused(make, message):
    with pm.Model(), pytest.raises(ValueError, match=message):
        make()


def test_factor_graphs_do_not_know_it():
    with pm.Model(), pytest.raises(ValueError, match="likelihood must be one of"):
        pmrf.FactorGraphMRF("x", [np.zeros(2)], scopes=[(0,)], cardinalities=[2], likelihood="path")
