"""The one place for numba options: kernels are compiled by `jit`, or else by one of the others.

What compiles them is numba as it is published, or on versions that it is tested with, `_compiler`, in half
the time. Both make the same draws. Nothing else in the package knows which it is, but for PyTensor's cache.

`fastmath` and `forceinline` are off, and said to be: numba hands the caller's setting on to a kernel that is
compiled on the way and does not say. PyTensor's functions have the one on, and what it made of
`vector_sums.exp_negative` was wrong by a third, in that process and in the cache on disk. Of the other, the
junction tree was copied to every place from which a `part` calls it, and took half a minute to compile.
"""

import logging
import multiprocessing
import os
import time
from collections.abc import Callable
from typing import Any

import numba
from numba import config
from numba.core import event
from numba.extending import overload, register_jitable

TESTED = ("0.66.0", "0.67.0", "0.68.0")
"""Versions of numba that `_compiler`, which rests on its private parts, is tested with."""

VARIABLE = "PYMC_MRF_COMPILER"
"""Environment variable that chooses numba's own compiler on any version."""


def is_plain(asked: str | None, version: str) -> bool:
    """Whether kernels are compiled by `version` of numba as it is published.

    Raises a ValueError if the user asked for a compiler that there is not.
    """
    if asked not in (None, "", "numba"):
        raise ValueError(
            f"the environment variable {VARIABLE}={asked!r} is no compiler: set it to 'numba', or to nothing"
        )
    return asked == "numba" or version not in TESTED


PLAIN = is_plain(os.environ.get(VARIABLE), numba.__version__)
"""Whether kernels are compiled by numba as it is published."""

_LOG = logging.getLogger("pymc")
_LOG.debug(
    f"pymc_mrf compiles kernels with numba {numba.__version__}{'' if PLAIN else ' and a faster compiler'}"
)

PATIENCE = 1.0  # seconds of compilation after which the user is told
DURATION = "some seconds to a minute and a half" if PLAIN else "some seconds to half a minute"


class Announcement(event.Listener):
    """Tells the user, once and in the main process, that kernels are being compiled."""

    def __init__(self) -> None:
        self._begin: list[float] = []  # of the compilations under way, outer ones first
        self._told = False

    def on_start(self, compilation: event.Event) -> None:
        self._begin.append(time.perf_counter())

    def on_end(self, compilation: event.Event) -> None:
        """Tell, if it has taken long so far."""
        long = time.perf_counter() - self._begin[0] > PATIENCE
        self._begin.pop()
        module = compilation.data["dispatcher"].py_func.__module__ or ""  # None in PyTensor's functions
        own = module.startswith(("pymc_mrf.kernels.", "pymc_mrf.papers.kernels."))
        if own and long and not self._told and multiprocessing.parent_process() is None:
            self._told = True
            _LOG.info(
                f"pymc_mrf compiles kernels that were not used before on this machine: {DURATION}; other "
                "kinds of fields and steps have kernels of their own"
            )


event.register("numba:compile", Announcement())


_ANY_ORDER = {"reassoc", "contract", "nsz"}
# no kernel is handed to C: wrappers for that took a fifth of the time of compilation
_OPTIONS: dict[str, Any] = dict(
    nopython=True,
    nogil=True,
    error_model="numpy",
    fastmath=False,
    forceinline=False,
    no_cfunc_wrapper=True,
)


def _compile(function: Callable, **options: Any) -> Any:
    if PLAIN or config.DISABLE_JIT:
        return numba.jit(cache=True, **options)(function)
    from pymc_mrf.kernels._compiler import Kernel

    kernel = Kernel(function, targetoptions=options)
    kernel.enable_caching()
    return kernel


def jit(function: Callable) -> Any:
    """Compile `function` in nopython mode, cached on disk, without the GIL."""
    return _compile(function, **_OPTIONS)


def summing(function: Callable) -> Any:
    """Compile a sum over an array, in any order, so that it is vectorised; infinities stay infinite."""
    return _compile(function, **(_OPTIONS | {"fastmath": _ANY_ORDER}))


_LEAN: dict[str, Any] = _OPTIONS if PLAIN else _OPTIONS | {"_nrt": False}  # numba does not publish it
_PART: dict[str, Any] = _LEAN | {"forceinline": True}


def _inherited(options: dict[str, Any]) -> dict[str, Any]:
    """Return those of `options` that numba takes of functions which it compiles itself."""
    names = ("error_model", "fastmath", "forceinline", "nogil", "no_cfunc_wrapper", "_nrt")
    inherited = {name: options[name] for name in names if name in options}
    if PLAIN:
        return inherited
    from pymc_mrf.kernels._lowering import KernelPipeline

    return inherited | {"pipeline_class": KernelPipeline}


def lean(function: Callable) -> Any:
    """Compile `function` without counting references, some 10 ns per array and call, unless `PLAIN`.

    It must not allocate, nor may any kernel that it calls: numba hands the setting on to what is compiled
    on the way.
    """
    return _compile(function, **_LEAN)


def lean_summing(function: Callable) -> Any:
    """Compile as `lean` and `summing` do."""
    return _compile(function, **(_LEAN | {"fastmath": _ANY_ORDER}))


def part(function: Callable) -> Any:
    """Compile `function` in place in its callers, as `lean`: a call with many arrays takes some 100 ns."""
    return _compile(function, **_PART)


def part_summing(function: Callable) -> Any:
    """Compile as `part` and `summing` do."""
    return _compile(function, **(_PART | {"fastmath": _ANY_ORDER}))


def either(function: Callable) -> Any:
    """Leave `function` to the interpreter; inside kernels, compile it as `lean` does.

    A kernel that calls no others than these can be run by the interpreter as its ``py_func``, where that
    takes less time than to compile it.
    """
    return register_jitable(**_inherited(_LEAN))(function)


def finite(function: Callable) -> Any:
    """Compile as `lean` a minimum or maximum over an array that holds no NaN, so that it is vectorised."""
    return _compile(function, **(_LEAN | {"fastmath": {"nsz", "nnan"}}))


def call_chosen(question: Callable, choose: Callable[[Any], Any], allocates: bool) -> None:
    """Have kernels that call `question` call what `choose` gives for the type of its first argument.

    That is a kernel made by `part`, or one by `jit` if it `allocates` memory.
    """
    if not PLAIN:
        from pymc_mrf.kernels._compiler import call_chosen as call

        return call(question, choose)

    def function_for(first: Any, *others: Any) -> Callable:
        return choose(first).py_func

    options = _inherited(_OPTIONS if allocates else _PART)
    overload(question, jit_options=options, strict=False)(function_for)


def by_type(question: Callable, allocates: bool = False) -> Any:
    """Make `question` a kernel that is chosen by the type of its first argument when its caller is compiled.

    Answers are registered as with `functools.singledispatch`::

        @by_type
        def gain(view, e, x):
            "Log-likelihood gained by moving edge e from 0 to x."

        @gain.register(TreeView)
        def tree_gain(view, e, x):
            ...

    An answer is a `part` of its caller: a call with the many arrays of a view takes some hundred
    nanoseconds. It counts no references: a kernel that counts them, as by `jit`,
    must not take arrays that it returns. Called from Python, the kernel is chosen in the same way. What is
    registered for `object` answers for every type that has no answer of its own.

    Parameters
    ----------
    question : callable
        What is asked, its first argument being a namedtuple; only its name and docstring count.
    allocates : bool
        Whether an answer may allocate memory: then it is a kernel of its own, as by `jit`.
    """
    answers: dict[type, Any] = {}

    def answer_for(kind: type) -> Any:
        return answers[kind if kind in answers else object]

    def ask(first, *others):
        return answer_for(type(first))(first, *others)

    ask.__name__, ask.__doc__, ask.__module__ = question.__name__, question.__doc__, question.__module__

    def register(*kinds: type) -> Callable:
        def keep(answer: Callable) -> Any:
            kernel = jit(answer) if allocates else part(answer)
            answers.update(dict.fromkeys(kinds, kernel))
            return kernel

        return keep

    ask.register = register  # type: ignore[attr-defined]

    call_chosen(ask, lambda kind: answer_for(kind.instance_class), allocates)
    return ask
