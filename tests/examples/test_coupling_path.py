"""The example of paths of couplings runs at tiny size."""

from examples import coupling_path
from pymc_mrf.distributions import path


def test_example_writes_its_table(tmp_path, monkeypatch):
    monkeypatch.setattr(path, "folder", lambda: tmp_path)
    monkeypatch.setattr(coupling_path, "CASES", coupling_path.CASES[2:])  # a grid has a path in it
    coupling_path.main(["--sides", "5", "--draws", "20", "--tune", "10", "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "coupling_path.md").read_text(encoding="utf-8")
    assert text.count("5 x 5, K = 2 | coupling") == 2
    assert text.count("5 x 5, K = 2 | field") == 2
    assert "nan" not in text
