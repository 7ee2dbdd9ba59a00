"""Latent fields against PyMC's own steps, printed: ``make bench``.

Times are printed, never asserted; that both sample the same posterior is.
"""

import pytest

from tests.benchmarks.latent_field import latent_image

pytestmark = pytest.mark.benchmark


@pytest.mark.parametrize(("n_states", "coupling", "sd"), [(2, 0.2, 2.0), (2, 0.4, 2.0), (3, 0.8, 1.0)])
def test_latent_image(n_states, coupling, sd):
    result = latent_image(n_states, coupling, sd)
    print(f"\nlatent 32 x 32 image, {n_states} states, coupling {coupling}, noise sd {sd}: mean value")
    print(f"  TreeGibbs: {result['tree']:.0f} effective draws per CPU second")
    print(f"  PyMC's {result['peer']}: {result['plain']:.2f}; TreeGibbs: {result['ratio']:.0f} times")
    assert result["z"] < 5.0
