"""The scripts that belong to no paper run at tiny size."""

import argparse
import warnings

import pytest

from examples import cost_against_width, hierarchical_field, quickstart
from examples._report import parse_sizes
from examples.liu_page_2013 import senate

PNG = b"\x89PNG"


@pytest.fixture
def no_convergence_warnings():
    # ArviZ says that so few draws tell nothing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def test_hierarchical_field(tmp_path, no_convergence_warnings):
    size = ["--side", "3", "--n", "20", "--draws", "20", "--tune", "50", "--chains", "2"]
    hierarchical_field.main([*size, "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "hierarchical_field.md").read_text(encoding="utf-8")
    assert "3 x 3 grid (12 couplings), 20 observations" in text
    assert (tmp_path / "figures" / "hierarchical_field.png").read_bytes().startswith(PNG)


def test_costs_of_exact_inference(tmp_path):
    cost = cost_against_width.measure_grid(3, 1)
    assert (cost["side"], cost["width"]) == (3, 3)
    figure = cost_against_width.draw_figure([cost, cost_against_width.measure_grid(4, 1)])
    figure.savefig(tmp_path / "costs.png")
    assert (tmp_path / "costs.png").read_bytes().startswith(PNG)


def test_quickstart(tmp_path, no_convergence_warnings, capsys):
    quickstart.main(["--draws", "10", "--tune", "10", "--chains", "2", "--output", str(tmp_path)])
    assert "posterior mean" in capsys.readouterr().out
    for name in ("senate_groups.png", "senate_co_clustering.png"):
        assert (tmp_path / name).read_bytes().startswith(PNG)


def test_senate(tmp_path, no_convergence_warnings):
    rows = senate.main(["--steps", "10", "--burn-in", "2", "--output", str(tmp_path)])
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
