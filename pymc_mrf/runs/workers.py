"""Chains in processes of their own, which die with the process that started them."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from pymc.sampling.parallel import ExceptionWithTraceback, ParallelSamplingError

from pymc_mrf.runs.chain import Plan, Report, packed, run_chain, unpacked

GO, STOP = "go", "stop"


class Worker:
    """Process of one chain.

    Parameters
    ----------
    plan : Plan
    context : multiprocessing context
    """

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

    Parameters
    ----------
    plans : sequence of Plan
    cores : int
        Number of chains at a time.
    context : multiprocessing context
    hear : callable
        Called with a chain and its news; all chains write and stop if it returns True.

    Raises
    ------
    ParallelSamplingError
        If a chain fails, or its process is killed; the others write and stop.
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
