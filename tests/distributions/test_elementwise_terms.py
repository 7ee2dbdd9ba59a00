"""What PyMC stores of the density of a hidden field is its log probability, or NaN."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from pymc.stats import compute_log_prior

import pymc_mrf as pmrf

GRAPH = pmrf.graphs.grid(2, 2)


def model(likelihood, **options):
    with pm.Model() as built:
        J = pm.HalfNormal("J", 0.5)
        x = pmrf.Ising("x", J, 0.2, graph=GRAPH, likelihood=likelihood, **options)
        pm.Normal("y", x, 1, observed=np.zeros(4))
    return built


def stored(built, rng):
    """Draws of the coupling and of the field, and what PyMC stores of their densities."""
    draws = {"J": rng.uniform(0, 1, (2, 3)), "x": rng.choice([-1, 1], (2, 3, 4))}
    with built:
        idata = compute_log_prior(az.from_dict({"posterior": draws}), progressbar=False)
    return draws, idata["log_prior"]


@pytest.mark.parametrize("likelihood", ["exact", "path"])
def test_log_prior_of_a_hidden_field(likelihood, rng):
    draws, found = stored(model(likelihood), rng)
    for k in np.ndindex(2, 3):
        tables = draws["J"][k] * np.tile([[1.0, -1.0], [-1.0, 1.0]], (4, 1, 1))
        nodes = np.tile([-0.2, 0.2], (4, 1))
        x, A = draws["x"][k], pmrf.PairwiseField(GRAPH, tables, nodes).log_partition()
        energy = draws["J"][k] * (x[GRAPH.edges[:, 0]] * x[GRAPH.edges[:, 1]]).sum() + 0.2 * x.sum()
        assert found["x"].values[k] == pytest.approx(
            energy - A, abs=1e-9 if likelihood == "exact" else 0.02
        )


@pytest.mark.parametrize("likelihood", ["pseudo", "particles"])
def test_log_prior_where_there_is_no_probability(likelihood, rng):
    built = model(likelihood)
    point, point_logp = built.initial_point(), built.compile_logp()
    before = point_logp(point)
    with pytest.warns(
        UserWarning, match=f'log prior of x is NaN, as likelihood="{likelihood}" .*var_names'
    ):
        _, found = stored(built, rng)
    assert np.isnan(found["x"].values).all() and np.isfinite(found["J"].values).all()
    assert point_logp(point) == before == pytest.approx(sum(built.point_logps(round_vals=9).values()))
