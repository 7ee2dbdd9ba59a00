"""The scripts run at tiny size."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from examples.rivasseau_2005 import tree_partition_tables


def test_tree_partition_tables(tmp_path):
    plt.switch_backend("Agg")
    tree_partition_tables.main(["--quick", "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "tree_partitions.md").read_text(encoding="utf-8")
    for title in ("Table 6.1", "Table 6.2", "Table 6.3"):
        assert title in text
    assert "| 10 x 10 | priority | 5 (3-7) |" in text
    assert "nan" not in text
    assert (tmp_path / "figures" / "tree_partition.png").read_bytes().startswith(b"\x89PNG")


def test_scopes_cover_all_variables_and_are_full(rng):
    scopes = tree_partition_tables.random_scopes(40, 12, 5, rng)
    assert set().union(*scopes) == set(range(40))
    assert all(len(set(scope)) == 5 for scope in scopes)


def test_fewest_shared_factors():
    assert tree_partition_tables.fewest_shared(3, [[0, 1, 2], [0, 1, 2], [0, 1]]) == 2
    assert tree_partition_tables.fewest_shared(3, [[0, 1], [1, 2]]) == 0


def test_comparison_names_the_rows_above_the_thesis():
    comparison = tree_partition_tables.Comparison(["graph"])
    trees = {"paper": [[0], [1], [2]], "pockets": [[0, 1], [2]]}
    comparison.add(["path"], (2, 2, 2), trees.get, 2)
    assert 'thesis, `method="paper"`: path.' in comparison.text()
    assert 'thesis, `method="pockets"`: nowhere.' in comparison.text()
    assert tree_partition_tables.summary([2, 3]) == f"{np.mean([2, 3])} (2-3)"


def test_bad_runs_are_refused(capsys, tmp_path):
    with pytest.raises(SystemExit):
        tree_partition_tables.main(["--runs", "0", "--output", str(tmp_path)])
    assert "--runs must be positive, not 0" in capsys.readouterr().err
