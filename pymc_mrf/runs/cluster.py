"""Chains as tasks of a Dask cluster, which takes them elsewhere when a worker dies."""

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from queue import SimpleQueue
from typing import Any, NamedTuple
from uuid import uuid4

import cloudpickle
import numpy as np
from pymc.sampling.parallel import ParallelSamplingError
from pymc.util import RandomGeneratorState

from pymc_mrf.runs.chain import Plan, Report, packed, run_chain, unpacked
from pymc_mrf.runs.fingerprint import differences, versions
from pymc_mrf.runs.folder import open_folder
from pymc_mrf.runs.store import Run, Store

# compilers and steps are not made for threads
_one_at_a_time = threading.Lock()


class Own(NamedTuple):
    """What a plan does not share with those of other chains."""

    chain: int
    start: dict[str, np.ndarray]
    rng: RandomGeneratorState


class Result(NamedTuple):
    """What comes back of a chain: its last news, and its files if no store has them."""

    news: Report | None
    files: dict[str, bytes]


def checked_client(client: Any) -> Any:
    """Return a client that can run chains, or refuse it."""
    if find_spec("distributed") is None:
        raise ImportError("client= needs Dask: pip install 'pymc-mrf[distributed]'")
    from distributed import Client

    if not isinstance(client, Client):
        raise TypeError(
            f"client must be a dask.distributed.Client, such as Client(LocalCluster()), not {client!r}"
        )
    if client.asynchronous:
        raise ValueError("client is asynchronous: make it without asynchronous=True")
    if client.status != "running":
        raise ValueError(f"client is {client.status}: pass one that is connected to its scheduler")
    for address, n_threads in client.nthreads().items():
        if n_threads > 1:
            raise ValueError(
                f"client has workers of several threads, such as {address} with {n_threads}: chains need "
                "processes of their own, such as those of LocalCluster(threads_per_worker=1)"
            )
    return client


def run_on_cluster(
    plans: Sequence[Plan],
    run: Run,
    client: Any,
    hear: Callable[[int, Report], bool],
    *,
    stored: bool,
) -> None:
    """Run chains on the workers of a cluster.

    A chain whose worker dies begins again on another worker: where the store says that it stopped, or from
    the start if only this machine has a store.

    `hear`: called with a chain and its news; all chains write and stop if it returns True. `stored`:
    whether the workers write into the store of the plans; otherwise its files come with the last draw.
    Raises a ParallelSamplingError if a chain fails, or too many workers die; the others write and stop.
    """
    from dask import config
    from distributed import CancelledError, Event, wait

    if not plans:
        return
    topic = f"pymc_mrf-{uuid4().hex}"
    inbox: SimpleQueue = SimpleQueue()
    stop = Event(topic, client=client)
    client.subscribe_topic(topic, lambda event: inbox.put(event[1]))
    # what chains share is a task of its own: data would be lost with a worker, a task is repeated
    with config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
        common = plans[0]._replace(chain=-1, start={}, rng=None)
        given = client.submit(bytes, packed(common), key=topic)
    futures = client.map(
        _run_task,
        [Own(plan.chain, plan.start, plan.rng) for plan in plans],
        given=given,
        run=run,
        topic=topic,
        stored=stored,
        pure=False,
        key=f"{topic}-chain",
    )
    waiting = {future: plan.chain for future, plan in zip(futures, plans, strict=True)}
    for future in futures:
        future.add_done_callback(inbox.put)
    folder = open_folder(plans[0].location)
    try:
        while waiting:
            news = inbox.get()
            if isinstance(news, bytes):
                stops = hear(*cloudpickle.loads(news))
            else:
                result = _result_of(news, waiting[news])
                stops = result.news is not None and hear(waiting[news], result.news)
                waiting.pop(news)
                _keep(folder, result)
            if stops:
                stop.set()
    finally:
        if client.status == "running":
            client.unsubscribe_topic(topic)
            stop.set()
            try:
                with suppress(CancelledError):
                    wait(futures)
                for future in waiting:
                    if future.status == "finished":
                        _keep(folder, future.result())
            finally:
                if client.status == "running":
                    # who catches an error holds futures: a dead worker's would be run again, into this store
                    client.cancel([given, *futures], force=True)
                    stop.clear()


def one_at_a_time(function: Callable, *args: Any) -> Any:
    """Call a function in a worker, where nothing else of this package runs meanwhile."""
    with _one_at_a_time:
        return function(*args)


def _result_of(future: Any, chain: int) -> Result:
    """Return what came back of a chain, or say why there is nothing."""
    from distributed import KilledWorker

    again = "call pymc_mrf.sample with the same store to go on"
    if future.status == "cancelled":
        raise ParallelSamplingError(f"the cluster has lost chain {chain}: {again}", chain)
    if future.status != "error":  # or "lost": its worker died, the chain runs again, and is waited for
        return future.result()
    error = future.exception()
    if isinstance(error, KilledWorker):
        raise ParallelSamplingError(
            f"chain {chain} was on {error.allowed_failures + 1} workers that died, the last of them "
            f"{error.last_worker.address}: look whether their memory is enough, and {again}",
            chain,
        ) from error
    raise ParallelSamplingError(f"Chain {chain} failed with: {error}", chain) from error


def _keep(folder: Any, result: Result) -> None:
    for name, data in result.files.items():
        folder.write(name, data)


def _run_task(own: Own, *, given: bytes, run: Run, topic: str, stored: bool) -> Result:
    from distributed import CancelledError, Event, get_worker

    worker = get_worker()
    key = worker.get_current_task()
    here = {name: run.fingerprint.get(name) for name in versions()}
    if found := differences(here, versions()):
        raise RuntimeError(f"{worker.address} has other packages: {'; '.join(found)}")
    stop, last = Event(topic), None

    def is_cancelled() -> bool:
        # as when the process that samples has died
        task = worker.state.tasks.get(key)
        return task is None or task.state != "executing"

    def report(news: Report) -> bool:
        nonlocal last
        turn.close()
        if news.n == run.tune + run.draws:
            last = news
        else:
            worker.log_event(topic, cloudpickle.dumps((own.chain, news)))
        return is_cancelled() or stop.is_set()

    with _one_at_a_time, ExitStack() as stack:
        if stop.is_set():
            return Result(None, {})
        turn = stack.enter_context(compilers_turn(os.path.dirname(worker.local_directory), given))
        plan = stack.enter_context(unpacked(given))._replace(**own._asdict())
        if stored:
            _check_store(plan.location, run, worker.address)
        else:
            # Dask clears what dead workers leave there
            place = tempfile.TemporaryDirectory(dir=worker.local_directory)
            plan = plan._replace(location=stack.enter_context(place))
        run_chain(plan, report)
        if is_cancelled():
            raise CancelledError(key)
        return Result(last, {} if stored else Store(plan.location).files(own.chain))


def compilers_turn(folder: str, given: bytes) -> ExitStack:
    """Wait for another process of this machine that compiles what this one would.

    `folder`: of this machine. `given`: what it is compiled for. Returns ExitStack: to be closed when the
    first step has been taken, so that the caches of numba and PyTensor have all.
    """
    import fcntl

    path = os.path.join(folder, f"pymc_mrf-{hashlib.sha256(given).hexdigest()[:16]}")
    turn = ExitStack()
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    turn.callback(os.close, handle)
    fcntl.flock(handle, fcntl.LOCK_EX)  # free when its process dies
    if os.fstat(handle).st_size:
        turn.close()
    else:
        turn.callback(os.write, handle, b"compiled")
    return turn


def _check_store(location: str, run: Run, address: str) -> None:
    found = Store(location).run()
    if found is None or found.fingerprint != run.fingerprint:
        raise RuntimeError(
            f"{address} does not see store={location!r}: pass a folder that all machines share, or a URL"
        )
