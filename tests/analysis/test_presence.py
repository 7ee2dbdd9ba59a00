"""Probabilities of edges from what their step told, beside counts of the draws."""

import numpy as np
import pytest
import xarray as xr
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.analysis.edges import edge_evidence
from pymc_mrf.analysis.presence import TermTold, told_presence
from pymc_mrf.steps.edges.presence_record import PresenceRecord, period_of
from tests.statistics import Z

GRAPH = pmrf.PairwiseGraph("abc", [("a", "b"), ("b", "c"), ("a", "c")])
N = 1000


def results(log_odds, present):
    """Draws of three edges, and the log odds that their step told, each (chain, draw, 3)."""
    of_presence, of_absence = -np.logaddexp(0.0, -log_odds), -np.logaddexp(0.0, log_odds)
    assert period_of(3) == 1
    head = np.broadcast_to([1.0, 0.0, 0.0, 1.0, 3.0], (*log_odds.shape[:2], 5))
    told = np.concatenate([head, of_presence, of_absence], axis=2)
    coords = {"chain": np.arange(len(told)), "draw": np.arange(told.shape[1])}
    draws = xr.DataArray(0.5 * present, dims=("chain", "draw", "edge"))
    posterior = xr.Dataset({"w": draws}, coords | {"edge": list(GRAPH.edge_labels)})
    statistic = xr.DataArray(told, dims=("chain", "draw", "edge_gibbs_presence_w_dim_0"))
    stats = xr.Dataset({"edge_gibbs_presence_w": statistic}, coords)
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats})


def mixed_chains(rng, log_odds, sd, n_chains=2):
    told = np.asarray(log_odds) + np.asarray(sd) * rng.standard_normal((n_chains, N, 3))
    return results(told, rng.random(told.shape) < special.expit(told))


def test_bayes_factors_of_sure_edges_are_finite(rng):
    tree = mixed_chains(rng, [30.0, -18.0, 0.5], [1.0, 0.5, 0.5])
    found = pmrf.analysis.edge_inclusion(tree, "w", prior_inclusion=0.5)
    # lognormal odds: the mean of what is rare
    expected = np.array([30.0 - 0.5, -18.0 + 0.125]) / np.log(10.0)
    gap = found.log10_bayes_factor.values[:2] - expected
    assert (np.abs(gap) < 4.5 * found.log10_bayes_factor_mcse.values[:2]).all()
    assert (found.log10_bayes_factor_mcse < 0.05).all()
    assert found.inclusion_bound.isnull().all() and found.bayes_factor_bound.isnull().all()
    counted = pmrf.analysis.edge_inclusion(
        xr.DataTree.from_dict({"posterior": tree.posterior.to_dataset()}), "w"
    )
    assert counted.inclusion[0] == 1.0 and counted.inclusion_bound[0] > 0.0
    # the error of the doubtful edge is smaller
    assert found.inclusion_mcse[2] < 0.5 * counted.inclusion_mcse[2]
    table = pmrf.summarize_edges(tree, "w", graph=GRAPH, prior_inclusion=0.5, sort="graph")
    assert table["bayes_factor_text"].tolist()[:2] == ["10^12.8", "10^-7.8"]
    evidence = edge_evidence(tree, "w", prior_inclusion=0.5)
    assert evidence.values.tolist() == ["for", "against", "undecided"]
    network = pmrf.median_graph(tree, "w", GRAPH)
    assert set(network.edges) == {("a", "b"), ("a", "c")}
    assert network["a"]["c"]["inclusion"] == float(found.inclusion[2])


def test_what_few_draws_carry_is_said_in_words(rng):
    """Logs of a variance of 49 have a mean that no draw reaches: the estimate is far too large."""
    tree = mixed_chains(rng, [60.0, -60.0, 0.5], [7.0, 7.0, 0.5])
    found = pmrf.analysis.edge_inclusion(tree, "w", prior_inclusion=0.5)
    assert (np.abs(found.log10_bayes_factor[:2]) > (60.0 - 49.0 / 2) / np.log(10.0)).all()
    assert found.log10_bayes_factor_mcse.isnull().values.tolist() == [True, True, False]
    bound = found.inclusion_bound.values[:2]
    np.testing.assert_allclose(bound, 1.0 - 0.05 ** (1.0 / (2 * N)), rtol=0.5)
    table = pmrf.summarize_edges(tree, "w", graph=GRAPH, prior_inclusion=0.5, sort="graph")
    assert table["bayes_factor_text"].tolist()[:2] == ["beyond 10^2", "below 10^-2"]
    # few draws say less
    few = tree.isel(draw=slice(20))
    words = pmrf.summarize_edges(few, "w", graph=GRAPH, prior_inclusion=0.99, sort="graph")[
        "bayes_factor_text"
    ]
    assert words.iloc[0] == "not known"


def test_draws_vouch_for_no_more_than_they_show(rng):
    """Three chains without an edge and one with it, none of which switched, under prior odds of 1 to 99."""
    told = np.where(np.arange(4) == 3, 8.0, -8.0)[:, None, None] + 0.5 * rng.standard_normal((4, N, 3))
    tree = results(told, told > 0.0)
    with pytest.warns(UserWarning, match="never switched"):
        found = pmrf.analysis.edge_inclusion(tree, "w", prior_inclusion=0.01)
    assert found.log10_bayes_factor_mcse.isnull().all() and (found.inclusion < 0.3).all()
    assert (found.inclusion_bound >= 0.25).all()
    with pytest.warns(UserWarning, match="never switched"):
        table = pmrf.summarize_edges(tree, "w", graph=GRAPH, prior_inclusion=0.01)
    assert set(table["bayes_factor_text"]) == {"not known"} and set(table["evidence"]) == {"undecided"}


def told_of_two_terms(rng, n_zero, sd):
    """Tell of the sum of w, of log odds 14 given all else, and d, which is zero in `n_zero` of N draws."""
    log_odds = 14.0 + sd * rng.standard_normal((2, N, 3))
    is_zero = rng.permuted(np.broadcast_to(np.arange(N) < n_zero, (2, 3, N)), axis=2).swapaxes(1, 2)
    coords, stats = {"chain": [0, 1], "draw": range(N)}, {"w": [], "d": []}
    for odds, of_chain in zip(log_odds, is_zero, strict=True):
        records = {name: (PresenceRecord(3, 1), []) for name in stats}
        for now, zero in zip(odds, of_chain, strict=True):
            of_d = np.full(3, np.log(N / max(n_zero, 0.5) - 1.0))
            for name, p, n in (("w", now, ~zero), ("d", of_d, np.ones(3))):
                record, told = records[name]
                for sums, log_p in zip(
                    record.view(rng)[:2], (-np.logaddexp(0, -p), -np.logaddexp(0, p)), strict=True
                ):
                    sums[:] = log_p
                told.append(record.tell(1, n[None] * 1.0))
        for name in stats:
            stats[name].append(records[name][1])
    terms = [
        TermTold(xr.DataArray(np.array(of_term), dims=("chain", "draw", "k"), coords=coords), 1)
        for of_term in stats.values()
    ]
    draws = xr.DataArray(np.ones((2, N, 3)), dims=("chain", "draw", "edge"), coords=coords, name="w_a")
    return told_presence(terms, draws, np.full(3, 2 * N))


def test_sums_are_known_from_enough_visits_that_find_the_others_zero(rng):
    """Their mean is carried by fewer values than that of one vector."""
    exact = 14.0 + np.log(1.0 / 0.05) - 0.5 * 0.5**2
    told = told_of_two_terms(rng, 50, 0.5)
    assert told.is_likely.all() and told.is_known.all()
    assert (np.abs(told.log_odds - exact) < Z * told.log_odds_error).all()
    assert not told_of_two_terms(rng, 10, 0.5).is_known.any()  # 20 visits
    assert not told_of_two_terms(rng, 50, 3.5).is_known.any()  # whose odds vary too much


def test_a_sure_sum_is_known_where_a_term_is_hopeless(rng):
    """What its step tells now and then says nothing of absence, as the other term is always there."""
    n, log_odds, terms = 400, 14.0 + 0.5 * rng.standard_normal((2, 400, 3)), []
    is_there = rng.random((2, n, 3)) < 0.1  # the term whose other visits are hopeless
    coords = {"chain": [0, 1], "draw": range(n)}
    for is_sure in (True, False):
        of_chains = []
        for odds, there in zip(log_odds, is_there, strict=True):
            record, told = PresenceRecord(3, 1, period=5), []
            for of_sure, now in zip(odds, there, strict=True):
                view = record.view(rng)
                has_turn = np.arange(3) % 5 == view.turn
                weight = 1.0 if is_sure else np.where(now, 1.0, np.where(has_turn, view.weight, 0.0))
                own = of_sure if is_sure else np.full(3, special.logit(0.1))
                with np.errstate(divide="ignore"):
                    view.present[:] = np.log(weight * special.expit(own))
                    view.absent[:] = np.log(weight * special.expit(-own))
                told.append(record.tell(1, (now if is_sure else np.ones(3))[None] * 1.0))
            of_chains.append(told)
        told = xr.DataArray(np.array(of_chains), dims=("chain", "draw", "k"), coords=coords)
        terms.append(TermTold(told, 1))
    draws = xr.DataArray(np.ones((2, n, 3)), dims=("chain", "draw", "edge"), coords=coords, name="w_a")
    found = told_presence(terms, draws, np.full(3, 2 * n))
    assert found.is_likely.all() and found.is_known.all()
    exact = 14.0 - 0.5**3 - np.log(0.9)
    assert (np.abs(found.log_odds - exact) < Z * found.log_odds_error).all()


def test_a_sum_that_is_never_absent_is_bounded(rng):
    """No visit finds the other terms zero."""
    told = told_of_two_terms(rng, 0, 0.5)
    assert told.is_likely.all() and not told.is_known.any() and (told.inclusion == 1.0).all()


def told_now_and_then(rng, n_draws, p, is_hopeless=False, n_chains=2):
    """Results of edges that are present with probability p given all else, which `is_hopeless` visits tell of
    only where it is their turn; both (n_chains, n_draws, r)."""
    r, stats = p.shape[-1], []
    is_hopeless = np.broadcast_to(is_hopeless, p.shape)
    for of_chain, hopeless in zip(p, is_hopeless, strict=True):
        record, told = PresenceRecord(r), []
        for now, skips in zip(of_chain, hopeless, strict=True):
            view = record.view(rng)
            has_turn = np.arange(r) % view.period == view.turn
            weight = np.where(skips, np.where(has_turn, view.weight, 0.0), 1.0)
            with np.errstate(divide="ignore"):
                added = np.log(weight) + np.log([now, 1.0 - now])
            record.sums[:] = np.logaddexp(record.sums, added)
            told.append(record.tell(1))
        stats.append(told)
    dims, coords = ("chain", "draw"), {"chain": range(n_chains), "draw": range(n_draws)}
    posterior = xr.Dataset({"w": ((*dims, "edge"), 1.0 * (rng.random(p.shape) < p))}, coords)
    statistic = {"edge_gibbs_presence_w": ((*dims, "k"), np.array(stats))}
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": xr.Dataset(statistic, coords)})


def test_draws_left_out_in_step_with_what_was_told_are_warned_of(rng):
    """Of 40 edges each is told of in one draw of three: every second draw will do, every third will not."""
    assert period_of(40) == 3
    tree = told_now_and_then(rng, 120, np.full((2, 120, 40), 0.5))
    for step in (1, 2):
        found = pmrf.analysis.edge_inclusion(tree.isel(draw=slice(None, None, step)), "w")
        np.testing.assert_allclose(found.inclusion, 0.5, atol=1e-6)
    with pytest.warns(UserWarning, match="every k-th, k and 3 having no common factor"):
        found = pmrf.analysis.edge_inclusion(tree.isel(draw=slice(None, None, 3)), "w")
    assert not np.allclose(found.inclusion, 0.5, atol=1e-3)
    pmrf.analysis.edge_inclusion(tree.isel(draw=slice(2)), "w")  # too few in any case


@pytest.mark.parametrize("share", [0.02, 0.08, 0.4])
def test_edges_that_are_hopeless_now_and_then(rng, share):
    """What is told of these visits, one in 40, stands for others: their number is not told."""
    r, n = 640, 600
    assert period_of(r) == 40
    is_hopeless = rng.random((2, n, r)) < share
    tree = told_now_and_then(rng, n, np.where(is_hopeless, 0.03, 0.99), is_hopeless)
    found = pmrf.analysis.edge_inclusion(tree, "w")
    gap = found.inclusion - (share * 0.03 + (1.0 - share) * 0.99)
    z = (gap / found.inclusion_mcse).values
    counted = tree.posterior["w"].mean(("chain", "draw")) - (share * 0.03 + (1.0 - share) * 0.99)
    assert np.sqrt((gap**2).mean()) < 1.1 * np.sqrt((counted**2).mean())
    # errors are those of a dozen parts, and of small numbers of draws without the edge
    assert np.sqrt((z**2).mean()) < 1.5


def test_all_parts_count_by_their_draws(rng):
    """Of 79 draws some edges have told of the first one alone, and of 40."""
    r = 640
    p = np.where(rng.random((2, 79, r)) < 0.5, 0.05, 0.95)
    tree = told_now_and_then(rng, 79, p)
    found = pmrf.analysis.edge_inclusion(tree, "w").inclusion.values - 0.5
    counted = tree.posterior["w"].mean(("chain", "draw")).values - 0.5
    by_turn = np.sqrt((found.reshape(-1, 40) ** 2).mean(axis=0))
    assert by_turn.max() < 2.0 * np.sqrt((counted**2).mean())


@pytest.mark.parametrize("r", [40, 640])
def test_what_was_told_of_other_edges_is_refused(rng, r):
    tree = told_now_and_then(rng, 90, np.full((2, 90, r), 0.5))
    with pytest.raises(ValueError, match=f"are not those of {r - 1} edges"):
        pmrf.analysis.edge_inclusion(tree.isel(edge=slice(1, None)), "w")


def test_errors_of_many_edges_are_those_of_slow_chains(rng, monkeypatch):
    """Parts of 40 draws of edges that hardly move from one to the next."""
    r, n = 640, 4000
    moves = rng.random((2, n, r)) < 0.01
    state = np.where(moves | (np.arange(n)[:, None] == 0), rng.random((2, n, r)) < 0.5, np.nan)
    places = np.maximum.accumulate(np.where(np.isnan(state), 0, np.arange(n)[:, None]), axis=1)
    p = np.where(np.take_along_axis(state, places, axis=1) > 0.0, 0.95, 0.05)
    tree = told_now_and_then(rng, n, p)
    few = pmrf.analysis.edge_inclusion(tree, "w")
    monkeypatch.setattr("pymc_mrf.analysis.presence.MANY_EDGES", r)
    many = pmrf.analysis.edge_inclusion(tree, "w")
    np.testing.assert_allclose(many.inclusion_mcse, few.inclusion_mcse)
    z = ((few.inclusion - 0.5) / few.inclusion_mcse).values
    assert 0.7 < np.sqrt((z**2).mean()) < 1.4


def test_draws_at_odds_with_what_was_told_are_warned_of(rng):
    """A chain that never switched an edge whose probability given all else is 2/3."""
    told = 0.7 + 0.1 * rng.standard_normal((2, N, 3))
    present = rng.random(told.shape) < special.expit(told)
    pmrf.analysis.edge_inclusion(results(told, present), "w", prior_inclusion=0.5)  # no warning
    present[..., 1] = True
    with pytest.warns(UserWarning, match="for 1 of 3 edges, most of all for b--c.*have not mixed"):
        pmrf.analysis.edge_inclusion(results(told, present), "w", prior_inclusion=0.5)


def test_chains_that_contradict_each_other_are_warned_of(rng):
    """Each of them agrees with what its step told."""
    told = np.full((2, N, 3), 0.3)
    told[:, :, 0] = np.array([12.0, -12.0])[:, None] + rng.standard_normal((2, N))
    with pytest.warns(UserWarning, match="1 of 3 edges, such as a--b, are in all draws of one chain"):
        found = pmrf.analysis.edge_inclusion(
            results(told, rng.random(told.shape) < special.expit(told)), "w", prior_inclusion=0.5
        )
    assert found.inclusion_mcse[0] > 0.2


def test_draws_that_are_left_out_leave_out_what_was_told(rng):
    tree = mixed_chains(rng, [3.0, -2.0, 0.5], [1.0, 0.5, 0.5])
    half = pmrf.analysis.edge_inclusion(tree.isel(draw=slice(500, None)), "w", prior_inclusion=0.5)
    alone = pmrf.analysis.edge_inclusion(tree.isel(chain=[1]), "w", prior_inclusion=0.5)
    told = special.expit(tree.sample_stats["edge_gibbs_presence_w"].values)
    assert half.log10_bayes_factor_mcse[0] > 0.0 and alone.log10_bayes_factor_mcse[0] > 0.0
    # other draws than those that it belongs to tell nothing
    tree["posterior"] = tree["posterior"].to_dataset().isel(draw=slice(500))
    with pytest.warns(UserWarning, match="w: what its step told of edges, .* is of other draws"):
        counted = pmrf.analysis.edge_inclusion(tree, "w", prior_inclusion=0.5)
    np.testing.assert_array_equal(counted.inclusion, (tree.posterior.w.values != 0.0).mean((0, 1)))
    assert told.shape == (2, N, 11)
