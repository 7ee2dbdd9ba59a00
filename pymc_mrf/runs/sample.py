"""`pymc.sample` that goes on where it stopped."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from os import PathLike
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pymc.stats.convergence import log_warnings, run_convergence_checks

from pymc_mrf.checks import flag, whole_number
from pymc_mrf.distributions.field_record import keep_records, records_of
from pymc_mrf.distributions.spike_and_slab import has_large_blocks
from pymc_mrf.runs.chain import Plan, run_chain, run_in_processes
from pymc_mrf.runs.cluster import checked_client, run_on_cluster
from pymc_mrf.runs.fingerprint import differences, fingerprint
from pymc_mrf.runs.folder import checked_location
from pymc_mrf.runs.prepare import (
    PreparedRun,
    ProgressBars,
    cpu_count,
    prepare,
    print_steps,
    quiet_logging,
)
from pymc_mrf.runs.present_edges import some_entries
from pymc_mrf.runs.progress import Listener, RunProgress, checked_target, progress_of
from pymc_mrf.runs.store import OBSERVED, Run, Store, read_draws
from pymc_mrf.steps.edges.edge_step import is_spike_and_slab
from pymc_mrf.steps.groups.group_step import is_dirichlet_process


def sample(
    draws: int = 1000,
    *,
    tune: int | None = None,
    chains: int | None = None,
    cores: int | None = None,
    store: str | PathLike | None = None,
    client: Any = None,
    until: Mapping[str, float] | None = None,
    random_seed: int | Sequence[int] | None = None,
    progressbar: Any = True,
    progressbar_theme: Any = None,
    quiet: bool = False,
    discard_tuned_samples: bool = True,
    compute_convergence_checks: bool = True,
    model: pm.Model | None = None,
    **kwargs,
) -> xr.DataTree:
    """Sample as `pymc.sample` does, and go on where a run stopped.

    Steps, starts, random numbers and so the draws are those of `pymc.sample` with the same arguments. Each
    chain writes its draws, statistics and the states of its steps to the store every 20 seconds, or where
    writing takes long less often, but at least every five minutes. Called again with the same store, after
    an interrupt, a crash or the end of the machine, chains go on where they were last written, and the
    draws are those of a run that never stopped, bit for bit if functions come from the cache, or are compiled
    under ``pytensor.config.numba__fastmath = False``.

    Parameters
    ----------
    draws, tune, chains, cores, progressbar, progressbar_theme, quiet, discard_tuned_samples, \
compute_convergence_checks, model
        As in `pymc.sample`.
    store : path or str, optional
        A folder that is new, empty, or of the same run; or a URL that fsspec knows, such as
        ``"s3://bucket/run"``. By default a temporary folder, which goes at the end. States are pickles, which
        may run code: do not go on with the store of a stranger.
    client : dask.distributed.Client, optional
        Each chain is a task of this cluster, whose workers must have one thread each. The draws are the
        same. A chain whose worker dies goes on elsewhere from where the store says that it stopped, without
        a store from the start. All workers must see the store: a folder that they share, or a URL.
    until : dict, optional
        Stop before `draws` when all entries are as good as this, as in ``{"rhat": 1.01, "ess": 400}``: the
        largest rank-normalised split R-hat, the fewest effective draws of all chains together (bulk). Looked
        at whenever all chains have another twentieth of the draws, which are then all that is returned,
        whatever was drawn meanwhile. Entries with one value in 99 of 100 draws are left out, as by
        `diagnose`. Each look is a chance to stop by luck, and chains that have all missed a mode agree:
        choose strict targets.
    random_seed : int or sequence of int, optional
        By default the seed of the store, or a new one.
    **kwargs
        Others of `pymc.sample`: `step`, `var_names`, `initvals`, `init`, `jitter_max_retries`, `n_init`,
        `mp_ctx`, `backend`, `compile_kwargs`, `target_accept`, and options of steps.

    Returns
    -------
    xarray.DataTree
        As of `pymc.sample`, with the record that a `Network` reads. After an interrupt (Ctrl-C) what has been
        written, of as many chains and draws as most draws are left with.

    Raises
    ------
    ValueError
        If the store is of another run: it names what differs (seed, number of draws, model, data, steps,
        versions of packages). For a client that is closed, or with workers of several threads.
    ParallelSamplingError
        If a chain fails, or its process or too many workers die. What was written before counts.
    RuntimeError
        If another process samples into the store.
    OSError
        If the store cannot be written. What was written before counts.
    ImportError
        If zarr is missing, or Dask with a client.
    TypeError
        For arguments of `pymc.sample` that make no sense here, or together.

    See Also
    --------
    read_store : What there is so far.

    Notes
    -----
    Of a `SpikeAndSlab` with 10,000 edges or more only those present in a draw are kept, in the store and in
    memory: 1,000 draws of four chains of 523,776 edges, of which some 1,300 are present, take .1 GB in place
    of 17. The variable has its usual dimensions; what is taken of it, as by ``sel``, is expanded then, and
    all of it by ``values``. `summarize_edges`, `median_graph` and `analysis.edge_inclusion` expand a
    part at a time. R-hat and effective draws, for warnings and `until`, are those of 2,000 of its edges.
    """
    draws = whole_number(draws, "draws", 1)
    tune = None if tune is None else whole_number(tune, "tune", 0)
    if client is not None:
        _check_beside_client(store, cores, until)
        client = checked_client(client)
    cores = min(4, cpu_count()) if cores is None else whole_number(cores, "cores", 1)
    chains = max(2, cores) if chains is None else whole_number(chains, "chains", 1)
    if client is not None:
        cores = max(1, len(client.nthreads()))
    quiet = flag(quiet, "quiet")
    model = pm.modelcontext(model)
    target = checked_target(until)
    _check_zarr()
    with _locked(store) as folder:
        stored = folder.run()
        seed = _seed(random_seed, stored)
        with quiet_logging(quiet):
            prepared = prepare(model, seed=seed, chains=chains, tune=tune, quiet=quiet, **kwargs)
            settings = {"random_seed": seed, "tune": prepared.tune, "draws": draws, "chains": chains}
            run = Run(
                seed,
                prepared.tune,
                draws,
                chains,
                min(cores, chains),
                _summaries(model),
                fingerprint(
                    model, prepared.step, [*prepared.trace.varnames, *prepared.packed], settings
                ),
            )
            if stored is None:
                folder.begin(run, _data(model))
            elif found := differences(stored.fingerprint, run.fingerprint):
                raise ValueError(
                    f"store={folder.location!r} is of another run. These differ: {'; '.join(found)}. Pass "
                    "what it was made with, or another store"
                )
            plans = _plans(folder, run, prepared)
            bars = ProgressBars(
                step_method=prepared.step,
                chains=chains,
                draws=draws,
                tune=prepared.tune,
                progressbar=progressbar and not quiet,
                progressbar_theme=progressbar_theme,
            )
            listener = Listener(folder, run, bars, target)
            if not listener.reached():
                print_steps(prepared.step)
                with suppress(KeyboardInterrupt), bars:
                    if client is None:
                        _run(plans, run, prepared, listener)
                    else:
                        run_on_cluster(plans, run, client, listener.hear, stored=store is not None)
                listener.conclude()
            idata = read_draws(folder, run, warmup=not discard_tuned_samples, draws=listener.n_draws)
            if compute_convergence_checks and "posterior" in idata:
                log_warnings(run_convergence_checks(some_entries(idata), model))
    return idata


def run_progress(store: str | PathLike) -> RunProgress:
    """Estimate when a run ends, and how many effective draws it has so far.

    Parameters
    ----------
    store : path or str
        As in `sample`. It is not changed, and need not be writeable.

    Returns
    -------
    RunProgress
        Printed in a few lines; time left, largest R-hat, slowest entry and its effective draws, and those of
        the number of groups and the density of the network.

    Raises
    ------
    FileNotFoundError
        If there is no run.
    """
    return progress_of(*_opened(store))


def read_store(store: str | PathLike) -> xr.DataTree:
    """Read what a run has written so far; it may go on meanwhile.

    Parameters
    ----------
    store : path or str
        As in `sample`. It is not changed, and need not be writeable.

    Returns
    -------
    xarray.DataTree
        As of `sample`, with the draws of tuning in ``warmup_posterior`` and ``warmup_sample_stats``. Chains
        of unequal length are cut so that most draws are left. Without any draws yet, data only.

    Raises
    ------
    FileNotFoundError
        If there is no run.

    See Also
    --------
    sample : Make or continue it.

    Examples
    --------
    >>> az.rhat(pmrf.read_store("senate"))  # doctest: +SKIP
    """
    return read_draws(*_opened(store), warmup=True)


def _opened(store: str | PathLike) -> tuple[Store, Run]:
    _check_zarr()
    folder = Store(checked_location(store))
    run = folder.run()
    if run is None:
        raise FileNotFoundError(f"store={folder.location!r} holds no run: pymc_mrf.sample makes one")
    return folder, run


def _run(plans: list[Plan], run: Run, prepared: PreparedRun, listener: Listener) -> None:
    """Run chains on this machine."""
    if run.cores > 1:
        run_in_processes(plans, run.cores, prepared.context, listener.hear)
    else:
        for plan in plans:
            run_chain(plan, partial(listener.hear, plan.chain))


def _plans(folder: Store, run: Run, prepared: PreparedRun) -> list[Plan]:
    state = prepared.step.sampling_state
    return [
        Plan(
            folder.location,
            chain,
            run.tune,
            run.draws,
            prepared.step,
            state,
            prepared.starts[chain],
            prepared.rngs[chain],
            prepared.trace,
            prepared.packed,
        )
        for chain in range(run.chains)
        if folder.head(chain).n < run.tune + run.draws
    ]


def _check_beside_client(store: Any, cores: Any, until: Any) -> None:
    """Refuse what makes no sense with a client."""
    if cores is not None:
        raise TypeError("client and cores are both given: the workers of the client are its cores")
    if until is not None and store is None:
        raise TypeError("until with a client looks into the store: pass store=, which all workers see")
    if isinstance(store, str) and store.startswith("memory://"):
        raise ValueError(f"store={store!r} is in the memory of this process, which no worker sees")


def _check_zarr() -> None:
    if find_spec("zarr") is None:
        raise ImportError("pymc_mrf.sample writes its draws with zarr: pip install 'pymc-mrf[store]'")


@contextmanager
def _locked(store: str | PathLike | None) -> Iterator[Store]:
    """Keep others out of a store, or of a temporary one that goes at the end."""
    with ExitStack() as stack:
        if store is None:
            location = stack.enter_context(tempfile.TemporaryDirectory(prefix="pymc_mrf-"))
        else:
            location = checked_location(store)
        opened = Store(location)
        stack.enter_context(opened.folder.locked())
        yield opened


def _seed(given: Any, stored: Run | None) -> int | list[int]:
    """Seed of a run: as given, of the store, or a new one."""
    if given is None:
        return stored.seed if stored is not None else int(np.random.default_rng().integers(2**63))
    several = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    try:
        seeds = [whole_number(seed, "random_seed", 0) for seed in (given if several else [given])]
    except ValueError:
        raise ValueError(
            "random_seed must be a non-negative integer, several of them, or None, which can be written "
            f"down, not {given!r}"
        ) from None
    return seeds if several else seeds[0]


def _summaries(model: pm.Model) -> dict[str, str]:
    """Find what is worth watching of the variables of a model."""
    groups = {rv.name: "n_groups" for rv in model.free_RVs if is_dirichlet_process(rv)}
    edges = [rv for rv in model.free_RVs if is_spike_and_slab(rv) and not has_large_blocks(rv)]
    return groups | {rv.name: "edge_density" for rv in edges}


def _data(model: pm.Model) -> dict[str, xr.Dataset]:
    """Observed and constant data, as PyMC gives them, with a record of the fields."""
    found = pm.to_inference_data(posterior_predictive={}, model=model).children
    data = {group: found[group].to_dataset() for group in (OBSERVED, "constant_data") if group in found}
    if OBSERVED in data and (records := records_of(model)):
        keep_records(data[OBSERVED], records, {})
    return data
