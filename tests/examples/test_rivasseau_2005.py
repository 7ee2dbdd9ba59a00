"""The scripts run at tiny size."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

import pymc_mrf as pmrf
from examples.rivasseau_2005 import equal_time, marginal_error, noisy_or, tree_partition_tables
from tests.statistics import ALPHA


@pytest.mark.slow
def test_tree_partition_tables(tmp_path, figures):
    tree_partition_tables.main(["--output", str(tmp_path)])
    text = (tmp_path / "_results" / "tree_partitions.md").read_text(encoding="utf-8")
    for title in ("Table 6.1", "Table 6.2", "Table 6.3"):
        assert title in text
    assert "| 10 x 10 | priority | 5 (3-7) |" in text
    assert "nan" not in text
    titles = figures["tree_partition.png"]
    assert len(titles) == 4 and all(" trees of " in title for title in titles)


def test_scopes_of_both_readings(rng):
    full = tree_partition_tables.full_scopes(40, 12, 5, rng)
    assert set().union(*full) == set(range(40))
    assert all(len(set(scope)) == 5 for scope in full)
    up_to = tree_partition_tables.scopes_up_to(40, 200, 5, rng)
    assert set().union(*up_to) == set(range(1 + max(map(max, up_to))))
    assert {len(set(scope)) for scope in up_to} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("scopes", "fewest"),
    [
        ([[0, 1, 2], [0, 1, 2], [0, 1]], 3),
        ([[0, 1], [1, 2]], 1),
        ([[0, 1], [1, 2], [0, 2], [3, 4]], 3),
        ([[0]], 1),
    ],
)
def test_fewest_trees(scopes, fewest):
    assert tree_partition_tables.fewest_trees(scopes) == fewest


def test_comparison_names_the_rows_above_the_thesis():
    comparison = tree_partition_tables.Comparison(["graph"])
    trees = {"thesis": [[0], [1], [2]], "package": [[0, 1], [2]]}
    comparison.add(["path"], (2, 2, 2), trees.get, 2, 3)
    assert "thesis, its search: path (here no partition has less than 3)." in comparison.text()
    assert "thesis, `tree_partition`: nowhere." in comparison.text()
    assert tree_partition_tables.summary([2, 3]) == f"{np.mean([2, 3])} (2-3)"


def test_bad_runs_are_refused(capsys, tmp_path):
    with pytest.raises(SystemExit):
        tree_partition_tables.main(["--runs", "0", "--output", str(tmp_path)])
    assert "--runs must be positive, not 0" in capsys.readouterr().err


@pytest.mark.slow
def test_marginal_error(tmp_path, figures):
    marginal_error.main(["--tiny", "--runs", "2", "--seconds", "0.02", "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "rivasseau_marginals.md").read_text(encoding="utf-8")
    assert "| 6.1, complete graph of 6 |" in text
    assert "| 6.2, 4 x 4 lattice |" in text
    assert "nan" not in text
    words = figures["rivasseau_marginals.png"]
    assert {"error of the marginals", "at its end", "CPU time, ms"} <= words
    assert {"Figure 6.1", "Figure 6.2"} == {word.split(":")[0] for word in words if "Figure" in word}


def test_free_field_is_the_field_given_the_observations(rng):
    model = marginal_error.Model.draw(pmrf.graphs.grid(3, 3), rng)
    while len(model.evidence) < 2:
        model = marginal_error.Model.draw(pmrf.graphs.grid(3, 3), rng)
    tables = []
    for i, j in model.graph.edges:
        ends = {model.graph.nodes[i], model.graph.nodes[j]}
        tables.append(np.diag(model.outer if ends & set(model.evidence) else model.inner))
    whole = pmrf.PairwiseField(model.graph, tables, np.zeros((9, 3)))
    free = [i for i, node in enumerate(model.graph.nodes) if node not in model.evidence]
    expected = whole.marginals(evidence=model.evidence).nodes[free]
    np.testing.assert_allclose(model.free().marginals().nodes, expected, atol=1e-12)


def test_marginals_of_a_complete_graph_by_counting(rng):
    model = marginal_error.Model.draw(pmrf.graphs.complete(7), rng)
    expected = model.free().marginals().nodes
    np.testing.assert_allclose(marginal_error.complete_graph_marginals(model), expected, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", marginal_error.SAMPLERS)
def test_samplers_of_the_comparison_approach_the_exact_marginals(method, rng):
    graph = pmrf.graphs.grid(2, 3)
    model = marginal_error.Model(
        graph, np.array([0.5, 0.0, -0.5]), np.array([1.0, 0.0, 0.0]), {(0, 0): 0}
    )
    field = model.free()
    marginal_error.sampled(field, method, 64, np.array([0.001, 0.002]), rng)  # compiles
    [first, second], n_sweeps = marginal_error.sampled(field, method, 64, np.array([0.02, 0.1]), rng)
    assert first.shape == second.shape == (64, 5, 3)
    assert n_sweeps > 10
    error = second.std(axis=0, ddof=1) / 8.0
    difference = np.abs(second.mean(axis=0) - field.marginals().nodes)
    assert (difference < 6.0 * error + 1e-9).all()


@pytest.mark.slow
def test_long_runs_that_disagree_are_discarded(rng, monkeypatch):
    monkeypatch.setattr(marginal_error, "AGREEMENT", -1.0)
    complete, lattice = marginal_error.TINY
    times = equal_time.checkpoints(0.01, 2)
    for experiment in (complete, lattice):
        results = marginal_error.Results(experiment)
        model = marginal_error.Model.draw(experiment.graph(rng), rng)
        assert not results.add(model, times, rng)
        assert results.n_discarded == 1
        assert not results.truths
        # where the exact answer is known, the errors are reported all the same
        assert bool(results.apart["tree"]) is experiment.complete
    with pytest.raises(RuntimeError, match=r"long runs disagree in 4 runs on the 4 x 4 lattice"):
        marginal_error.compare(lattice, 1, 0.005, 1)


@pytest.mark.slow
def test_noisy_or(tmp_path, figures):
    arguments = ["--runs", "2", "--seconds", "0.02", "--diseases", "12", "--findings", "4"]
    noisy_or.main([*arguments, "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "noisy_or.md").read_text(encoding="utf-8")
    for title in ("| 6.4, low leak", "| 6.5, medium leak", "| 6.6, high leak"):
        assert title in text
    assert "nan" not in text
    words = figures["rivasseau_noisy_or.png"]
    assert {"error of the marginals", "at its end", "CPU time, ms"} <= words
    numbers = {word.split(":")[0] for word in words if "Figure" in word}
    assert numbers == {"Figure 6.4", "Figure 6.5", "Figure 6.6"}


def test_noisy_or_table():
    q, leak = np.array([0.3, 0.9]), 0.1
    by_hand = [[0.1, 1 - 0.9 * 0.1], [1 - 0.9 * 0.7, 1 - 0.9 * 0.7 * 0.1]]
    np.testing.assert_allclose(np.exp(noisy_or.noisy_or(q, leak)), by_hand)


def test_parallel_propagation_is_exact_on_a_tree():
    tables = [noisy_or.noisy_or(np.array([0.3, 0.9]), 0.1), noisy_or.noisy_or(np.array([0.5, 0.2]), 0.1)]
    single = [np.log([0.9, 0.1])] * 3
    field = pmrf.FactorGraphField([[0, 1], [1, 2], [0], [1], [2]], [2] * 3, [*tables, *single])
    marginals, converged = noisy_or.parallel_propagation(field)
    assert converged
    np.testing.assert_allclose(marginals, np.array(field.marginals().variables), atol=1e-12)


@pytest.mark.parametrize("method", noisy_or.SAMPLERS)
@pytest.mark.slow
def test_samplers_of_networks_approach_the_exact_marginals(method, rng):
    field = noisy_or.network(8, 3, 0.3, rng)
    sampler = noisy_or.Sampler(field, method, rng)
    total = np.zeros(sampler.shape)
    sampler.advance(500, np.zeros(sampler.shape))
    sampler.advance(5000, total)
    chains = total / 5000
    np.testing.assert_allclose(chains.sum(axis=2), 1.0)
    error = chains.std(axis=0, ddof=1) / np.sqrt(len(chains))
    difference = np.abs(chains.mean(axis=0) - np.array(field.marginals().variables))
    assert (difference < stats.t(len(chains) - 1).ppf(1 - ALPHA / 2) * error + 1e-9).all()


def test_averages_are_over_the_sweeps_since_the_last_checkpoint():
    sweeps = []

    def advance(n, total):
        sweeps.append(n)
        total += sum(range(sum(sweeps) - n, sum(sweeps)))  # sweep k counts k

    [first, second], n = equal_time.run(advance, (1,), np.array([0.001, 0.002]))
    assert n == sum(sweeps)
    assert second[0] == pytest.approx((n - 1 + 2 * first[0] + 1) / 2)


def test_distance_and_checkpoints():
    p, q = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [0.5, 0.5]])
    assert equal_time.distance(p, q) == 0.5
    np.testing.assert_allclose(equal_time.checkpoints(8.0, 3), [2.0, 4.0, 8.0])


def test_box_plots_have_a_box_per_method_and_time():
    ax = Figure().subplots()
    times = equal_time.checkpoints(1.0, 3)
    errors = {name: np.full((4, 3), 0.1) for name in ("gibbs", "tree")}
    equal_time.box_plots(ax, times, errors)
    assert len(ax.patches) == 6
    assert [text.get_text() for text in ax.get_xticklabels()] == ["250", "500", "1e+03"]


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        (marginal_error, ["--runs", "0"], "--runs must be positive, not 0"),
        (marginal_error, ["--seconds", "0"], "--seconds must be positive, not 0.0"),
        (noisy_or, ["--findings", "-1"], "--findings must be positive, not -1"),
    ],
)
def test_bad_arguments_are_refused(script, arguments, message, capsys):
    with pytest.raises(SystemExit):
        script.main(arguments)
    assert message in capsys.readouterr().err
