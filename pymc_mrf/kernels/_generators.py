"""Generators of random numbers as arguments of kernels.

numba by itself asks a generator's `ctypes` for five addresses at every call, which takes longer than many
kernels run. NumPy keeps the same ones in a capsule, for code in C: `bitgen_t` of numpy/random/bitgen.h.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils, types
from numba.extending import NativeValue, register_model, unbox
from numba.np.random.generator_core import NumPyRandomGeneratorTypeModel

GENERATOR = typeof(np.random.default_rng(0))


class FromPython(types.NumPyRandomGeneratorType):
    """Type of a generator on its way from Python into a kernel, where it is `GENERATOR`."""


FROM_PYTHON = FromPython("from Python")
register_model(FromPython)(NumPyRandomGeneratorTypeModel)


@unbox(FromPython)
def unbox_generator(kind: Any, generator: Any, c: Any) -> NativeValue:
    """Read the capsule of the generator's bit generator."""
    builder, api, pointer = c.builder, c.pyapi, cgutils.voidptr_t
    unboxed = cgutils.create_struct_proxy(GENERATOR)(c.context, builder)
    bits = cgutils.create_struct_proxy(typeof(np.random.PCG64(0)))(c.context, builder)
    bit_generator = api.object_getattr_string(generator, "bit_generator")
    capsule = api.object_getattr_string(bit_generator, "capsule")
    read = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(pointer, [pointer, pointer]), "PyCapsule_GetPointer"
    )
    name = c.context.insert_const_string(builder.module, "BitGenerator")
    address = builder.call(read, [builder.bitcast(capsule, pointer), name])
    number = c.context.get_value_type(types.uintp)
    fields = builder.bitcast(address, number.as_pointer())
    state, next_uint64, next_uint32, next_double = (
        builder.load(cgutils.gep(builder, fields, k)) for k in range(4)
    )
    bits.parent, bits.bit_generator = bit_generator, builder.ptrtoint(address, number)
    bits.state_address = bits.state = state
    bits.fnptr_next_uint64, bits.fnptr_next_uint32 = next_uint64, next_uint32
    bits.fnptr_next_double = next_double
    unboxed.bit_generator, unboxed.parent = bits._getvalue(), generator
    if c.context.enable_nrt:  # else nobody would give the reference back
        unboxed.meminfo = api.nrt_meminfo_new_from_pyobject(pointer(None), generator)
    api.decref(capsule)
    api.decref(bit_generator)
    return NativeValue(unboxed._getvalue())
