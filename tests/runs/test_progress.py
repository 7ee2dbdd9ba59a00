"""What a run says of itself while it goes on, and when it has draws enough."""

import math

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from arviz_stats import ess, rhat

import pymc_mrf as pmrf
from pymc_mrf.runs import chain as chain_module
from pymc_mrf.runs.progress import progress_of, seconds_left
from pymc_mrf.runs.store import Head, Run, Store

QUICK = {
    "tune": 10,
    "chains": 2,
    "cores": 1,
    "random_seed": 3,
    "progressbar": False,
    "quiet": True,
    "compute_convergence_checks": False,
}


@pytest.fixture(scope="module")
def model():
    """Quickly sampled, one by one: `x` mixes at once, the others slowly."""
    with pm.Model(coords={"k": ["a", "b"]}) as model:
        a = pm.Bernoulli("a", 0.5)
        pm.Bernoulli("b", 0.15 + 0.7 * a)
        pm.Bernoulli("x", 0.5, dims="k")
    return model


@pytest.fixture(autouse=True)
def written_often(monkeypatch):
    monkeypatch.setattr(chain_module, "SECONDS", 0.0)
    monkeypatch.setattr(chain_module, "COST", 0.5)


def test_effective_draws_are_those_of_arviz(model, tmp_path):
    idata = pmrf.sample(60, model=model, store=tmp_path, **QUICK)
    found = pmrf.run_progress(tmp_path)
    with np.errstate(invalid="ignore"):  # of two values, folded at the middle
        sizes, r = ess(idata.posterior.to_dataset()), rhat(idata.posterior.to_dataset())
    assert found.ess == pytest.approx(min(float(size.min()) for size in sizes.data_vars.values()))
    assert found.rhat == pytest.approx(max(float(value.max()) for value in r.data_vars.values()))
    assert (found.n_draws, found.steps) == (60, (70, 70))
    assert found.ess_entry == min(sizes.data_vars, key=lambda name: float(sizes[name].min()))
    assert found.seconds_left == 0.0
    assert str(found).startswith(
        "steps 70, 70 of 70, about 0 seconds left\n60 draws per chain: R-hat at"
    )


def test_groups_and_density_are_watched(tmp_path):
    """Their effective draws are those of the series; written by hand, as in a chain."""
    rng = np.random.default_rng(0)
    draws = rng.integers(0, 3, (2, 50, 4)) * rng.integers(0, 2, (2, 50, 1))
    summaries = {"theta": "n_groups", "w": "edge_density"}
    run = Run(1, 0, 80, 2, 2, summaries, {})
    store = Store(str(tmp_path))
    store.begin(run, {})
    assert "nothing to judge in 0 draws" in str(progress_of(store, run))
    for chain in range(2):
        values = xr.DataArray(draws[[chain]] / 2.0, dims=("chain", "draw", "edge"))
        groups = {
            "posterior": xr.Dataset({"theta": values, "w": values}),
            "sample_stats": xr.Dataset({"step": values[..., 0]}),
        }
        head = Head(50, [[0, 50]], 10.0, 0.2)
        store.claim(chain)
        store.commit(chain, head, groups, {}, store.head(chain))
    found = pmrf.run_progress(tmp_path)
    n_groups = np.array([[len(set(row)) for row in chain] for chain in draws])
    density = (draws != 0).mean(axis=2)
    expected = {"theta_n_groups": n_groups, "w_edge_density": density}
    assert set(found.summaries) == set(expected)
    for name, series in expected.items():
        size = float(ess(series, chain_axis=0, draw_axis=1))
        assert found.summaries[name] == pytest.approx(size)
        assert f"{name}: {size:.0f} effective draws" in str(found)
    assert found.seconds_left == pytest.approx(30 * 0.2)


def test_chains_at_different_values_are_no_convergence(tmp_path):
    run = Run(1, 0, 8, 2, 2, {}, {})
    store = Store(str(tmp_path))
    store.begin(run, {})
    for chain in range(2):
        x = xr.DataArray(np.full((1, 8), float(chain)), dims=("chain", "draw"))
        groups = {"posterior": xr.Dataset({"x": x}), "sample_stats": xr.Dataset({"s": x})}
        store.claim(chain)
        store.commit(chain, Head(8, [[0, 8]], 1.0, 0.1), groups, {}, store.head(chain))
    found = progress_of(store, run)
    assert (found.rhat, found.ess, found.rhat_entry) == (math.inf, 0.0, "x")
    assert not found.reaches({"rhat": 5.0})


def written_chains(location, lengths, rng, cores=1, tune=10):
    """Store of a run of 60 draws whose chains have so many steps, 2 seconds each."""
    run = Run(1, tune, 60, len(lengths), cores, {}, {})
    store = Store(str(location))
    store.begin(run, {})
    for chain, n in enumerate(lengths):
        store.claim(chain)
        pieces = [[0, min(n, tune)]] + [[tune, n]] * (n > tune)
        for k, (start, end) in enumerate(pieces if n else []):
            x = xr.DataArray(rng.standard_normal((1, end - start)), dims=("chain", "draw"))
            groups = {"posterior": xr.Dataset({"x": x}), "sample_stats": xr.Dataset({"s": x})}
            store.commit(
                chain, Head(end, pieces[: k + 1], 2.0 * end, 2.0), groups, {}, store.head(chain)
            )
    return store, run


def test_one_chain_is_judged_while_others_tune(tmp_path, rng):
    found = progress_of(*written_chains(tmp_path, (70, 5, 0), rng))
    x = pmrf.read_store(tmp_path).posterior["x"]
    assert found.ess == pytest.approx(float(ess(x.values, chain_axis=0, draw_axis=1)))
    assert math.isnan(found.rhat) and (found.n_draws, found.n_chains) == (60, 1)
    assert not found.reaches({"rhat": 1.5}) and found.reaches({"ess": 5.0})
    assert str(found).endswith(
        f"\n60 draws of 1 of 3 chains: at least {found.ess:.0f} effective draws (x)"
    )


@pytest.mark.parametrize(("cores", "seconds"), [(1, 330.0), (2, 190.0), (3, 140.0)])
def test_sampling_time_is_that_of_all_chains_of_a_core(tmp_path, rng, cores, seconds):
    written_chains(tmp_path, (70, 70, 25), rng, cores)
    assert pmrf.read_store(tmp_path).posterior.attrs["sampling_time"] == seconds


def test_time_left_counts_waiting_chains():
    run = Run(1, 10, 90, 4, 2, {}, {})
    done, half, none = Head(100, [], 5.0, 0.1), Head(50, [], 5.0, 0.3), Head(0, [], 0.0, 0.0)
    assert seconds_left([done, half, none, none], run) == pytest.approx((50 * 0.3 + 200 * 0.2) / 2)
    assert seconds_left([done, done, done, half], run) == pytest.approx(50 * 0.3)
    assert math.isnan(seconds_left([none] * 4, run))


@pytest.mark.slow
def test_a_run_ends_when_its_target_is_reached(model, tmp_path, caplog):
    """After a number of draws that depends on the draws alone: with one process, two, and resumed."""
    whole = pmrf.sample(100, model=model, **QUICK)
    target, n = {"rhat": 1.2, "ess": 40}, None
    for k in range(5, 101, 5):
        part = whole.posterior.to_dataset().isel(draw=slice(0, k))
        with np.errstate(invalid="ignore"):  # where an entry has one value in so few draws
            r = np.nanmax([v.max() for v in rhat(part).data_vars.values()])
            size = np.nanmin([v.min() for v in ess(part).data_vars.values()])
        if r <= 1.2 and size >= 40:
            n = k
            break
    assert n is not None and 10 < n < 90
    caplog.set_level("INFO", logger="pymc")
    for cores in (1, 2):
        options = {**QUICK, "cores": cores, "quiet": False}
        found = pmrf.sample(100, model=model, store=tmp_path / str(cores), until=target, **options)
        assert found.posterior.sizes["draw"] == n
        assert found.posterior.to_dataset().equals(whole.posterior.to_dataset().isel(draw=slice(0, n)))
        assert f"is reached after {n} draws" in caplog.text
    assert (
        pmrf.run_progress(tmp_path / "1").steps[0] == 110
    )  # the last chain made the first look possible
    again = pmrf.sample(100, model=model, store=tmp_path / "2", until={"ess": 1e6}, **options)
    assert again.posterior.to_dataset().equals(whole.posterior.to_dataset())
    assert "is not reached after 100 draws per chain" in caplog.text


@pytest.mark.parametrize(
    "until, message",
    [
        (400, r"until must be as \{'rhat': 1.01, 'ess': 400\}, or one of the two, not 400"),
        ({}, "until must be as"),
        ({"r_hat": 1.1}, "not {'r_hat': 1.1}"),
        ({"rhat": 1.0}, r"until\['rhat'\] must be a finite number above 1, not 1.0"),
        ({"ess": "all"}, r"until\['ess'\] must be a finite number above 0, not 'all'"),
    ],
)
def test_targets_are_checked(until, message, model):
    with pytest.raises(ValueError, match=message):
        pmrf.sample(10, model=model, until=until, **QUICK)
