"""The example of hidden images of several sizes runs at tiny size."""

import json

from examples import hidden_image_scaling
from pymc_mrf.distributions import path


def test_example_writes_its_tables_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(path, "folder", lambda: tmp_path)
    monkeypatch.setattr(hidden_image_scaling, "LARGEST_PATH", {2: 5})
    monkeypatch.setattr(hidden_image_scaling, "LARGEST", {2: {"below": 8, "above": 4}})
    rows = tmp_path / "rows.jsonl"
    size = ["--sides", "5", "8", "--draws", "12", "8", "--states", "2", "--replicates", "1"]
    size += ["--ordering-side", "5", "--recovery-side", "5", "--recovery-draws", "8"]
    arguments = [*size, "--rows", str(rows), "--output", str(tmp_path)]
    hidden_image_scaling.main(arguments)
    text = (tmp_path / "_results" / "hidden_image_scaling.md").read_text(encoding="utf-8")
    assert text.count("| 5 x 5 | 2 |") == text.count("| 8 x 8 | 2 |") == 1
    assert text.count("that of 5 x 5") == 1
    assert "to the power of" in text and "nan" not in text
    text = (tmp_path / "_results" / "hidden_image_recovery.md").read_text(encoding="utf-8")
    assert text.count("| level | 2 |") == 1
    text = (tmp_path / "_results" / "hidden_image_ordering.md").read_text(encoding="utf-8")
    assert text.count("| 5 x 5 | 2 |") == 1
    written = rows.read_text(encoding="utf-8")
    assert len(written.splitlines()) == 4
    monkeypatch.setattr(hidden_image_scaling, "sample", None)
    hidden_image_scaling.main(arguments)
    assert rows.read_text(encoding="utf-8") == written
    assert json.loads(written.splitlines()[1])["ms"] > 0.0
