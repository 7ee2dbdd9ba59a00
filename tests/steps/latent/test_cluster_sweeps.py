"""`TreeGibbs` with sweeps over clusters: small fields against enumeration, the choice, what is refused."""

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ISING
from pymc_mrf.fields.sweeps import ClusterSweep
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration
from tests.reference import latent_field as reference
from tests.statistics import assert_mean_close
from tests.steps.latent.models import (
    GRID,
    MU,
    Y,
    agreement_tables,
    assert_marginals,
    hidden_potts,
    make,
    run,
    tree_mode,
)


@pytest.fixture(autouse=True)
def by_trees(monkeypatch):
    tree_mode(monkeypatch)


@pytest.mark.parametrize("right", [True, False], ids=["right", "control"])
def test_hidden_potts(right, monkeypatch):
    if not right:  # evidence with the wrong sign for the clusters
        move = ClusterSweep.__call__
        monkeypatch.setattr(
            ClusterSweep, "__call__", lambda self, x, J, w, rng: move(self, x, J, -w, rng)
        )
    tables = agreement_tables(0.9, GRID.n_edges, 3), np.zeros((9, 3))
    p = reference.posterior(GRID.edges, *tables, lambda z: reference.normal(Y, MU[z], 0.9))
    model = hidden_potts(0.9)
    draws, accept = run(make(model, clusters=True), model, 5000)
    assert accept == 1.0
    if right:
        assert_marginals(draws, *p, GRID.edges, 3)
    else:
        with pytest.raises(AssertionError):
            assert_marginals(draws, *p, GRID.edges, 3)


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_observed_cells_stay():
    graph, J = builders.grid(2, 2), 1.2
    data = np.ma.masked_array([[1, 1, -1, -1], [1, -1, -1, 1]], [[1, 0, 1, 1], [1, 0, 0, 1]])
    with pm.Model() as model:
        pmrf.Ising("x", np.float64(J), graph=graph, observed=data)
    draws, _ = run(make(model, "x_unobserved", clusters=True), model, 5000)
    configs = 2 * enumeration.configurations(4, 2) - 1
    p = enumeration.probabilities(graph.edges, ISING.edge_tables(np.full(4, J)), np.zeros((4, 2)))
    expected = []
    for row, hidden in zip(data.data, data.mask, strict=True):
        q = p * np.all((configs == row) | hidden, axis=1)
        expected += (q @ configs / q.sum())[hidden].tolist()
    assert_mean_close(draws.reshape(50, 100, -1).mean(axis=1), expected)


@pytest.mark.slow
def test_unknown_coupling():
    rng, grid = np.random.default_rng(3), np.linspace(0.01, 4.0, 400)
    edges = [(0, 1), (1, 2), (2, 0)]
    y = rng.choice([-1, 1], size=(8, 1)) + rng.normal(0, 1.2, size=(8, 3))
    states = 2 * enumeration.configurations(3, 2) - 1
    agreement = sum(states[:, u] * states[:, v] for u, v in edges)
    log_a = np.log(np.exp(grid[:, None] * agreement).sum(axis=1))
    prior = stats.halfnorm(scale=0.5).logpdf(grid)
    logs = stats.norm(states[None], 1.2).logpdf(y[:, None]).sum(axis=2)
    p = np.exp(grid[:, None] * agreement - log_a[:, None])
    log_p = prior + np.log(np.exp(logs) @ p.T).sum(axis=0)
    expected = np.average(grid, weights=np.exp(log_p - log_p.max()))

    with pm.Model() as model:
        J = pm.HalfNormal("J", np.float64(0.5))
        x = pmrf.Ising("x", J, graph=PairwiseGraph(range(3), edges), shape=(8, 3))
        pm.Normal("y", x, np.float64(1.2), observed=y)
    step, point, couplings = make(model, clusters=True), model.initial_point(), []
    step.setup_chain(np.random.default_rng(1), 0, 4000)
    for _ in range(4000):
        point, _ = step.step(point)
        total = sum(point["x"][:, u] @ point["x"][:, v] for u, v in edges)
        given = np.cumsum(np.exp(prior + grid * total - 8 * log_a))
        couplings.append(grid[np.searchsorted(given, rng.random() * given[-1])])
        point = {**point, "J_log__": np.log(couplings[-1])}
    assert_mean_close(np.reshape(couplings, (50, -1)).mean(axis=1), expected)


@pytest.mark.parametrize("J", [0.6, -0.6])
@pytest.mark.parametrize("sd, better", [(30.0, True), (0.3, False)], ids=["weak", "strong"])
def test_clusters_are_chosen_where_they_move_further(J, sd, better):
    graph = builders.grid(6, 6)
    with pm.Model() as model:
        x = pmrf.Ising("x", np.float64(J), graph=graph)
        pm.Normal("y", x, np.float64(sd), observed=np.resize([1.0, 1.0, -1.0], 36))
    step, point = make(model), model.initial_point()
    step.setup_chain(np.random.default_rng(1), 150, 20)
    used = []
    for k in range(170):
        if k == 150:
            step.stop_tuning()
        point, [stats] = step.step(point)
        used.append(stats["tree_gibbs_clusters"])
    assert used[:150] == [1.0] * 150
    assert used[150:] == [float(better)] * 20


@pytest.mark.parametrize("family", [pmrf.Ising, pmrf.BoltzmannMachine])
@pytest.mark.ordinary("Ising")
def test_couplings_of_either_sign(family):
    rng = np.random.default_rng(2)
    J = np.multiply([1.0, -1.0, 1.0, 1.0] * 3, rng.uniform(0.3, 1.5, 12))
    flips = np.array([0, 1, 1, 0, 0, 0, 1, 0, 1])
    u, v = GRID.edges.T
    J = np.abs(J) * (-1.0) ** (flips[u] + flips[v])
    y = rng.normal(size=9)
    with pm.Model() as model:
        x = family("x", J, graph=GRID) if family is pmrf.Ising else family("x", J, -y / 2, graph=GRID)
        pm.Normal("y", x, np.float64(1.5), observed=y)
    states = np.array([-1, 1] if family is pmrf.Ising else [0, 1])
    nodes = np.outer(0 * y if family is pmrf.Ising else -y / 2, [0.0, 1.0])
    tables = J[:, None, None] * np.outer(states, states)
    p = reference.posterior(
        GRID.edges, tables, nodes, lambda z: reference.normal(y, states[z].astype(float), 1.5)
    )
    draws, accept = run(make(model, clusters=True), model, 5000)
    assert accept == 1.0
    assert_marginals(np.searchsorted(states, draws), *p, GRID.edges, 2)


@pytest.mark.warm
def test_fields_without_clusters():
    def model_of(coupling):
        with pm.Model() as model:
            x = pmrf.Potts("x", coupling, graph=GRID, n_states=3)
            pm.Normal("y", pm.math.stack(list(MU))[x], 0.9, observed=Y)
        return model

    mixed = np.full(12, 0.5)
    mixed[3] = -0.1
    with pytest.raises(ValueError, match=r"clusters=True: x has negative couplings.*pm\.HalfNormal"):
        make(model_of(mixed), clusters=True)
    model = model_of(mixed)
    _, [found] = make(model).step(model.initial_point())
    assert found["tree_gibbs_clusters"] == 0.0
    with pytest.raises(TypeError, match="clusters must be True or False, not 'always'"):
        make(model, clusters="always")
