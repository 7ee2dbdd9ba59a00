"""EdgeGibbs of mixed fields: posteriors over all structures by quadrature, few rows, invariances."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.latent.missing_cells import MixedGibbs
from tests.insides import uncorrected
from tests.mixed_fields import reference_of
from tests.posteriors import draws_of, fixed_p, furthest
from tests.reference.spike_and_slab import structure_posterior, structure_posterior_on_grid
from tests.statistics import Z

PAIR, TRIANGLE = [(0, 1)], [(0, 1), (2, 1), (0, 2)]
NAMES = ["w", "bias", "diagonal"]
P, SLAB = 0.4, stats.norm(0, 0.7).logpdf
CASES = {  # kinds, numbers of states, edges, rows, nodes of the quadrature
    "nominal nominal": (("nominal", "nominal"), (3, 3), PAIR, 50, 6),
    "binary Gaussian": (("ordinal", "continuous"), (2, 0), PAIR, 25, 7),
    "ordinal nominal Gaussian": (("ordinal", "nominal", "continuous"), (3, 3, 0), TRIANGLE, 60, 5),
    "Gaussian binary Gaussian": (("continuous", "ordinal", "continuous"), (0, 2, 0), TRIANGLE, 60, 9),
    "Gaussian nominal": (("continuous", "nominal"), (0, 4), PAIR, 30, 6),
}


def graph_of(kinds, edges):
    return pmrf.PairwiseGraph(kinds.names, [(kinds.names[u], kinds.names[v]) for u, v in edges])


def case_of(name, n=None, seed=1):
    """Kinds, graph, rows of a field with weights of middling size, its biases (a, K) and diagonal (c,)."""
    what, n_states, edges, n_rows, n_nodes = CASES[name]
    kinds = pmrf.fields.ColumnKinds(tuple("abc"[: len(what)]), what, n_states)
    graph, rng = graph_of(kinds, edges), np.random.default_rng(seed)
    weight = rng.normal(0, 0.3, kinds.block_sizes(graph).sum())
    bias = rng.normal(0, 0.3, (len(kinds.answers), max(n_states)))
    diagonal = np.array([1.2, 0.9])[: len(kinds.measurements)]
    field = pmrf.MixedMRF.dist(weight, bias, diagonal, graph=graph, kinds=kinds, size=(n or n_rows,))
    x = pm.draw(field, random_seed=seed, mode="FAST_COMPILE")
    return kinds, graph, x, bias, diagonal, n_nodes


def model_of(kinds, graph, x, bias=None, diagonal=None, *, p=P, slab=None, **options):
    """Weights of chance, and biases and diagonal as given or of chance."""
    with pm.Model() as model:
        slab = pm.Normal.dist(0, 0.7) if slab is None else slab
        w = pmrf.SpikeAndSlab("w", p, slab, blocks=kinds.block_sizes(graph))
        if bias is None:
            bias = pm.Normal("bias", 0, 1.0, shape=(len(kinds.answers), max(kinds.n_states)))
        if diagonal is None:
            diagonal = pm.Gamma("diagonal", 2, 1, shape=len(kinds.measurements))
        pmrf.MixedMRF("x", w, bias, diagonal, graph=graph, kinds=kinds, observed=x, **options)
    return model


def log_node_prior(kinds, n_biases):
    """Log density of biases, and of logs of Gamma(2, 1) variables for the diagonal, one by one."""

    def value(q):
        of_logs = 2 * q[:, n_biases:] - np.exp(q[:, n_biases:])
        return np.hstack([stats.norm(0, 1.0).logpdf(q[:, :n_biases]), of_logs])

    return value


def posterior_of(
    kinds, graph, x, bias, diagonal, likelihood="exact", p=P, n_nodes=5, log_likelihood=None
):
    """Of weights, and of biases and diagonal if these are None, by quadrature."""
    reference, r = reference_of(kinds, graph), graph.n_edges
    if log_likelihood is None:
        kind = "exact" if likelihood == "monte-carlo" else likelihood
        log_likelihood = reference.log_likelihood_of(x, kind)
    d = reference.n_biases + len(kinds.measurements)
    known = None if bias is None else np.concatenate([bias.ravel(), np.log(diagonal)])
    options = (
        {"bias": known}
        if bias is not None
        else {"log_bias": log_node_prior(kinds, d - len(kinds.measurements))}
    )
    return structure_posterior(
        log_likelihood, r, d, fixed_p(p, r), SLAB, n_nodes=n_nodes,
        blocks=reference.blocks, **options,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize("n", [1, 3])
def test_few_rows_fill_the_cone(n, likelihood):
    """With fewer rows than measurements, a wide slab, and edges that sometimes cannot be absent."""
    kinds, graph, x, bias, diagonal, _ = case_of("Gaussian binary Gaussian", n, seed=3)
    x[:, kinds.measurements] *= 1.5
    model = model_of(kinds, graph, x, bias, diagonal, slab=pm.Normal.dist(0, 1), likelihood=likelihood)
    [w] = draws_of(model, ["w"], 6000)
    value = reference_of(kinds, graph).log_likelihood_of(x, likelihood)
    limits = [6.0, 6.0, np.sqrt(diagonal.prod())]
    exact, other = (
        structure_posterior_on_grid(
            value, limits, np.concatenate([bias.ravel(), np.log(diagonal)]), p, stats.norm(0, 1).logpdf
        )
        for p in (P, 0.5)
    )
    assert furthest(w, exact, [1, 1, 1]) < Z
    assert furthest(w, other, [1, 1, 1]) > Z  # negative control
    assert np.abs(w[..., 2]).max() < limits[2]
    assert np.abs(w[..., 2]).max() > 0.9 * limits[2]


@pytest.mark.slow
def test_two_rows_with_everything_random():
    kinds, graph, x, *_ = case_of("Gaussian binary Gaussian", 2)
    w, _, log_diagonal = draws_of(model_of(kinds, graph, x), NAMES, 300)
    assert np.isfinite(w).all() and np.ptp(log_diagonal, axis=(0, 1)).min() > 0.5
    assert (w[..., 2] ** 2 < np.exp(log_diagonal.sum(axis=2))).all()


@pytest.mark.slow
def test_an_edge_that_cannot_be_absent():
    """Of four measurements in a ring, where one edge holds the precision positive definite."""
    kinds = pmrf.fields.ColumnKinds(tuple("abcd"), ("ordinal",) + ("continuous",) * 3, (2, 0, 0, 0))
    graph = pmrf.graphs.complete(kinds.names)
    labels = kinds.entry_labels(kinds.checked(graph))
    x = np.column_stack([[0, 1], np.random.default_rng(1).normal(size=(2, 3))])
    w = np.array([{"b--c": 0.65, "c--d": 0.65, "b--d": -0.4}.get(label, 0.0) for label in labels])
    model = model_of(kinds, graph, x, 0.0, np.ones(3), p=0.001)
    with model:
        step = EdgeGibbs([model["w"]])
    step.setup_chain(np.random.default_rng(1), 5, 5)
    point = {"w": w}
    for _ in range(50):
        point, _ = step.step(point)
        K = np.eye(3)
        for label, value in zip(labels, point["w"], strict=True):
            u, v = (("bcd").find(end) for end in label.split("--"))
            if u >= 0:
                K[u, v] = K[v, u] = -value
        assert np.linalg.eigvalsh(K)[0] > 0
    assert (point["w"] == 0).sum() > 3


@pytest.mark.slow
def test_a_start_outside_of_the_cone():
    kinds, graph, x, bias, diagonal, _ = case_of("Gaussian binary Gaussian")
    for likelihood in ("exact", "pseudo"):
        model = model_of(kinds, graph, x, bias, diagonal, likelihood=likelihood)
        with model:
            step = EdgeGibbs([model["w"]])
        step.setup_chain(np.random.default_rng(1), 5, 5)
        with pytest.raises(
            ValueError, match=r"MixedMRF is not positive definite .*: start from smaller"
        ):
            step.step({"w": np.array([0.0, 0.0, 2.0])})


@pytest.mark.slow
def test_without_the_correction_the_posterior_is_another():
    """A few rows, which leave the odds of presence to a slab whose integral a parabola does not tell."""
    kinds, graph, x, bias, diagonal, _ = case_of("binary Gaussian", 4)
    cauchy = stats.cauchy(0, 1).logpdf
    value = reference_of(kinds, graph).log_likelihood_of(x)
    t = np.linspace(-10, 10, 4001)  # of a grid that is far wider where the slab has heavy tails
    points = np.concatenate([bias.ravel(), np.log(diagonal)])
    points = np.column_stack([np.sinh(t), np.tile(points, (len(t), 1))])
    at_zero = value(np.r_[0.0, points[0, 1:]][None])
    odds = (
        P
        / (1 - P)
        * np.sum(np.exp(value(points) - at_zero + cauchy(np.sinh(t))) * np.cosh(t))
        * (t[1] - t[0])
    )
    for corrected in (True, False):
        model = model_of(kinds, graph, x, bias, diagonal, slab=pm.Cauchy.dist(0, 1))
        [w] = draws_of(model, ["w"], 10000, change=None if corrected else uncorrected)
        present = (w[..., 0] != 0).astype(float)
        is_right = abs(present.mean() - odds / (1 + odds)) < Z * float(az.mcse(present))
        assert is_right == corrected


@pytest.mark.slow
def test_a_view_of_other_data_is_noticed():
    kinds, graph, x, bias, diagonal, n_nodes = case_of("ordinal nominal Gaussian")
    exact = posterior_of(kinds, graph, x, bias, diagonal, n_nodes=n_nodes)
    x[0, 2] += 3.0
    [w] = draws_of(model_of(kinds, graph, x, bias, diagonal), ["w"], 2500)
    assert furthest(w, exact, kinds.block_sizes(graph)) > Z


@pytest.mark.slow
@pytest.mark.compiled
def test_weights_without_a_spike_are_moved_by_nuts():
    kinds, graph, x, bias, diagonal, n_nodes = case_of("binary Gaussian")
    exact = posterior_of(kinds, graph, x, bias, diagonal, p=1 - 1e-12, n_nodes=n_nodes)
    with pm.Model() as model:
        pm.Normal("w", 0, 0.7, shape=1)
        pmrf.MixedMRF("x", model["w"], bias, diagonal, graph=graph, kinds=kinds, observed=x)
        idata = pm.sample(
            2000, tune=500, chains=2, cores=1, random_seed=1, progressbar=False, quiet=True,
            compute_convergence_checks=False,
        )  # fmt: skip
    w = idata.posterior["w"].values
    assert "n_steps" in idata.sample_stats
    assert abs(w.mean() - exact.weight[0]) < Z * float(az.mcse(w[..., 0]))
    [same] = draws_of(model_of(kinds, graph, x, bias, diagonal, p=1 - 1e-9), ["w"], 2000)
    assert abs(same.mean() - exact.weight[0]) < Z * float(az.mcse(same[..., 0]))


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_a_unit_ten_times_smaller_gives_the_same_draws(likelihood):
    kinds, graph, x, *_ = case_of("ordinal nominal Gaussian")
    smaller = x * np.array([1.0, 1.0, 10.0])
    one, other, unscaled = (
        draws_of(model_of(kinds, graph, data, scale=s, likelihood=likelihood), NAMES, 60)
        for data, s in ((x, 1.0), (smaller, 10.0), (smaller, 1.0))
    )
    for a, b, c in zip(one, other, unscaled, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
        assert np.abs(a - c).max() > 0.1  # negative control: the slab is not that of other units


@pytest.mark.slow
def test_other_names_of_states_give_the_same_edges():
    """The posterior of one naming, by quadrature, is that which is sampled of the other."""
    kinds, graph, x, bias, diagonal, n_nodes = case_of("ordinal nominal Gaussian")
    exact = posterior_of(kinds, graph, x, bias, diagonal, n_nodes=n_nodes)
    renamed, new = x.copy(), np.array([2, 0, 1])
    renamed[:, 1] = new[x[:, 1].astype(int)]
    of_new = bias.copy()
    of_new[1, new] = bias[1]
    same = posterior_of(kinds, graph, renamed, of_new, diagonal, n_nodes=n_nodes)
    np.testing.assert_allclose(exact.inclusion, same.inclusion, atol=1e-3)
    [w] = draws_of(model_of(kinds, graph, renamed, of_new, diagonal), ["w"], 2500)
    heads = np.cumsum([0, *kinds.block_sizes(graph)])[:-1]
    for e, p in enumerate(exact.inclusion):
        present = (w[..., heads[e]] != 0).astype(float)
        assert abs(present.mean() - p) < Z * float(az.mcse(present)), e
    # negative control: names of an ordinal item have a meaning
    renamed[:, 0] = new[x[:, 0].astype(int)]
    of_new[0, new] = bias[0]
    ordered = posterior_of(kinds, graph, renamed, of_new, diagonal, n_nodes=n_nodes)
    assert np.abs(exact.inclusion - ordered.inclusion).max() > 0.02


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")
def test_missing_cells():
    """Of answers and measurements, which `MixedGibbs` draws and the reference sums out."""
    kinds, graph, x, bias, diagonal, _ = case_of("ordinal nominal Gaussian")
    rng = np.random.default_rng(1)
    gaps_of = rng.random(x.shape) < 0.3
    gaps_of[gaps_of.all(axis=1)] = False
    seen = np.where(gaps_of, np.nan, x)
    with model_of(kinds, graph, seen, bias, diagonal) as model:
        steps = pm.sampling.mcmc.assign_step_methods(model)[1]
        assert {v.name for v in steps[MixedGibbs]} == {"x_unobserved"}
        idata = pm.sample(
            4000, tune=200, chains=2, cores=1, random_seed=1, progressbar=False, quiet=True,
            compute_convergence_checks=False,
        )  # fmt: skip
    w = idata.posterior["w"].values
    value = reference_of(kinds, graph).log_likelihood_of_seen(seen)
    exact = posterior_of(kinds, graph, seen, bias, diagonal, log_likelihood=value)
    assert furthest(w, exact, kinds.block_sizes(graph)) < Z
    # negative control: complete rows alone tell something else
    complete = posterior_of(kinds, graph, x[~gaps_of.any(axis=1)], bias, diagonal)
    assert furthest(w, complete, kinds.block_sizes(graph)) > Z


def test_the_reference_of_seen_cells():
    """With all cells seen it is that of whole rows; with one answer missing it is a sum over its states."""
    kinds, graph, x, bias, diagonal, _ = case_of("ordinal nominal Gaussian", 4)
    reference = reference_of(kinds, graph)
    theta = np.concatenate([np.full(reference.n_weights, 0.3), bias.ravel(), np.log(diagonal)])[None]
    whole = reference.log_likelihood_of(x)(theta)
    np.testing.assert_allclose(reference.log_likelihood_of_seen(x)(theta), whole)
    gap, each = x[:1].copy(), []
    for state in range(3):
        each.append(reference.log_likelihood_of(np.r_[x[0, 0], state, x[0, 2]][None])(theta)[0])
    gap[0, 1] = np.nan
    found = reference.log_likelihood_of_seen(gap)(theta)[0]
    np.testing.assert_allclose(found, np.logaddexp.reduce(each))
