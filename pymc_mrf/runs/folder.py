"""Files that are there whole or not at all, in a folder of this machine or at any URL that fsspec knows."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PATIENCE = 10.0
"""Seconds within which the processes of a run that was just killed have gone."""


class LocalFolder:
    """A folder of this machine.

    A file is written under a temporary name, forced to the disk and renamed, which POSIX systems do at once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise

    def names(self, under: str = "") -> set[str]:
        """Names of the files and folders in one folder, half-written ones included."""
        folder = self.path / under
        return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()

    def delete(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others out.

        The lock is that of the system (flock): it is free as soon as all processes that have it are dead.
        Those that are forked from this one have it too.

        Raises a RuntimeError if another process has it.
        """
        import fcntl

        self.path.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            deadline = time.monotonic() + PATIENCE
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    owner = _owner(os.pread(handle, 1000, 0))
                    if _lives(owner) is not False or time.monotonic() > deadline:
                        raise RuntimeError(_refusal(str(self.path), owner)) from None
                time.sleep(0.05)
            os.ftruncate(handle, 0)
            os.pwrite(handle, _this_process(), 0)
            yield
        finally:
            os.close(handle)


class RemoteFolder:
    """A folder at a URL. Object stores write a file at once, which is supposed of all others."""

    def __init__(self, url: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise ImportError(
                f"store={url!r} is a URL, which needs fsspec: pip install 'pymc-mrf[store]'"
            ) from error
        self.url = url
        # a copy of its own: connections do not survive in forked processes
        self._fs, self._root = url_to_fs(url, skip_instance_cache=True)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}".rstrip("/")

    def read(self, name: str) -> bytes:
        return self._fs.cat_file(self._path(name))

    def write(self, name: str, data: bytes) -> None:
        path = self._path(name)
        self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._fs.pipe_file(path, data)

    def names(self, under: str = "") -> set[str]:
        self._fs.invalidate_cache()
        try:
            paths = self._fs.ls(self._path(under), detail=False)
        except FileNotFoundError:
            return set()
        return {path.rstrip("/").rpartition("/")[2] for path in paths}

    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._fs.rm_file(self._path(name))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others out by a file that names this process.

        That of a dead process of this machine is taken over.

        Raises a RuntimeError if another process has it, or had it on another machine.
        """
        with suppress(FileNotFoundError):
            owner = _owner(self.read("lock"))
            if _lives(owner) is not False:
                remedy = ". If that process is dead, delete the file 'lock' of the store"
                raise RuntimeError(_refusal(self.url, owner) + remedy)
            self.delete("lock")
        self._fs.makedirs(self._root, exist_ok=True)
        try:
            self._fs.pipe_file(self._path("lock"), _this_process(), mode="create")
        except FileExistsError:
            raise RuntimeError(_refusal(self.url, _owner(self.read("lock")))) from None
        try:
            yield
        finally:
            self.delete("lock")


Folder = LocalFolder | RemoteFolder


def checked_location(store: Any) -> str:
    """Return the URL of a store, or its path from the root, which is the same for all processes."""
    if not isinstance(store, str | os.PathLike) or not os.fspath(store):
        raise TypeError(f"store must be a path or a URL, not {store!r}")
    location = str(os.fspath(store))
    return location if "://" in location else os.path.abspath(location)


def refuse_strangers(folder: Folder, location: str, own: set[str]) -> None:
    """Refuse a folder with files that are not of this package."""
    strangers = {name for name in folder.names() - {"lock", *own} if not name.startswith(".")}
    if strangers:
        raise ValueError(
            f"store={location!r} holds other files, such as {min(strangers)!r}: pass a folder that is new "
            "or empty"
        )


def open_folder(location: str) -> Folder:
    """Open a folder by its path or URL; it need not exist."""
    return RemoteFolder(location) if "://" in location else LocalFolder(Path(location))


def _this_process() -> bytes:
    return json.dumps({"host": socket.gethostname(), "pid": os.getpid()}).encode()


def _owner(text: bytes) -> dict[str, Any]:
    try:
        return json.loads(text)
    except ValueError:  # being written
        return {}


def _lives(owner: dict[str, Any]) -> bool | None:
    """Whether the owner of a lock lives; None if nobody knows."""
    if owner.get("host") != socket.gethostname():
        return None
    try:
        os.kill(owner["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _refusal(location: str, owner: dict[str, Any]) -> str:
    who = f"process {owner['pid']} on {owner['host']}" if owner else "another process"
    return (
        f"{who} is sampling into store={location!r}: wait for it, look at it with "
        "pymc_mrf.read_store, or pass another store"
    )
