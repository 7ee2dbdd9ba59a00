"""Chains on a Dask cluster: the draws are those of one machine, also when workers die."""

import os
import signal
import threading

import numpy as np
import pytest
from pymc.sampling.parallel import ParallelSamplingError

import pymc_mrf as pmrf
from pymc_mrf.runs.cluster import compilers_turn
from pymc_mrf.runs.progress import Listener
from pymc_mrf.runs.store import Store
from tests.runs.models import DRAWS, RUN, TUNE, assert_same, small_model

distributed = pytest.importorskip("distributed")

N_CHAINS = 3
RUN = {**RUN, "chains": N_CHAINS, "discard_tuned_samples": False}


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            dashboard_address=":0",
            env={"PYTENSOR_FLAGS": "mode=FAST_COMPILE,cxx="},
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield cluster, client


@pytest.fixture(scope="module")
def client(cluster):
    return cluster[1]


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def expected(model):
    return pmrf.sample(DRAWS, cores=1, model=model, **RUN)


def report_every_step():
    from pymc_mrf.runs import chain

    chain.REPORT_SECONDS = 0.0


def die_after(n, once):
    """Have the first worker die whose chain has written n steps; once is a file that says that one has."""
    from pymc_mrf.runs.chain import ChainWriter

    add = ChainWriter.add

    def add_and_die(self, *args):
        add(self, *args)
        if self.head.n >= n:
            try:
                open(once, "x").close()
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)

    ChainWriter.add = add_and_die


@pytest.mark.slow
def test_draws_are_those_of_one_machine(client, model, expected, tmp_path):
    """With one worker, which dies: without a store its chain starts again."""
    client.run(die_after, TUNE, tmp_path / "died")
    before = set(client.nthreads())
    assert_same(pmrf.sample(DRAWS, client=client, model=model, **RUN), expected)
    assert before.isdisjoint(client.nthreads())


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [2, 4])
def test_draws_do_not_depend_on_the_number_of_workers(n_workers, model, expected):
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=":0",
            env={"PYTENSOR_FLAGS": "mode=FAST_COMPILE,cxx="},
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(n_workers)
        assert_same(pmrf.sample(DRAWS, client=client, model=model, **RUN), expected)


@pytest.mark.slow
def test_interrupts_deaths_and_other_workers_change_no_draw(
    cluster, model, expected, tmp_path, tmp_path_factory, monkeypatch
):
    cluster, client = cluster
    client.run(report_every_step)
    hear = Listener.hear

    def interrupt(self, chain, news):
        hear(self, chain, news)
        if news.n > TUNE:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Listener, "hear", interrupt)
        pmrf.sample(DRAWS, client=client, model=model, store=tmp_path, **RUN)
    store = Store(str(tmp_path))
    heads = [store.head(chain).n for chain in range(N_CHAINS)]
    assert max(heads) >= TUNE and min(heads) < TUNE + DRAWS
    with store.folder.locked():
        pass  # it is free again

    cluster.scale(2)
    client.wait_for_workers(2)
    before = set(client.nthreads())
    client.run(die_after, TUNE, tmp_path_factory.mktemp("deaths") / "died")
    heard, held = [], []

    def listen(self, chain, news):
        heard.append(chain)
        if not held:
            with pytest.raises(RuntimeError, match="is sampling into store="), store.folder.locked():
                pass
            held.append(True)
        return hear(self, chain, news)

    with monkeypatch.context() as patch:
        patch.setattr(Listener, "hear", listen)
        found = pmrf.sample(DRAWS, client=client, model=model, store=tmp_path, **RUN)
    assert len(before - set(client.nthreads())) == 1
    assert held and set(heard) == {c for c in range(N_CHAINS) if heads[c] < TUNE + DRAWS}
    assert_same(found, expected)


@pytest.mark.slow
def test_a_target_ends_the_run(client, model, tmp_path):
    target = {"rhat": 50.0}
    found = pmrf.sample(80, client=client, model=model, store=tmp_path, until=target, **RUN)
    assert found.posterior.sizes["chain"] == N_CHAINS and found.posterior.sizes["draw"] < 80


def test_a_store_that_workers_do_not_see(client, model, tmp_path, monkeypatch):
    begin = Store.begin

    def begin_and_hide(self, *args):
        begin(self, *args)
        self.folder.delete("run.json")

    monkeypatch.setattr(Store, "begin", begin_and_hide)
    with pytest.raises(ParallelSamplingError, match=r"tcp://.* does not see store=.*machines share"):
        pmrf.sample(DRAWS, client=client, model=model, store=tmp_path, **RUN)


@pytest.mark.slow
def test_too_many_deaths_are_told(cluster, model, tmp_path, monkeypatch):
    cluster, client = cluster
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    client.run(die_after, TUNE, tmp_path / "died")
    with pytest.raises(ParallelSamplingError) as failed:
        pmrf.sample(DRAWS, client=client, model=model, **RUN)
    failed.match(r"was on 1 workers that died.*same store to go on")
    # who holds the error holds the futures of its frames, but another death must not have their tasks run
    # again; what a client asks for comes after what it has cancelled
    client.submit(int, pure=False).result()
    assert not [key for key in cluster.scheduler.tasks if str(key).startswith("pymc_mrf")]


@pytest.mark.slow
def test_chains_stop_when_nobody_waits_for_them(cluster, model, tmp_path, monkeypatch):
    """As when the process that samples is killed: Dask then cancels its tasks."""
    cluster, client = cluster
    cluster.scale(2)
    client.wait_for_workers(2)
    client.run(report_every_step)

    def cancel(self, chain, news):
        client.cancel([distributed.Future(key, client) for key in client.futures])

    with monkeypatch.context() as patch:
        patch.setattr(Listener, "hear", cancel)
        with pytest.raises(ParallelSamplingError, match=r"the cluster has lost chain \d"):
            pmrf.sample(100_000, client=client, model=model, store=tmp_path, **RUN)
    for worker in client.nthreads():  # it is free long before such a chain ends
        client.submit(int, workers=[worker], pure=False).result(30)


def test_one_process_compiles_and_others_wait(tmp_path):
    turn = compilers_turn(str(tmp_path), b"model")
    began = threading.Event()

    def next_turn():
        began.set()
        compilers_turn(str(tmp_path), b"model").close()

    other = threading.Thread(target=next_turn)
    other.start()
    began.wait()
    compilers_turn(str(tmp_path), b"another model").close()
    assert other.is_alive()
    turn.close()
    other.join(60)
    assert not other.is_alive()
    with compilers_turn(str(tmp_path), b"model"), compilers_turn(str(tmp_path), b"model"):
        pass  # it is compiled: nobody waits


@pytest.mark.slow
def test_other_versions_on_workers_are_told(client, model, monkeypatch):
    monkeypatch.setattr("pymc_mrf.runs.fingerprint.version", lambda name: "9")
    with pytest.raises(ParallelSamplingError, match=r"has other packages: .*numpy \(9 in the store"):
        pmrf.sample(DRAWS, client=client, model=model, **RUN)


def test_a_chain_that_another_process_took_over_does_not_write(tmp_path):
    old, new = Store(str(tmp_path)), Store(str(tmp_path))
    head = old.claim(0)
    assert new.claim(0) == head
    later = head._replace(n=1, pieces=[[0, 1]])
    with pytest.raises(RuntimeError, match="another process has taken over chain 0"):
        old.commit(0, later, {}, {}, head)
    assert new.head(0) == head
    new.commit(0, later, {}, {}, head)
    assert new.head(0) == later


def test_a_chain_that_is_taken_over_while_it_writes_stays_whole(tmp_path, monkeypatch):
    """Whatever the old process had written by then: the new one goes on from what counts."""
    old, new = Store(str(tmp_path)), Store(str(tmp_path))
    head = old.claim(0)
    later = head._replace(n=1, pieces=[[0, 1]])
    old.commit(0, later, {}, {"step": 1}, head)
    write, claimed = old.folder.write, []

    def write_and_be_robbed(name, data):
        write(name, data)
        if "state-2" in name:
            claimed.append(new.claim(0))

    monkeypatch.setattr(old.folder, "write", write_and_be_robbed)
    with pytest.raises(RuntimeError, match="another process has taken over chain 0"):
        old.commit(0, later._replace(n=2, pieces=[[0, 2]]), {}, {"step": 2}, later)
    assert claimed == [later]
    assert new.head(0) == later
    assert new.state(0, 1) == {"step": 1}
    assert new.pieces(0)[0] == later


def closed(client):
    other = distributed.Client(client.scheduler.address)
    other.close()
    return other


def with_threads(client):
    other = distributed.Client(client.scheduler.address)
    other.nthreads = lambda: {"tcp://there": 4}
    return other


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"client": "tcp://there"}, TypeError, "must be a dask.distributed.Client.*not 'tcp://there'"),
        ({"client": closed}, ValueError, "client is closed: pass one that is connected"),
        ({"client": with_threads}, ValueError, r"tcp://there with 4: chains need.*threads_per_worker=1"),
        ({"cores": 2}, TypeError, "client and cores are both given"),
        ({"until": {"rhat": 1.1}}, TypeError, "until with a client.*pass store="),
        ({"store": "memory://run"}, ValueError, "in the memory of this process"),
    ],
)
def test_arguments_are_checked(options, error, message, client, model):
    made = options.get("client", client)
    made = made(client) if callable(made) else made
    with pytest.raises(error, match=message):
        pmrf.sample(DRAWS, model=model, **{**RUN, **options, "client": made})
    if isinstance(made, distributed.Client) and made is not client:
        made.close()


@pytest.mark.slow
def test_replicates_are_those_of_one_machine(cluster, caplog, monkeypatch):
    cluster, client = cluster
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)

    def experiment(seed):
        import distributed

        if seed == 5 and distributed.get_worker():
            os.kill(os.getpid(), signal.SIGKILL)
        if seed == 3:
            raise ArithmeticError("three")
        return np.random.default_rng(seed).normal()

    healthy = [6, 4, 8]
    found = pmrf.replicate(experiment, [*healthy, 3], client=client, progressbar=False)
    assert list(found.results) == healthy and list(found.failures) == [3]
    assert found.results == pmrf.replicate(experiment, healthy, progressbar=False).results
    assert "ArithmeticError: three" in found.failures[3]
    killed = pmrf.replicate(experiment, [5], client=client, progressbar=False)
    assert "KilledWorker" in killed.failures[5]
