"""The same experiment many times, each time with a seed of its own."""

import json
import logging
import pickle
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any

import cloudpickle
from rich.progress import Progress

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.graph_digest import ADDRESS
from pymc_mrf.runs.cluster import checked_client, one_at_a_time
from pymc_mrf.runs.folder import Folder, checked_location, open_folder, refuse_strangers

log = logging.getLogger("pymc.pymc_mrf")

INDEX = "replicates.json"
Attempt = tuple[bytes | None, str]  # the result, or what went wrong


@dataclass(frozen=True)
class Replicates:
    """What came of an experiment.

    Attributes
    ----------
    results : dict
        By seed, in the order of the seeds.
    failures : dict of str
        Why there is no result, by seed: the traceback.
    """

    results: dict[int, Any]
    failures: dict[int, str]


def replicate(
    function: Callable[[int], Any],
    seeds: Sequence[int],
    *,
    client: Any = None,
    store: str | PathLike | None = None,
    progressbar: bool = True,
) -> Replicates:
    """Run an experiment with many seeds, here one after the other, or on a cluster side by side.

    Parameters
    ----------
    function : callable
        Of a seed, which it has to draw all its random numbers from. On a cluster it must sample with
        ``cores=1``, and what it and its result consist of must be such as cloudpickle can send.
    seeds : sequence of int
        Different ones.
    client : dask.distributed.Client, optional
        Each seed is a task of this cluster, whose workers must have one thread each.
    store : path or str, optional
        A folder, or a URL that fsspec knows, for the results. Seeds whose results it has are not run again;
        failures are. It must be of a function of the same name and, if it is a `functools.partial`, with the
        same arguments; what it does is not looked at. Results are pickles, which may run code: do not go on
        with the store of a stranger.
    progressbar : bool, optional

    Returns
    -------
    Replicates
        Replicates fail one by one: an exception, or a worker that dies several times, is told by the seed,
        and the others go on.

    Raises
    ------
    ValueError
        For seeds that are not different integers, a store of something else, or a client that is closed or
        has workers of several threads.
    RuntimeError
        If another process uses the store.

    See Also
    --------
    sample : Whose chains are tasks, for an experiment with long ones.

    Examples
    --------
    >>> def largest(seed):
    ...     return np.random.default_rng(seed).normal(size=100).max()
    >>> list(pmrf.replicate(largest, range(20)).results.values())  # doctest: +SKIP
    """
    if not callable(function):
        raise TypeError(f"function must be callable with a seed, not {function!r}")
    seeds = [whole_number(seed, "seeds", 0) for seed in seeds]
    if not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds must be one or more different integers, not {seeds}")
    client = None if client is None else checked_client(client)
    with ExitStack() as stack:
        folder = None if store is None else _opened(store, function, stack)
        found = {} if folder is None else _stored(folder, seeds)
        missing = [seed for seed in seeds if seed not in found]
        failures: dict[int, str] = {}
        attempts = _here(function, missing) if client is None else _on(client, function, missing)
        bar = stack.enter_context(Progress(disable=not progressbar))
        for seed, (data, wrong) in bar.track(
            attempts, total=len(seeds), completed=len(found), description="Replicates"
        ):
            if data is None:
                failures[seed] = wrong
            else:
                found[seed] = data
                if folder is not None:
                    folder.write(_file(seed), data)
    if failures:
        seed, wrong = min(failures.items())
        log.warning(
            f"{len(failures)} of {len(seeds)} replicates failed; seeds: {sorted(failures)}. That of seed "
            f"{seed}: {wrong.strip().splitlines()[-1]}"
        )
    results = {seed: pickle.loads(found[seed]) for seed in seeds if seed in found}
    return Replicates(results, {seed: failures[seed] for seed in seeds if seed in failures})


def _opened(store: Any, function: Callable, stack: ExitStack) -> Folder:
    """Open the folder of a function, locked until the stack is closed."""
    location, name = checked_location(store), _name(function)
    folder = open_folder(location)
    stack.enter_context(folder.locked())
    try:
        stored = json.loads(folder.read(INDEX))["function"]
    except FileNotFoundError:
        refuse_strangers(folder, location, set())
        folder.write(INDEX, json.dumps({"function": name}).encode())
        return folder
    if stored != name:
        raise ValueError(
            f"store={location!r} has replicates of {stored}, not of {name}: pass another store"
        )
    return folder


def _name(function: Any) -> str:
    """Name of a function, with its arguments if it is a `functools.partial`."""
    if isinstance(function, partial):
        given = [
            *map(repr, function.args),
            *(f"{k}={v!r}" for k, v in sorted(function.keywords.items())),
        ]
        return f"{_name(function.func)}({ADDRESS.sub('', ', '.join(given))})"
    kind = function if hasattr(function, "__qualname__") else type(function)
    return f"{kind.__module__}.{kind.__qualname__}"


def _stored(folder: Folder, seeds: list[int]) -> dict[int, bytes]:
    names = folder.names()
    return {seed: folder.read(_file(seed)) for seed in seeds if _file(seed) in names}


def _file(seed: int) -> str:
    return f"replicate-{seed}.pickle"


def _here(function: Callable, seeds: Iterable[int]) -> Iterator[tuple[int, Attempt]]:
    for seed in seeds:
        yield seed, _attempt(seed, function)


def _on(client: Any, function: Callable, seeds: list[int]) -> Iterator[tuple[int, Attempt]]:
    """Run attempts side by side, and give them as they end."""
    from distributed import as_completed

    futures = client.map(partial(one_at_a_time, partial(_attempt, function=function)), seeds, pure=False)
    seed_of = dict(zip(futures, seeds, strict=True))
    try:
        for future in as_completed(futures):
            yield seed_of[future], _attempted(future)
    finally:
        if client.status == "running":
            client.cancel(futures)


def _attempted(future: Any) -> Attempt:
    """Wait for an attempt, also where it is made again because its worker died with the result."""
    from distributed import CancelledError

    try:
        return future.result()
    except (Exception, CancelledError) as error:  # of workers; those of the function are results
        return None, repr(error)


def _attempt(seed: int, function: Callable) -> Attempt:
    """Run one replicate; a result that cannot be pickled is a failure, too."""
    try:
        return cloudpickle.dumps(function(seed)), ""
    except Exception:
        return None, traceback.format_exc()
