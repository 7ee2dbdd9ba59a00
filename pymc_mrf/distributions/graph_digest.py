"""Digests of symbolic graphs and the numbers in them: the same where two graphs compute the same."""

import hashlib
import re
from typing import Any

import numpy as np
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import ancestors
from pytensor.printing import debugprint

ADDRESS = re.compile(r"0x[0-9a-fA-F]+")  # of objects in memory, in what they print


def digest(*parts: str | bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else part)
        found.update(b"\0")
    return found.hexdigest()[:16]


def array_digest(value: Any) -> str:
    if not isinstance(value, np.ndarray | np.number | int | float | bool):
        return digest(ADDRESS.sub("", repr(value)))  # slices, sparse matrices, None
    array = np.asarray(value)
    return digest(str(array.dtype), str(array.shape), np.ascontiguousarray(array).tobytes())


def digest_of(variable: Variable) -> str:
    if isinstance(variable, Constant):
        return array_digest(variable.data)
    if isinstance(variable, SharedVariable):
        return array_digest(variable.get_value(borrow=True))
    return graph_digest(variable)


def graph_digest(variables: Variable | list[Variable]) -> str:
    """Digest of a graph: its text, and the numbers in it. Those of random generators make no difference."""
    listed = variables if isinstance(variables, list) else [variables]
    text = debugprint(listed, file="str", print_type=True)
    found = list(ancestors(listed))
    numbers = [
        digest_of(v)
        for v in found
        if isinstance(v, Constant)
        or (
            isinstance(v, SharedVariable)
            and not isinstance(v.get_value(borrow=True), np.random.Generator)
        )
    ]
    inner = [
        graph_digest(list(v.owner.op.inner_outputs))
        for v in found
        if v.owner is not None and isinstance(v.owner.op, OpFromGraph)
    ]
    return digest(ADDRESS.sub("", text), *numbers, *inner)
