"""Evidence read from a model: which terms belong to which node, and what is left."""

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.graph import builders
from pymc_mrf.steps.latent.latent_evidence import LatentEvidence

GRAPH = builders.grid(2, 3)
Y = np.array([0.3, -1.0, 0.9, 0.2, -0.4, 1.3])
MU = np.array([-0.5, 0.4, 2.0])


def hidden(children, batch=()):
    with pm.Model() as model:
        x = pmrf.Potts("x", 0.5, graph=GRAPH, n_states=3, shape=(*batch, 6))
        children(x)
    return model


def evidence(model):
    value = model.rvs_to_values[model["x"]]
    point = model.initial_point()
    states = np.tile(np.arange(3), (point["x"].size, 1))
    return LatentEvidence(value, model["x"].owner, model, states, point, None), point


def log_normal(y, mean, sd):
    return stats.norm.logpdf(y, mean, sd)


def class_means(x):
    return pm.Normal("mu", 0, 2, shape=3)[x]


def plain(x):
    pm.Normal("y", class_means(x), 0.7, observed=Y)


def reshaped(x):
    pm.Normal("y", class_means(x).reshape((2, 3)).T, 0.7, observed=Y.reshape(2, 3).T)


def repeated(x):
    pm.Normal("y", class_means(x), 0.7, observed=np.stack([Y, Y + 1.0]))


def channels(x):
    sd = np.array([0.5, 1.0])
    pm.Normal("y", class_means(x)[:, None], sd, observed=np.stack([Y, -Y], axis=1))


def summed(x):
    y = pm.Normal.dist(class_means(x), 0.7)
    pm.Potential("y", pm.logp(y, Y).sum())


def some_missing(x):
    y = np.ma.masked_array(Y, [False, True, False, False, True, False])
    pm.Normal("y", class_means(x), 0.7, observed=y)


def subset(x):
    pm.Normal("y", class_means(x)[np.array([4, 1, 4])], 0.7, observed=Y[:3])


def several(x):
    plain(x)
    pm.Potential("field", 0.3 * pm.math.eq(x, 1))
    pm.Normal("unrelated", 0, 1)


def expected_table(kind, mu):
    """Log weights (6, 3) from the formulas."""
    at = np.tile(mu, (6, 1))
    table = log_normal(Y[:, None], at, 0.7)
    if kind is repeated:
        table = table + log_normal(Y[:, None] + 1.0, at, 0.7)
    if kind is channels:
        table = log_normal(Y[:, None], at, 0.5) + log_normal(-Y[:, None], at, 1.0)
    if kind is subset:
        table = np.zeros((6, 3))
        table[1] = log_normal(Y[1], mu, 0.7)
        table[4] = log_normal(Y[0], mu, 0.7) + log_normal(Y[2], mu, 0.7)
    if kind is some_missing:
        table[[1, 4]] = 0.0
    if kind is several:
        table = table + 0.3 * (np.arange(3) == 1)
    return table


@pytest.mark.filterwarnings("ignore:Data in y contains missing values")
@pytest.mark.parametrize(
    "kind", [plain, reshaped, repeated, channels, summed, some_missing, subset, several]
)
def test_separable_terms(kind, rng):
    found, point = evidence(hidden(kind))
    assert found.separable
    point = point | {"mu": MU}
    read = found.read(point)
    np.testing.assert_allclose(read.table, expected_table(kind, MU), atol=1e-12)
    assert {found.residual(point, read, rng.integers(3, size=6)) for _ in range(10)} == {0.0}


def test_rows():
    y = np.array([Y, -Y])
    model = hidden(lambda x: pm.Normal("y", class_means(x), 0.7, observed=y), batch=(2,))
    found, point = evidence(model)
    assert found.separable
    table = found.read(point | {"mu": MU}).table
    np.testing.assert_allclose(table, log_normal(y.reshape(12, 1), MU, 0.7))


def test_bounds_that_depend_on_the_field_enter_with_the_jacobian(rng):
    # the value of u is its position between the bounds, so that v depends on x as well
    def children(x):
        u = pm.Uniform("u", 0.0, 1.0 + x, shape=6)
        pm.Normal("v", u, 0.5, observed=Y)

    found, point = evidence(hidden(children))
    assert found.terms == ["u", "v"] and found.separable
    z = np.linspace(-1.0, 1.5, 6)
    table = found.read(point | {"u_interval__": z}).table
    position = 1.0 / (1.0 + np.exp(-z))[:, None]
    width = 1.0 + np.arange(3)
    expected = log_normal(Y[:, None], position * width, 0.5)
    np.testing.assert_allclose(table - table[:, :1], expected - expected[:, :1], atol=1e-10)


def test_terms_without_the_field_are_left_out():
    found, point = evidence(hidden(lambda x: pm.Normal("z", 0, 1)))
    assert found.terms == [] and found.separable
    read = found.read(point)
    assert np.array_equal(read.table, np.zeros((6, 3)))
    assert found.residual(point, read, np.zeros(6, dtype=int)) == 0.0


def total(x):
    pm.Normal("y", class_means(x).sum(), 1.0, observed=1.5)


def product(x):
    pm.Potential("y", x[0] * x[1])


def correlated(x):
    pm.MvNormal("y", class_means(x), np.eye(6) + 0.3, observed=Y)


def neighbours(x):
    pm.Normal("y", class_means(x)[:-1] + 0.1 * x[1:], 0.7, observed=Y[:-1])


def all_equal(x):
    pm.Potential("y", 1.5 * pm.math.eq(x, 1).all())


@pytest.mark.parametrize("kind", [total, product, correlated, neighbours, all_equal])
def test_terms_on_several_nodes(kind, rng):
    model = hidden(kind)
    found, point = evidence(model)
    assert not found.separable
    if "mu" in point:
        point["mu"] = MU
    logp = model.compile_logp(vars=[model["y"]])
    read = found.read(point)
    gaps = []
    for _ in range(10):
        z = rng.integers(3, size=6)
        said = read.table[np.arange(6), z].sum() + found.residual(point, read, z)
        gaps.append(logp(point | {"x": z}) - said)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-10)


def test_half_of_the_terms_may_be_separable(rng):
    def children(x):
        pm.Normal("y", class_means(x), 0.7, observed=Y)
        pm.Potential("product", x[0] * x[1])

    found, point = evidence(hidden(children))
    assert not found.separable and found.terms == ["y", "product"]
    np.testing.assert_allclose(found.read(point | {"mu": MU}).table, expected_table(plain, MU))


def test_impossible_states():
    p = np.array([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]])
    y = np.array([0, 1, 1, 0, 0, 1])
    model = hidden(lambda x: pm.Categorical("y", p=pm.math.stack(list(p))[x], observed=y))
    found, point = evidence(model)
    assert found.separable
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found.read(point).table, np.log(p[:, y]).T)
