"""Where compiled kernels are kept between test runs: one folder for each state of the kernels."""

import contextlib
import hashlib
import os
import shutil
from pathlib import Path

N_KEPT = 3  # folders, about 100 MB each: a run beside this one may still use its own


def cache_folder(root: Path) -> Path:
    """Folder ``.numba_cache/<digest of all kernels>`` of the repository, made if need be; old ones go.

    Numba looks at the file of a function only, so that a change in one kernel would not reach the compiled
    kernels of other files that call it.
    """
    digest = hashlib.sha256()
    for path in sorted((root / "pymc_mrf" / "kernels").glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    folder = root / ".numba_cache" / digest.hexdigest()[:16]
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)  # this one is in use
    if is_new:
        with contextlib.suppress(FileNotFoundError):  # another run removes the same ones
            others = sorted(folder.parent.iterdir(), key=lambda other: other.stat().st_mtime)
            for other in others[:-N_KEPT]:
                shutil.rmtree(other, ignore_errors=True)
    return folder
