"""Structure learning against what must hold whatever the data: the prior, calibration, conversions."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import special, stats

import pymc_mrf as pmrf
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.fields.families import BOLTZMANN, ISING
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.priors.densities import density_of
from pymc_mrf.likelihood.exact.exact_edges import ExactEdges
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges
from pymc_mrf.steps.common.expressions import PointFunction
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.edges.edge_prior import closed_form, flat
from pymc_mrf.steps.edges.edge_setup import engine_of
from pymc_mrf.steps.hyper.community_gibbs import CommunityGibbs
from pymc_mrf.steps.hyper.conjugate_hyperparameters import ConjugateHyperparameters
from tests.insides import engine_in, fields_of
from tests.marks import slow
from tests.reference import enumeration
from tests.reference.spike_and_slab import (
    exact_log_likelihood,
    pseudo_log_likelihood,
    structure_posteriors,
)
from tests.statistics import ALPHA, Z

# few rows of random data
pytestmark = pytest.mark.filterwarnings(r"ignore:\w+. the nodes of .* always")

EDGES = [(0, 1), (1, 2), (2, 3), (0, 2), (0, 3), (1, 3)]
GRAPH = PairwiseGraph(range(4), EDGES)
R, D = 6, 4
BIAS_SD = 1.0
P_PRIOR, TAU_PRIOR = (2.0, 3.0), (4.0, 4.0)
REFERENCES = {"exact": exact_log_likelihood, "pseudo": pseudo_log_likelihood}


def some_data(n, seed=1):
    x = np.random.default_rng(seed).integers(2, size=(n, D))
    x[:, 1] = np.where(np.random.default_rng(seed + 1).random(n) < 0.7, x[:, 0], x[:, 1])
    return x


def full_model(x, likelihood="exact"):
    with pm.Model() as model:
        p = pm.Beta("p", *P_PRIOR)
        tau = pm.Gamma("tau", *TAU_PRIOR)
        w = SpikeAndSlab("w", p, pm.Normal.dist(0, tau=tau), shape=R)
        b = pm.Normal("b", 0, BIAS_SD, shape=D)
        pmrf.BoltzmannMachine("x", w, b, graph=GRAPH, observed=x, likelihood=likelihood)
    return model


class Sampler:
    """The steps that `pm.sample` would choose, called directly, on data that can be exchanged."""

    def __init__(self, x):
        self.model = full_model(x)
        with self.model:
            self.edges = EdgeGibbs([self.model["w"], self.model["b"]])
            self.hyper = ConjugateHyperparameters([self.model["p"], self.model["tau"]])
        # the exact conditional of any data: centring at others is only a matter of speed
        self.view = engine_in(self.edges).view
        self.information = self.edges._information

    def see(self, x):
        """Put the sufficient statistics of other data in the place of the first."""
        u, v = GRAPH.edges.T
        (c_u, c_v), t = self.view.field.centre[:, :, 0].T, x.sum(axis=0).astype(float)
        sums = (x[:, u] * x[:, v]).sum(axis=0).astype(float)
        n = np.full(D, max(float(len(x)), 1e-9))  # scales of proposals are relative to n
        data = self.view.data._replace(n=n, s=sums - c_v * t[u] - c_u * t[v], sums=sums, t=t)
        engine_in(self.edges).view = self.view._replace(data=data)
        self.edges._information = self.information if len(x) else np.zeros_like(self.information)

    def run(self, rng, n_steps):
        """Points of a chain from PyMC's default start."""
        self.edges.setup_chain(rng, 0, n_steps)
        self.edges.started = True
        self.hyper.setup_chain(rng, 0, n_steps)
        point = self.model.initial_point()
        for _ in range(n_steps):
            point, _ = self.hyper.step(point)
            point, _ = self.edges.step(point)
            yield point


def parameters(point):
    return (
        point["w"],
        point["b"],
        special.expit(float(point["p_logodds__"])),
        np.exp(float(point["tau_log__"])),
    )


@pytest.mark.slow
def test_without_data_the_prior_is_recovered():
    """No observations: all statistics are zero, and every move must leave the prior invariant."""
    sampler = Sampler(some_data(10))
    sampler.see(np.empty((0, D), dtype=int))
    kept = []
    for point in sampler.run(np.random.default_rng(5), 6000):
        w, b, p, tau = parameters(point)
        kept.append([*(w != 0), (w * np.sqrt(tau) > 1.0).sum(), *b, *(b**2), p, np.log(tau)])
    kept = np.array(kept, dtype=float)[500:].T
    mean_p = P_PRIOR[0] / sum(P_PRIOR)
    expected = [mean_p] * R + [R * mean_p * stats.norm.sf(1.0)] + [0.0] * D + [BIAS_SD**2] * D
    expected += [mean_p, special.digamma(TAU_PRIOR[0]) - np.log(TAU_PRIOR[1])]
    for row, value in zip(kept, expected, strict=True):
        assert az.ess(row[None]) > 400
        assert abs(row.mean() - value) < Z * float(az.mcse(row[None])), value
    for row, prior in (
        (kept[-2], stats.beta(*P_PRIOR)),
        (np.exp(kept[-1]), stats.gamma(TAU_PRIOR[0], scale=1 / TAU_PRIOR[1])),
    ):
        thinned = row[:: int(np.ceil(len(row) / az.ess(row[None])))]
        assert stats.kstest(thinned, prior.cdf).pvalue > ALPHA


def test_forward_draws_of_the_prior():
    """What the message about fields without data advises."""
    model = full_model(some_data(30))
    prior = pm.sample_prior_predictive(
        4000, model=model, var_names=["p", "tau", "w"], random_seed=1
    ).prior
    share = (prior.w != 0).mean("w_dim_0").values.ravel()
    p = prior.p.values.ravel()
    assert abs((share - p).mean()) < Z * (share - p).std() / np.sqrt(len(p))
    scaled = (prior.w * np.sqrt(prior.tau)).values
    assert stats.kstest(scaled[scaled != 0], stats.norm.cdf).pvalue > ALPHA


def draw_truth(rng, p_prior=P_PRIOR):
    """Parameters from the prior."""
    p, tau = rng.beta(*p_prior), rng.gamma(TAU_PRIOR[0]) / TAU_PRIOR[1]
    w = np.where(rng.random(R) < p, rng.standard_normal(R) / np.sqrt(tau), 0.0)
    return w, BIAS_SD * rng.standard_normal(D), p, tau


def draw_data(w, b, n, rng):
    """Rows of the field by enumeration."""
    probabilities = enumeration.probabilities(EDGES, BOLTZMANN.edge_tables(w), BOLTZMANN.node_tables(b))
    return enumeration.configurations(D, 2)[rng.choice(len(probabilities), size=n, p=probabilities)]


def summaries(w, b, p, tau, log_likelihood):
    """What is ranked; the last two depend on the data as well as on the parameters."""
    fit = log_likelihood(np.concatenate([w, b])[None])[0]
    return [w[0], w[3], float(np.count_nonzero(w)), b[1], p, tau, fit, w[0] * b[0] + w[1] * w[2]]


def ranks(sampler, n_replicates, rng, truths=P_PRIOR, blind=False, n_rows=25, n_draws=19, thin=4):
    """Ranks of the truth among draws, ties (absent edges) broken at random, (n_replicates, 8)."""
    found = []
    for _ in range(n_replicates):
        truth = draw_truth(rng, truths)
        x = draw_data(*truth[:2], n_rows, rng)
        log_likelihood = exact_log_likelihood(x, EDGES, (0, 1))
        sampler.see(x[:0] if blind else x)
        draws = [
            summaries(*parameters(point), log_likelihood)
            for i, point in enumerate(sampler.run(rng, thin * (n_draws + 6)))
            if i >= 6 * thin and i % thin == 0
        ]
        true, draws = np.array(summaries(*truth, log_likelihood)), np.array(draws)
        ties = (draws == true).sum(axis=0)
        found.append((draws < true).sum(axis=0) + rng.integers(0, ties + 1))
    return np.array(found)


def p_values(found, n_bins=10, n_ranks=20):
    """Chi-square p-values of uniform ranks."""
    bins = found * n_bins // n_ranks
    return np.array([stats.chisquare(np.bincount(column, minlength=n_bins)).pvalue for column in bins.T])


@pytest.mark.slow
def test_simulation_based_calibration():
    """Talts et al. (2018), with ranks randomised at the point masses of absent edges."""
    sampler, rng = Sampler(some_data(10)), np.random.default_rng(11)
    assert p_values(ranks(sampler, 100, rng)).min() > ALPHA
    # negative controls: truths of another prior; a sampler that does not look at the data
    assert p_values(ranks(sampler, 40, rng, truths=(6.0, 2.0))).min() < ALPHA
    assert p_values(ranks(sampler, 40, rng, blind=True)).min() < ALPHA


N_ROWS = 12
TRIANGLE = PairwiseGraph(range(3), [(0, 1), (1, 2), (0, 2)])
COVARIATE = np.arange(N_ROWS) % 2


def sparse(name, p, r=3):
    return SpikeAndSlab(name, p, pm.Normal.dist(0, 0.7), shape=r)


def ordinal_field(prior):
    """Three states whose thresholds move."""
    w = sparse("w", pm.Beta("p", *prior))
    x = enumeration.configurations(3, 3)[:N_ROWS]
    b = pm.Normal("b", 0, BIAS_SD, shape=(3, 2))
    with pytest.warns(UserWarning, match="shows no observation"):
        pmrf.OrdinalMRF("x", w, b, graph=TRIANGLE, n_states=3, observed=x)


def two_fields(prior):
    """A common weight and a difference, both sparse, and biases of each."""
    w, delta = sparse("w", pm.Beta("p", *prior)), sparse("delta", 0.5)
    for name, half in (("one", 0.5), ("other", -0.5)):
        b, x = pm.Normal(f"b_{name}", 0, BIAS_SD, shape=3), some_data(N_ROWS)[:, :3]
        pmrf.BoltzmannMachine(name, w + half * delta, b, graph=TRIANGLE, observed=x)


def communities(prior):
    """Edges whose probabilities depend on communities."""
    community = pmrf.EdgeCommunities("community", 0.8, 1.6, shape=D)
    p_within, p_between = pm.Beta("p_within", *prior), pm.Beta("p_between", 1, 3)
    w = sparse("w", pm.math.switch(pmrf.same_community(community, GRAPH), p_within, p_between), R)
    b = pm.Normal("b", 0, BIAS_SD, shape=D)
    pmrf.BoltzmannMachine("x", w, b, graph=GRAPH, observed=some_data(N_ROWS))


def row_covariates(prior):
    """Weights and their slopes on a covariate of the rows."""
    w, slope = sparse("w", pm.Beta("p", *prior)), sparse("slope", 0.5)
    weight, bias = w + COVARIATE[:, None] * slope, 0.4 - COVARIATE[:, None] * np.ones(3)
    x = some_data(N_ROWS)[:, :3]
    pmrf.BoltzmannMachine("x", weight, bias, graph=TRIANGLE, observed=x)


class ExchangedData:
    """The steps that `pm.sample` would choose, for a model whose data can be exchanged."""

    def __init__(self, declare, prior=P_PRIOR):
        with pm.Model() as self.model:
            declare(prior)
            free = self.model.free_RVs
            moved = [rv for rv in free if rv.owner.op.name in ("SpikeAndSlab", "normal")]
            others = [rv for rv in free if rv not in moved]
            hyper = CommunityGibbs if declare is communities else ConjugateHyperparameters
            edges = EdgeGibbs(moved)
            self.edges = getattr(edges, "methods", [edges])
            self.methods = [*self.edges, hyper(others)]
        self.fields = [field_node(rv) for rv in self.model.observed_RVs]
        parameters = [p for node in self.fields for p in node.op.dist_params(node)]
        self.read = PointFunction(parameters, self.model)

    def see(self, data):
        """Put other data in the place of the first."""
        for step in self.edges:
            for field, rows in zip(fields_of(step), data, strict=True):
                field.x = rows.astype(np.int8)
            step._engine = engine_of(step._target, step._is_shared, step._options)

    def probabilities(self, point):
        """Of all configurations, (N_ROWS, K ** d), for each field."""
        values, found = iter(self.read(point)), []
        for node in self.fields:
            family, edges = node.op.family, node.op.graph.edges.tolist()
            eta, b = next(values), next(values)
            kind = COVARIATE if len(eta) > 1 else np.zeros(N_ROWS, dtype=int)
            p = [  # the first rows have all values of the covariate
                enumeration.probabilities(edges, family.edge_tables(eta[i]), family.node_tables(b[i]))
                for i in range(kind.max() + 1)
            ]
            found.append(np.array(p)[kind])
        return found

    def truths(self, n, seed):
        """Points of the sampler from the prior, and data: of each field which configurations, (N_ROWS,)."""
        rvs, rng = self.model.free_RVs, np.random.default_rng(seed)
        prior = pm.sample_prior_predictive(n, self.model, [rv.name for rv in rvs], rng).prior
        for i in range(n):
            point = {}
            for rv in rvs:
                value, transform = prior[rv.name].values[0, i], self.model.rvs_to_transforms[rv]
                is_beta = transform is not None
                point[self.model.rvs_to_values[rv].name] = np.array(
                    special.logit(value) if is_beta else value
                )
            u = rng.random((len(self.fields), N_ROWS, 1))
            p = self.probabilities(point)
            yield point, [(a[:, :-1].cumsum(axis=1) < v).sum(axis=1) for a, v in zip(p, u, strict=True)]

    def changes(self, truths, seed, n_steps=6, reverse=False):
        """Summaries after some steps less those before; a wrong setting is that states are `reverse`d."""
        found = []
        for k, method in enumerate(self.methods):
            method.setup_chain(np.random.default_rng([seed, k]), 0, n_steps * len(truths))
            method.started = True
        for point, rows in truths:
            data = []
            for node, own in zip(self.fields, rows, strict=True):
                x = enumeration.configurations(node.op.graph.n_nodes, node.op.family.n_states)[own]
                data.append(node.op.family.n_states - 1 - x if reverse else x)
            self.see(data)
            before = self.summaries(point, rows)
            for _ in range(n_steps):
                for method in self.methods:
                    point, _ = method.step(point)
            found.append(self.summaries(point, rows) - before)
        return np.array(found)

    def summaries(self, point, rows):
        """First and second moments of all parameters, presence of edges, and the log-likelihood."""
        found = []
        for rv in self.model.free_RVs:
            value = point[self.model.rvs_to_values[rv].name]
            if self.model.rvs_to_transforms[rv] is not None:
                value = special.expit(value)
            if rv.owner.op.name == "SpikeAndSlab":
                found.append(value != 0)
            if rv.name == "community":
                value = value[:, None] == value
            found += [value, value**2.0]
        for p, own in zip(self.probabilities(point), rows, strict=True):
            found.append(np.log(p[np.arange(N_ROWS), own]).sum())
        return np.concatenate([np.ravel(f).astype(float) for f in found])


def largest_gap(changes):
    """Largest mean of independent changes, in standard errors."""
    changes = changes[:, changes.std(axis=0) > 0]
    return np.abs(changes.mean(axis=0) / changes.std(axis=0) * len(changes) ** 0.5).max()


@pytest.mark.slow
@pytest.mark.parametrize("declare", [ordinal_field, row_covariates, two_fields, communities])
def test_a_draw_of_the_posterior_stays_one(declare):
    """Parameters of the prior are a draw of the posterior given data that they made (Geweke, 2004)."""
    sampler = ExchangedData(declare)
    truths = list(sampler.truths(150, 1))
    assert largest_gap(sampler.changes(truths, 2)) < Z
    # negative controls: data whose states are reversed; a sampler with another prior
    assert largest_gap(sampler.changes(truths[:100], 2, reverse=True)) > Z
    assert largest_gap(ExchangedData(declare, (6.0, 2.0)).changes(truths[:100], 2)) > Z


@pytest.mark.parametrize("likelihood", ["exact", slow("pseudo")])
@pytest.mark.slow
def test_random_p_on_all_structures_of_four_nodes(likelihood):
    x, bias = some_data(80), np.array([-0.5, 0.3, 0.2, -0.4])
    with pm.Model() as model:
        w = SpikeAndSlab("w", pm.Beta("p", 2, 3), pm.Normal.dist(0, 1), shape=R)
        pmrf.BoltzmannMachine("x", w, bias, graph=GRAPH, observed=x, likelihood=likelihood)
        methods = [EdgeGibbs([w]), ConjugateHyperparameters([model["p"]])]
    for method in methods:
        method.setup_chain(np.random.default_rng(2), 200, 1)
    point, draws = model.initial_point(), []
    for _ in range(4200):
        for method in methods:
            point, _ = method.step(point)
        draws.append(np.append(point["w"] != 0, special.expit(point["p_logodds__"])))
    draws = np.array(draws, dtype=float)[200:].T

    log_likelihood, log_slab = REFERENCES[likelihood](x, EDGES, (0, 1)), stats.norm(0, 1).logpdf
    posterior = structure_posteriors(log_likelihood, R, D, log_slab, bias=bias, n_nodes=4)

    def largest_gap(a, b):
        exact = posterior(lambda k: special.betaln(a + k, b + R - k) - special.betaln(a, b))
        expected = [*exact.inclusion, (a + exact.n_edges @ np.arange(R + 1)) / (a + b + R)]
        return max(
            abs(row.mean() - value) / float(az.mcse(row[None]))
            for row, value in zip(draws, expected, strict=True)
            if 0.01 < value < 0.99
        )

    assert largest_gap(2.0, 3.0) < Z
    assert largest_gap(3.0, 3.0) > Z  # negative control


@pytest.mark.parametrize("engine", [ExactEdges, PseudoEdges])
def test_conversion_of_ising_to_boltzmann_draw_by_draw(engine):
    """y = (1 + x) / 2: w = 4 J, b_i = 2 h_i - 2 sum_j J_ij; with the same random numbers, exactly.

    Under flat priors of the biases and a slab four times as wide the two posteriors are the same.
    """
    y = some_data(40)
    runs = []
    for family, scale in ((ISING, 0.3), (BOLTZMANN, 1.2)):
        slab = density_of(closed_form(pm.Normal.dist().owner.op, [0.0, scale], 1), 0)
        prior = EdgePrior(np.full(R, -0.4), slab, flat(D))
        machine = engine(y.astype(np.int8), GRAPH, family, True)
        if engine is ExactEdges:  # its scales of joint moves have a constant added
            variance = machine.information[R:] - 0.5
            machine.information[:R] = (variance[GRAPH.edges] / len(y)).prod(axis=1) * len(y)
            machine.information[R:] = variance
        w, b, rng = np.zeros(R), np.zeros(D), np.random.default_rng(4)
        path = []
        for _ in range(60):
            machine.sweep(w, b, prior, rng)
            machine.joint(w, b, prior, 0.3, 4, rng)
            path.append(np.concatenate([w, b]))
        runs.append(np.array(path))
    J, h = runs[0][:, :R], runs[0][:, R:]
    assert 0.1 < (J != 0).mean() < 0.9
    b = 2 * h
    for e, (u, v) in enumerate(EDGES):
        b[:, u] -= 2 * J[:, e]
        b[:, v] -= 2 * J[:, e]
    np.testing.assert_allclose(runs[1][:, :R], 4 * J, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(runs[1][:, R:], b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_conversion_of_ising_to_boltzmann_in_the_models(likelihood):
    rng, y = np.random.default_rng(3), some_data(20)
    J, h = rng.normal(0, 0.7, R), rng.normal(0, 0.4, D)
    b = 2 * h
    for e, (u, v) in enumerate(EDGES):
        b[u] -= 2 * J[e]
        b[v] -= 2 * J[e]
    fields = [
        pmrf.Ising.dist(J, h, graph=GRAPH, likelihood=likelihood),
        pmrf.BoltzmannMachine.dist(4 * J, b, graph=GRAPH, likelihood=likelihood),
    ]
    ising, boltzmann = (
        pm.logp(field, x).eval() for field, x in zip(fields, (2 * y - 1, y), strict=True)
    )
    np.testing.assert_allclose(ising, boltzmann, rtol=1e-10)
