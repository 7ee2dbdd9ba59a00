"""Vectors of eight machine words as values in compiled code: 512 bits that never leave the registers.

LLVM's vectoriser gives up on bit-serial loops (early exits, state that is carried along), and leaves them
several times slower than they can be. These few operations spell out the vectors: in a function
compiled by `jit`, `load` returns a value of the type `words` (LLVM's ``<8 x i64>``), which the
operators ``& | ^ ~ + << >>`` take; the right operand may be a uint64. LLVM maps it to one AVX-512
register, two AVX2 or four SSE2 or NEON registers. In plain Python the same code works on (8,) uint64
arrays. For this reason write ``a = a ^ b`` and not ``a ^= b``, which would change an array in place.

Offsets are not checked.
"""

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, overload, register_model

N_WORDS = 8
"""Words in a vector."""

# numba declares a call of an intrinsic with the typing context, which compiled code does not pass
_intrinsic = cast(Callable[..., Any], intrinsic)

_I64, _I32 = ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_I64, N_WORDS)


class WordVector(types.Type):
    """Type of a vector of words in compiled code."""

    def __init__(self) -> None:
        super().__init__(name=f"WordVector({N_WORDS})")


words = WordVector()


@register_model(WordVector)
class _WordVectorModel(models.PrimitiveModel):
    def __init__(self, manager, numba_type):
        super().__init__(manager, numba_type, _VECTOR)


def load(a, k):
    """Read ``a[k : k + N_WORDS]`` of the contiguous uint64 array `a` (n,)."""
    return a[k : k + N_WORDS].copy()


def store(a, k, v):
    """Write the vector `v` to ``a[k : k + N_WORDS]`` of the contiguous uint64 array `a` (n,)."""
    a[k : k + N_WORDS] = v


def splat(word):
    """Repeat the uint64 `word` in every place of a vector."""
    return np.full(N_WORDS, word, dtype=np.uint64)


def any_set(v):
    """Whether any bit of the vector is set."""
    return bool(np.any(v))


def _address(context, builder, array_type, array, k):
    data = cgutils.create_struct_proxy(array_type)(context, builder, value=array).data
    return builder.bitcast(builder.gep(data, [k]), _VECTOR.as_pointer())


def _repeat(builder, word):
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), word, _I32(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(_I32, N_WORDS), None))


@_intrinsic
def _load(typing_context, a, k):
    def generate(context, builder, signature, arguments):
        value = builder.load(_address(context, builder, signature.args[0], *arguments))
        value.align = 8
        return value

    return words(a, types.intp), generate


@_intrinsic
def _store(typing_context, a, k, v):
    def generate(context, builder, signature, arguments):
        array, offset, vector = arguments
        place = _address(context, builder, signature.args[0], array, offset)
        builder.store(vector, place).align = 8
        return context.get_dummy_value()

    return types.void(a, types.intp, words), generate


@_intrinsic
def _splat(typing_context, word):
    def generate(context, builder, signature, arguments):
        return _repeat(builder, arguments[0])

    return words(types.uint64), generate


@_intrinsic
def _any_set(typing_context, v):
    def generate(context, builder, signature, arguments):
        nonzero = builder.icmp_unsigned("!=", arguments[0], ir.Constant(_VECTOR, None))
        mask = builder.bitcast(nonzero, ir.IntType(N_WORDS))
        return builder.icmp_unsigned("!=", mask, ir.IntType(N_WORDS)(0))

    return types.boolean(v), generate


@_intrinsic
def _invert(typing_context, v):
    def generate(context, builder, signature, arguments):
        return builder.not_(arguments[0])

    return words(v), generate


def _binary(instruction):
    @_intrinsic
    def operation(typing_context, a, b):
        def generate(context, builder, signature, arguments):
            return getattr(builder, instruction)(*arguments)

        return words(a, b), generate

    return operation


def _is_array(a) -> bool:
    return isinstance(a, types.Array) and a.dtype == types.uint64 and a.ndim == 1 and a.layout == "C"


@overload(load)
def _load_overload(a, k):
    if _is_array(a):
        return lambda a, k: _load(a, k)


@overload(store)
def _store_overload(a, k, v):
    if _is_array(a) and v == words:
        return lambda a, k, v: _store(a, k, v)


@overload(splat)
def _splat_overload(word):
    if word == types.uint64:
        return lambda word: _splat(word)


@overload(any_set)
def _any_set_overload(v):
    if v == words:
        return lambda v: _any_set(v)


@overload(operator.invert)
def _invert_overload(v):
    if v == words:
        return lambda v: _invert(v)


def _define_operator(python_operator, instruction) -> None:
    operation = _binary(instruction)

    def named(implementation: Callable) -> Callable:
        # numba tells functions of one name and type apart by a count that begins in each process anew
        implementation.__qualname__ = instruction
        return implementation

    @overload(python_operator)
    def define(a, b):
        if a == words and b == words:
            return named(lambda a, b: operation(a, b))
        if a == words and b == types.uint64:
            return named(lambda a, b: operation(a, _splat(b)))


for _operator, _instruction in (
    (operator.and_, "and_"),
    (operator.or_, "or_"),
    (operator.xor, "xor"),
    (operator.add, "add"),
    (operator.lshift, "shl"),
    (operator.rshift, "lshr"),
):
    _define_operator(_operator, _instruction)
