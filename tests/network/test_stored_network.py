"""A run that is stored and read in another process, without its table and its model."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from tests.network import models

pytest.importorskip("h5netcdf")
SCRIPT = Path(__file__).with_name("read_script.py")


class Stored(NamedTuple):
    """A table and a network of it, new rows, and what another process finds: edges, checks, predictions."""

    table: pd.DataFrame
    rows: pd.DataFrame
    folder: Path
    edges: pd.DataFrame
    check: pd.DataFrame
    predicted: xr.Dataset


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Networks of codes in groups and of measurements beside answers, read in one other process."""
    odd, mixed = models.odd_table(), models.mixed_table()
    new = odd[models.ODD].iloc[:9].copy()
    new.iloc[2, 1] = np.nan
    grouped = models.quietly(pmrf.network_model, odd, columns=models.ODD, groups="group")
    of_kinds = models.quietly(models.mixed_model, mixed)
    made = {"codes": (odd, new, grouped, ["y z"]), "kinds": (mixed, mixed.iloc[:6], of_kinds, [])}
    arguments, folders = [], []
    for _, rows, model, group in made.values():
        folder = tmp_path_factory.mktemp("stored")
        pmrf.Network(models.drawn(model), model).save(folder / "run.nc")
        rows.to_json(folder / "rows.json")
        arguments.append(json.dumps([str(folder), *group]))
        folders.append(folder)
    env = {
        **os.environ,
        "PYTHONPATH": str(SCRIPT.parents[2]),
        "PYTENSOR_FLAGS": "mode=FAST_COMPILE,cxx=",
    }
    command = [sys.executable, "-W", "ignore", SCRIPT, *arguments]
    ran = subprocess.run(command, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found = {}
    for (name, (table, rows, *_)), folder in zip(made.items(), folders, strict=True):
        tables = (pd.read_csv(folder / f"{part}.csv", index_col=0) for part in ("edges", "check"))
        found[name] = Stored(table, rows, folder, *tables, xr.load_dataset(folder / "predicted.nc"))
    return found


def test_codes_categories_names_and_groups_go_round(elsewhere):
    odd, _, folder, edges, check, predicted = elsewhere["codes"]
    # the same table coded from 0 by hand
    plain = models.plain_table(odd)
    options = {"n_states": [3, 3, 3, 4, 4], "groups": np.repeat([["a", "b", "c"]], 50, axis=0).ravel()}
    by_hand = models.quietly(pmrf.network_model, plain, **options)
    idata = models.drawn(by_hand)
    expected = pmrf.summarize_edges(idata, "weight_b", graph=pmrf.graphs.complete(plain.columns))
    numbers = [name for name in expected if name not in "uv"]
    np.testing.assert_allclose(edges[numbers], expected[numbers], rtol=1e-6)
    of_name = dict(zip(plain.columns, models.ODD, strict=True))
    assert edges["u"].tolist() == expected["u"].map(of_name).tolist()
    rows = plain.iloc[:9].astype(float)
    rows.iloc[2, 1] = np.nan
    expected = pmrf.predict_nodes(idata, "x_b", data=rows, model=by_hand)
    for name in ("probability", "accuracy", "explained_log_score"):
        np.testing.assert_allclose(predicted[name], expected[name], rtol=1e-6)
    assert predicted["node"].values.tolist() == models.ODD
    assert predicted["label"].sel(node="$m_1$").values.tolist() == models.LEVELS
    assert len(check) == 10
    for name in ("edges.png", "edges.graphml", "report.html"):
        assert (folder / name).stat().st_size > 1000


def test_units_and_kinds_go_round(elsewhere):
    table, _, folder, edges, _, predicted = elsewhere["kinds"]
    # the same table scaled by hand
    sd = table[["age--d", "µs"]].std()
    scaled = table.assign(
        **{name: table[name] / sd[name] for name in sd.index}, **{"o <1>": table["o <1>"] - 1}
    )
    by_hand = models.quietly(models.mixed_model, scaled)
    idata = models.drawn(by_hand)
    expected = pmrf.Network(idata, by_hand).edges
    numbers = expected.columns.drop(["u", "v", "bayes_factor_text", "evidence", "r_hat", "ess"])
    np.testing.assert_allclose(edges[numbers], expected[numbers], rtol=1e-4)
    # of ranks, which rounding may exchange
    np.testing.assert_allclose(edges[["r_hat", "ess"]], expected[["r_hat", "ess"]], rtol=0.02)
    told = pmrf.predict_nodes(idata, "x", data=scaled.iloc[:6], model=by_hand)
    np.testing.assert_allclose(predicted["mean"], told["mean"] * sd.to_numpy(), rtol=1e-5)
    np.testing.assert_allclose(predicted["sd"], told["sd"] * sd.to_numpy(), rtol=1e-5)
    np.testing.assert_allclose(predicted["probability"], told["probability"], rtol=1e-5)
    again = pmrf.Network(xr.load_datatree(folder / "run.nc"))
    with pytest.raises(ValueError, match="-999"):
        again.predict(table.iloc[:6].assign(**{"age--d": -999.0}))


def stored(model, path, idata=None):
    """A network of draws, by default of a sampler, and the same read from its store without the model."""
    net = pmrf.Network(models.sampled(model) if idata is None else idata, model)
    net.save(path)
    return net, pmrf.Network(xr.load_datatree(path))


@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
def test_zarr_keeps_the_record_too(tmp_path):
    pytest.importorskip("zarr")
    table = pd.DataFrame(models.codes(60, 2, 3), columns=["a", "b", "c"])
    net, again = stored(pmrf.network_model(table), tmp_path / "run.zarr")
    pd.testing.assert_frame_equal(net.edges, again.edges, check_index_type=False)
    xr.testing.assert_allclose(net.predict(table[:4]), again.predict(table[:4]))
    with pytest.raises(ValueError, match="sensitivity needs the model"):
        again.sensitivity()
    with pytest.raises(ValueError, match="data is 2 in row 0 of 'a'"):
        again.predict(table[:4].replace(1, 2))


def test_codes_of_missing_values_are_refused_in_new_rows(tmp_path):
    table = models.mixed_table()
    model = models.quietly(models.mixed_model, table)
    net, again = stored(model, tmp_path / "run.nc", models.drawn(model))
    assert again.kinds.ends == net.kinds.ends and again.kinds.ends[0] is None
    new = table.iloc[:2].assign(**{"age--d": [4e4, -999.0]})
    for one in (net, again):
        with pytest.raises(ValueError, match="column 'age--d' has the value -999 in 1 rows"):
            one.predict(new)


def test_runs_of_the_package_keep_the_record(tmp_path):
    pytest.importorskip("zarr")
    table = pd.DataFrame(models.codes(60, 2, 3), columns=["a", "b", "c"])
    options = {"tune": 10, "chains": 2, "cores": 1, "progressbar": False, "quiet": True}
    with pmrf.network_model(table):
        idata = pmrf.sample(20, store=tmp_path / "run", compute_convergence_checks=False, **options)
    for results in (idata, pmrf.read_store(tmp_path / "run")):
        net = pmrf.Network(results)
        assert len(net.edges) == 3 and net.predict(table[:2]).sizes["obs"] == 2


def test_what_the_record_lacks_is_asked_for_by_name(tmp_path):
    table = pd.DataFrame(models.codes(60, 3, 3), columns=["a", "b", "c"])
    _, again = stored(pmrf.network_model(table, kind="blume-capel"), tmp_path / "a.nc")
    with pytest.raises(
        ValueError, match=r"predict needs the model, .* the threshold of x, an expression"
    ):
        again.predict(table)
    _, again = stored(models.kinetic_model(), tmp_path / "b.nc")
    assert len(again.edges) == 9
    with pytest.raises(ValueError, match=r"check needs the model, .* the order of the rows of x"):
        again.check()


def test_a_record_of_another_version_is_refused(tmp_path):
    table = pd.DataFrame(models.codes(60, 2, 3), columns=["a", "b", "c"])
    net, _ = stored(pmrf.network_model(table), tmp_path / "run.nc")
    net.idata.attrs["pymc_mrf"] = net.idata.attrs["pymc_mrf"].replace('"format": 2', '"format": 0')
    with pytest.raises(ValueError, match="record of format 0, which another version of pymc_mrf wrote"):
        pmrf.Network(net.idata)
    assert len(pmrf.Network(net.idata, net.model).edges) == 3


def test_probabilities_stay_with_the_results_where_networks_are_made_again(tmp_path):
    table = pd.DataFrame(models.codes(60, 2, 3), columns=["a", "b", "c"])
    groups = np.array(["x", "y"])[np.arange(60) % 2]
    model = pmrf.network_model(table, groups=groups)
    net = pmrf.Network(models.sampled(model), model)
    assert net.prior_inclusion.tolist() == [0.5] * 3
    net.group("x")
    net.save(tmp_path / "run.nc")
    again = pmrf.Network(xr.load_datatree(tmp_path / "run.nc"))
    assert again.prior_inclusion.tolist() == [0.5] * 3
    assert again.group("x").prior_inclusion is None


@pytest.mark.parametrize(
    "field, states",
    [
        (lambda g, x: pmrf.Ising("x", _vector(g), 0.1, graph=g, observed=2 * x - 1), 2),
        (lambda g, x: pmrf.Potts("x", _vector(g), 0.0, graph=g, n_states=3, observed=x), 3),
        (lambda g, x: pmrf.AgreementMRF("x", _unit(g), graph=g, n_states=3, observed=x), 3),
        (lambda g, x: pmrf.NominalMRF("x", _blocks(g), 0.0, graph=g, n_states=3, observed=x), 3),
        (
            lambda g, x: pmrf.OrdinalMRF(
                "x",
                _vector(g),
                0.0,
                graph=g,
                n_states=3,
                scores=[[-1, 0, 2], [0, 1, 2], [0, 1, 5]],
                observed=x,
            ),
            3,
        ),
    ],
    ids=["ising", "potts", "agreement", "nominal", "scores"],
)
@pytest.mark.ordinary("ising", "agreement")
def test_fields_written_by_hand_predict_from_their_record(field, states, tmp_path):
    graph, x = pmrf.graphs.complete(list("abc")), models.codes(40, states, 3)
    with pm.Model(coords=pmrf.coords(graph)) as model:
        field(graph, x)
    net, again = stored(model, tmp_path / "run.nc")
    xr.testing.assert_allclose(net.predict(), again.predict())
    assert again.kinds == net.kinds and again.graph == net.graph


def _vector(graph):
    return pm.Normal("w", 0, 1, dims="edge")


def _unit(graph):
    return pm.Beta("w", 2, 2, dims="edge")


def _blocks(graph):
    blocks = pmrf.fields.table_sizes(graph, 3)
    return pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), blocks=blocks)
