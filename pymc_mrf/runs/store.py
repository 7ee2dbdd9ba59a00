"""What a run leaves in its folder, and what that says while it runs.

``run.json`` says which run it is; ``data.zarr.zip`` has its data. Each chain has a folder with pieces of
draws (``draws-START-END.zarr.zip``), the state of its steps, and ``head.json``, which says which of
these count. It is replaced last: a piece or a state without it, half-written or not, is as if it had
never been. ``owner`` is the last process that has begun to run the chain: others that still run it must
not write. A piece is a zip archive of a zarr group (format 3), written and read by xarray.
"""

import io
import json
import pickle
import zipfile
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import xarray as xr

from pymc_mrf.distributions.field_record import ATTRIBUTE
from pymc_mrf.runs.folder import open_folder, refuse_strangers
from pymc_mrf.runs.present_edges import Packed, attach, joined, unpack

FORMAT = 1
RUN, DATA, HEAD, OWNER = "run.json", "data.zarr.zip", "head.json", "owner"
OBSERVED = "observed_data"
SAMPLED = ("posterior", "sample_stats")

LEVEL = -5
"""How pieces are compressed: in half the time of the default, to 14 % more bytes of a network's draws."""


class Head(NamedTuple):
    """How far a chain has come.

    `n`: steps that are written, those of tuning included. `pieces`: first step of each piece, and the
    one after its last. `seconds`: that they took. `pace`: seconds per step of late.
    """

    n: int
    pieces: list[list[int]]
    seconds: float
    pace: float


class Run(NamedTuple):
    """Which run it is.

    `summaries`: "n_groups" or "edge_density", by the names of the variables of which progress shows one.
    """

    seed: Any
    tune: int
    draws: int
    chains: int
    cores: int
    summaries: dict[str, str]
    fingerprint: dict[str, str]


class Store:
    """The folder of a run.

    `location`: path or URL.
    """

    def __init__(self, location: str) -> None:
        self.location, self.folder = location, open_folder(location)
        self._owner = uuid4().hex.encode()

    def run(self) -> Run | None:
        try:
            found = json.loads(self.folder.read(RUN))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if found.pop("format") != FORMAT:
            raise ValueError(f"store={self.location!r} was written by another version of pymc_mrf")
        return Run(**found)

    def begin(self, run: Run, data: dict[str, xr.Dataset]) -> None:
        refuse_strangers(self.folder, self.location, {DATA})
        self.folder.write(DATA, to_bytes(data))
        self.folder.write(RUN, json.dumps({"format": FORMAT, **run._asdict()}, indent=1).encode())

    def data(self) -> dict[str, xr.Dataset]:
        return from_bytes(self.folder.read(DATA))

    def head(self, chain: int) -> Head:
        with suppress(FileNotFoundError):
            return Head(**json.loads(self.folder.read(f"{_of(chain)}/{HEAD}")))
        return Head(0, [], 0.0, 0.0)

    def state(self, chain: int, n: int) -> dict[str, Any]:
        return pickle.loads(self.folder.read(f"{_of(chain)}/{_state(n)}"))

    def commit(
        self, chain: int, head: Head, groups: dict[str, xr.Dataset], state: dict, old: Head
    ) -> None:
        """Write the last piece of a head and the state after it; then they count, and old ones go.

        Raises a RuntimeError if another process has claimed the chain: a cluster may think that a worker
        is dead, or its client, while it only cannot be reached.
        """
        folder, last = _of(chain), head.pieces[-1]
        self._check_owner(chain)
        self.folder.write(f"{folder}/{_piece(*last)}", to_bytes(groups))
        self.folder.write(f"{folder}/{_state(head.n)}", pickle.dumps(state, protocol=5))
        self._check_owner(chain)  # writing may have taken long
        self.folder.write(f"{folder}/{HEAD}", json.dumps(head._asdict()).encode())
        self._check_owner(chain)
        kept = {_piece(*piece) for piece in head.pieces}
        for name in {_state(old.n), *(_piece(*piece) for piece in old.pieces)} - kept:
            self.folder.delete(f"{folder}/{name}")

    def _check_owner(self, chain: int) -> None:
        if self.folder.read(f"{_of(chain)}/{OWNER}") != self._owner:
            raise RuntimeError(
                f"another process has taken over chain {chain} of store={self.location!r}"
            )

    def claim(self, chain: int) -> Head:
        """Keep other processes from writing to a chain, delete what one that was killed has left.

        Returns Head: how far the chain has come, read after the others are kept from it.
        """
        self.folder.write(f"{_of(chain)}/{OWNER}", self._owner)
        head = self.head(chain)
        counted = {HEAD, OWNER, _state(head.n), *(_piece(*piece) for piece in head.pieces)}
        for name in self.folder.names(_of(chain)) - counted:
            self.folder.delete(f"{_of(chain)}/{name}")
        return head

    def files(self, chain: int) -> dict[str, bytes]:
        names = [f"{_of(chain)}/{name}" for name in self.folder.names(_of(chain))]
        return {name: self.folder.read(name) for name in names}

    def pieces(self, chain: int) -> tuple[Head, list[dict[str, xr.Dataset]]]:
        """Read all pieces of a chain, which may go on meanwhile."""
        while True:
            head = self.head(chain)
            try:
                return head, [
                    from_bytes(self.folder.read(f"{_of(chain)}/{_piece(*p)}")) for p in head.pieces
                ]
            except FileNotFoundError:
                if self.head(chain) == head:  # it has not been replaced by a longer one
                    raise


def read_draws(store: Store, run: Run, *, warmup: bool, draws: int | None = None) -> xr.DataTree:
    """Assemble the draws of all chains as `pymc.sample` does.

    `warmup`: whether to read what was drawn while tuning. `draws`: number of draws after which chains
    are cut. Returns xarray.DataTree: chains of unequal length are cut so that most draws are left (as
    PyMC does with an interrupted run).
    """
    heads = [store.head(chain) for chain in range(run.chains)]
    most = run.draws if draws is None else draws
    chains, length = _most_draws([min(max(head.n - run.tune, 0), most) for head in heads])
    tuned = chains, run.tune
    if not length:
        tuned = _most_draws([min(head.n, run.tune) for head in heads])
    # groups by name: chains, and their first step and the one after the last
    asked = {name: (chains, run.tune, run.tune + length) for name in SAMPLED if length}
    if warmup and tuned[1]:
        asked |= {f"warmup_{name}": (tuned[0], 0, tuned[1]) for name in SAMPLED}
    parts: dict[str, list] = {name: [] for name in asked}
    for chain in range(run.chains):  # what is read of one goes before the next is read
        if any(chain in own for own, *_ in asked.values()):
            found = store.pieces(chain)
            for name, (own, start, end) in asked.items():
                if chain in own:
                    parts[name].append(_chain(*found, name.removeprefix("warmup_"), start, end))
    seconds = _duration([head.seconds for head in heads], run.cores)
    attributes = {"sampling_time": seconds, "tuning_steps": run.tune}
    groups = {name: _beside(parts.pop(name), own, attributes) for name, (own, *_) in asked.items()}
    data = store.data()
    tree = xr.DataTree.from_dict({**groups, **data})
    if OBSERVED in data and (record := data[OBSERVED].attrs.get(ATTRIBUTE)):
        tree.attrs[ATTRIBUTE] = record
    return tree


def _duration(seconds: list[float], cores: int) -> float:
    """Time of a run whose chains take so many seconds each, and begin in turn as cores are free."""
    busy = [0.0] * cores
    for of_chain in seconds:
        busy[int(np.argmin(busy))] += of_chain
    return max(busy)


def _of(chain: int) -> str:
    return f"chain-{chain}"


def _piece(start: int, end: int) -> str:
    return f"draws-{start}-{end}.zarr.zip"


def _state(n: int) -> str:
    return f"state-{n}.pickle"


def _most_draws(lengths: list[int]) -> tuple[list[int], int]:
    """Chains, and the length to which they are cut, with most draws in all."""
    length = max(lengths, key=lambda n: n * sum(other >= n for other in lengths))
    return [c for c, n in enumerate(lengths) if n >= length], length


def _chain(
    head: Head, pieces: list[dict[str, xr.Dataset]], group: str, start: int, end: int
) -> tuple[xr.Dataset, dict[str, Packed]]:
    """Draws of a chain from one step to another; no piece has both draws of tuning and others."""
    labels = pieces[0][group].coords
    parts = [
        unpack(groups[group], end - first, labels)
        for (first, _), groups in zip(head.pieces, pieces, strict=True)
        if start <= first < end
    ]
    whole = _joined([part for part, _ in parts], "draw")
    whole = whole.assign_coords(draw=np.arange(whole.sizes["draw"])) if whole.sizes else whole
    return whole, joined([packed for _, packed in parts])


def _beside(
    parts: list[tuple[xr.Dataset, dict[str, Packed]]], chains: list[int], attributes: dict[str, Any]
) -> xr.Dataset:
    found = _joined([part for part, _ in parts], "chain")
    found = found.assign_coords(chain=chains) if found.sizes else found
    return attach(found, [packed for _, packed in parts]).assign_attrs(attributes)


def _joined(parts: list[xr.Dataset], dim: str) -> xr.Dataset:
    """Join datasets that differ in one dimension only; steps without statistics leave empty ones."""
    if not parts[0].sizes:
        return parts[0]
    return xr.concat(
        parts,
        dim,
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="override",
        combine_attrs="override",
    )


def to_bytes(groups: dict[str, xr.Dataset]) -> bytes:
    """Make one file of several datasets.

    `groups`: by the names of their groups. Returns bytes: what `zarr.storage.ZipStore` reads.
    """
    from zarr.codecs import ZstdCodec
    from zarr.storage import MemoryStore

    files: dict = {}
    store = MemoryStore(files)
    for group, dataset in groups.items():
        encoding = {
            name: {"compressors": ZstdCodec(level=LEVEL), "chunks": draws.shape}
            for name, draws in dataset.data_vars.items()
            if draws.size
        }
        dataset.to_zarr(
            store, group=group, mode="a", zarr_format=3, consolidated=False, encoding=encoding
        )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:  # the arrays are compressed already
        for name, content in files.items():
            file.writestr(name, content.to_bytes())
    return archive.getvalue()


def from_bytes(data: bytes) -> dict[str, xr.Dataset]:
    from zarr.core.buffer import default_buffer_prototype
    from zarr.storage import MemoryStore

    make = default_buffer_prototype().buffer.from_bytes
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: make(archive.read(name)) for name in archive.namelist()}
    groups = sorted({name.split("/")[0] for name in files if "/" in name})
    return {
        group: xr.open_zarr(MemoryStore(files), group=group, consolidated=False, chunks=None).load()
        for group in groups
    }
