"""Refusal of the routes of PyMC that would take a log density for something that it is not.

Log densities with ties or point masses, and those of intractable fields, are made for the steps of this
package. PyMC's own routes (pm.Metropolis and pm.Slice, pm.sample_smc, pm.find_MAP, and NUTS) join the
variables that they move into one vector, under a name, before they compile: an Op that may not depend on such
a vector is found when the function is compiled.
"""

import sys

from pytensor.graph.rewriting.basic import GraphRewriter
from pytensor.graph.traversal import ancestors

from pymc_mrf.distributions._numba import on_first_use

JOINED = "joined_inputs"  # the name that pymc.pytensorf.join_nonshared_inputs gives


class MeaninglessDensityError(AssertionError, ValueError):
    """A route of PyMC moves what only steps of this package can; PyTensor lets assertions through."""


class Guarded:
    """Op whose inputs no route of PyMC may move.

    Attributes
    ----------
    immovable : str
        Says what the log density is, and what to do.
    """

    immovable: str


class RefuseForeignRoutes(GraphRewriter):
    """Raises an error if a guarded Op depends on joined inputs; changes nothing."""

    def add_requirements(self, fgraph):
        """Need nothing."""

    def apply(self, fgraph):
        """Look at all Ops."""
        names = {JOINED, *_moved_by_find_map()}
        joined = {v for v in fgraph.inputs if v.name in names}
        if not joined:
            return
        for node in fgraph.apply_nodes:
            op = getattr(node.op, "core_op", node.op)
            if isinstance(op, Guarded) and not joined.isdisjoint(ancestors(node.inputs)):
                raise MeaninglessDensityError(op.immovable)


def _moved_by_find_map() -> set[str]:
    """Names of the variables that pm.find_MAP moves, if it compiles: before PyMC 6.4 it joins none."""
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        if frame.f_code.co_name == "find_MAP" and frame.f_globals["__name__"] == "pymc.tuning.starting":
            return {v.name for v in frame.f_locals["vars"] or ()}
    return set()


def register_guard() -> None:
    """Let PyTensor look at every function before it changes its graph, from now on."""
    from pytensor.compile.mode import optdb

    optdb.register("pymc_mrf_guard", RefuseForeignRoutes(), "fast_run", "fast_compile", position=-1)


on_first_use.append(register_guard)
