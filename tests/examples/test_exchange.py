"""The example of the exchange step runs at tiny size."""

import pytest

from examples import exchange


@pytest.mark.slow
def test_example_writes_its_tables(tmp_path):
    exchange.main(
        [
            "--side",
            "5",
            "--n",
            "10",
            "--draws",
            "10",
            "--steps",
            "10",
            "--tune",
            "10",
            "--output",
            str(tmp_path),
        ]
    )
    text = (tmp_path / "_results" / "exchange.md").read_text(encoding="utf-8")
    assert text.count("###") == 3
    assert "nan" not in text
