"""Arrays that nobody may write to, also after they have been sent to another process."""

from typing import Any

import numpy as np


def read_only(kind: type, *fields: Any) -> Any:
    """Named tuple of arrays, or of such tuples, all of them read-only from now on.

    NumPy pickles an array without that mark. To numba it is part of the type: a copy of a step would
    compile all of its kernels once more. Named tuples are therefore pickled as calls of this function.
    """
    for value in fields:
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return kind(*fields)
