"""What a store refuses: other runs, other processes, places that cannot be written."""

import errno
import json
import multiprocessing
import os
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest
from pytensor import config

import pymc_mrf as pmrf
from pymc_mrf.runs import folder
from pymc_mrf.runs.fingerprint import differences, fingerprint
from pymc_mrf.runs.folder import open_folder

QUICK = {
    "tune": 5,
    "chains": 1,
    "cores": 1,
    "random_seed": 1,
    "progressbar": False,
    "quiet": True,
    "compute_convergence_checks": False,
}


def poisson_model(rate=3.0, data=(1.0, 2.0), labels=("a", "b"), other="k", dtype=float):
    with pm.Model(coords={"k": labels, "l": labels}) as model:
        n = pm.Poisson("n", rate)
        x = pm.Data("x", np.arange(2, dtype=dtype))
        pm.Normal("y", n + x, 1, observed=np.array(data), dims=other)
    return model


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    location = tmp_path_factory.mktemp("run")
    idata = pmrf.sample(20, model=poisson_model(), store=location, **QUICK)
    return location, idata


def test_a_run_that_has_ended_is_read_again(stored, monkeypatch):
    location, idata = stored
    monkeypatch.setattr("pymc_mrf.runs.sample.run_chain", None)
    again = pmrf.sample(20, model=poisson_model(), store=location, **{**QUICK, "random_seed": None})
    assert again.posterior.to_dataset().drop_attrs().identical(idata.posterior.to_dataset().drop_attrs())


@pytest.mark.parametrize(
    "options, name",
    [
        ({"random_seed": 2}, r"random_seed \(1 in the store, 2 now\)"),
        ({"draws": 30}, r"draws \(20 in the store, 30 now\)"),
        ({"tune": 6}, r"tune \(5 in the store, 6 now\)"),
        ({"chains": 2}, r"chains \(1 in the store, 2 now\)"),
        ({"var_names": []}, r"recorded variables \(\['n'\] in the store, \[\] now\)"),
        ({"metropolis": {"tune_interval": 50}}, "steps"),
    ],
)
def test_other_settings_are_refused_by_name(options, name, stored):
    with pytest.raises(ValueError, match=rf"is of another run. These differ: {name}\. Pass"):
        pmrf.sample(model=poisson_model(), store=stored[0], **{"draws": 20, **QUICK, **options})


@pytest.mark.parametrize(
    "changes, names",
    [
        ({}, []),
        ({"rate": 4.0}, ["density"]),
        ({"data": (1.0, 2.5)}, ["observed data", "density"]),
        ({"labels": ("a", "c")}, ["coords"]),
        ({"other": "l"}, ["dims", "density"]),
        ({"dtype": np.int32}, ["pm.Data", "density"]),
    ],
)
def test_other_models_are_told_by_name(changes, names):
    prints = []
    for arguments in ({}, changes):
        model = poisson_model(**arguments)
        step = pm.Metropolis([model["n"]], model=model)
        prints.append(fingerprint(model, step, ["n"], {}))
    found = [text.split(" (")[0] for text in differences(*prints)]
    assert found == names


def test_functions_that_round_otherwise_are_told_by_name(stored):
    with (
        config.change_flags(numba__fastmath=not config.numba__fastmath),
        pytest.raises(ValueError, match=r"numba__fastmath \(.* in the store, .* now\)"),
    ):
        pmrf.sample(20, model=poisson_model(), store=stored[0], **QUICK)


def test_other_versions_are_told_by_name(stored, monkeypatch):
    monkeypatch.setattr("pymc_mrf.runs.fingerprint.version", lambda name: "9")
    with pytest.raises(ValueError, match=r"version of numpy \(.* in the store, 9 now\)"):
        pmrf.sample(20, model=poisson_model(), store=stored[0], **QUICK)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"store": 3}, TypeError, "store must be a path or a URL, not 3"),
        ({"draws": 0}, ValueError, "draws must be a positive integer, not 0"),
        ({"tune": -1}, ValueError, "tune must be a non-negative integer, not -1"),
        ({"random_seed": -1}, ValueError, "random_seed must be a non-negative integer"),
        ({"random_seed": np.random.default_rng(1)}, ValueError, "which can be written down, not Gen"),
        ({"callback": print}, TypeError, "takes no callback: look at the run with pymc_mrf.read_store"),
        ({"var_names": ["m"]}, ValueError, r"var_names has 'm', which the model has not.*\['n'\]"),
    ],
)
def test_arguments_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        pmrf.sample(model=poisson_model(), **{**QUICK, **options})


def test_steps_that_need_all_chains_are_refused():
    with pm.Model() as model:
        x = pm.Normal("x")
        step = pm.DEMetropolis([x])
    with pytest.raises(ValueError, match=r"DEMetropolis moves all chains together.*DEMetropolisZ"):
        pmrf.sample(step=step, model=model, **{**QUICK, "chains": 4})


def test_other_folders_are_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ValueError, match=r"holds other files, such as 'thesis.tex'"):
        pmrf.sample(model=poisson_model(), store=tmp_path, **QUICK)
    with pytest.raises(FileNotFoundError, match="holds no run"):
        pmrf.read_store(tmp_path)


def test_a_place_that_cannot_be_written_is_refused_before_sampling(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        pmrf.sample(model=poisson_model(), store=tmp_path / "file" / "run", **QUICK)


def test_a_store_that_is_read_only_is_refused_before_sampling(stored, monkeypatch):
    def refuse(path, flags, *mode):
        if flags & os.O_RDWR:
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return os.open(path, flags, *mode)

    monkeypatch.setattr(folder, "os", SimpleNamespace(**{**vars(os), "open": refuse}))
    monkeypatch.setattr("pymc_mrf.runs.sample.prepare", None)
    with pytest.raises(OSError, match="Read-only file system"):
        pmrf.sample(20, model=poisson_model(), store=stored[0], **QUICK)


def test_a_finished_store_is_read_where_it_cannot_be_written(stored, monkeypatch):
    def refuse(*args):
        raise PermissionError("read-only")

    monkeypatch.setattr(folder.LocalFolder, "write", refuse)
    monkeypatch.setattr(folder.LocalFolder, "locked", refuse)
    assert pmrf.read_store(stored[0]).posterior.sizes == {"chain": 1, "draw": 20}


@pytest.mark.parametrize("kind", ["local", "remote"])
def test_two_processes_on_one_store(kind, stored, tmp_path, monkeypatch):
    location = str(tmp_path) if kind == "local" else f"memory://{tmp_path.name}"
    with open_folder(location).locked():
        with pytest.raises(RuntimeError, match=rf"process {os.getpid()} on .* is sampling into store="):
            pmrf.sample(20, model=poisson_model(), store=location, **QUICK)
    with open_folder(location).locked():
        pass


def test_a_lock_of_a_dead_process_is_taken_over():
    process = multiprocessing.get_context("fork").Process(target=int)
    process.start()
    process.join()
    remote = open_folder("memory://dead")
    remote.write("lock", json.dumps({"host": folder.socket.gethostname(), "pid": process.pid}).encode())
    with remote.locked():
        assert json.loads(remote.read("lock"))["pid"] == os.getpid()
    remote.write("lock", json.dumps({"host": "elsewhere", "pid": process.pid}).encode())
    with pytest.raises(RuntimeError, match=r"on elsewhere .* delete the file 'lock'"), remote.locked():
        pass


def test_a_url_is_a_store(stored):
    idata = pmrf.sample(20, model=poisson_model(), store="memory://run", **QUICK)
    assert idata.posterior.n.equals(stored[1].posterior.n)
    assert pmrf.read_store("memory://run").posterior.n.equals(idata.posterior.n)


def test_without_a_store_nothing_is_left(stored, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    idata = pmrf.sample(20, model=poisson_model(), **QUICK)
    assert idata.posterior.n.equals(stored[1].posterior.n)
    assert list(tmp_path.iterdir()) == []
