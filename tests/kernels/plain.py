"""Kernels as plain Python: what they call is interpreted too, and nothing is compiled."""

from types import FunctionType

from pymc_mrf.kernels.edges import hamiltonian
from pymc_mrf.kernels.views import questions


def as_python(kernel, known=None, **others):
    """The function of a kernel that calls no machine code; `others` stand for what it calls by name."""
    known = {} if known is None else known
    if kernel not in known:
        function = kernel.py_func
        names = dict(function.__globals__)
        known[kernel] = FunctionType(function.__code__, names, function.__name__)
        for name in set(function.__code__.co_names) & names.keys():
            if name in others:
                names[name] = others[name]
            elif hasattr(names[name], "py_func"):
                names[name] = as_python(names[name], known, **others)
    return known[kernel]


# of views of fields: what it asks the view itself is compiled, which joint moves ask for too
log_posterior = as_python(
    hamiltonian.log_posterior, without_slab=as_python(questions.field_without_slab)
)
