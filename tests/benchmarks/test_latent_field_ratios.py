"""Latent fields against PyMC's own steps, printed: ``make bench``.

Times are printed, never asserted; that both sample the same posterior is.
"""

import pytest

from tests.benchmarks.latent_field import latent_image

pytestmark = pytest.mark.benchmark


@pytest.mark.parametrize("coupling", [0.2, 0.4])
def test_latent_ising_image(coupling):
    result = latent_image(coupling=coupling)
    print(f"\nlatent 32 x 32 Ising image, coupling {coupling}, noise sd 2, one core: magnetisation")
    print(f"  TreeGibbs: {result['tree']:.0f} effective draws per CPU second")
    print(
        f"  PyMC's BinaryGibbsMetropolis: {result['plain']:.2f}; TreeGibbs: {result['ratio']:.0f} times"
    )
    assert result["z"] < 5.0
