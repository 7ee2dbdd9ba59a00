"""How numba compiles kernels that call kernels: once, as a whole.

numba optimises a function together with copies of all that it calls, and makes machine code of them,
before its caller is compiled in the same way. A function at the end of a chain of calls is compiled once
for every function above it, which was half the time of a first run. Here what a kernel calls is handed
on after a first, cheap pass over each function, and optimised once, in the kernel that Python calls.

Functions of others that call kernels, as PyTensor's do, do not contain them: they ask for the address of
the machine code when they first need it. A new model compiles none of it again.

Declaring a field and the first draws, with nothing compiled before, take 17 CPU seconds so and 47 by
numba as it is published for the edges of small binary fields, and 15 and 66 for the groups of an exact
likelihood (`tests/benchmarks/first_run.py`).

All of this rests on private parts of numba, and is used on versions that it is tested with (see `_jit`).

numba by itself asks a generator of random numbers for five addresses of its `ctypes` at every call,
which takes longer than many kernels run. NumPy keeps the same ones in a capsule, for code in C:
`bitgen_t` of numpy/random/bitgen.h.
"""

import copy
import ctypes
import gc
import hashlib
import logging
import pickle
import re
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils, imputils, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment, lookup_environment
from numba.core.funcdesc import default_mangler
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.types.misc import unliteral
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import NativeValue, register_model, unbox
from numba.np.random.generator_core import NumPyRandomGeneratorTypeModel

from pymc_mrf.kernels._lowering import KernelPipeline
from pymc_mrf.kernels._sources import sources_digest

ENVIRONMENT = "_ZN08NumbaEnv"  # how numba's names of environments of functions begin

ADDRESS = "pymc_mrf_address_of_kernel"  # what machine code knows `_address_of` by
GENERATOR = typeof(np.random.default_rng(0))


def _unique_name(name: str, args: Any, *, abi_tags: Any = (), uid: int | None = None) -> str:
    """Name a function so that it meets none of another process, from disk: numba counts functions from 1.

    Without the types of its arguments, which are as long as the rest of the code.
    """
    if uid is None:
        return default_mangler(name, args, abi_tags=abi_tags)
    return default_mangler(name, (), uid=uuid.uuid4().int)


class KernelCode(JITCodeLibrary):
    """Code of a function, which is optimised and made machine code when its address is asked for."""

    _is_emitted = False

    def _optimize_functions(self, module: Any) -> None:
        # one cheap pass, made once: numba makes a full one anew for each function, even those only declared
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager(opt=1)
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        pass  # until its address is asked for

    def _finalize_final_module(self) -> None:
        # addresses of this process, which cannot be kept on disk, are looked for in optimised code: numba
        # leaves those of ufuncs, which nothing uses, in any other
        self._finalized = True
        if self._object_caching_enabled and self._compiled_object:  # from disk
            self._emit()

    def _emit(self) -> None:
        self._is_emitted = True
        super()._finalize_final_module()

    def get_pointer_to_function(self, name: str) -> int:
        """Address of the machine code of `name`, 0 if the library has no such function."""
        self._ensure_finalized()
        if not self._is_emitted and any(
            function.name == name for function in self.get_defined_functions()
        ):
            super()._optimize_final_module()
            self._emit()
            for variable in self._final_module.global_variables:
                environment = variable.name.startswith(ENVIRONMENT) and lookup_environment(variable.name)
                if environment:
                    self._codegen.set_env(variable.name, environment)
        return super().get_pointer_to_function(name)

    def serialize_using_object_code(self) -> tuple:
        return (
            super().serialize_using_object_code() if self._is_emitted else self.serialize_using_bitcode()
        )


_n_open = 0  # kernels that are being compiled, each on behalf of the one before it


@contextmanager
def _own_code(context: Any) -> Iterator[None]:
    """Have numba keep what it compiles as `KernelCode`, and no garbage be collected meanwhile.

    A function without machine code needs no environment. The compiler makes millions of small objects, which
    the collector would look at again and again.
    """
    global _n_open
    codegen = context.codegen()

    def set_environment(name: str, environment: Any) -> None:
        if codegen._engine.is_symbol_defined(name):
            type(codegen).set_env(codegen, name, environment)

    with global_compiler_lock:
        collects = gc.isenabled()
        try:
            _n_open += 1
            gc.disable()
            codegen._library_class, codegen.set_env = KernelCode, set_environment
            context.mangler = _unique_name
            yield
        finally:
            if collects:
                gc.enable()
            _n_open -= 1
            if _n_open == 0:
                del codegen._library_class, codegen.set_env, context.mangler


class _KernelOnDisk(CompileResultCacheImpl):
    kind = "kernel"  # the name without one is that of what numba's own compiler makes

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        return super().get_filename_base(f"{fullname}-{self.kind}", abiflags)


class _KernelFile(IndexDataCacheFile):
    """Machine code of a function on disk, a file for each list of types, which says what it is of.

    numba numbers the files of a function and keeps an index of them: of two processes that compile it for
    different types at the same time, one then writes its code into the file that the index says to hold
    the other's. Here a file that is of something else is not used, and written anew.
    """

    @property
    def _base(self) -> str:
        return self._index_name.removesuffix(".nbi")

    def _path_of(self, key: Any) -> str:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return self._data_path(f"{self._base}.{digest[:16]}.nbc")

    def save(self, key: Any, data: Any) -> None:
        with self._open_for_write(self._path_of(key)) as file:
            pickle.dump((self._version, self._source_stamp), file)
            file.write(self._dump((key, data)))

    def load(self, key: Any) -> Any:
        """Read what was saved for `key`, or None.

        More than the version is read only if that is right: types of arguments are named there, some of
        which another version of the package may not have.
        """
        try:
            with open(self._path_of(key), "rb") as file:
                if pickle.load(file) != (self._version, self._source_stamp):
                    return None
                found, data = pickle.load(file)
        except FileNotFoundError:
            return None
        return data if found == key else None

    def flush(self) -> None:
        for path in Path(self._cache_path).glob(f"{self._base}.*.nbc"):
            path.unlink(missing_ok=True)


class _KernelCache(FunctionCache):
    """Machine code on disk, as long as no file that it comes from has changed: numba looks at one of them."""

    _impl_class = _KernelOnDisk

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        impl = self._impl
        self._cache_file = _KernelFile(
            self._cache_path, impl.filename_base, impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what was compiled for types of arguments."""
        digest = sources_digest(self._py_func.__module__)
        self._cache_file._version = f"{numba.__version__} {digest}"
        return super().load_overload(sig, target_context)


class _PartOnDisk(_KernelOnDisk):
    kind = "part"

    def check_cachable(self, result: Any) -> bool:
        # an address of this process that is used is named where it is, and where it is declared
        module = result.library._final_module
        if not any(v.name.startswith("numba.dynamic.globals") for v in module.global_variables):
            return super().check_cachable(result)
        found = re.findall(r"numba\.dynamic\.globals\.[0-9a-f.]+", str(module))
        return len(found) == len(set(found)) and super().check_cachable(result)


class _PartCache(_KernelCache):
    _impl_class = _PartOnDisk


class Part(CPUDispatcher):
    """A function as other functions call it."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions, KernelPipeline)

    def enable_caching(self) -> None:
        self._cache = _PartCache(self.py_func)

    def compile(self, signature: Any) -> Any:
        with _own_code(self.targetctx):
            return super().compile(signature)


class Kernel(CPUDispatcher):
    """A function as Python calls it: a `Part`, with what turns Python's objects into its arguments."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions)
        self._part = Part(py_func, locals, {**self.targetoptions, "no_cpython_wrapper": True})
        self._compiler._compile_core = self._wrap

    def _wrap(self, args: Any, return_type: Any) -> Any:
        self._part.compile(args)
        part = self._part.overloads[tuple(args)]
        # objects that are needed to speak to Python; the part on disk knows only those of its own
        description = copy.copy(part.fndesc)
        description.env_name += "_entry"
        description.argtypes = tuple(FROM_PYTHON if t == GENERATOR else t for t in part.fndesc.argtypes)
        environment = Environment.from_fndesc(description)
        context = self.targetctx.subtarget(enable_nrt=self.targetoptions.get("_nrt", True))
        library = context.codegen().create_library(part.library.name)
        library.enable_object_caching()
        library.add_linking_library(part.library)
        library.add_linking_library(rtsys.library)  # counts the references to arrays that Python holds
        with context.push_code_library(library):
            context.create_cpython_wrapper(
                library, description, environment, part.call_helper, release_gil=True
            )
        wrapper = library._final_module.get_function(description.llvm_cpython_wrapper_name)
        for attribute in ("optnone", "noinline"):  # to optimise what unpacks objects saves 1 us per call
            wrapper.add_function_attribute(attribute)
        entry = context.get_executable(library, description, environment)
        return part._replace(
            library=library, fndesc=description, environment=environment, entry_point=entry, metadata={}
        )

    def enable_caching(self) -> None:
        self._cache = _KernelCache(self.py_func)
        self._part.enable_caching()

    def compile(self, signature: Any) -> Any:
        with _own_code(self.targetctx):
            return super().compile(signature)

    def typeof_pyval(self, val: Any) -> Any:
        """Type of an argument; numba by itself takes longer to know a generator than most kernels run."""
        return GENERATOR if type(val) is np.random.Generator else super().typeof_pyval(val)

    @property
    def _is_called_by_address(self) -> bool:
        """Whether the function that is being compiled is no kernel, and this one can be found by its name."""
        return _n_open == 0 and getattr(sys.modules.get(self.__module__), self.__name__, None) is self

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """How a function calls it; constants have the types of arguments, and are no kernels of their own."""
        args, kws = tuple(map(unliteral, args)), {name: unliteral(t) for name, t in kws.items()}
        if self._is_called_by_address:
            return super().get_call_template(args, kws)
        return self._part.get_call_template(args, kws)

    def get_overload(self, signature: Any) -> Any:
        if not self._is_called_by_address:
            return self._part.get_overload(signature)
        key, args = f"address of {id(self)}", tuple(signature)
        call = _call_by_address(self, self.overloads[args])
        self.targetctx.insert_func_defn([(call, key, args)])
        return key

    def address(self, args: tuple) -> int:
        """Where its machine code for types of arguments is."""
        self.compile(args)
        result = self.overloads[args]
        return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)


def call_chosen(question: Callable, choose: Callable[[Any], Kernel]) -> None:
    """Have functions that call `question` call the kernel that `choose` gives for the type of an argument."""

    class Choice(AbstractTemplate):
        key = question
        found: ClassVar[dict] = {}

        def generic(self, args: Any, kws: Any) -> Any:
            kernel = types.Dispatcher(choose(args[0]))
            signature: Any = kernel.get_call_type(self.context, args, kws)
            self.found[signature.args] = kernel.get_overload(signature)
            return signature

        def get_impl_key(self, signature: Any) -> Any:
            return self.found[signature.args]

    infer_global(question, types.Function(Choice))


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
def _address_of(name: int, size: int) -> int:
    """Address of the machine code of a kernel, for module, name and types of arguments, pickled."""
    try:  # what a callback raises, ctypes prints and returns nothing: the caller would jump anywhere
        module, kernel, args, returned = pickle.loads(ctypes.string_at(name, size))
        found = getattr(import_module(module), kernel)
        address = found.address(args)
        return address if found.overloads[args].signature.return_type == returned else 0
    except BaseException:
        logging.getLogger("pymc").exception("a kernel was not found")
        return 0


llvm.add_symbol(ADDRESS, ctypes.cast(_address_of, ctypes.c_void_p).value)


def _call_by_address(kernel: Kernel, result: Any) -> Callable:
    """Make what emits a call of `kernel`: its address is asked for once, and kept in a variable."""
    description, types_of_arguments = result.fndesc, result.signature.args
    name = pickle.dumps((kernel.__module__, kernel.__name__, types_of_arguments, description.restype))

    def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        convention, module = context.call_conv, builder.module
        number, pointer = context.get_value_type(types.intp), cgutils.voidptr_t
        known = cgutils.add_global_variable(module, pointer, "address_of_kernel")
        known.linkage, known.initializer = "internal", pointer(None)
        address = cgutils.alloca_once_value(builder, builder.load(known))
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(address))):
            ask = cgutils.get_or_insert_function(
                module, ir.FunctionType(pointer, [pointer, number]), ADDRESS
            )
            text = cgutils.global_constant(module, "kernel", cgutils.make_bytearray(name))
            found = builder.call(ask, [builder.bitcast(text, pointer), number(len(name))])
            builder.store(found, known)
            builder.store(found, address)
            with cgutils.if_unlikely(builder, cgutils.is_null(builder, found)):
                convention.return_user_exc(
                    builder, RuntimeError, (f"{kernel.__name__} is not compiled",)
                )
        of_kernel = convention.get_function_type(description.restype, types_of_arguments)
        function = builder.bitcast(builder.load(address), of_kernel.as_pointer())
        status, value = convention.call_function(
            builder, function, description.restype, types_of_arguments, args
        )
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return imputils.fix_returning_optional(context, builder, signature, status, value)

    call.signature = types_of_arguments  # type: ignore[attr-defined]
    return call


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
