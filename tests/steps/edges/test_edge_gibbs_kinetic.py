"""EdgeGibbs on arrows of fields in time, against the posterior enumerated over all structures."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.insides import fields_of
from tests.marks import slow
from tests.posteriors import Question, draws_of, furthest
from tests.reference.kinetic import kinetic_log_likelihood, kinetic_series
from tests.small_fields import kinetic
from tests.statistics import Z
from tests.steps.edges.arrow_models import (
    PAIR,
    THREE,
    series,
)
from tests.steps.edges.state_models import P


@pytest.mark.parametrize("prior", ["SpikeAndSlab", slow("DirichletProcess")])
def test_weights_are_rows_told_more_than_once(prior):
    """The same draws as with each row, after the one before, as often as its weight says."""
    z = np.random.default_rng(1).integers(2, size=(20, 2))
    weights = np.random.default_rng(2).integers(4, size=20)
    pairs = np.concatenate([z[t - 1 : t + 1] for t in range(1, 20) for _ in range(weights[t])])

    def draws(x, **options):
        with pm.Model():
            p, shape = (P, 4) if prior == "SpikeAndSlab" else (1.0, 4)
            w = getattr(pmrf, prior)("w", p, pm.Normal.dist(0, 1), shape=shape)
            pmrf.KineticMRF("x", w, 0.1, graph=pmrf.graphs.lagged(2), observed=x, **options)
            trace = pm.sample(
                20, tune=20, chains=1, cores=1, random_seed=1, progressbar=False, quiet=True,
                compute_convergence_checks=False,
            )  # fmt: skip
        return trace.posterior["w"].values

    weighted = draws(z, weights=weights)
    np.testing.assert_allclose(weighted, draws(pairs, series=np.repeat(np.arange(len(pairs) // 2), 2)))
    assert not np.allclose(weighted, draws(z))


def chain_of_arrows(seed):
    """A series in which node 0 moves 1, 1 moves 2, and 2 moves 3: none the other way."""
    edges = [(i, i + 1, 1) for i in range(3)]
    rng = np.random.default_rng(seed)
    first, w, b = np.zeros((1, 4), dtype=int), np.full(3, 2.0), np.r_[0.0, np.full(3, -1.0)]
    return kinetic_series(first, 400, edges, BOLTZMANN, w, b, rng)


@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
def test_arrows_have_a_direction(shuffled):
    """Those of the series are found and not their reverse; rows in another order have none."""
    z = chain_of_arrows(2)
    if shuffled:
        z = np.random.default_rng(5).permutation(z)
    graph = pmrf.graphs.lagged(4)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.1, pm.Normal.dist(0, 1), shape=graph.n_edges)
        b = pm.Normal("b", 0, 2, shape=4)
        pmrf.KineticMRF("x", w, b, graph=graph, observed=z)
    inclusion = (draws_of(model, None, 300, 100)[0] != 0).mean(axis=(0, 1))
    found = {graph.edge_labels[e] for e in np.flatnonzero(inclusion > 0.5)}
    assert found == (set() if shuffled else {"0->1", "1->2", "2->3"})


@pytest.mark.slow
@pytest.mark.compiled
def test_priors_that_nuts_moves():
    """Against quadrature over all weights; the biases are given."""
    right, reverse = (
        kinetic("boltzmann", PAIR[:3], np.array([0.9, 0.0, -0.7]), (50,), 4, told=told)
        for told in (None, [(j, i) for i, j in PAIR[:3]])
    )
    with pm.Model():
        right.declare("x", pm.Normal("w", 0, 0.7, shape=3), right.nodes, None)
        idata = pm.sample(
            1000, tune=500, chains=2, cores=1, random_seed=1, progressbar=False, quiet=True,
            compute_convergence_checks=False,
        )  # fmt: skip
    assert "tree_depth" in idata.sample_stats
    w, all_present = idata.posterior["w"].values, 1 - 1e-12
    assert furthest(w, Question((right,), sd=0.7).posterior(all_present)) < Z
    assert furthest(w, Question((reverse,), sd=0.7).posterior(all_present)) > Z


@pytest.mark.slow
@pytest.mark.compiled
def test_people_who_differ():
    """A weight for each series, drawn around a common mean: against quadrature over both."""
    people, w, lengths = np.arange(3), np.array([2.0, 0.0, -1.5]), (25, 12, 40)
    parts = [series("boltzmann", PAIR[:1], w[k : k + 1], (n,), 8 + k) for k, n in enumerate(lengths)]
    z, person, b = np.concatenate([part[0] for part in parts]), np.repeat(people, lengths), parts[0][4]
    with pm.Model(coords={"person": people}):
        mean = pm.Normal("mean", 0, 1)
        own = pm.Normal("own", mean, 0.7, dims="person")
        graph = pmrf.LaggedGraph([0], PAIR[:1])
        pmrf.KineticMRF("x", own[person][:, None], b, graph=graph, observed=z, series=person)
        idata = pm.sample(
            1000, tune=500, chains=2, cores=1, random_seed=1, progressbar=False, quiet=True,
            compute_convergence_checks=False,
        )  # fmt: skip
    grid = np.linspace(-6, 6, 401)
    terms = []
    for k in people:
        log_likelihood = kinetic_log_likelihood(z[person == k], [(0, 0, 1)], BOLTZMANN)
        terms.append(np.exp(log_likelihood(np.column_stack([grid, np.full(401, b[0])]))))

    def means(sd):
        prior = stats.norm(grid[:, None], sd).pdf(grid)  # by the mean, then the weight
        mass = np.array([prior @ term for term in terms])
        p = stats.norm(0, 1).pdf(grid) * mass.prod(axis=0)
        p /= p.sum()
        first = [(p * ((prior * grid) @ term) / m).sum() for term, m in zip(terms, mass, strict=True)]
        return np.array([*first, p @ grid])

    draws = np.concatenate([idata.posterior["own"], idata.posterior["mean"].values[..., None]], axis=-1)
    error = draws.std(axis=(0, 1)) / np.sqrt([float(az.ess(draws[..., k])) for k in range(4)])
    assert (np.abs(draws.mean(axis=(0, 1)) - means(0.7)) < Z * error).all()
    assert (np.abs(draws.mean(axis=(0, 1)) - means(2.0)) > Z * error).any()


@pytest.mark.parametrize("links", [(), ((0, 1), (1, 2), (0, 2))], ids=["arrows", "and links"])
def test_links_are_overstated_and_arrows_are_not(links):
    """Only edges both of whose ends count the same rows are judged at the end of a chain."""
    z = np.random.default_rng(1).integers(2, size=(60, 3))
    graph = pmrf.LaggedGraph(range(3), THREE, links=links)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=graph.n_edges)
        options = {"likelihood": pmrf.Pseudo(weight=1)} if links else {}
        pmrf.KineticMRF("x", w, 0.0, graph=graph, observed=z, **options)
        step = EdgeGibbs([w])
    step.setup_chain(np.random.default_rng(1), 0, 60)
    point = model.initial_point()
    for _ in range(59):
        point, _ = step.step(point)
    if links:  # as if all edges had been found against all odds
        step.record.included, step.record.log_odds = np.full(8, 36.0), np.full(8, -240.0)
    said = step.record.warn("w", fields_of(step)) if links else step._warn_at_end()
    assert [message.split(" entries")[0].split("of the ")[1] for message in said] == ["3"] * bool(links)
