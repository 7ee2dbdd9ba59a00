"""likelihood="monte-carlo": its log density under NUTS, and what it refuses."""

import cloudpickle
import networkx as nx
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.analysis.findings import AGAINST

GRAPH = nx.complete_graph(4)
X = np.random.default_rng(2).integers(2, size=(60, 4))
X[:40, 1] = X[:40, 0]
NEAR = np.array([3.0, 1.0, 0.0, -1.0, 0.5, 0.0, -1.5, -1.5, 0.0, -0.5])  # roughly where the posterior is


SCALE = np.array([1.0, 2.0, 0.5, 3.0])  # of the scores of each node


def model_of(likelihood, own_scores=False):
    with pm.Model() as model:
        w = pm.Normal("w", 0, 0.5, shape=6)
        b = pm.Normal("b", 0, 1, shape=4)
        options = {"graph": GRAPH, "observed": X, "likelihood": likelihood}
        if own_scores:  # another parametrisation of the same field
            scale, scores = SCALE[np.array(GRAPH.edges)].prod(axis=1), np.multiply.outer(SCALE, [0, 1])
            pmrf.OrdinalMRF("x", w / scale, b[:, None], scores=scores, **options)
        else:
            pmrf.BoltzmannMachine("x", w, b, **options)
    return model


@pytest.mark.parametrize("own_scores", [False, True])
@pytest.mark.ordinary("False")
def test_log_density_and_gradient_up_to_a_constant(own_scores):
    points = [
        {"w": rng.normal(NEAR[:6], 0.2), "b": rng.normal(NEAR[6:], 0.2)}
        for rng in map(np.random.default_rng, range(4))
    ]
    values, slopes = [], []
    for likelihood in ("exact", pmrf.MonteCarlo(tolerance=0.1)):
        model = model_of(likelihood, own_scores)
        value, slope = model.compile_logp(), model.compile_dlogp()
        values.append(np.array([value(p) for p in points]))
        slopes.append(np.array([slope(p) for p in points]))
    gaps = values[1] - values[0]
    np.testing.assert_allclose(gaps, gaps[0], atol=0.1)
    np.testing.assert_allclose(slopes[1], slopes[0], atol=0.2)
    assert np.ptp(values[0]) > 5.0
    copy = cloudpickle.loads(cloudpickle.dumps(model))
    np.testing.assert_allclose(copy.compile_logp()(points[0]), values[1][0], rtol=1e-9)


def test_log_likelihood_is_none_of_rows():
    model = model_of("monte-carlo")
    with model, pytest.warns(UserWarning, match="has log probabilities up to a constant only"):
        model.compile_fn(model.logp(sum=False))


def field(observed=X, weight=0.1, **options):
    with pm.Model():
        pmrf.BoltzmannMachine("x", weight, graph=GRAPH, observed=observed, **options)


def with_data():
    with pm.Model():
        x = pm.Data("votes", X)
        pmrf.BoltzmannMachine("x", 0.1, graph=GRAPH, observed=x, likelihood="monte-carlo")


REFUSED = {
    "nothing observed": (
        lambda: field(None, likelihood="monte-carlo"),
        'x: likelihood="monte-carlo" is made from obs',
    ),
    "pm.Data": (with_data, "for data that do not change; give an array in place of pm.Data"),
    "rows": (
        lambda: field(weight=np.full((60, 6), 0.1), likelihood="monte-carlo"),
        "needs parameters that all rows share",
    ),
    "tables": (
        lambda: pmrf.Potts.dist(np.zeros((6, 2, 2)), graph=GRAPH, n_states=2, likelihood="monte-carlo"),
        "is made from observed data",
    ),
    "no edges": (
        lambda: pmrf.BoltzmannMachine.dist(0.1, graph=nx.empty_graph(2), likelihood=pmrf.MonteCarlo()),
        "is made from observed data",
    ),
    "tolerance": (lambda: pmrf.MonteCarlo(tolerance=0.0), "tolerance must be a positive number of nats"),
    "seed": (lambda: pmrf.MonteCarlo(seed=-1), "seed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    declare, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        declare()


def test_potts_tables_of_data_are_refused():
    with pm.Model(), pytest.raises(ValueError, match="needs one number per edge"):
        pmrf.Potts(
            "x", np.zeros((6, 2, 2)), graph=GRAPH, n_states=2, observed=X, likelihood="monte-carlo"
        )


@pytest.mark.slow
def test_auto_takes_it_where_it_serves():
    """Where rows are many, all alike and fixed; edges that are all present need more, grouped ones most."""
    rng, graph = np.random.default_rng(3), nx.complete_graph(21)
    x = rng.integers(2, size=(2100, 21))
    x[:, 1] = np.where(rng.random(2100) < 0.8, x[:, 0], x[:, 1])

    base = pm.Normal.dist(0, 1)
    priors = {
        "sparse": lambda: pmrf.SpikeAndSlab("w", 0.5, base, shape=210),
        "grouped": lambda: pmrf.DirichletProcess("w", 1.0, base, shape=210),
        "plain": lambda: pm.Normal("w", 0, 1, shape=210),
    }

    fields = []  # those of equal data share a sample as long as one of them is held

    def taken(observed, prior):
        with pm.Model():
            w = priors[prior]()
            b = pm.Normal("b", 0, 2, shape=21)
            fields.append(pmrf.BoltzmannMachine("x", w, b, graph=graph, observed=observed))
        return fields[-1].owner.op.likelihood.name

    assert {taken(x, prior) for prior in priors} == {"monte-carlo"}
    assert taken(x[:200], "sparse") == "monte-carlo"
    assert taken(x[:2000], "grouped") == taken(x[:200], "plain") == "particles"
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=210)
        pmrf.BoltzmannMachine("x", w, 0.0, graph=graph, observed=pm.Data("data", x))
        pmrf.BoltzmannMachine("y", np.zeros(210), 0.0, graph=graph, observed=x)
    chosen = {name: model[name].owner.op.likelihood.name for name in ("x", "y")}
    assert chosen == {"x": "particles", "y": "particles"}


def test_auto_weighs_the_cost_of_a_draw(caplog):
    """Ten items of four answers have a junction tree within the bound, but its sweeps are slow."""
    caplog.set_level("INFO", "pymc")
    x = np.random.default_rng(4).integers(4, size=(400, 10))

    def declared(prior, d=10, likelihood="auto", observed=x, name="x"):
        r = d * (d - 1) // 2
        graph, w = pmrf.graphs.complete(d), np.zeros(r)
        if isinstance(prior, pm.Model):
            w = prior["w"]
        elif prior == "sparse":
            w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=r)
        elif prior == "plain":
            w = pm.Normal("w", 0, 1, shape=r)
        options = {
            "graph": graph,
            "n_states": 4,
            "likelihood": likelihood,
            "observed": observed[..., :d],
        }
        return pmrf.OrdinalMRF(name, w, 0.0, **options).owner.op.likelihood.name

    with pm.Model():
        assert declared("sparse") == "monte-carlo"
    assert (
        caplog.text.count("a draw takes some 8.6e+05 operations, of 7.7e+07 by the junction tree") == 1
    )
    assert caplog.text.count('likelihood="auto" is it') == 1
    with pm.Model() as model:  # a field that shares its vector has the likelihood of the first
        assert declared("sparse", likelihood="exact") == "exact"
        assert declared(model, name="y") == "exact"
    for prior, d, observed in (("sparse", 7, x), ("known", 10, x), ("plain", 10, x[:40])):
        with pm.Model():
            assert declared(prior, d, observed=observed) == "exact"
    with pm.Model():
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=45)
        data = pm.Data("data", x)
        node = pmrf.OrdinalMRF(
            "x", w, 0.0, graph=pmrf.graphs.complete(10), n_states=4, observed=data
        ).owner
        assert node.op.likelihood.name == "exact"
    with pm.Model():  # enumeration takes far less than its tree of as many cells
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=171)
        graph = pmrf.graphs.complete(19)
        x = np.random.default_rng(5).integers(2, size=(400, 19))
        assert pmrf.BoltzmannMachine("x", w, graph=graph, observed=x).owner.op.likelihood.name == "exact"


def test_the_class_of_the_options_is_refused():
    with pytest.raises(TypeError, match=r"call it, likelihood=pymc_mrf.MonteCarlo\(\)"):
        field(likelihood=pmrf.MonteCarlo)


def drawn_posterior(far):
    """Draws near the posterior's mean, or with biases that are `far` from there."""
    rng = np.random.default_rng(4)
    draws = rng.normal(NEAR, 0.15, (2, 50, 10)) + far * np.r_[np.zeros(6), 1, -1, 1, -1]
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                {
                    "w": (("chain", "draw", "w_dim_0"), draws[..., :6]),
                    "b": (("chain", "draw", "b_dim_0"), draws[..., 6:]),
                }
            )
        }
    )


@pytest.mark.parametrize("far", [0.0, 9.0])
def test_diagnose_looks_at_the_sample_under_nuts(far):
    found = pmrf.diagnose(drawn_posterior(far), model=model_of("monte-carlo"))
    [finding] = [f for f in found.findings if "effective share" in f.text]
    assert finding.subject == "x"
    assert (finding.level == AGAINST) == bool(far)
    assert ('likelihood="particles"' in finding.remedy) == bool(far)
