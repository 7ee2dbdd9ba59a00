"""The example of hidden images of several sizes runs at tiny size."""

import json

import pytest

from examples import hidden_image_scaling
from pymc_mrf.likelihood.path import path_form as path


@pytest.mark.slow
def test_example_writes_its_tables_and_goes_on(tmp_path, monkeypatch, few_starts):
    monkeypatch.setattr(path, "folder", lambda: tmp_path)
    monkeypatch.setattr(hidden_image_scaling, "LARGEST_PATH", {2: 3})
    monkeypatch.setattr(hidden_image_scaling, "LARGEST", {2: {"below": 5, "above": 2}})
    rows = tmp_path / "rows.jsonl"
    size = ["--sides", "3", "5", "--draws", "6", "6", "--states", "2", "--replicates", "1"]
    size += ["--ordering-side", "3", "--recovery-side", "3", "--recovery-draws", "6"]
    arguments = [*size, "--rows", str(rows), "--output", str(tmp_path)]
    hidden_image_scaling.main(arguments)
    text = (tmp_path / "_results" / "hidden_image_scaling.md").read_text(encoding="utf-8")
    assert text.count("| 3 x 3 | 2 |") == text.count("| 5 x 5 | 2 |") == 1
    assert text.count("that of 3 x 3") == 1
    assert "to the power of" in text and "nan" not in text
    text = (tmp_path / "_results" / "hidden_image_recovery.md").read_text(encoding="utf-8")
    assert text.count("| level | 2 |") == 1
    text = (tmp_path / "_results" / "hidden_image_ordering.md").read_text(encoding="utf-8")
    assert text.count("| 3 x 3 | 2 |") == 1
    written = rows.read_text(encoding="utf-8")
    assert len(written.splitlines()) == 4
    monkeypatch.setattr(hidden_image_scaling, "sample", None)
    hidden_image_scaling.main(arguments)
    assert rows.read_text(encoding="utf-8") == written
    assert json.loads(written.splitlines()[1])["ms"] > 0.0
