"""Ops with numba implementations of their own: late registration, and a stamp for PyTensor's cache.

Importing PyTensor's numba dispatch takes longer than importing all the rest of this package, so that an Op is
registered when its first instance is made or unpickled.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type, grad_not_implemented
from pytensor.graph import Apply, Op

SOURCES = ("distributions", "graph", "kernels", "likelihood")
"""Folders with all that compiled functions run, or contain as constants."""

on_first_use: list[Callable[[], None]] = []
"""Called when the first Op of the package is made or unpickled, and emptied: what is not needed before."""


@cache
def source_version() -> int:
    """Integer that changes with the sources and their compiler, which the cache's own key does not see."""
    from pymc_mrf.kernels import _jit  # imports numba

    package, digest = Path(__file__).parents[1], hashlib.sha256(bytes([_jit.PLAIN]))
    for folder in SOURCES:
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:7], "big")


_registered: set[type] = set()


def _register(op_type: type) -> None:
    if op_type in _registered:
        return
    _registered.add(op_type)
    from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
    from pytensor.link.numba.dispatch.random import numba_core_rv_funcify

    def compiled(op, node=None, **kwargs):
        return numba_njit(op.implementation(numba_njit)), source_version()

    if issubclass(op_type, NumbaRV):
        numba_core_rv_funcify.register(op_type)(compiled)
    else:
        register_funcify_default_op_cache_key(op_type)(compiled)


class _Registered:
    """Op with an `implementation` of its own, compiled or not."""

    def __new__(cls, *args, **kwargs):
        """Register the implementation, then make the instance."""
        _register(cls)
        while on_first_use:
            on_first_use.pop()()
        return super().__new__(cls)

    def implementation(self, jit: Callable) -> Callable:
        """Return a function of the inputs that numba can compile; `jit` compiles the parts that it calls."""
        raise NotImplementedError


class NumbaOp(_Registered):
    """Op whose `implementation` gives the outputs."""

    def make_node(self, *inputs):
        tensors = [pt.as_tensor(v) for v in inputs]
        return Apply(self, tensors, self.outputs(*tensors))

    def outputs(self, *inputs) -> list:
        raise NotImplementedError

    def perform(self, node, inputs, output_storage):
        values: Any = self.implementation(lambda part: part)(*inputs)
        for storage, value in zip(
            output_storage, values if isinstance(values, tuple) else (values,), strict=True
        ):
            storage[0] = np.asarray(value)


class ValueAndSlopes(NumbaOp, Op):
    """Base of the Ops of a value and its gradient by the first inputs, one for each further output.

    PyTensor merges the nodes of a function and of its gradient, so that both cost one evaluation.
    """

    what: ClassVar[str]  # the value is, for messages

    def connection_pattern(self, node):
        return [[i < len(node.outputs) - 1] * len(node.outputs) for i in range(len(node.inputs))]

    def pullback(self, inputs, outputs, cotangents):
        """Multiply by the gradient, which itself has none here."""
        value, *of_slopes = cotangents
        slopes = outputs[1:]
        if any(not isinstance(g.type, DisconnectedType) for g in of_slopes):
            why = f"second derivatives of {self.what}"
            return [grad_not_implemented(self, i, x, why) for i, x in enumerate(inputs)]
        return [
            *(value * slope for slope in slopes),
            *(disconnected_type() for _ in inputs[len(slopes) :]),
        ]


class NumbaRV(_Registered):
    """Random variable whose `implementation` draws once, from a generator and the parameters."""

    name: str
    dtype: str
    ndims_params: Any
    _supp_shape_from_params: Any

    @property
    def _print_name(self) -> tuple[str, str]:
        return self.name, rf"\operatorname{{{self.name}}}"

    def rng_fn(self, rng, *args):
        """Draw without compilation; `args` are the parameters and the size."""
        *parameters, size = args
        draw = self.implementation(lambda part: part)
        cores = self.ndims_params
        shapes = [np.shape(p) for p in parameters]
        splits = [len(shape) - k for shape, k in zip(shapes, cores, strict=True)]
        batches = [shape[:k] for shape, k in zip(shapes, splits, strict=True)]
        batch = np.broadcast_shapes(*batches) if size is None else tuple(size)
        rows = [
            np.broadcast_to(p, (*batch, *shape[k:]))
            for p, shape, k in zip(parameters, shapes, splits, strict=True)
        ]
        drawn = [draw(rng, *(p[row].copy() for p in rows)) for row in np.ndindex(batch)]
        lengths = [int(length.data) for length in self._supp_shape_from_params(parameters)]
        return np.array(drawn, dtype=self.dtype).reshape(*batch, *lengths)


def variable_of(*parameters, op, size=None, rng=None):
    """Make a random variable of these parameters by its Op: what PyMC calls `rv_op`."""
    rng = pt.random.shared_rng(seed=None) if rng is None else rng
    return op(*parameters, size=size, rng=rng, return_next_rng=True)[1]
