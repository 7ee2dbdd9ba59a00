"""The examples of the developer guide: what stands there as it stands there, and an engine."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from examples import pages
from pymc_mrf.analysis import sampler_statistics
from pymc_mrf.distributions import likelihood
from pymc_mrf.distributions.field import FIELDS
from pymc_mrf.fields.families import BOLTZMANN, ordinal
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.likelihood.exact.exact_edges import ExactEdges
from pymc_mrf.steps import assign
from pymc_mrf.steps.edges.edge_prior import flat
from tests.couple_edges import CoupleEngine
from tests.posteriors import Question, assert_right
from tests.reference.priors import normal
from tests.small_fields import pairwise
from tests.statistics import assert_frequencies

TRIANGLE = PairwiseGraph(range(3), [(0, 1), (1, 2), (0, 2)])
PAGE = Path(__file__).parent.parent / "docs" / "developer.md"


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """Names that the code of the page defines."""
    namespace = {"__name__": "developer"}
    file = (
        tmp_path_factory.mktemp("guide") / "developer.py"
    )  # numba keeps what it compiles beside a file
    file.write_text("\n".join(pages.code_blocks(PAGE)))
    exec(compile(file.read_text(), file, "exec"), namespace)
    return namespace


@pytest.fixture
def registered(steps, monkeypatch):
    """The same, the classes being among the registered steps."""
    monkeypatch.setattr(assign, "STEPS", (*assign.STEPS, steps["Climber"], steps["MeasuredClimber"]))
    sampler_statistics.all_declared.cache_clear()
    yield steps
    sampler_statistics.all_declared.cache_clear()


def sampled(step, draws=60, **options):
    with pm.Model():
        x = pm.Normal("x", 0, 1, shape=2)
        return pm.sample(
            draws,
            tune=10,
            chains=2,
            cores=1,
            step=step([x], **options),
            random_seed=1,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
        )


def test_statistics_are_diagnosed_and_drawn(registered):
    idata = sampled(registered["MeasuredClimber"])
    names = {"climber_accept", "measured_climber_distance", "measured_climber_width"}
    assert names == set(idata.sample_stats.data_vars)
    shown = sampler_statistics.sampler_statistics(idata)
    assert set(shown.data_vars) == {"climber_accept", "measured_climber_distance"}
    found = pmrf.diagnose(idata).findings
    [far] = [f for f in found if "distance of a move" in f.text]
    assert (far.subject, far.level) == ("MeasuredClimber", "for")
    assert [f for f in found if f.subject == "Climber" and "acceptance" in f.text]


def test_state_is_reset_and_resumed(steps):
    with pm.Model() as model:
        step = steps["Climber"]([pm.Normal("x", 0, 1, shape=2)])
    step.setup_chain(np.random.default_rng(1), 5, 5)
    point, _ = step.step({"x": np.full(2, 3.0)})
    state = step.sampling_state
    first, _ = step.step(point)
    step.sampling_state = state
    again, _ = step.step(point)
    np.testing.assert_array_equal(first["x"], again["x"])
    step.setup_chain(np.random.default_rng(1), 5, 5)
    assert (step.n_accepted, step.started, step.count.n_draws) == (0, False, 0)
    assert model["x"].name == "x"


def test_a_chain_that_stands_still_is_warned_of(steps):
    with pm.Model():
        step = steps["Climber"]([pm.Normal("x", 0, 1)], width=1e9)
    step.setup_chain(np.random.default_rng(1), 0, 60)
    point = {"x": np.array(0.0)}
    for _ in range(60):
        point, [stats] = step.step(point)
    assert "x never moved in 60 draws; use a smaller width" in stats["warning"].message


def test_the_likelihood_is_declared(steps, monkeypatch):
    class Here(likelihood.Entry):
        kind = steps["Enumerated"]

    entry = Here("enumerated", ("pairwise",), "")
    monkeypatch.setattr(likelihood, "REGISTRY", (*likelihood.REGISTRY, entry))

    def declared(name, graph, n_rows=20):
        x = np.random.default_rng(1).integers(2, size=(n_rows, graph.n_nodes))
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=graph.n_edges)
        return pmrf.BoltzmannMachine("x", w, 0.3, graph=graph, observed=x, likelihood=name)

    graph, values = PairwiseGraph(range(3), [(0, 1), (1, 2)]), []
    for name in ("enumerated", "exact"):
        with pm.Model() as model:
            field = declared(name, graph)
        assert field.owner.op.likelihood.name == name
        values.append(model.compile_logp(vars=[field])({"w": np.array([0.7, -0.4])}))
    np.testing.assert_allclose(*values)
    known = likelihood.possible(
        likelihood.DeclaredField(field.owner.op, field.owner.op.dist_params(field.owner))
    )
    assert steps["Enumerated"] in known
    with (
        pm.Model(),
        pytest.raises(ValueError, match='x: likelihood="enumerated" lists up to 1,024 states'),
    ):
        declared("enumerated", PairwiseGraph(range(11), [(0, 1)]))


COUPLING, FIELD = np.array([1.1, 0.0, -0.8]), np.array([0.4, -0.2, 0.3])


@pytest.fixture
def opinions(steps):
    """Three items of the kind of column of the page, with known fields; observed rows are states."""
    field = pairwise(steps["OPINION"], TRIANGLE, COUPLING, 60, 1, FIELD)

    def declare(name, weight, nodes, likelihood, x=field.x - 1):
        options = {"graph": TRIANGLE, "observed": x, "likelihood": likelihood}
        return steps["OpinionMRF"](name, weight, *nodes, **options)

    return field._replace(declare=declare)


def test_the_kind_of_column_has_its_probabilities(steps):
    states = np.array(list(np.ndindex(3, 3, 3))) - 1
    edges = np.array(TRIANGLE.edges)
    p = np.exp((states[:, edges[:, 0]] * states[:, edges[:, 1]]) @ COUPLING + states @ FIELD)
    p /= p.sum()
    x = steps["OpinionMRF"].dist(COUPLING, FIELD, graph=TRIANGLE, likelihood="exact", shape=3)
    np.testing.assert_allclose(pm.logp(x, states).eval(), np.log(p))
    drawn = pm.draw(x, 4000, random_seed=1)
    assert_frequencies(np.bincount((drawn + 1) @ [9, 3, 1], minlength=27), p)


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_edges_of_the_kind_of_column_are_sampled(opinions, likelihood):
    other = "pseudo" if likelihood == "exact" else "exact"
    question = Question((opinions,), likelihood, sd=1.0)
    assert_right(question, dataclasses.replace(question, likelihood=other), n_draws=2000)


def test_results_of_the_kind_of_column_are_read(opinions, monkeypatch):
    """With the model, and with what results keep of it."""
    model = Question((opinions,)).model()
    with model:
        idata = pm.sample(
            20, tune=20, chains=2, cores=1, random_seed=1, progressbar=False, quiet=True,
            compute_convergence_checks=False,
        )  # fmt: skip
    rows = pd.DataFrame([[-1, 0, np.nan], [1, 1, np.nan]])
    net = pmrf.Network(idata, model)
    assert len(net.edges) == TRIANGLE.n_edges
    found = net.predict(rows)
    assert found["probability"].sizes["state"] == 3
    xr.testing.assert_identical(found, pmrf.Network(idata).predict(rows))
    monkeypatch.delitem(FIELDS, "OpinionMRF")
    with pytest.raises(ValueError, match="called OpinionMRF: import the module that defines it"):
        pmrf.Network(idata).predict(rows)


@pytest.mark.slow
@pytest.mark.parametrize("family", [BOLTZMANN, ordinal([3, 2, 4, 3, 2])], ids=["binary", "ordinal"])
def test_the_engine_of_couples_moves_as_the_exact_one(family):
    """Same order of edges, same random numbers: the same chain, joint moves included."""
    rng = np.random.default_rng(3)
    graph = PairwiseGraph(range(5), [(0, 3), (1, 2)])
    x = rng.integers(family.cards or 2, size=(60, 5)).astype(np.int8)
    x[:, 3] = np.where(rng.random(60) < 0.3, x[:, 3], x[:, 0])
    start = np.tile([[0.3], [-0.2], [0.1], [0.0], [0.4]], len(family.node_basis)).ravel()
    prior = EdgePrior(np.zeros(2), normal(1.0), flat(len(start)))
    chains = []
    for engine in (
        CoupleEngine(x, graph, family, False),
        ExactEdges(x, graph, family, False, enumerates=False),
    ):
        field = engine.view.field._replace(order=np.arange(2))
        engine.view = engine.view._replace(field=field)
        w, b, again = np.zeros(2), start.copy(), np.random.default_rng(5)
        chain = []
        for _ in range(200):
            engine.sweep(w, b, prior, again)
            accept = engine.joint(w, b, prior, 0.6, 2, again)
            chain.append([*w, accept])
        chains.append(chain)
    np.testing.assert_allclose(*chains, rtol=1e-7, atol=1e-9)
    assert 50 < np.count_nonzero(np.array(chains[0])[:, 0]) <= 200
