"""The example of paths of couplings runs at tiny size."""

import pytest

from examples import coupling_path
from pymc_mrf.likelihood.path import path_form as path


@pytest.mark.slow
def test_example_writes_its_table(tmp_path, monkeypatch, few_starts):
    monkeypatch.setattr(path, "folder", lambda: tmp_path)
    monkeypatch.setattr(coupling_path, "CASES", coupling_path.CASES[2:])  # a grid has a path in it
    coupling_path.main(["--sides", "3", "--draws", "6", "--tune", "5", "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "coupling_path.md").read_text(encoding="utf-8")
    assert text.count("3 x 3, K = 2 | coupling") == 2
    assert text.count("3 x 3, K = 2 | field") == 2
    assert "nan" not in text
