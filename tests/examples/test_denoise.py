"""The script runs at tiny size."""

import numpy as np
import pytest

from examples import denoise


@pytest.mark.slow
def test_denoise(tmp_path, figures, few_starts):
    arguments = ["--block", "60", "--draws", "6", "--chains", "2", "--output", str(tmp_path)]
    denoise.main(arguments)
    text = (tmp_path / "_results" / "denoise.md").read_text(encoding="utf-8")
    assert "A photograph of 10 x 8 pixels" in text
    assert "| Potts field |" in text
    titles = {"photograph", "with noise", "each pixel alone", "Potts field", "Gaussian filter"}
    assert figures["denoise.png"] == titles


def test_photograph_is_averaged_over_blocks():
    whole, small = denoise.photograph(1), denoise.photograph(100)
    assert whole.shape == (600, 512)
    assert small.shape == (6, 5)
    assert small[2, 1] == pytest.approx(whole[200:300, 100:200].mean())
    assert 0.0 <= whole.min() < whole.max() <= 1.0


def test_error():
    assert denoise.rmse(np.array([0.0, 1.0]), np.array([0.0, 0.0])) == pytest.approx(0.5**0.5)


def test_bad_arguments_are_refused(capsys):
    with pytest.raises(SystemExit):
        denoise.main(["--block", "0"])
    assert "--block must be positive, not 0" in capsys.readouterr().err
