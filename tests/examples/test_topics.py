"""The scripts that belong to no paper run at tiny size."""

import argparse
import warnings

import numpy as np
import pytest

from examples import (
    arrows_beside_links,
    cost_against_width,
    edge_covariates,
    gaussian_speed,
    hierarchical_field,
    item_covariates,
    kinetic_recovery,
    large_fields,
    many_nodes,
    missing_cells,
    monte_carlo_accuracy,
    odd_tables,
    pseudo_likelihood_calibration,
    pseudo_likelihood_coverage,
    pseudo_likelihood_weights,
    pseudo_or_particles,
    quickstart,
)
from examples._report import parse_sizes
from examples.liu_page_2013 import senate


@pytest.fixture
def no_convergence_warnings():
    # ArviZ says that so few draws tell nothing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@pytest.mark.slow
def test_hierarchical_field(tmp_path, figures, no_convergence_warnings):
    size = ["--side", "2", "--n", "20", "--draws", "10", "--tune", "10", "--chains", "2"]
    hierarchical_field.main([*size, "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "hierarchical_field.md").read_text(encoding="utf-8")
    assert "2 x 2 grid (4 couplings), 20 observations" in text
    legend = {"b0 + b1 covariate, 90 %", "posterior, 90 %", "truth"}
    assert figures["hierarchical_field.png"] == legend | {"covariate of the edge", "coupling"}


@pytest.mark.slow
def test_edge_covariates(tmp_path, no_convergence_warnings):
    size = ["--nodes", "6", "--n", "40", "--draws", "20", "--tune", "20", "--chains", "2"]
    edge_covariates.main([*size, "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "edge_covariates.md").read_text(encoding="utf-8")
    assert "A Boltzmann machine on 6 nodes, of whose 15 pairs" in text
    assert text.count("| same kind | 1.5 |") == text.count("| one for all edges |") == 1


@pytest.mark.slow
def test_odd_tables(tmp_path, no_convergence_warnings):
    odd_tables.main(["--kinds", "ordinal", "--draws", "6", "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "odd_tables.md").read_text(encoding="utf-8")
    assert "| `prepare` |" in text and "| `predict_nodes` |" in text


def test_a_function_that_reads_odd_codes_otherwise_is_found():
    oddity = odd_tables.ODDITIES[0]
    rows = odd_tables.answers(np.random.default_rng(1), 20, "ordinal")
    plain = odd_tables.Run(oddity, "ordinal", rows, rows, is_odd=False)
    odd = odd_tables.Run(oddity, "ordinal", rows + 1, rows + 1, is_odd=True)
    found = {
        name: odd_tables.outcome(name, function, odd, plain)
        for name, function in {
            "by code": lambda run: run.table.to_numpy(),
            "by rank": lambda run: run.table.rank().to_numpy(),
        }.items()
    }
    assert found["by code"].startswith("WRONG: silently other") and found["by rank"] == "same"


@pytest.mark.slow
def test_kinetic_recovery(tmp_path):
    size = ["--nodes", "4", "--rows", "60", "--series", "1", "--draws", "20", "--tune", "10"]
    kinetic_recovery.main([*size, "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "kinetic_recovery.md").read_text(encoding="utf-8")
    assert text.count("| binary | 4 | 60 | 1 |") == text.count("| 5 answers | 4 | 60 | 1 |") == 1
    kinetic_recovery.main(["--large", "5", *size[4:], "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "kinetic_recovery_large.md").read_text(encoding="utf-8")
    assert "Complete digraph of 5 nodes (25 arrows)" in text


def test_recovery_is_compared_with_what_is_claimed():
    p, truth = np.array([0.4, 0.6, 0.9, 0.1]), np.array([False, True, True, False])
    result = {"inclusion": p, "truth": truth, "seconds": 0.5, "ess": 0.2, "r_hat": 1.0}
    cells = kinetic_recovery.cells([result])
    assert cells[:6] == ["1.000", "0.750", "1.000", "0.750", "0.50 / 0.50 (2)", "0.90 / 1.00 (1)"]
    assert cells[6:] == ["5e+02", "0.4", "1.000"]


def test_recovery_where_nothing_is_found():
    truth = np.array([True, False, True])
    nothing = kinetic_recovery.found_by("graph-tool", 1.0, np.zeros(3), truth)
    half = kinetic_recovery.found_by("EdgeGibbs", 1.0, np.array([0.9, 0.1, 0.2]), truth)
    assert (nothing.precision, nothing.recall, nothing.f1) == (0.0, 0.0, 0.0)
    assert (half.precision, half.recall, half.f1) == (1.0, 0.5, pytest.approx(2 / 3))


@pytest.mark.slow
def test_large_fields(tmp_path):
    large_fields.main(["--side", "10", "--iterations", "5", "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "large_fields_modes.md").read_text(encoding="utf-8")
    assert '| 5 levels, noise 1, 8 neighbours | `"cut"` | factor |' in text
    text = (tmp_path / "_results" / "large_fields_bounds.md").read_text(encoding="utf-8")
    assert "| 10 x 10 |" in text


@pytest.mark.slow
def test_many_nodes(tmp_path):
    size = ["--nodes", "8", "12", "--calibration-nodes", "8", "--rows", "200", "--draws", "20"]
    size += ["--tune", "20", "--cost-tune", "30", "--cost-draws", "25"]
    many_nodes.main([*size, "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "many_nodes.md").read_text(encoding="utf-8")
    assert "| 12 | 66 |" in text and "a chain of 30 tuning steps and 25 draws" in text
    text = (tmp_path / "_results" / "many_nodes_calibration.md").read_text(encoding="utf-8")
    assert "1 chains of 20 tuning steps and 20 draws" in text
    assert text.count("| positive | 0.") == 2 and text.count("| mixed | 0.") == 2


@pytest.mark.slow
def test_item_covariates(tmp_path, no_convergence_warnings):
    item_covariates.main(["--output", str(tmp_path)])
    text = (tmp_path / "_results" / "item_covariates.md").read_text(encoding="utf-8")
    assert text.count("\n| items") == 4 and "1 data sets of 600 rows and 3 items" in text


@pytest.mark.slow
def test_missing_cells(tmp_path):
    missing_cells.main(["--draws", "4", "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "missing_cells.md").read_text(encoding="utf-8")
    assert text.count("\n| ") == 5 and "| all data |" in text and "1 data sets of 400 rows" in text


@pytest.mark.slow
def test_monte_carlo_accuracy(tmp_path, no_convergence_warnings):
    monte_carlo_accuracy.main(["--draws", "20", "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "monte_carlo_accuracy.md").read_text(encoding="utf-8")
    assert text.count("| 7 items of 3 answers, 300 rows |") == len(monte_carlo_accuracy.LIKELIHOODS)


@pytest.mark.slow
def test_pseudo_likelihood_calibration(tmp_path, figures):
    size = ["--fields-10", "1", "--sizes", "30", "60", "--draws", "20", "--tune", "10"]
    pseudo_likelihood_calibration.main([*size, "--output", str(tmp_path)])
    results = tmp_path / "_results"
    text = (results / "pseudo_likelihood_calibration.md").read_text(encoding="utf-8")
    assert text.count("| 10 | 0.2 |") == 4 and text.count("| 10 | 0.5 |") == 2
    assert "1 fields of 10 nodes and 0 of 20" in text
    said = (results / "pseudo_likelihood_calibration_summary.md").read_text(encoding="utf-8")
    assert said.count("%") == 6
    words = {"share of true edges", "inclusion probability", "30 observations", "60 observations"}
    assert figures["pseudo_likelihood_calibration.png"] == words | {"exact", "pseudo", "weight 1"}


@pytest.mark.slow
def test_pseudo_likelihood_coverage(tmp_path):
    size = ["--side", "3", "--nodes", "3", "--data-sets", "1", "--draws", "50"]
    pseudo_likelihood_coverage.main([*size, "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "pseudo_likelihood_coverage.md").read_text(encoding="utf-8")
    assert text.count('| `"exact"` |') == text.count("| `Pseudo(weight=1)` |") == 4
    assert text.count("| 1.00 | 0.00 |") >= 4
    said = (tmp_path / "_results" / "pseudo_likelihood_coverage_summary.md").read_text(encoding="utf-8")
    assert said.count("one 3 x 3 lattice") == said.count("3 nodes, all pairs") == 2


@pytest.mark.slow
def test_pseudo_likelihood_weights(tmp_path):
    pseudo_likelihood_weights.main(["--fields", "2", "--draws", "50", "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "pseudo_likelihood_weights.md").read_text(encoding="utf-8")
    assert text.count("| all | 2 | weight ") == 3 and text.count("| all | 2 | likelihood") == 1
    outcomes = [
        pseudo_likelihood_weights.outcome(k, pseudo_likelihood_weights.kinds(), 50, 1) for k in (0, 1)
    ]
    assert all(0.5 <= one.factor <= 1.0 for one in outcomes)


@pytest.mark.slow
def test_pseudo_or_particles(tmp_path, monkeypatch):
    small = [one._replace(d=6, n=50) for one in pseudo_or_particles.SETTINGS]
    monkeypatch.setattr(pseudo_or_particles, "SETTINGS", small)
    pseudo_or_particles.main(["--draws", "20", "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "pseudo_or_particles.md").read_text(encoding="utf-8")
    assert text.count('| `"pseudo"` |') == 3 and text.count('| `"particles"` |') == 2


@pytest.mark.slow
def test_arrows_beside_links(tmp_path):
    arrows_beside_links.main(["--fields", "1", "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "arrows_beside_links.md").read_text(encoding="utf-8")
    cells = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in text.splitlines()[2:5]}
    sd = {name: np.array([float(cells[name][k]) for k in (1, 4, 6)]) for name in cells}
    assert sd["weight 1"][0] < 0.9 and sd["weight 1/2"][1] > 1.1
    np.testing.assert_allclose(sd["and second conditionals"], 1.0, atol=0.07)


def test_scores_of_both_ends_are_the_same_where_nodes_are_independent(rng):
    x = rng.integers(2, size=(4000, 4))
    assert pseudo_likelihood_weights.correlation(x, 2) > 0.98
    x[:, 1] = np.where(rng.random(4000) < 0.95, x[:, 0], x[:, 1])
    assert pseudo_likelihood_weights.correlation(x, 2) < 0.9


def test_shares_of_false_edges():
    inclusion = np.array([0.9, 0.7, 0.6, 0.2]), np.array([0.8, 0.4, 0.3, 0.1])
    present = np.array([True, False, True, True]), np.array([False, True, False, False])
    fits = [
        pseudo_likelihood_calibration.Fit(4, 0.5, 1.0, 10, "pseudo", *pair)
        for pair in zip(inclusion, present, strict=True)
    ]
    share, error = pseudo_likelihood_calibration.false_share(fits)
    assert share == pytest.approx(0.5)  # one of three, one of one
    assert error == pytest.approx(np.sqrt(2 * (0.5**2 + 0.5**2)) / 4)
    assert pseudo_likelihood_calibration.false_share(fits, claimed=True)[0] == pytest.approx(1.0 / 4)
    assert pseudo_likelihood_calibration.calibration(fits, 0.5, 0.8)[:3] == (
        3,
        pytest.approx(0.7),
        1 / 3,
    )
    score = np.log([0.9, 0.3, 0.6, 0.2]).sum()
    assert pseudo_likelihood_calibration.log_score(fits[0]) == pytest.approx(score)


def test_costs_of_exact_inference():
    cost = cost_against_width.measure_grid(3, 1)
    assert (cost["side"], cost["width"]) == (3, 3)
    costs = [cost, cost_against_width.measure_grid(4, 1)]
    left, right = cost_against_width.draw_figure(costs).axes
    for ax, key in ((left, "side"), (right, "cells")):
        expected = [(each[key], 1e3 * each["seconds"]) for each in costs]
        np.testing.assert_allclose(ax.lines[0].get_xydata(), expected)
    assert right.lines[1].get_xdata()[0] == cost_against_width.AUTO_CELLS
    assert left.get_ylabel() == "log-partition and all marginals, ms"


@pytest.mark.slow
def test_quickstart(tmp_path, figures, no_convergence_warnings, capsys):
    quickstart.main(["--draws", "10", "--tune", "10", "--chains", "2", "--output", str(tmp_path)])
    assert "posterior mean" in capsys.readouterr().out
    assert set(figures) == {"senate_groups.png", "senate_co_clustering.png"}
    assert {"R", "D", "I", "McCain (R-AZ)"} <= figures["senate_groups.png"]  # parties and names


@pytest.mark.slow
def test_senate(tmp_path, no_convergence_warnings):
    rows = senate.main(["--steps", "6", "--burn-in", "2", "--output", str(tmp_path)])
    assert len(rows) == 10
    assert "nan" not in (tmp_path / "_results" / "senate.md").read_text(encoding="utf-8")


def test_sizes_of_the_documentation(tmp_path, capsys):
    def parsed(*argv):
        parser = argparse.ArgumentParser()
        parser.add_argument("--n-draws", type=int, default=3)
        return parse_sizes(parser, argv, n_draws=1000)

    assert (parsed().n_draws, str(parsed().output)) == (3, "output")
    assert (parsed("--full").n_draws, str(parsed("--full").output)) == (1000, "docs")
    mixed = parsed("--full", "--n-draws", "7", "--output", str(tmp_path))
    assert (mixed.n_draws, mixed.output) == (7, tmp_path)
    with pytest.raises(SystemExit):
        parsed("--help")
    assert "as in the documentation: n-draws 1000" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_gaussian_speed(tmp_path, no_convergence_warnings):
    size = ["--nodes", "4", "--rows", "60", "--draws", "30", "--tables", "2"]
    gaussian_speed.main([*size, "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "gaussian_speed.md").read_text(encoding="utf-8")
    assert text.count("| 4 | `EdgeGibbs` |") == text.count("| 4 | NUTS |") == 1
    text = (tmp_path / "_results" / "gaussian_recovery.md").read_text(encoding="utf-8")
    assert text.count("| 4 |") == 1 and "in 2 tables of 60 rows" in text
