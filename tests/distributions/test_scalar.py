"""Scalar distributions as templates: density, draws, support; everything PyMC composes is served."""

import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.replace import graph_replace
from scipy import stats

from pymc_mrf.distributions.scalar import ScalarDistribution

# drawn by PyMC in Python rather than by numba, which PyTensor says in a warning
pytestmark = pytest.mark.filterwarnings("ignore:Numba will use object mode")

COMPOSED = {
    "LogitNormal": lambda: pm.LogitNormal.dist(0.3, 0.8),
    "Kumaraswamy": lambda: pm.Kumaraswamy.dist(2.0, 3.0),
    "Truncated": lambda: pm.Truncated.dist(pm.Gamma.dist(2.0, 1.0), upper=1.5),
    "Mixture": lambda: pm.Mixture.dist(
        w=[0.3, 0.7], comp_dists=[pm.Beta.dist(2, 5), pm.Beta.dist(6, 2)]
    ),
    "NormalMixture": lambda: pm.NormalMixture.dist([0.4, 0.6], [-1.0, 1.0], [0.3, 0.5]),
    "HalfCauchy": lambda: pm.HalfCauchy.dist(1.3),
    "HalfStudentT": lambda: pm.HalfStudentT.dist(3.0, 1.2),
    "Weibull": lambda: pm.Weibull.dist(2.0, 1.1),
    "AsymmetricLaplace": lambda: pm.AsymmetricLaplace.dist(kappa=1.5, mu=0.0, b=2.0),
    "ExGaussian": lambda: pm.ExGaussian.dist(mu=0.0, sigma=1.0, nu=1.0),
    "CustomDist": lambda: pm.CustomDist.dist(
        0.2, 1.1, dist=lambda mu, sigma, size: pm.math.exp(pm.Normal.dist(mu, sigma, size=size))
    ),
    "Interpolated": lambda: pm.Interpolated.dist(np.linspace(0, 1, 11), 1.0 + np.linspace(0, 1, 11)),
    "SkewNormal": lambda: pm.SkewNormal.dist(mu=0.0, sigma=1.0, alpha=2.0),
}


@pytest.mark.parametrize("name", COMPOSED)
@pytest.mark.ordinary("LogitNormal", "Truncated", "Mixture", "HalfStudentT", "CustomDist")
def test_density_draws_and_support_agree_with_pymc(name, rng):
    given = COMPOSED[name]()
    scalar = ScalarDistribution(given, "base")
    own = scalar.arguments
    draws = pm.draw(scalar.draws((4000,), *own), random_seed=rng)
    assert len(np.unique(draws)) == 4000
    assert stats.ks_2samp(draws, pm.draw(given, draws=1000, random_seed=rng)).pvalue > 1e-5
    x = pt.dvector()
    density = pytensor.function([x], scalar.log_density(x, *own))
    each = [float(pm.logp(given, float(v)).eval()) for v in draws[:5]]
    # PyMC keeps constants that single precision holds exactly in single precision
    np.testing.assert_allclose(density(draws[:5]), each, rtol=1e-6)
    ends = scalar.support(*own)
    lower, upper = (-np.inf, np.inf) if ends is None else (float(pt.as_tensor(e).eval()) for e in ends)
    assert lower <= draws.min() and draws.max() <= upper
    assert lower <= float(scalar.support_point(*own).eval()) <= upper


def test_parameters_are_replaced_wherever_they_enter(rng):
    mu, w = pt.dscalar("mu"), pt.dvector("w")
    components = [pm.Normal.dist(mu, 0.1), pm.Normal.dist(2 * mu, 0.1)]
    scalar = ScalarDistribution(pm.Mixture.dist(w=w, comp_dists=components), "base")
    assert set(map(str, scalar.arguments)) >= {"w", "mu"}
    given = {mu: pt.as_tensor(np.float64(5.0)), w: pt.as_tensor(np.array([0.0, 1.0]))}
    values = graph_replace(scalar.arguments, given, strict=False)
    draws = pm.draw(scalar.draws((50,), *values), random_seed=rng)
    assert np.all(np.abs(draws - 10.0) < 1.0)


def test_a_template_carries_no_model():
    with pm.Model():
        scalar = ScalarDistribution(pm.Kumaraswamy.dist(pm.HalfNormal("a"), 2.0), "base")
    assert [a.name for a in scalar.arguments] == ["a"]
    again = cloudpickle.loads(cloudpickle.dumps(scalar))
    assert again.arguments == ()
    value = float(again.log_density(pt.as_tensor(0.4), pt.as_tensor(np.float64(1.5))).eval())
    np.testing.assert_allclose(value, float(pm.logp(pm.Kumaraswamy.dist(1.5, 2.0), 0.4).eval()))


@pytest.mark.parametrize(
    ("variable", "error", "message"),
    [
        (lambda: 0.5, TypeError, "slab must be a PyMC distribution"),
        (lambda: pt.exp(pm.Normal.dist(0, 1)), TypeError, "slab Exp is not a distribution"),
        (lambda: pm.Poisson.dist(3), TypeError, "slab must be continuous"),
        (lambda: pm.Censored.dist(pm.Normal.dist(0, 1), -1, 1), TypeError, "slab must be continuous"),
        (lambda: pm.Normal.dist(0, 1, shape=2), ValueError, "slab must be scalar"),
        (
            lambda: pm.Normal.dist(0, [0.5, 2.0]),
            ValueError,
            r"slab must be scalar, but it has 1 dimensions; .* pass scale \* z, with a vector",
        ),
    ],
)
def test_bad_input(variable, error, message):
    with pytest.raises(error, match=message):
        ScalarDistribution(variable(), "slab")


def test_mixtures_with_atoms_and_model_variables_are_refused():
    with pytest.raises(TypeError, match="must be continuous"):
        ScalarDistribution(pm.HurdleGamma.dist(0.3, 2.0, 1.0), "base")
    with pm.Model(), pytest.raises(ValueError, match=r"must not be a variable of the model \(slope\)"):
        ScalarDistribution(pm.Normal("slope"), "base")
