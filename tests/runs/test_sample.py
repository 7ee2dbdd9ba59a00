"""Runs that are killed at any moment and go on: their draws are those of a run that was not."""

import errno
import io
import itertools
import multiprocessing
import os
import signal
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc.sampling.parallel import ParallelSamplingError

import pymc_mrf as pmrf
from pymc_mrf.runs import chain as chain_module
from pymc_mrf.runs import folder
from pymc_mrf.runs.chain import ChainWriter, Plan, run_chain, run_in_processes
from pymc_mrf.runs.prepare import prepare
from pymc_mrf.runs.store import Run, Store, read_draws
from tests.marks import slow
from tests.runs.models import CLOCKS, DRAWS, RUN, TUNE, assert_same, small_model

pytestmark = pytest.mark.filterwarnings(
    # zarr and progress bars have threads of their own, which forked processes do not use
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)
FORK = multiprocessing.get_context("fork")


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def prepared(model):
    found = prepare(model, seed=4, chains=2, tune=TUNE, quiet=True)
    return found, found.step.sampling_state


@pytest.fixture(autouse=True)
def steady_clock(monkeypatch):
    """A clock that ticks whenever it is read, so that pieces are the same on every machine."""
    monkeypatch.setattr(chain_module, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    monkeypatch.setattr(chain_module, "SECONDS", 10.0)
    monkeypatch.setattr(chain_module, "COST", 1.0)
    monkeypatch.setattr(chain_module, "PART", 0.3)  # a piece is written anew once or twice


def plan_of(prepared, location, chain=0, chains=1):
    prepared, state = prepared
    store = Store(str(location))
    if store.run() is None:
        store.begin(Run(4, TUNE, DRAWS, chains, chains, {}, {}), {})
    start, rng = prepared.starts[chain], prepared.rngs[chain]
    return Plan(str(location), chain, TUNE, DRAWS, prepared.step, state, start, rng, prepared.trace, ())


def draws_of(location):
    store = Store(str(location))
    return read_draws(store, store.run(), warmup=True)


def never(news):
    return False


@pytest.fixture(scope="module")
def uninterrupted(prepared, tmp_path_factory):
    location = tmp_path_factory.mktemp("uninterrupted")
    run_chain(plan_of(prepared, location), never)
    return draws_of(location)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def killed_in(function, *args):
    """Run in a process that dies by itself."""
    process = FORK.Process(target=function, args=args)
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL


def run_until_death(plan, patch):
    patch()
    run_chain(plan, never)


def dies_at_step(k):
    def patch():
        add, count = ChainWriter.add, itertools.count(1)

        def add_and_die(self, *args):
            add(self, *args)
            if next(count) == k:
                die()

        ChainWriter.add = add_and_die

    return patch


def dies_at_file(k, moment):
    """At the k-th file: when half of it is written, before it gets its name, or after."""

    def patch():
        opened, replaced, replace = itertools.count(1), itertools.count(1), os.replace

        class HalfWritten(io.FileIO):
            def write(self, data):
                super().write(data[: len(data) // 2])
                die()

        def open_and_die(path, mode):
            dies = moment == "half" and next(opened) == k
            return HalfWritten(path, "w") if dies else open(path, mode)

        def replace_and_die(a, b):
            this = next(replaced) == k
            if this and moment == "before":
                die()
            replace(a, b)
            if this and moment == "after":
                die()

        folder.open = open_and_die
        folder.os = SimpleNamespace(**{**vars(os), "replace": replace_and_die})

    return patch


def kills(seed, n):
    """Moments in which a chain is killed; files come in threes: draws, state and head."""
    rng = np.random.default_rng(seed)
    moments = []
    for _ in range(n // 4):
        moments.append(("step", int(rng.integers(1, TUNE + DRAWS)), None))
        for moment in ("half", "before", "after"):
            moments.append(("file", int(rng.integers(1, 13)), moment))
    return moments


@pytest.mark.parametrize(
    "kind, k, moment",
    [kills(1, 4)[1], *(slow(*case) for case in [kills(1, 4)[0], *kills(1, 4)[2:], *kills(2, 12)])],
)
def test_killed_and_resumed_is_as_never_stopped(kind, k, moment, prepared, uninterrupted, tmp_path):
    plan = plan_of(prepared, tmp_path)
    killed_in(run_until_death, plan, dies_at_step(k) if kind == "step" else dies_at_file(k, moment))
    assert Store(str(tmp_path)).head(0).n < TUNE + DRAWS
    run_chain(plan, never)
    assert_same(draws_of(tmp_path), uninterrupted)
    assert not any(name.startswith(".") for name in os.listdir(tmp_path / "chain-0"))


def test_control_a_resumed_chain_needs_all_of_the_state(prepared, uninterrupted, tmp_path, monkeypatch):
    """Without the states of the random generators the draws are others: the comparison above can fail."""
    plan = plan_of(prepared, tmp_path)
    killed_in(run_until_death, plan, dies_at_step(35))
    read = Store.state

    def forgetful(self, *args):
        saved = read(self, *args)
        for state in saved["state"].methods:
            state.rng = prepared[0].rngs[1]
        return saved

    monkeypatch.setattr(Store, "state", forgetful)
    run_chain(plan, never)
    with pytest.raises(AssertionError):
        assert_same(draws_of(tmp_path), uninterrupted)


def test_pieces_are_few_and_tile_the_chain(prepared, uninterrupted, tmp_path):
    run_chain(plan_of(prepared, tmp_path), never)
    head = Store(str(tmp_path)).head(0)
    ends = [0, *itertools.chain.from_iterable(head.pieces), TUNE + DRAWS]
    assert ends[::2] == ends[1::2]
    assert TUNE in ends
    assert 3 <= len(head.pieces) <= 5
    files = {f"draws-{a}-{b}.zarr.zip" for a, b in head.pieces}
    assert set(os.listdir(tmp_path / "chain-0")) == {
        *files,
        "head.json",
        "owner",
        f"state-{head.n}.pickle",
    }


@pytest.mark.slow
def test_a_full_disk_leaves_what_was_written(prepared, uninterrupted, tmp_path, monkeypatch):
    plan = plan_of(prepared, tmp_path)
    count, sync = itertools.count(1), os.fsync

    def full(handle):
        if next(count) > 7:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(folder, "os", SimpleNamespace(**{**vars(os), "fsync": full}))
        with pytest.raises(OSError, match="No space left"):
            run_chain(plan, never)
    assert 0 < Store(str(tmp_path)).head(0).n < TUNE + DRAWS
    run_chain(plan, never)
    assert_same(draws_of(tmp_path), uninterrupted)


def test_a_running_store_is_read(prepared, uninterrupted, tmp_path):
    """All that the last head counts, also before tuning has ended, and nothing of a half-written piece."""
    plan = plan_of(prepared, tmp_path)
    assert "posterior" not in pmrf.read_store(tmp_path).children
    for k in (25, 66):
        run_chain(plan, lambda news, k=k: news.n >= k)
    n = Store(str(tmp_path)).head(0).n
    (tmp_path / "chain-0" / f"draws-{n}-{n + 9}.zarr.zip").write_bytes(b"half")
    found = pmrf.read_store(tmp_path)
    assert TUNE < n < TUNE + DRAWS
    xr.testing.assert_identical(
        found.posterior.to_dataset().drop_attrs(),
        uninterrupted.posterior.to_dataset().drop_attrs().isel(draw=slice(0, n - TUNE)),
    )
    assert found.warmup_posterior.sizes["draw"] == TUNE


def test_draws_are_those_of_pymc_whatever_the_processes(model, tmp_path):
    expected = pm.sample(DRAWS, cores=1, model=model, discard_tuned_samples=False, **RUN)
    found = pmrf.sample(DRAWS, cores=2, model=model, store=tmp_path, discard_tuned_samples=False, **RUN)
    assert_same(found, expected)
    attributes = {"tuning_steps", "sampling_time", "inference_library"}
    assert attributes <= set(found.posterior.attrs)
    assert_same(pmrf.read_store(tmp_path), found)


@pytest.mark.slow
def test_workers_die_with_their_parent_and_free_the_store(prepared, uninterrupted, tmp_path):
    plans = [plan_of(prepared, tmp_path, chain, chains=2) for chain in range(2)]
    store = Store(str(tmp_path))

    def run():
        with store.folder.locked():
            run_in_processes(plans, 2, FORK, lambda chain, news: news.n > 20 and die())

    killed_in(run)
    with store.folder.locked():  # waits for the workers, which have the lock of their parent
        heads = [store.head(chain) for chain in range(2)]
        assert all(head.n < TUNE + DRAWS for head in heads)
        run_in_processes(plans, 2, FORK, lambda chain, news: False)
    found = draws_of(tmp_path)
    assert found.posterior.sizes["chain"] == 2
    for group, expected in uninterrupted.children.items():
        first = found[group].to_dataset().isel(chain=[0]).drop_attrs()
        xr.testing.assert_identical(
            first.drop_vars(CLOCKS, errors="ignore"),
            expected.to_dataset().drop_attrs().drop_vars(CLOCKS, errors="ignore"),
        )


@pytest.mark.slow
def test_a_killed_worker_is_told_of_and_the_others_write(prepared, tmp_path, monkeypatch):
    plans = [plan_of(prepared, tmp_path, chain, chains=2) for chain in range(2)]
    add = ChainWriter.add

    def add_and_die(self, *args):
        add(self, *args)
        if self._plan.chain == 1 and self.head.n > 0:
            die()

    monkeypatch.setattr(ChainWriter, "add", add_and_die)
    with pytest.raises(ParallelSamplingError, match=r"chain 1 ended with exit code -9.*same store"):
        run_in_processes(plans, 2, FORK, lambda chain, news: False)
    assert all(Store(str(tmp_path)).head(chain).n > 0 for chain in range(2))


@pytest.mark.slow
def test_a_failing_chain_says_why(prepared, tmp_path, monkeypatch):
    def fail(self, *args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Store, "commit", fail)
    with pytest.raises(ParallelSamplingError, match=r"Chain 0 failed with.*No space left"):
        run_in_processes([plan_of(prepared, tmp_path)], 1, FORK, lambda chain, news: False)
