"""NominalMRF: plain priors, numbers of states, bad arguments."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_mrf as pmrf
from pymc_mrf.fields.families import nominal

GRAPH, N_STATES = pmrf.PairwiseGraph(range(3), [(0, 1), (2, 1), (0, 2)]), [3, 2, 4]


def test_plain_priors_have_gradients(rng):
    """One prior for all parameters, as a matrix with a row for each edge."""
    x = rng.integers(3, size=(20, 3))
    with pm.Model() as model:
        w = pm.Normal("w", 0, 1, shape=(3, 4))
        b = pm.Normal("b", 0, 1, shape=(3, 3))
        pmrf.NominalMRF("x", w, b, graph=GRAPH, n_states=3, observed=x)
        gradient = model.compile_dlogp(mode="FAST_COMPILE")
        value = model.compile_logp(mode="FAST_COMPILE")
    point = {"w": rng.normal(size=(3, 4)), "b": rng.normal(size=(3, 3))}
    h, moved = 1e-5, [{**point, "w": point["w"].copy()} for _ in range(2)]
    moved[0]["w"][1, 2] += h
    moved[1]["w"][1, 2] -= h
    slope = (value(moved[0]) - value(moved[1])) / (2 * h)
    np.testing.assert_allclose(gradient(point)[np.ravel_multi_index((1, 2), (3, 4))], slope, rtol=1e-5)


@pytest.mark.slow
def test_monte_carlo_likelihood(rng, small_samples):
    """Differences of the log density, and its slopes, near the reference beside the exact ones."""
    x = np.stack([rng.integers(k, size=150) for k in N_STATES], axis=1)
    x[:40, 2] = x[:40, 0]
    values, slopes = [], []
    w, b = rng.normal(0, 0.1, (2, 11)), rng.normal(0, 0.1, (3, 4))
    for likelihood in ("exact", "monte-carlo"):
        with pm.Model() as model:
            weight = pm.Normal("w", 0, 1, shape=11)
            pmrf.NominalMRF(
                "x", weight, b, graph=GRAPH, n_states=N_STATES, observed=x, likelihood=likelihood
            )
            value = model.compile_logp(mode="FAST_COMPILE")
            values.append(value({"w": w[0]}) - value({"w": w[1]}))
            slopes.append(model.compile_dlogp(mode="FAST_COMPILE")({"w": w[0]}))
    np.testing.assert_allclose(*values, atol=0.3)
    np.testing.assert_allclose(*slopes, atol=1.0)
    assert np.abs(slopes[0]).max() > 5.0


def test_states_are_counted(rng):
    x = np.stack([rng.integers(k, size=40) for k in N_STATES], axis=1)
    with pm.Model() as model:
        pmrf.NominalMRF("x", np.zeros(11), graph=GRAPH, observed=x)
    op = model["x"].owner.op
    assert op.family == nominal(N_STATES)
    np.testing.assert_array_equal(pmrf.fields.table_sizes(GRAPH, N_STATES), [2, 3, 6])


def refuse(match, *args, error=ValueError, **kwargs):
    with pytest.raises(error, match=match):
        pmrf.NominalMRF.dist(*args, **{"graph": GRAPH, "n_states": N_STATES, **kwargs})


def test_bad_arguments():
    refuse(r"weight has shape \(12,\) but edges have 11 parameters", np.zeros(12))
    refuse(r"give shape \(12,\), or \(3, 4\)", np.zeros((4, 3)), n_states=3)
    refuse("weight must be finite", np.full(11, np.nan))
    refuse("n_states has 2 entries but the graph has 3 nodes", np.zeros(11), n_states=[2, 3])
    refuse("between 2 and 127", np.zeros(11), n_states=[1, 2, 3])
    refuse("n_states is missing", np.zeros(11), error=TypeError, n_states=None)
    refuse(r"bias has shape", np.zeros(11), np.zeros((3, 3)))
    refuse("bias must be finite", np.zeros(11), np.full((3, 4), np.inf))


def test_path_is_for_one_number_per_edge(rng):
    x = rng.integers(3, size=(20, 3))
    with pm.Model(), pytest.raises(ValueError, match="likelihood="):
        w = pm.Normal("w", 0, 1, shape=12)
        pmrf.NominalMRF("x", w, graph=GRAPH, n_states=3, observed=x, likelihood="path")


def test_blocks_of_a_prior(rng):
    """Density of whole blocks, draws, and vectors in which a block is present in part."""
    blocks = [2, 1, 3]
    w = pmrf.SpikeAndSlab.dist([0.3, 0.5, 0.8], pm.Normal.dist(0, 2), blocks=blocks)
    value = np.array([0.0, 0.0, 1.5, 1.0, -1.0, 0.5])
    slab = pm.logp(pm.Normal.dist(0, 2), value[2:]).eval(mode="FAST_COMPILE").sum()
    expected = np.log(0.7) + np.log(0.5) + np.log(0.8) + slab
    np.testing.assert_allclose(pm.logp(w, value).eval(mode="FAST_COMPILE"), expected)
    broken = np.array([0.0, 1.0, 1.5, 1.0, -1.0, 0.5])
    assert pm.logp(w, broken).eval(mode="FAST_COMPILE") == -np.inf
    draws = pm.draw(w, 2000, random_seed=1, mode="FAST_COMPILE") != 0
    for first, size in ((0, 2), (2, 1), (3, 3)):
        assert (draws[:, first : first + size] == draws[:, [first]]).all()
    share = draws[:, [0, 2, 3]].mean(axis=0)
    np.testing.assert_allclose(share, [0.3, 0.5, 0.8], atol=0.06)


def test_bad_blocks():
    slab = pm.Normal.dist(0, 1)
    for blocks in ([2, 0], 3, [1.5], "22", []):
        with pytest.raises(ValueError, match="blocks must be the numbers of entries"):
            pmrf.SpikeAndSlab.dist(0.5, slab, blocks=blocks)
    with pytest.raises(ValueError, match="blocks add up to 3 entries, but the vector has 4"):
        pmrf.SpikeAndSlab.dist(0.5, slab, blocks=[1, 2], shape=4)
    with pytest.raises(ValueError, match="one entry for each of the 2 blocks"):
        pmrf.SpikeAndSlab.dist([0.5, 0.5, 0.5], slab, blocks=[1, 2])


def test_symbolic_weights_of_several_rows():
    """Parameters that differ between rows."""
    w = pt.zeros((5, 11))
    field = pmrf.NominalMRF.dist(w, graph=GRAPH, n_states=N_STATES)
    value = pm.logp(field, np.zeros((5, 3), dtype=int)).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(value, -np.log(24.0))
