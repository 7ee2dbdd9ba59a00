"""EdgeGibbs on arrows of fields in time, against the posterior enumerated over all structures."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.likelihood.pseudo.expected_neighbours import ExpectedNeighbours
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.marks import slow
from tests.reference.kinetic import kinetic_log_likelihood, kinetic_series
from tests.reference.spike_and_slab import structure_posterior, structure_posteriors
from tests.statistics import Z
from tests.steps.edges.arrow_models import (
    PAIR,
    SLAB,
    THREE,
    declare,
    series,
)
from tests.steps.edges.state_models import P, draws_of, fixed_p, gaps


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arrows", "lag"),
    [
        pytest.param("boltzmann", THREE, 1, id="binary"),
        pytest.param("ordinal", THREE, 1, id="ordinal"),
        pytest.param("ising", THREE, 2, id="ising"),
    ],
)
def test_all_structures_of_two_series(name, arrows, lag):
    w = np.array([0.8, 0.6, 0.0, -0.5, 0.0])
    z, labels, edges, family, b = series(name, arrows, w, (40, 25), lag=lag)
    with pm.Model() as model:
        weight = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.7), shape=5)
        shape = family.node_shape(3)
        full = np.zeros(shape)
        full[...] = b.reshape(shape)
        declare(name, weight, full, arrows, z, labels, family, lag=lag)
    draws = draws_of(model)

    def posterior(labels):
        log_likelihood = kinetic_log_likelihood(z, edges, family, labels)
        return structure_posteriors(log_likelihood, 5, b.size, SLAB.logpdf, bias=b, n_nodes=5)

    right = posterior(labels)
    assert gaps(draws, right(fixed_p(P, 5))).max() < Z
    assert gaps(draws, right(fixed_p(P + 0.1, 5))).max() > Z  # negative control


@pytest.mark.parametrize("name", ["boltzmann", slow("ising"), slow("ordinal")])
@pytest.mark.slow
def test_biases_that_move_with_the_arrows(name):
    w = np.array([0.9, 0.0, -0.7, 0.0])
    z, labels, edges, family, b = series(name, PAIR, w, (50,), seed=4)
    with pm.Model() as model:
        weight = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.7), shape=4)
        bias = pm.Normal("b", 0, 1, shape=family.node_shape(2))
        declare(name, weight, bias, PAIR, z, labels, family)
        moved = {v.name for v in EdgeGibbs(model.free_RVs).vars}
    assert moved == {"w", "b"}

    def posterior(edges):
        log_likelihood = kinetic_log_likelihood(z, edges, family)
        log_bias, size = stats.norm(0, 1).logpdf, b.size
        prior = fixed_p(P, 4)
        return structure_posterior(
            log_likelihood, 4, size, prior, SLAB.logpdf, log_bias=log_bias, n_nodes=4
        )

    draws = draws_of(model)
    assert gaps(draws, posterior(edges)).max() < Z
    # negative control: the arrows the other way
    assert gaps(draws, posterior([(j, i, lag) for i, j, lag in edges])).max() > Z


@pytest.mark.slow
def test_a_difference_between_two_groups_of_series():
    """Rows of one group have weights w + delta / 2, those of the other w - delta / 2."""
    arrows, w, delta = PAIR[:3], np.array([0.8, 0.0, -0.5]), np.array([0.0, 1.2, 0.0])
    parts = [series("boltzmann", arrows, w + f * delta, (45,), 6 + k) for k, f in enumerate((0.5, -0.5))]
    z, labels = np.concatenate([part[0] for part in parts]), np.repeat([0, 1], 45)
    edges, family, b = parts[0][2:]
    half = (0.5 - labels)[:, None]
    with pm.Model() as model:
        weight = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.7), shape=3)
        change = pmrf.SpikeAndSlab("delta", P, pm.Normal.dist(0, 0.7), shape=3)
        declare("boltzmann", weight + half * change, b, arrows, z, labels, family)
    terms = []
    for k, f in enumerate((0.5, -0.5)):
        A = np.zeros((5, 8))
        A[:3, :3], A[:3, 3:6], A[3:, 6:] = np.eye(3), f * np.eye(3), np.eye(2)
        terms.append((kinetic_log_likelihood(z[labels == k], edges, family), A))

    def log_likelihood(q):
        return sum(value(q @ A.T) for value, A in terms)

    posterior = structure_posteriors(log_likelihood, 6, 2, SLAB.logpdf, bias=b, n_nodes=4)
    draws = draws_of(model)
    assert gaps(draws, posterior(fixed_p(P, 6))).max() < Z
    assert gaps(draws, posterior(fixed_p(P + 0.1, 6))).max() > Z


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["pseudo", "exact"])
def test_links_within_rows_beside_arrows(likelihood):
    """By the pseudo-likelihood of each row, or that of whole rows; in one vector, or in two of their own."""
    arrows, links = [(0, 0), (0, 1)], [(0, 1)]
    z, labels, edges, family, b = series("boltzmann", arrows, np.array([0.8, -0.6]), (60,), 3)
    z[:, 1] = np.where(np.random.default_rng(5).random(60) < 0.25, z[:, 0], z[:, 1])
    edges = [(0, 1, 0), *edges]

    constants = None
    if likelihood == "pseudo":
        graph = pmrf.LaggedGraph(range(2), arrows, links=links)
        windows = np.concatenate([z[1:], z[:-1]], axis=1).astype(np.int8)
        constants = ExpectedNeighbours(windows, graph, family).constants

    def posterior(whole_rows, weight=0.5, constants=constants):
        log_likelihood = kinetic_log_likelihood(z, edges, family, None, whole_rows, weight, constants)
        return structure_posteriors(log_likelihood, 3, 2, SLAB.logpdf, bias=b)(fixed_p(P, 3))

    right, wrong = posterior(likelihood == "exact"), posterior(False, 1.0, None)
    halved = posterior(False, constants=None) if constants else wrong  # arrows count half
    for parts in ((3,), (1, 2)):
        with pm.Model() as model:
            w = [
                pmrf.SpikeAndSlab(f"w_{k}", P, pm.Normal.dist(0, 0.7), shape=n)
                for k, n in enumerate(parts)
            ]
            weight = w[0] if len(w) == 1 else pm.math.concatenate(w)
            options = {"links": links, "likelihood": likelihood}
            declare("boltzmann", weight, b, arrows, z, labels, family, **options)
        draws = draws_of(model)
        assert gaps(draws, right).max() < Z
        assert gaps(draws, wrong).max() > Z
        assert gaps(draws, halved).max() > Z


@pytest.mark.slow
@pytest.mark.parametrize("name", ["boltzmann", "ordinal"])
def test_listed_rows_whose_biases_move(name):
    arrows, links, w = PAIR[1:2], [(0, 1)], np.array([0.8])
    z, labels, edges, family, b = series(name, arrows, w, (30, 20), 3)
    z[:, 1] = np.where(np.random.default_rng(5).random(50) < 0.4, z[:, 0] % 2, z[:, 1])
    with pm.Model() as model:
        weight = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.7), shape=2)
        bias = pm.Normal("b", 0, 1, shape=family.node_shape(2))
        options = {"links": links, "likelihood": "exact"}
        declare(name, weight, bias, arrows, z, labels, family, **options)
    log_likelihood = kinetic_log_likelihood(z, [(0, 1, 0), *edges], family, labels, whole_rows=True)

    def posterior(p):
        log_bias, size = stats.norm(0, 1).logpdf, b.size
        return structure_posterior(
            log_likelihood, 2, size, fixed_p(p, 2), SLAB.logpdf, log_bias=log_bias, n_nodes=2
        )

    draws = draws_of(model)
    assert gaps(draws, posterior(P)).max() < Z
    assert gaps(draws, posterior(P + 0.1)).max() > Z


@pytest.mark.slow
def test_listed_rows_of_two_groups():
    """Rows of one group have weights w + delta / 2, those of the other w - delta / 2."""
    arrows, links, w = PAIR[1:2], [(0, 1)], np.array([0.8])
    z, labels, edges, family, b = series("boltzmann", arrows, w, (40, 30), 3)
    z[:, 1] = np.where(np.random.default_rng(5).random(70) < 0.4, z[:, 0], z[:, 1])
    half = (0.5 - labels)[:, None]
    with pm.Model() as model:
        weight = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.7), shape=2)
        change = pmrf.SpikeAndSlab("delta", P, pm.Normal.dist(0, 0.7), shape=2)
        options = {"links": links, "likelihood": "exact"}
        declare("boltzmann", weight + half * change, b, arrows, z, labels, family, **options)
    terms = []
    for k, f in enumerate((0.5, -0.5)):
        A = np.zeros((4, 6))
        A[:2, :2], A[:2, 2:4], A[2:, 4:] = np.eye(2), f * np.eye(2), np.eye(2)
        own = z[labels == k]
        terms.append((kinetic_log_likelihood(own, [(0, 1, 0), *edges], family, whole_rows=True), A))

    def log_likelihood(q):
        return sum(value(q @ A.T) for value, A in terms)

    posterior = structure_posteriors(log_likelihood, 4, 2, SLAB.logpdf, bias=b)
    draws = draws_of(model)
    assert gaps(draws, posterior(fixed_p(P, 4))).max() < Z
    assert gaps(draws, posterior(fixed_p(P + 0.1, 4))).max() > Z


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
    inclusion = (draws_of(model, n_draws=300, tune=100) != 0).mean(axis=(0, 1))
    found = {graph.edge_labels[e] for e in np.flatnonzero(inclusion > 0.5)}
    assert found == (set() if shuffled else {"0->1", "1->2", "2->3"})


@pytest.mark.slow
@pytest.mark.compiled
def test_priors_that_nuts_moves():
    """Against quadrature over all weights; the biases are given."""
    arrows = PAIR[:3]
    z, labels, edges, family, b = series("boltzmann", arrows, np.array([0.9, 0.0, -0.7]), (50,), 4)
    with pm.Model() as model:
        w = pm.Normal("w", 0, 0.7, shape=3)
        declare("boltzmann", w, b, arrows, z, labels, family)
        idata = pm.sample(
            1000, tune=500, chains=2, cores=1, random_seed=1, progressbar=False, quiet=True,
            compute_convergence_checks=False,
        )  # fmt: skip
    assert "tree_depth" in idata.sample_stats
    del model
    log_likelihood = kinetic_log_likelihood(z, edges, family)
    posterior = structure_posteriors(log_likelihood, 3, 2, SLAB.logpdf, bias=b)
    exact = posterior(lambda k: 0.0 if k == 3 else -np.inf)
    assert gaps(idata.posterior["w"].values, exact).max() < Z
    reverse = kinetic_log_likelihood(z, [(j, i, lag) for i, j, lag in edges], family)
    other = structure_posteriors(reverse, 3, 2, SLAB.logpdf, bias=b)
    assert gaps(idata.posterior["w"].values, other(lambda k: 0.0 if k == 3 else -np.inf)).max() > Z


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
        step.of_pseudo.included, step.of_pseudo.log_odds = np.full(8, 36.0), np.full(8, -240.0)
    said = step.of_pseudo.warn("w", step._fields, "") if links else step._warn_at_end()
    assert [message.split(" entries")[0].split("of the ")[1] for message in said] == ["3"] * bool(links)


def test_fields_of_other_lags_cannot_share_a_vector():
    z = np.random.default_rng(1).integers(2, size=(20, 2))
    with pm.Model():
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=4)
        for name, lag in (("x", 1), ("y", 2)):
            pmrf.KineticMRF(name, w, 0.0, graph=pmrf.graphs.lagged(2, lag), observed=z)
        with pytest.raises(ValueError, match=r"the same lags, but x has \(1,\) and y \(2,\)"):
            EdgeGibbs([w])


def test_a_field_in_time_shares_no_vector_with_another_kind():
    z = np.random.default_rng(1).integers(2, size=(20, 2))
    with pm.Model():
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=5)
        pair = pmrf.graphs.complete(2)
        pmrf.BoltzmannMachine("x", w[:1], 0.0, graph=pair, observed=z, likelihood="pseudo")
        pmrf.KineticMRF("y", w, 0.0, graph=pmrf.graphs.lagged(2, links=True), observed=z)
        with pytest.raises(ValueError, match="y is a field in time and x is none"):
            EdgeGibbs([w])


@pytest.mark.slow
def test_two_fields_share_a_vector():
    """Two tables of one vector are two series of one table."""
    z, labels, edges, family, b = series("boltzmann", PAIR[:3], np.array([0.9, 0.0, -0.7]), (40, 25), 4)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.7), shape=3)
        for k in range(2):
            graph, own = pmrf.LaggedGraph(range(2), PAIR[:3]), z[labels == k]
            pmrf.KineticMRF(f"x_{k}", w, b, graph=graph, observed=own)
    log_likelihood = kinetic_log_likelihood(z, edges, family, labels)
    exact = structure_posteriors(log_likelihood, 3, 2, SLAB.logpdf, bias=b)
    draws = draws_of(model)
    assert gaps(draws, exact(fixed_p(P, 3))).max() < Z
    assert gaps(draws, exact(fixed_p(P + 0.15, 3))).max() > Z
