"""Structure learning against what must hold whatever the data: the prior, calibration, conversions."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import special, stats

import pymc_mrf as pmrf
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.fields.families import BOLTZMANN, ISING
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.densities import density_of
from pymc_mrf.kernels.edge_moves import EdgePrior
from pymc_mrf.likelihood.exact_edges import ExactEdges
from pymc_mrf.likelihood.pseudo_edges import PseudoEdges
from pymc_mrf.steps.conjugate_hyperparameters import ConjugateHyperparameters
from pymc_mrf.steps.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.edge_prior import closed_form, flat
from tests.reference import enumeration
from tests.reference.spike_and_slab import (
    exact_log_likelihood,
    pseudo_log_likelihood,
    structure_posterior,
)
from tests.statistics import ALPHA, Z

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
        # the exact conditional of any data: centring at means of others is only a matter of speed
        self.view = self.edges._engine.view
        self.information = self.edges._information

    def see(self, x):
        """Put the sufficient statistics of other data in the place of the first."""
        u, v = GRAPH.edges.T
        m, t = self.view.field.m, x.sum(axis=0).astype(float)
        sums = (x[:, u] * x[:, v]).sum(axis=0).astype(float)
        n = np.full(D, max(float(len(x)), 1e-9))  # scales of proposals are relative to n
        field = self.view.field._replace(n=n, s=sums - m[v] * t[u] - m[u] * t[v], sums=sums, t=t)
        self.edges._engine.view = self.view._replace(field=field)
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


def test_without_data_the_prior_is_recovered():
    """No observations: all statistics are zero, and every move must leave the prior invariant."""
    sampler = Sampler(some_data(10))
    sampler.see(np.empty((0, D), dtype=int))
    kept = []
    for point in sampler.run(np.random.default_rng(5), 12_000):
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
    model = full_model(some_data(10))
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


def ranks(sampler, n_replicates, rng, truths=P_PRIOR, blind=False, n_rows=25, n_draws=19, thin=6):
    """Ranks of the truth among draws, ties (absent edges) broken at random, (n_replicates, 8)."""
    found = []
    for _ in range(n_replicates):
        truth = draw_truth(rng, truths)
        x = draw_data(*truth[:2], n_rows, rng)
        log_likelihood = exact_log_likelihood(x, EDGES, (0, 1))
        sampler.see(x[:0] if blind else x)
        draws = [
            summaries(*parameters(point), log_likelihood)
            for i, point in enumerate(sampler.run(rng, thin * (n_draws + 4)))
            if i >= 4 * thin and i % thin == 0
        ]
        true, draws = np.array(summaries(*truth, log_likelihood)), np.array(draws)
        ties = (draws == true).sum(axis=0)
        found.append((draws < true).sum(axis=0) + rng.integers(0, ties + 1))
    return np.array(found)


def p_values(found, n_bins=10, n_ranks=20):
    """Chi-square p-values of uniform ranks."""
    bins = found * n_bins // n_ranks
    return np.array([stats.chisquare(np.bincount(column, minlength=n_bins)).pvalue for column in bins.T])


def test_simulation_based_calibration():
    """Talts et al. (2018), with ranks randomised at the point masses of absent edges."""
    sampler, rng = Sampler(some_data(10)), np.random.default_rng(11)
    assert p_values(ranks(sampler, 200, rng)).min() > ALPHA
    # negative controls: truths of another prior; a sampler that does not look at the data
    assert p_values(ranks(sampler, 60, rng, truths=(6.0, 2.0))).min() < ALPHA
    assert p_values(ranks(sampler, 60, rng, blind=True)).min() < ALPHA


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_random_p_on_all_structures_of_four_nodes(likelihood):
    x, bias = some_data(80), np.array([-0.5, 0.3, 0.2, -0.4])
    with pm.Model() as model:
        w = SpikeAndSlab("w", pm.Beta("p", 2, 3), pm.Normal.dist(0, 1), shape=R)
        pmrf.BoltzmannMachine("x", w, bias, graph=GRAPH, observed=x, likelihood=likelihood)
        methods = [EdgeGibbs([w]), ConjugateHyperparameters([model["p"]])]
    for method in methods:
        method.setup_chain(np.random.default_rng(2), 200, 1)
    point, draws = model.initial_point(), []
    for _ in range(8000):
        for method in methods:
            point, _ = method.step(point)
        draws.append(np.append(point["w"] != 0, special.expit(point["p_logodds__"])))
    draws = np.array(draws, dtype=float)[200:].T

    def largest_gap(a, b):
        exact = structure_posterior(
            REFERENCES[likelihood](x, EDGES, (0, 1)),
            R,
            D,
            lambda k: special.betaln(a + k, b + R - k) - special.betaln(a, b),
            stats.norm(0, 1).logpdf,
            bias=bias,
        )
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
