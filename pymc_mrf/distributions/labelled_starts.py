"""Starts of chains with labels, ``initvals=``, which PyMC would read by position.

PyMC compiles a function for the starts of a chain, in which labels are gone; whoever asks for it still has
them. Where a variable of the model is of this package they have to be those of the model, in order.
"""

import inspect
from typing import Any

import pandas as pd
import pymc as pm
from pymc.initial_point import make_initial_point_fn
from pytensor.graph.rewriting.basic import GraphRewriter

from pymc_mrf.checks import axes_of_values, check_labels
from pymc_mrf.distributions.parents import field_named


class StrangeLabelsError(AssertionError, ValueError):
    """The labels of a start are not those of the variable; PyTensor lets assertions through."""


class CheckStarts(GraphRewriter):
    """Raises an error if the starts that PyMC compiles now have other labels than their variables."""

    def apply(self, fgraph):
        frame = inspect.currentframe()
        while frame is not None and frame.f_code is not make_initial_point_fn.__code__:
            frame = frame.f_back
        if frame is None:
            return
        model, given = frame.f_locals["model"], frame.f_locals["overrides"]
        if given and any(type(rv.owner.op).__module__.startswith("pymc_mrf.") for rv in model.basic_RVs):
            for key, start in given.items():
                check_start(model, getattr(key, "name", key), start)


def check_start(model: pm.Model, name: str, start: Any) -> None:
    """Refuse a start whose axes have other labels than the nodes, or the dimensions, of its variable."""
    if isinstance(start, str) or not any(axes := axes_of_values(start, name)):
        return
    node = field_named(model, name)
    dims = list(model.named_vars_to_dims.get(name) or ())
    labels = [model.coords.get(dim) for dim in dims]
    if node is not None:
        dims, labels = [*dims[:-1], "node"], [*labels[:-1], node.op.node_labels]
    for axis, found in ((k - len(axes), named[0]) for k, named in enumerate(axes) if named):
        own = labels[axis] if -axis <= len(labels) else None
        if own is None and found.labels and found.labels != list(range(len(found.labels))):
            raise StrangeLabelsError(
                f"initvals: {name} has labels, beginning {found.labels[0]!r}, but {name} has no dims that "
                "they could be compared with: give it dims, or a plain array in its order, as by .to_numpy()"
            )
        if own is not None:
            try:
                # as those of a series are: dates of numpy have other texts than those of pandas
                own = pd.Index(own, tupleize_cols=False).tolist()
                check_labels(start, own, f"initvals: {name}", str(dims[axis]), axis)
            except ValueError as error:
                raise StrangeLabelsError(str(error)) from error


def register_start_check() -> None:
    from pytensor.compile.mode import optdb

    optdb.register("pymc_mrf_starts", CheckStarts(), "fast_run", "fast_compile", position=-1)
