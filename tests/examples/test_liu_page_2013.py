"""The scripts run at tiny size; their closed forms agree with the package's general answers."""

import numpy as np
import pytest

import pymc_mrf as pmrf
from examples._report import table
from examples.liu_page_2013 import experiment, group_sampler_error, large_grid, small_grid, tree

ERRORS = {"mean |θ - estimate|", "VI difference (nats)", "training sample size n"}
GROUPS = {"number of groups", "training sample size n"}
TINY = ["--replicates", "1", "--steps", "10", "--sizes", "100"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "options", "report", "words"),
    [
        (small_grid, ["--metropolis-steps", "20"], "small_grid.md", {3: GROUPS, 4: ERRORS}),
        (large_grid, ["--side", "5"], "large_grid.md", {5: ERRORS, 6: GROUPS | {"processor time (s)"}}),
        (tree, ["--height", "4"], "tree.md", {1: ERRORS, 2: GROUPS | {"run time (s)", "truth"}}),
    ],
    ids=["small_grid", "large_grid", "tree"],
)
def test_script_writes_report_and_figures(script, options, report, words, tmp_path, figures):
    script.main([*TINY, *options, "--output", str(tmp_path)])
    text = (tmp_path / "_results" / report).read_text(encoding="utf-8")
    assert "replicates: 1" in text.lower()
    assert "nan" not in text
    assert set(figures) == {f"liu_page_2013_figure{number}.png" for number in words}
    for number, expected in words.items():
        assert expected <= figures[f"liu_page_2013_figure{number}.png"]


def test_metropolis_steps_must_be_positive(tmp_path):
    with pytest.raises(SystemExit, match="--metropolis-steps must be at least 1, not 0"):
        small_grid.main([*TINY, "--metropolis-steps", "0", "--output", str(tmp_path)])


@pytest.mark.slow
def test_group_samplers_are_compared_with_the_exact_posterior(tmp_path):
    rows = group_sampler_error.main(
        ["--draws", "10", "--tune", "10", "--sizes", "60", "--output", str(tmp_path)]
    )
    assert [row[1] for row in rows] == list(group_sampler_error.samplers(60))
    assert "nan" not in (tmp_path / "_results" / "group_sampler_error.md").read_text(encoding="utf-8")


def test_tree_closed_forms(rng):
    graph = pmrf.graphs.binary_tree(3)
    truth = experiment.Truth.draw(graph, 3, rng)
    x, test = truth.sample(200, rng), truth.sample(50, rng)
    tied = tree.maximum_likelihood(x, graph, truth.groups)
    fit = pmrf.estimation.fit(x, graph, method="exact", groups=truth.groups)
    np.testing.assert_allclose(tied, fit.parameter, atol=1e-6)
    agreed = experiment.agreements(test, graph)
    closed = tree.test_log_likelihood(tied, agreed, len(test))
    assert closed == pytest.approx(small_grid.log_likelihood(test, graph, tied), rel=1e-10)


def test_estimate_on_the_bound_is_moved_half_an_observation():
    graph = pmrf.graphs.chain(3)
    x = np.array([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])  # the first edge always agrees
    theta = tree.maximum_likelihood(x, graph, np.arange(2))
    np.testing.assert_allclose(theta, [1 - 1 / 8, 1 / 2])


def test_truth_is_redrawn_until_the_blind_estimate_exists(rng):
    graph = pmrf.graphs.grid(4, 4)
    constant = np.zeros((10, 16), dtype=np.int8)
    assert not small_grid.blind_estimate_exists(constant, graph)
    _, train, redraws = small_grid.draw_truth(graph, [100, 200], rng)
    assert train.shape == (200, 16)
    assert redraws >= 0
    assert small_grid.blind_estimate_exists(train[:100], graph)


@pytest.mark.parametrize("sizes", [["200", "100"], ["0", "100"]])
def test_bad_sizes_are_refused(sizes, tmp_path):
    with pytest.raises(SystemExit, match="--sizes must be positive and increasing"):
        tree.main(["--sizes", *sizes, "--output", str(tmp_path)])


def test_table_needs_a_cell_per_column():
    with pytest.raises(ValueError, match="row 0 has 1 cells, the header has 2"):
        table(["a", "b"], [[1]])
