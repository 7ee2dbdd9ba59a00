"""What sweeps tell of the probability of every edge, against enumeration and against the draws."""

import warnings
from copy import deepcopy
from itertools import product

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import special, stats

import pymc_mrf as pmrf
from pymc_mrf.analysis.presence import LN10
from pymc_mrf.distributions.group_weights import group_contrasts, sums_of_terms
from pymc_mrf.fields.families import ordinal
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.edges.presence_record import (
    N_FIRST,
    OtherTerms,
    PresenceRecord,
    period_of,
    read_batches,
)
from tests.marks import slow
from tests.posteriors import HALVES, Question, fixed_p
from tests.reference.spike_and_slab import structure_posterior
from tests.small_fields import kinetic, pairwise, tables
from tests.statistics import Z
from tests.steps.edges import (
    arrow_models,
    block_models,
    gaussian_models,
    mixed_models,
    small_models,
    state_models,
)
from tests.steps.edges.binary_models import (
    REFERENCES,
    TRIANGLE,
    boltzmann_data,
    fixed_bias_model,
    random_bias_model,
    reference,
)
from tests.walks import walk


def told_by(model, n_draws, name="w", tune=200, n_chains=2, seed=1):
    """Log probabilities (2, n_chains, n_draws, r) of presence and absence; the same edges in the draws."""
    with model:
        step = EdgeGibbs(list(model.free_RVs))
    parts = getattr(step, "methods", [step])
    op = model[name].owner.op
    heads = np.cumsum([0, *op.blocks[:-1]]) if op.blocks else np.arange(op.n)
    logs, draws = [], []
    for chain in range(n_chains):
        for k, part in enumerate(parts):
            part.setup_chain(np.random.default_rng([seed, chain, k]), tune, n_draws)
        point, told, values = model.initial_point(), [], []
        for i in range(tune + n_draws):
            if i == tune:
                step.stop_tuning()
            point, of_steps = step.step(point)
            [of_draw] = [one[key] for one in of_steps for key in one if key.endswith(f"presence_{name}")]
            told.append(of_draw)
            values.append(point[name][heads] != 0.0)
        assert np.isnan(told[:tune]).all()
        logs.append(told[tune:])
        draws.append(values[tune:])
    return np.array(read_batches(np.array(logs), len(heads))[:2]), np.array(draws).astype(float)


def log_odds(logs, e):
    """Log odds of edge e, and the Monte-Carlo error of the smaller probability, relative to it."""
    means = special.logsumexp(logs[..., e], axis=(1, 2)) - np.log(logs[0, ..., e].size)
    k = int(means[1] < means[0])
    odds = means[k] - np.log(-np.expm1(means[k]))
    return (-odds if k else odds), float(az.mcse(np.exp(logs[k, ..., e] - means[k])))


@pytest.mark.parametrize("likelihood", ["exact", slow("pseudo")])
@pytest.mark.parametrize("n", [80, slow(800)])
def test_odds_of_three_edges_with_random_biases(likelihood, n):
    """By quadrature over all structures; with 800 rows from -2 to 21."""
    x = boltzmann_data(n, seed=2)[:, :3]
    logs, _ = told_by(random_bias_model(x, likelihood=likelihood), 2000)
    value = REFERENCES[likelihood](x, TRIANGLE.edges.tolist(), (0, 1))

    def exact(p):
        slab, bias = stats.norm(0, 1).logpdf, stats.norm(0, 2).logpdf
        return structure_posterior(value, 3, 3, fixed_p(p, 3), slab, log_bias=bias, n_nodes=6).log_odds

    found, error = np.array([log_odds(logs, e) for e in range(3)]).T
    # values of a sure edge in the draws do not reach the tails of its proposals: 5 % of its absence
    assert (np.abs(found - exact(0.4)) < Z * error + 0.05).all()
    assert (np.abs(found - exact(0.45)) > Z * error + 0.05).any()  # negative control


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_odds_of_four_nodes(likelihood):
    x = boltzmann_data(200, seed=1)
    logs, _ = told_by(fixed_bias_model(x, likelihood=likelihood), 2000)
    found, error = np.array([log_odds(logs, e) for e in range(6)]).T
    for p, agrees in ((0.4, True), (0.5, False)):
        gap = np.abs(found - reference(x, likelihood, fixed_p(p)).log_odds)
        assert (gap < Z * error + 0.05).all() == agrees


def gaussian(n):
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 0.5), shape=3)
        x = gaussian_models.measurements(n, 5)
        pmrf.GaussianMRF("x", w, pm.Gamma("diagonal", 2, 1, shape=3), graph=TRIANGLE, observed=x)
    return model


def difference(likelihood):
    """Parameters w + delta / 2 and w - delta / 2 of two fields."""
    family, graph = state_models.MIXED, state_models.GRAPH
    with pm.Model() as model:
        w, delta = (
            pmrf.SpikeAndSlab(name, 0.4, pm.Normal.dist(0, 0.5), shape=6) for name in ("w", "delta")
        )
        for k, (name, half) in enumerate(zip("xy", (0.5, -0.5), strict=True)):
            b = state_models.node_parameters(family, 4, k)
            x = state_models.field_data(family, graph, state_models.WEIGHT, b, 50, k)
            state_models.declare(name, family, w + half * delta, b, graph, x, likelihood)
    return model


def three_groups():
    """Three divisions of the groups, with a probability that is drawn as well."""
    with pm.Model() as model:
        p = pm.Beta("p", 2, 2)
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=3)
        of_group = pmrf.group_weights(w, ("a", "b", "c"), p, pm.Normal.dist(0, 0.7))
        for k, (group, weight) in enumerate(of_group.items()):
            x = boltzmann_data(60 + 10 * k, seed=k)[:, :3]
            pmrf.BoltzmannMachine(f"x_{group}", weight, np.zeros(3), graph=TRIANGLE, observed=x)
    return model


def question(fields, likelihood="exact", **options):
    """Model of some of the fields of the table of posteriors."""
    return Question(fields, likelihood, **options).model()


def items(likelihood):
    own = state_models.GRAPH, state_models.WEIGHT, 60, 5
    return question((pairwise(ordinal(3), *own),), likelihood)


def links(likelihood):
    arrows, weights = [(0, 0), (0, 1)], np.array([0.8, -0.6])
    field = kinetic("boltzmann", arrows, weights, (60,), 3, links=[(0, 1)], together=0.25)
    return question((field,), likelihood, sd=0.7)


def tables_of_groups(likelihood):
    bias = np.array([[0.3, -0.2, 0.1], [0.0, 0.4, 0.0]])
    pair = pmrf.PairwiseGraph(range(2), [(0, 1)])
    fields = tuple(tables([3, 2], pair, n, bias, n) for n in (40, 30))
    return question(fields, likelihood, factors=HALVES, sd=0.6)


def binary(likelihood="exact", n=80, **options):
    return random_bias_model(boltzmann_data(n, seed=2)[:, :3], likelihood=likelihood, **options)


SINGLE = 10 * np.finfo(np.float32).eps  # relative error of what is told of sums

MODELS = {
    "exact": binary,
    "pseudo": lambda: binary("pseudo"),
    "monte-carlo": lambda: binary("monte-carlo"),
    "Gaussian": lambda: gaussian(30),
    "Gaussian, few rows": lambda: gaussian(3),
    "blocks": block_models.small_model,
    "mixed": mixed_models.small_model,
    "mixed, pseudo": lambda: mixed_models.small_model("pseudo"),
    "arrows": arrow_models.small_model,
    "difference": lambda: difference("exact"),
    "difference, pseudo": lambda: difference("pseudo"),
    "items": lambda: items("exact"),
    "items, pseudo": lambda: items("pseudo"),
    "links": lambda: links("exact"),
    "links, pseudo": lambda: links("pseudo"),
    "difference of tables, pseudo": lambda: tables_of_groups("pseudo"),
    "Cauchy": lambda: fixed_bias_model(boltzmann_data(30, seed=2), slab=pm.Cauchy.dist(0, 1)),
    "tabulated": lambda: fixed_bias_model(boltzmann_data(30, seed=2), slab=pm.Gamma.dist(0.8, 1.0)),
}
QUICK = ("pseudo", "Gaussian, few rows")


def gaps_to_draws(logs, present):
    """Mean differences of told probabilities and indicators, in Monte-Carlo errors."""
    found = []
    for told, seen in ((np.exp(logs[0]), present), (np.exp(logs[1]), 1.0 - present)):
        shares = seen.mean(axis=(0, 1))
        for e in np.flatnonzero((shares > 0.01) & (shares < 0.99)):
            off = told[..., e] - seen[..., e]
            found.append(off.mean() / float(az.mcse(off)))
    return np.abs(found)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("name", [name if name in QUICK else slow(name) for name in MODELS])
def test_told_probabilities_are_those_of_the_draws(name):
    """Whatever the likelihood, the slab and the number of parameters: the means differ by chance alone.

    The draws are compared with enumeration elsewhere.
    """
    logs, present = told_by(MODELS[name](), 1500, "delta" if "difference" in name else "w")
    gaps = gaps_to_draws(logs, present)
    assert len(gaps) and gaps.max() < Z, gaps
    shares = present.mean(axis=(0, 1))
    doubtful = (shares > 0.05) & (shares < 0.95)
    assert (
        np.exp(logs[0])[..., doubtful].var(axis=(0, 1)).sum() < present[..., doubtful].var((0, 1)).sum()
    )
    # negative control: odds that are half as large again
    shifted = np.array([logs[0] + 0.4, logs[1]])
    shifted -= special.logsumexp(shifted, axis=0)
    assert gaps_to_draws(shifted, present).max() > Z


def sampled(model, **options):
    options = {"draws": 300, "tune": 100, "chains": 2, "cores": 1, "random_seed": 1} | options
    return pm.sample(
        model=model, progressbar=False, quiet=True, compute_convergence_checks=False, **options
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: small_models.edge_model("exact", slab=pm.Normal.dist(0, 1)), ["w"]),
        (three_groups, ["w_difference_1", "w_difference_3"]),
    ],
)
def test_a_random_prior_probability_is_averaged_over(make, names):
    idata = sampled(make(), draws=1000)
    for name in names:
        draws = idata.posterior[name].values
        told = idata.sample_stats[f"edge_gibbs_presence_{name}"].values
        logs = np.array(read_batches(told, draws.shape[-1])[:2])
        # parts of several draws, which end a draw later for each edge
        parts = (draws != 0.0).reshape(len(draws), logs.shape[2], -1, draws.shape[-1]).mean(axis=2)
        gaps = gaps_to_draws(logs, parts)
        assert len(gaps) and gaps.max() < Z


PAIR = pmrf.PairwiseGraph("ab", [("a", "b")])
# rows of each group, and the weight of their one edge
GROUPS = {2: ((90, 60), (1.6, 1.1)), 3: ((20, 20, 30), (0.3, 0.3, 1.6))}
N_POINTS = {2: 160, 3: 36}  # of each vector; with 8 more log odds change by .03 at most


def groups_of_pairs(k, p=0.4):
    """Model of one edge in k groups; how many rows have both nodes, and all rows, of each."""
    (sizes, weights), values = GROUPS[k], []
    with pm.Model(coords=pmrf.coords(PAIR)) as model:
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, 1), dims="edge")
        of_group = pmrf.group_weights(w, list("rst"[:k]), 0.3, pm.Normal.dist(0, 0.7))
        for g, (n, weight) in enumerate(zip(sizes, weights, strict=True)):
            shares = np.exp([0.0, 0.0, 0.0, weight])
            n_both, *_ = counts = np.round(n * shares / shares.sum()).astype(int)[::-1]
            x = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], counts, axis=0)
            pmrf.BoltzmannMachine(f"x_{g}", of_group["rst"[g]], np.zeros(2), graph=PAIR, observed=x)
            values.append((n_both, len(x)))
    return model, values


def evidence_of_groups(k, values, p=0.4, of_each=0.3):
    """Log odds, by quadrature, of the edge in a group, and of a difference of the first two and of all."""
    contrasts = group_contrasts(k)
    n_apart = np.count_nonzero(contrasts[0] != contrasts[1])
    of_each = 1.0 - (1.0 - of_each) ** (1.0 / n_apart)
    nodes, weights = np.polynomial.hermite_e.hermegauss(N_POINTS[k])
    log_weights = np.log(weights / weights.sum())
    found = {}
    for is_there in product((False, True), repeat=1 + contrasts.shape[1]):
        prior = [p, *[of_each] * contrasts.shape[1]]
        log_prior = sum(
            np.log(q if there else 1.0 - q) for there, q in zip(is_there, prior, strict=True)
        )
        sds = np.array([1.0, *[0.7] * contrasts.shape[1]])[list(is_there)]
        grid = np.array(np.meshgrid(*(nodes * sd for sd in sds), indexing="ij"))
        grid = grid.reshape(len(sds), -1 if len(sds) else 1)
        of_grid = sum(np.meshgrid(*[log_weights] * len(sds), indexing="ij"), np.zeros(1)).ravel()
        factors = np.column_stack([np.ones(k), contrasts])[:, list(is_there)]
        log_value = sum(
            both * of_group - n * np.log(3.0 + np.exp(of_group))
            for (both, n), of_group in zip(values, factors @ grid, strict=True)
        )
        found[is_there] = log_prior + special.logsumexp(of_grid + log_value)
    terms = np.array(list(found))
    logs = np.array(list(found.values()))

    def log_odds(of_sum):
        present = terms[:, list(of_sum)].any(axis=1)
        return special.logsumexp(logs[present]) - special.logsumexp(logs[~present])

    pair = 1 + np.flatnonzero(contrasts[0] != contrasts[1])
    return [log_odds(range(terms.shape[1])), log_odds(pair), log_odds(range(1, terms.shape[1]))]


@pytest.mark.slow
@pytest.mark.parametrize("k", GROUPS)
def test_evidence_of_sums_of_vectors(k):
    """Of an edge of a group, which of two no draw lacks, and of differences of two and more."""
    model, values = groups_of_pairs(k)
    idata = sampled(model, draws=2000)
    assert k > 2 or (idata.posterior["w_r"] != 0.0).all()
    differ = [
        pmrf.summarize_differences(idata, "w", graph=PAIR, between=between, model=model).iloc[0]
        for between in (["r", "s"], None)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inclusion = pmrf.analysis.edge_inclusion(idata, "w_r", prior_inclusion=0.5)
    found = [float(inclusion["log10_bayes_factor"][0]) * LN10]
    errors = [float(inclusion["log10_bayes_factor_mcse"][0]) * LN10]
    for row in differ:
        found.append(special.logit(row["inclusion"]))
        errors.append(row["inclusion_mcse"] / row["inclusion"] / (1.0 - row["inclusion"]))
    assert 0.0 < min(errors) and max(errors) < 0.3
    for of_each, agrees in ((0.3, True), (0.5, False)):
        gaps = np.abs(np.array(found) - evidence_of_groups(k, values, of_each=of_each))
        assert (gaps < Z * np.array(errors) + 0.05).all() == agrees, gaps / errors


@pytest.mark.slow
def test_sums_of_larger_fields_agree_with_the_draws():
    """Of 28 edges, hopeless ones told in every fourth draw, in two groups with few rows."""
    rng, graph = np.random.default_rng(3), pmrf.graphs.complete(8)
    assert period_of(graph.n_edges, n_sums=1) == 4
    with pm.Model(coords=pmrf.coords(graph)) as model:
        w = pmrf.SpikeAndSlab("w", 0.3, pm.Normal.dist(0, 1), dims="edge")
        of_group = pmrf.group_weights(w, ["r", "s"], 0.3, pm.Normal.dist(0, 1))
        for group, weight in of_group.items():
            x = rng.integers(2, size=(60, 8))
            x[:, 1::2] = np.where(rng.random((60, 4)) < 0.4, x[:, ::2], x[:, 1::2])
            pmrf.BoltzmannMachine(f"x_{group}", weight, np.zeros(8), graph=graph, observed=x)
    idata = sampled(model, draws=1500)
    told = pmrf.analysis.edge_inclusion(idata, "w_r")
    counted = pmrf.analysis.edge_inclusion(idata.filter(lambda node: node.name != "sample_stats"), "w_r")
    doubtful = (counted.inclusion > 0.01) & (counted.inclusion < 0.99)
    gap = (told.inclusion - counted.inclusion) / counted.inclusion_mcse
    assert doubtful.sum() > 20 and (abs(gap.where(doubtful, 0.0)) < Z).all()
    assert told.inclusion_mcse.mean() < 0.8 * counted.inclusion_mcse.mean()


def test_data_of_another_meaning_are_no_contrasts():
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=3)
        pm.Data("w_contrasts", np.array([1.0, -1.0]))
        x = boltzmann_data(30, seed=1)[:, :3]
        pmrf.BoltzmannMachine("x", w, np.zeros(3), graph=TRIANGLE, observed=x)
        assert OtherTerms(model["w"], model).n_sums == 0


def test_a_term_of_sums_of_sums_tells_of_itself_alone():
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=3)
        pmrf.group_weights(w, ["a", "b"], 0.5, pm.Normal.dist(0, 1))
        assert OtherTerms(w, model).n_sums == OtherTerms(model["w_difference_1"], model).n_sums == 1
        pmrf.group_weights(model["w_difference_1"], ["a", "b"], 0.5, pm.Normal.dist(0, 1))
        assert OtherTerms(model["w_difference_1"], model).n_sums == 0


def test_what_is_told_of_many_groups_has_no_more_room_than_of_many_edges():
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=15)
        pmrf.group_weights(w, range(6), 0.5, pm.Normal.dist(0, 1))
    records = [OtherTerms(v, model).record(15) for v in model.free_RVs]
    assert len(records) == 32 and max(len(record.sums) for record in records) > 9
    assert max(record.size for record in records) <= 3 + 2 * 16


def test_sums_of_which_vectors_are_terms():
    assert sums_of_terms(group_contrasts(2)) == [(0, 1)]
    of_three = [(0, 1, 2, 3), (1, 2), (1, 2, 3), (1, 3), (2, 3)]
    assert sums_of_terms(group_contrasts(3)) == of_three
    # the first group has no part in the second contrast
    assert sums_of_terms(np.array([[2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])) == [
        (0, 1),
        (0, 1, 2),
        (1, 2),
    ]


def test_telling_changes_no_draw():
    model = fixed_bias_model(boltzmann_data(80, seed=1))
    with model:
        step = EdgeGibbs(model.free_RVs)
    chains = []
    for step._tells_presence in (True, False):
        chains.append([point["w"] for point, _ in walk(step, model.initial_point(), 200)])
    np.testing.assert_array_equal(*chains)


def test_a_chain_goes_on_from_its_state():
    model = fixed_bias_model(boltzmann_data(80, seed=1))
    with model:
        first, second = EdgeGibbs(model.free_RVs), EdgeGibbs(model.free_RVs)
    for step in (first, second):
        step.setup_chain(np.random.default_rng(1), 0, 20)
    point = model.initial_point()
    for _ in range(7):
        point, _ = first.step(point)
    second.sampling_state = deepcopy(first.sampling_state)
    for step in (first, second):
        step.told = [step.step(point)[1][0]["edge_gibbs_presence_w"] for _ in range(3)]
    np.testing.assert_array_equal(first.told, second.told)


@pytest.mark.parametrize("r", [1, 16, 51, 120, 5000, 60_000])
def test_sums_of_large_fields_are_told_now_and_then(r):
    """Every edge with the means since it was told last, in a vector shorter than that of the edges."""
    record, rng, n_draws = PresenceRecord(r), np.random.default_rng(1), 3 * period_of(r) + 1
    p = rng.random((n_draws, r))
    told = []
    for now in p:
        record.view(rng)
        record.sums[:] = np.logaddexp(record.sums, np.log([now, 1.0 - now]) + np.log(2.0))
        told.append(record.tell(2))
    told = np.array(told)[None]
    assert told.shape[-1] <= N_FIRST + 2 * max(16, -(-r // 40))
    batches = read_batches(told, r)
    period = period_of(r)
    for e in {0, r // 2, r - 1}:
        ends = np.arange(e % period, n_draws, period)
        assert np.count_nonzero(batches.n_draws[0, :, e]) == len(ends)
        for k, end in enumerate(ends):
            mean = p[max(end - period + 1, 0) : end + 1, e].mean()
            assert batches.n_draws[0, k, e] == min(end + 1, period)
            np.testing.assert_allclose(np.exp(batches.log_present[0, k, e]), mean, rtol=SINGLE)
            np.testing.assert_allclose(np.exp(batches.log_absent[0, k, e]), 1.0 - mean, rtol=SINGLE)
    # draws that are left out leave out their own sums
    assert read_batches(told[:, period:], r).log_present.shape[1] == batches.log_present.shape[1] - 1
    assert period == 1 or read_batches(told[:, :1], r) is None
    assert read_batches(np.full_like(told, np.nan), r) is None
    for others in (2 * r + 100, r + 1):
        with pytest.raises(ValueError, match="are not those of"):
            read_batches(told, others)


def test_visits_to_hopeless_edges_are_told_in_part():
    """Of 66 edges a fifth of such visits: the probabilities are those of the draws all the same."""
    assert [period_of(r) for r in (0, 16, 66, 4950, 10**5, 10**7)] == [1, 1, 5, 40, 100, 250]
    rng = np.random.default_rng(4)
    graph = pmrf.PairwiseGraph(range(12), [(i, j) for i in range(12) for j in range(i)])
    x = rng.integers(2, size=(150, 12))
    x[:, 1::3] = np.where(rng.random((150, 4)) < 0.6, x[:, ::3], x[:, 1::3])
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.3, pm.Normal.dist(0, 1), shape=66)
        pmrf.BoltzmannMachine("x", w, np.zeros(12), graph=graph, observed=x, likelihood="pseudo")
    idata = sampled(model, draws=1500)
    batches = read_batches(idata.sample_stats["edge_gibbs_presence_w"].values, 66)
    told = np.exp(batches.log_present)
    present = (idata.posterior["w"].values != 0.0).astype(float)
    for e in np.flatnonzero((present.mean((0, 1)) > 0.01) & (present.mean((0, 1)) < 0.99)):
        error = np.hypot(float(az.mcse(told[..., e])), float(az.mcse(present[..., e])))
        assert abs(told[..., e].mean() - present[..., e].mean()) < Z * error
    off = np.array([told.mean((1,)) - present.mean((1,))])
    assert abs(off.mean()) < 0.005


def test_results_on_disk_tell_the_same(tmp_path):
    idata = sampled(fixed_bias_model(boltzmann_data(80, seed=1)))
    idata.to_netcdf(tmp_path / "run.nc")
    again = xr.open_datatree(tmp_path / "run.nc")
    found, same = (
        pmrf.analysis.edge_inclusion(tree, "w", prior_inclusion=0.4) for tree in (idata, again)
    )
    xr.testing.assert_identical(found, same)
    again.close()
