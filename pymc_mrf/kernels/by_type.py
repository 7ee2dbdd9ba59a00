"""Kernels that numba chooses by the type of their first argument, a namedtuple."""

from collections.abc import Callable
from typing import Any

from pymc_mrf.kernels._jit import call_chosen, jit, part


def by_type(question: Callable, allocates: bool = False) -> Any:
    """Make `question` a kernel that is chosen by the type of its first argument when its caller is compiled.

    Answers are registered as with `functools.singledispatch`::

        @by_type
        def gain(view, e, x):
            "Log-likelihood gained by moving edge e from 0 to x."

        @gain.register(TreeEdges)
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
