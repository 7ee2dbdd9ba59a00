"""One chain: its steps, written down now and then together with all that the next step depends on.

Chains run in this process, or in processes of their own, which die with the process that started them.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import pymc as pm
import xarray as xr
from pymc.backends.base import MultiTrace
from pymc.backends.ndarray import NDArray
from pymc.sampling.parallel import ExceptionWithTraceback, ParallelSamplingError
from pymc.util import RandomGeneratorState, random_generator_from_state
from pytensor import config

from pymc_mrf.runs.present_edges import PresentDraws
from pymc_mrf.runs.store import Head, Store

SECONDS = 20.0
"""Least time between two writings."""
COST = 0.01
"""Share of the time that writing may take; where it is slow, it is done less often,"""
LONGEST = 300.0
"""but at least after these seconds: writing the draws themselves may take more, however seldom it is done."""
PART = 0.01
"""Share of a run from which on a piece is closed. A shorter one is written anew with what follows."""
MOST_BYTES = 2**27
"""Of draws that are not written yet: these are written however soon."""
REPORT_SECONDS = 0.3

GO, STOP = "go", "stop"


class Plan(NamedTuple):
    """All that the draws of a chain depend on.

    Attributes
    ----------
    location : str
        Of the store.
    chain, tune, draws : int
    step : BlockedStep or CompoundStep
    state : DataClassState
        Of the step, before any chain.
    start : dict of ndarray
    rng : RandomGeneratorState
    trace : NDArray
        An empty one, of the variables that are written down as they are.
    packed : tuple of str
        Those of which only what is not 0 is written down.
    """

    location: str
    chain: int
    tune: int
    draws: int
    step: Any
    state: Any
    start: dict[str, np.ndarray]
    rng: RandomGeneratorState
    trace: NDArray
    packed: tuple[str, ...]


def packed(plan: Plan) -> bytes:
    """Pickle a plan for another process, with how this one rounds in what it compiles."""
    return cloudpickle.dumps((config.numba__fastmath, cloudpickle.dumps(plan)))


@contextmanager
def unpacked(given: bytes) -> Iterator[Plan]:
    """Have a plan in a process that rounds as that in which it was made."""
    fastmath, plan = cloudpickle.loads(given)
    with config.change_flags(numba__fastmath=fastmath):
        yield cloudpickle.loads(plan)


class Report(NamedTuple):
    """News of a chain: steps so far, statistics of the last one, warnings since the last report."""

    n: int
    stats: list[dict[str, Any]]
    warnings: list[Any]


def run_chain(plan: Plan, report: Callable[[Report], bool]) -> None:
    """Run a chain to its end, from where its store says that it stopped.

    The draws are those of a chain that has never stopped, bit for bit where compiled functions round alike:
    the store has the point, the state of every step and that of its random generator, and nothing else is
    handed from one draw to the next.

    `report`: called now and then; the chain writes and stops if it returns True.
    """
    step, tune, total = plan.step, plan.tune, plan.tune + plan.draws
    writer = ChainWriter(plan)
    step.sampling_state = plan.state
    step.setup_chain(random_generator_from_state(plan.rng), tune, plan.draws)
    step.tune = tune > 0
    if hasattr(step, "reset_tuning"):
        step.reset_tuning()
    if hasattr(step, "iter_count"):
        step.iter_count = 0
    point, first = plan.start, writer.head.n
    if first:
        saved = writer.store.state(plan.chain, first)
        point, step.sampling_state = saved["point"], saved["state"]
    told, warnings = time.monotonic(), []
    for i in range(first, total):
        if i == tune:
            step.stop_tuning()
        point, stats = step.step(point)
        writer.add(point, stats)
        warnings += [s["warning"] for s in stats if s.get("warning") is not None]
        now = time.monotonic()
        stops = False
        if now - told > REPORT_SECONDS or warnings or i + 1 == total:
            stops = report(Report(i + 1, stats, warnings))
            told, warnings = now, []
        if stops or writer.is_full or now > writer.due or i + 1 in (tune, total):
            writer.write(point, step)
        if stops:
            return


class ChainWriter:
    """Draws of a chain that are to be written, as PyMC records them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.store = Store(plan.location)
        self.head = self.store.claim(plan.chain)
        self._cost = 0.0
        shapes = plan.trace.var_shapes.values()
        size = 8 * sum(int(np.prod(shape)) for shape in shapes)
        self._most = max(1, MOST_BYTES // max(size, 1))
        self._begin(self.head.n)
        self._wait()

    def _begin(self, start: int) -> None:
        empty = self._plan.trace
        self._start, self._closed = start, self.head
        self._trace = NDArray(
            model=empty.model,
            vars=empty.vars,
            fn=empty.fn,
            var_shapes=empty.var_shapes,
            var_dtypes=empty.var_dtypes,
        )
        self._trace.setup(min(64, self._most), self._plan.chain, self._plan.step.stats_dtypes)
        self._present = PresentDraws(self._plan.packed)

    @property
    def is_full(self) -> bool:
        """Whether draws that are not written yet take much memory."""
        return self._trace.draw_idx >= self._most or self._present.n_bytes >= MOST_BYTES

    def _wait(self) -> None:
        self._since = time.monotonic()
        self.due = self._since + min(max(SECONDS, self._cost / COST), LONGEST)

    def add(self, point: dict[str, np.ndarray], stats: list[dict[str, Any]]) -> None:
        trace = self._trace
        if trace.draw_idx == trace.draws:
            trace.setup(trace.draws, self._plan.chain, self._plan.step.stats_dtypes)
        trace.record(point, stats, in_warmup=self._start < self._plan.tune)
        self._present.add(point)

    def write(self, point: dict[str, np.ndarray], step: Any) -> None:
        plan, began = self._plan, time.monotonic()
        n = self._start + self._trace.draw_idx
        if n == self.head.n:
            return
        passed = began - self._since
        new = Head(
            n,
            [*self._closed.pieces, [self._start, n]],
            self.head.seconds + passed,
            passed / (n - self.head.n),
        )
        groups = sampled_groups(self._trace[:], plan.trace.model)
        groups["posterior"] = self._present.pack(
            groups["posterior"], plan.trace.model, with_labels=self._start == 0
        )
        state = {"point": point, "state": step.sampling_state}
        self.store.commit(plan.chain, new, groups, state, self.head)
        self.head = new
        is_long = n - self._start >= PART * (plan.tune + plan.draws)
        if n == plan.tune or is_long or self.is_full:
            self._begin(n)
        self._cost = time.monotonic() - began
        self._wait()


def sampled_groups(trace: NDArray, model: pm.Model) -> dict[str, xr.Dataset]:
    """Posterior and statistics of one chain, named and labelled by PyMC.

    `trace`: without room for more draws.
    """
    found = pm.to_inference_data(MultiTrace([trace]), model=model, save_warmup=False).children
    # PyMC leaves the warnings out of results, too: they are logged
    return {
        group: found[group].to_dataset().drop_vars(["warning", "warning_dim_0"], errors="ignore")
        for group in ("posterior", "sample_stats")
    }


class Worker:
    """Process of one chain."""

    def __init__(self, plan: Plan, context: Any) -> None:
        self.chain = plan.chain
        self.connection, remote = multiprocessing.Pipe()
        # a forked process has the compiled step as it is
        given = plan if context.get_start_method() == "fork" else packed(plan)
        self.process = context.Process(
            target=_work, args=(given, remote), daemon=True, name=f"chain {self.chain}"
        )
        self.process.start()
        remote.close()  # so that the end of the process is noticed

    def tell(self, word: str) -> None:
        """Tell the process to go on, or to write and stop."""
        with suppress(OSError):  # it has ended
            self.connection.send(word)


def run_in_processes(
    plans: Sequence[Plan], cores: int, context: Any, hear: Callable[[int, Report], bool]
) -> None:
    """Run chains in processes.

    `cores`: number of chains at a time. `hear`: called with a chain and its news; all chains write and
    stop if it returns True. Raises a ParallelSamplingError if a chain fails, or its process is killed;
    the others write and stop.
    """
    waiting = [Worker(plan, context) for plan in plans]
    active: dict[Connection, Worker] = {}
    stops = False
    try:
        while active or (waiting and not stops):
            while waiting and len(active) < cores and not stops:
                worker = waiting.pop(0)
                worker.tell(GO)
                active[worker.connection] = worker
            for connection in wait(list(active)):
                worker = active[connection]  # type: ignore[index]
                try:
                    news = worker.connection.recv()
                except EOFError:
                    worker.process.join()
                    raise ParallelSamplingError(
                        f"the process of chain {worker.chain} ended with exit code "
                        f"{worker.process.exitcode}: call pymc_mrf.sample with the same store to go on",
                        worker.chain,
                    ) from None
                if isinstance(news, Report):
                    if hear(worker.chain, news) and not stops:
                        stops = True
                        for other in active.values():
                            other.tell(STOP)
                    continue
                if news is not None:
                    message = f"Chain {worker.chain} failed with: {news}"
                    raise ParallelSamplingError(message, worker.chain) from news
                del active[connection]  # type: ignore[arg-type]
    finally:
        for worker in [*active.values(), *waiting]:
            worker.tell(STOP)
        for worker in active.values():
            _let_go(worker)
        for worker in waiting:
            worker.process.join()


def _let_go(worker: Worker) -> None:
    """Wait until a process has written and ended."""
    with suppress(EOFError, OSError):
        while worker.connection.recv() is not None:
            pass
    worker.process.join()


def _work(given: Plan | bytes, connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        with unpacked(given) if isinstance(given, bytes) else nullcontext(given) as plan:
            if connection.recv() == GO:

                def report(news: Report) -> bool:
                    connection.send(news)
                    return connection.poll()

                run_chain(plan, report)
        connection.send(None)
    except BaseException as error:
        with suppress(OSError):
            connection.send(ExceptionWithTraceback(error, error.__traceback__))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
