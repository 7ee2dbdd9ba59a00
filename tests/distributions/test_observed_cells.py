"""The log-likelihood that PyMC stores is the log probability of what was observed, or NaN."""

import itertools
import warnings
from functools import partial

import arviz as az
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from scipy.special import logsumexp

import pymc_mrf as pmrf
from pymc_mrf.distributions.log_partition import ClampedLogPartition
from tests.reference.derivatives import assert_gradients

pytestmark = pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")

CYCLE = {"graph": pmrf.graphs.grid(2, 2)}  # d = r = 4
OWN = [3, 2, 3, 2]
SCORES = [[-1, 0.5, 2], [-1, 1], [0, 1, 3], [0, 2]]
N, D = 12, 4
Z = np.random.default_rng(7).standard_normal(N)
TABLES = [np.random.default_rng(8).standard_normal(shape) for shape in ((3, 2, 3), (3, 2))]
TABLES[1][2, 1] = -np.inf
NODE = np.array([0.0, 1.0, -0.5])
# class, options, states of the nodes, and the parameters of a vector v (8,) and a covariate of the rows
FIELDS = {
    "agreement": (
        pmrf.AgreementMRF, {**CYCLE, "n_states": 3}, [3] * D, lambda v, z: (pm.math.sigmoid(v[:4]),),
    ),
    "ising": (pmrf.Ising, CYCLE, [2] * D, lambda v, z: (v[:4], v[4:])),
    "boltzmann": (pmrf.BoltzmannMachine, CYCLE, [2] * D, lambda v, z: (v[:4], v[4])),
    "bias by row": (pmrf.BoltzmannMachine, CYCLE, [2] * D, lambda v, z: (v[:4], v[4:] + z * v[0])),
    "weight by row": (pmrf.BoltzmannMachine, CYCLE, [2] * D, lambda v, z: (v[:4] + z * v[4], v[4:])),
    "potts": (
        pmrf.Potts, {**CYCLE, "n_states": 3}, [3] * D, lambda v, z: (v[:4], v[4:, None] * NODE),
    ),
    "ordinal": (
        pmrf.OrdinalMRF, {**CYCLE, "n_states": OWN, "scores": SCORES}, OWN,
        lambda v, z: (v[:4], v[4:, None] * np.array([1.0, 0.4])),
    ),
    "factor graph": (
        pmrf.FactorGraphMRF, {"scopes": [(0, 1, 2), (2, 3)], "cardinalities": OWN}, OWN,
        lambda v, z: ([v[0] * TABLES[0], TABLES[1] + v[1]],),
    ),
    "factor graph by row": (
        pmrf.FactorGraphMRF, {"scopes": [(0, 1, 2), (2, 3)], "cardinalities": OWN}, OWN,
        lambda v, z: ([pt.shape_padright(v[0] + z, 2) * TABLES[0], TABLES[1] + v[1]],),
    ),
}  # fmt: skip


def data(name):
    """Rows with and without missing cells, rows without any other, and rows that are alike, (N, D)."""
    rng, cards = np.random.default_rng(12), FIELDS[name][2]
    x = np.stack([rng.integers(k, size=N) for k in cards], axis=1)
    x[:, 2] = np.minimum(x[:, 2], 1)  # possible
    x = np.ma.masked_array(x, rng.random((N, D)) < 0.4)
    x.mask[0], x.mask[1] = True, False
    x.mask[2], x[3] = [True, False, True, False], x[2]
    return x


def states(name, x):
    return 2 * x - 1 if name == "ising" else x


def declared(make, name, v, z, **options):
    """A field, by its class or by the `dist` of it, with parameters that `v` and `z` tell."""
    _, own, _, parameters = FIELDS[name]
    values = parameters(v, z)
    return make(*values, **own, **options)


def observed_model(observed, likelihood="exact", held=False):
    """Model of the fields of a dictionary with their data, as pm.Data if `held`, in one vector `v`."""
    with pm.Model() as model:
        v = pm.Normal("v", 0, 1, shape=8)
        for name, x in observed.items():
            z = Z[:, None] if x.ndim == 2 else Z[0]
            make = partial(FIELDS[name][0], name)
            x = pm.Data(f"data of {name}", states(name, x)) if held else states(name, x)
            declared(make, name, v, z, observed=x, likelihood=likelihood)
    return model


def stored(model, draws):
    """What `pm.compute_log_likelihood` stores of draws of `v`, by the name of the field."""
    point = model.initial_point()
    free = [rv.name for rv in model.free_RVs if rv.name != "v"]
    posterior = {
        name: np.broadcast_to(point[name], (*draws.shape[:2], *point[name].shape)) for name in free
    }
    idata = az.from_dict({"posterior": {"v": draws, **posterior}})
    with model:
        pm.compute_log_likelihood(idata, progressbar=False)
    return idata


def enumerated(name, x, draws):
    """Log of the sum of p over all configurations that agree with the observed cells of each row."""
    cls, _, cards, _ = FIELDS[name]
    configurations = np.array(list(itertools.product(*map(range, cards))))
    v, z = pt.vector("v", shape=(8,)), pt.scalar("z")
    logp = pm.logp(declared(cls.dist, name, v, z, likelihood="exact"), states(name, configurations))
    f = pytensor.function([v, z], logp, mode="FAST_COMPILE", on_unused_input="ignore")
    rows = np.ma.atleast_2d(x)
    out = np.empty((*draws.shape[:2], len(rows)))
    for draw in np.ndindex(draws.shape[:2]):
        for i, (row, missing) in enumerate(zip(rows.data, np.ma.getmaskarray(rows), strict=True)):
            agrees = ((configurations == row) | missing).all(axis=1)
            out[*draw, i] = logsumexp(f(draws[draw], Z[i])[agrees])
    seen = ~np.ma.getmaskarray(rows).all(axis=1)  # nothing is observed in the others
    return out[..., seen] if x.ndim == 2 else out[..., 0]


DRAWS = np.random.default_rng(5).normal(0.0, 1.5, (2, 3, 8))


@pytest.mark.parametrize("names", [*((name,) for name in FIELDS), ("ising", "potts")], ids="+".join)
@pytest.mark.ordinary("agreement", "boltzmann", "weight by row", "ordinal", "factor graph by row")
def test_probability_of_the_observed_cells(names):
    observed = {name: data(name) for name in names}
    model = observed_model(observed)
    group = stored(model, DRAWS)["log_likelihood"]
    for name, x in observed.items():
        expected = enumerated(name, x, DRAWS)
        np.testing.assert_allclose(group[name], expected, rtol=0, atol=1e-10)
        # the control: what samplers move through is the density of all cells
        assert abs(expected[0, 0].sum() - model.point_logps()[name]) > 0.1


@pytest.mark.parametrize("name", ["ising", "factor graph"])
def test_one_observation(name):
    x = data(name)[2]
    values = stored(observed_model({name: x}), DRAWS)["log_likelihood"][name]
    np.testing.assert_allclose(values, enumerated(name, x, DRAWS), rtol=0, atol=1e-10)


def test_samplers_move_through_the_density_of_all_cells():
    x = data("boltzmann")
    model = observed_model({"boltzmann": x})
    point = {**model.initial_point(), "v": DRAWS[0, 0]}
    point["boltzmann_unobserved"] = np.arange(x.mask.sum()) % 2
    complete = x.data.copy()
    complete[x.mask] = point["boltzmann_unobserved"]
    expected = enumerated("boltzmann", np.ma.masked_array(complete), DRAWS[:1, :1]).sum()
    logp = model.compile_fn(model.logp(vars=model.observed_RVs))
    np.testing.assert_allclose(logp(point), expected, rtol=1e-12)
    gradient = model.compile_dlogp(vars=[model["v"]])
    for f in (logp.f, gradient.f):  # nothing of what they need not
        ops = [getattr(node.op, "core_op", node.op) for node in f.maker.fgraph.apply_nodes]
        assert not any(isinstance(op, ClampedLogPartition) for op in ops)
    whole = model.compile_logp()

    def value_and_gradient(v):
        return whole({**point, "v": v}), gradient({**point, "v": v})

    assert_gradients(value_and_gradient, [point["v"].copy()])


@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")
@pytest.mark.parametrize("likelihood", ["pseudo", "particles"])
@pytest.mark.parametrize("kind", ["complete", "pm.Data", "missing cells", "missing rows"])
@pytest.mark.ordinary(
    "complete-pseudo", "pm.Data-particles", "missing cells-particles", "missing rows-pseudo"
)
def test_what_is_no_probability_is_nan(likelihood, kind):
    x = data("boltzmann")
    if kind == "missing rows":
        x.mask = np.arange(N)[:, None] % 3 == 0
    if not kind.startswith("missing"):
        x = x.data
    model = observed_model({"boltzmann": x}, likelihood, kind == "pm.Data")
    with model:
        pm.Normal("y", model["v"][0], 1.0, observed=np.arange(5.0))
    with pytest.warns(
        UserWarning, match=f'log-likelihood of boltzmann is NaN, as likelihood="{likelihood}"'
    ):
        idata = stored(model, np.random.default_rng(6).normal(0.0, 1.5, (2, 20, 8)))
    name = "boltzmann"
    assert (
        np.isnan(idata["log_likelihood"][name]).all() and np.isfinite(idata["log_likelihood"]["y"]).all()
    )
    assert np.isnan(az.loo(idata, var_name=name).elpd)
    with model:  # others can be asked for
        pm.compute_log_likelihood(idata, var_names=["y"], progressbar=False)
    assert list(idata["log_likelihood"].data_vars) == ["y"]
    point = {**model.initial_point(), "v": DRAWS[0, 0]}
    assert np.isfinite(model.compile_logp()(point)) and np.isfinite(model.point_logps(point)[name])


def test_log_probabilities_that_are_asked_for_by_name_are_given():
    v = pt.vector("v", shape=(8,))
    x = data("boltzmann").data
    field = declared(pmrf.BoltzmannMachine.dist, "boltzmann", v, 0.0, likelihood="pseudo")
    assert np.isfinite(pm.logp(field, x).eval({v: DRAWS[0, 0]})).all()


@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")
@pytest.mark.filterwarnings("ignore:Passing `log_likelihood` via")
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.ordinary("pseudo")
def test_sampling_goes_on(likelihood):
    x = data("boltzmann")
    model = observed_model({"boltzmann": x}, likelihood)
    with model, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        idata = pm.sample(
            20, tune=10, chains=2, cores=1, random_seed=1, progressbar=False,
            compute_convergence_checks=False, idata_kwargs={"log_likelihood": True},
        )  # fmt: skip
    values = idata["log_likelihood"]["boltzmann"]
    assert any("is NaN" in str(w.message) for w in caught) == (likelihood == "pseudo")
    if likelihood == "pseudo":
        assert np.isnan(values).all()
        return
    draws = idata["posterior"]["v"].values[:, -3:]
    np.testing.assert_allclose(values[:, -3:], enumerated("boltzmann", x, draws), rtol=0, atol=1e-10)
    assert np.isfinite(az.loo(idata).elpd)


def test_without_rewrites_nothing_is_guessed():
    model = observed_model({"boltzmann": data("boltzmann")})
    f = model.compile_fn(model.logp(), mode=Mode("py", None))
    with pytest.raises(RuntimeError, match="compiled without rewrites"):
        f(model.initial_point())
