"""Routes of PyMC that would take a log density for something that it is not: refused, or told NaN.

Log densities with ties or point masses, and those of intractable fields, are made for the steps of this
package. PyMC's own routes (pm.Metropolis and pm.Slice, pm.sample_smc, pm.find_MAP, and NUTS) join the
variables that they move into one vector, under a name, before they compile: an Op that may not depend on
such a vector is found when the function is compiled. PyMC's steps for binary and categorical variables,
and pm.find_MAP before PyMC 6.4, compile the log density of the whole model, as anyone does: only who
asks for it tells them apart.

Samplers add up all terms of a model: what they move through is the density of data and imputed cells
together, an energy, or a pseudo-likelihood. ``pm.compute_log_likelihood`` returns the terms of the
observed variables as they are, ``pm.compute_log_prior`` those of the free ones, and ArviZ takes them for
log probabilities. The functions that PyTensor compiles differ: in the second case a term is an output
itself.
"""

import inspect

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.gradient import disconnected_type
from pytensor.graph import Apply, Op
from pytensor.graph.basic import Constant
from pytensor.graph.fg import Output
from pytensor.graph.rewriting.basic import GraphRewriter
from pytensor.graph.traversal import ancestors

from pymc_mrf.checks import warn_user
from pymc_mrf.distributions._numba import NumbaOp, NumbaRV, on_first_use

JOINED = "joined_inputs"  # the name that pymc.pytensorf.join_nonshared_inputs gives
DISCRETE_STEPS = pm.BinaryMetropolis, pm.BinaryGibbsMetropolis, pm.CategoricalGibbsMetropolis


class MeaninglessDensityError(AssertionError, ValueError):
    """A log density is not what it would be taken for; PyTensor lets assertions through."""


class Guarded:
    """Op whose inputs no route of PyMC may move.

    `immovable`: says what the log density is, and what to do.
    """

    immovable: str


class HiddenStates(Guarded, Op):
    """The states of a field as they are; in compiled functions there is no trace of it."""

    __props__ = ()
    immovable = (
        "pm.Metropolis, pm.DEMetropolis, pm.DEMetropolisZ, pm.BinaryMetropolis, pm.BinaryGibbsMetropolis, "
        "pm.CategoricalGibbsMetropolis, pm.Slice, pm.find_MAP and pm.sample_smc do not know the states of a "
        "hidden field, or of missing cells of an observed one: chains would stand still, or leave states "
        "out. Let pm.sample() choose the step, or pass pymc_mrf.steps.TreeGibbs"
    )

    held = (
        "pm.find_MAP holds the states of a hidden field, or of missing cells of an observed one, at their "
        "start, all in the first state, and what it finds is no mode of the model: use pm.sample(), or give "
        "the states that are to be held, pm.find_MAP(initvals={...}), start= before PyMC 6.4"
    )

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0].copy()

    def infer_shape(self, node, shapes):
        return shapes

    def pullback(self, inputs, outputs, cotangents):
        """Return no gradient: states are discrete."""
        return [disconnected_type()]

    def connection_pattern(self, node):
        return [[False]]


def moved_by_others() -> set[str]:
    """Names of the variables that one of PyMC's routes moves which compiles now and joins none.

    These are `DISCRETE_STEPS`, and pm.find_MAP before PyMC 6.4.
    """
    frame = inspect.currentframe()
    while frame is not None:
        is_made = frame.f_code.co_name == "__init__"
        is_step = is_made and isinstance(frame.f_locals.get("self"), DISCRETE_STEPS)
        if is_step or frame.f_code is pm.find_MAP.__code__:
            return {v.name for v in frame.f_locals.get("vars") or () if hasattr(v, "name")}
        frame = frame.f_back
    return set()


def held_by_find_map() -> set[str]:
    """Names of the discrete variables that pm.find_MAP, where it compiles now, holds at PyMC's own start."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not pm.find_MAP.__code__:
        frame = frame.f_back
    if frame is None:
        return set()
    options = frame.f_locals
    options = {**options, **(options.get("kwargs") or {}), **(options.get("optimizer_kwargs") or {})}
    given = [options[name] for name in ("initvals", "start") if isinstance(options.get(name), dict)]
    known = {getattr(key, "name", key) for values in given for key in values}
    return {v.name for v in pm.modelcontext(options.get("model")).discrete_value_vars} - known


class RefuseForeignRoutes(GraphRewriter):
    """Raises an error if a guarded Op depends on what PyMC's routes move; takes `HiddenStates` out."""

    def apply(self, fgraph):
        guarded = [n for n in fgraph.apply_nodes if isinstance(getattr(n.op, "core_op", n.op), Guarded)]
        names = {JOINED, *moved_by_others()} if guarded else set()
        moved = {v for v in fgraph.inputs if v.name in names}
        held = held_by_find_map() if guarded else set()
        for node in guarded:
            op = getattr(node.op, "core_op", node.op)
            if moved and not moved.isdisjoint(ancestors(node.inputs)):
                raise MeaninglessDensityError(op.immovable)
            if isinstance(op, HiddenStates):
                if held and not held.isdisjoint(v.name for v in ancestors(node.inputs)):
                    raise MeaninglessDensityError(op.held)
                fgraph.replace(node.outputs[0], node.inputs[0])


class NoConversionError(AssertionError, NotImplementedError):
    """An Op of this package is asked for in a language that it does not have."""


class RefuseJAX(GraphRewriter):
    """Raises an error if there is an Op of this package; changes nothing."""

    def apply(self, fgraph):
        for node in fgraph.apply_nodes:
            if isinstance(getattr(node.op, "core_op", node.op), NumbaOp | NumbaRV):
                raise NoConversionError(
                    'fields of pymc_mrf are compiled by numba and have no conversion to JAX, as "numpyro" '
                    'and "blackjax" need it: leave nuts_sampler out, or use nuts_sampler="nutpie" with its '
                    "numba backend"
                )


def register_guard() -> None:
    from pytensor.compile.mode import optdb

    optdb.register("pymc_mrf_guard", RefuseForeignRoutes(), "fast_run", "fast_compile", position=-1)
    optdb.register("pymc_mrf_no_jax", RefuseJAX(), "jax", position=-1)


on_first_use.append(register_guard)


VALUE_REMEDIES = {
    "log-likelihood": "compare models by pymc_mrf.analysis.log_predictive of "
    "pymc_mrf.analysis.conditional_log_likelihood",
    "log prior": "name the other variables, var_names=[...]",
}


def probability_or_nan(logp, likelihood: str, instead: str, data, remedy: str):
    """`logp`; NaN for whoever asks for it alone, if it is something `instead` and a variable's of a model.

    The data of a model are tagged with the name of their field; hidden fields have values of their names. The
    warning names a `remedy` beside those that all fields have.
    """
    name, what = getattr(data.tag, "mrf_observed", None), "log-likelihood"
    if name is None and data.owner is None and not isinstance(data, Constant | SharedVariable):
        name, what = data.name, "log prior"
    if name is None or not instead:
        return logp
    warning = (
        f'the {what} of {name} is NaN, as likelihood="{likelihood}" has {instead}: {VALUE_REMEDIES[what]}, '
        f"or {remedy}"
    )
    return ElementwiseTerm(warning)(logp, pt.full_like(logp, np.nan))


class ElementwiseTerm(Op):
    """The first input; the second, with a `warning` if there is one, where it is an output of a function.

    `ChooseTerms` decides before anything else happens to the graph of a function.
    """

    __props__ = ("warning",)

    def __init__(self, warning: str = "") -> None:
        self.warning = warning

    def make_node(self, density, elementwise):
        inputs = [pt.as_tensor(density), pt.as_tensor(elementwise)]
        return Apply(self, inputs, [inputs[0].type.clone(shape=(None,) * inputs[0].ndim)()])

    def infer_shape(self, node, shapes):
        return [shapes[0]]

    def perform(self, node, inputs, output_storage):
        """Refuse to guess which of the two is meant."""
        raise RuntimeError(
            "a log density of pymc_mrf was compiled without rewrites of PyTensor: use a mode that has those "
            "tagged fast_run or fast_compile"
        )

    def pullback(self, inputs, outputs, cotangents):
        return [cotangents[0], disconnected_type()]

    def connection_pattern(self, node):
        return [[True], [False]]


class ChooseTerms(GraphRewriter):
    """Replaces every `ElementwiseTerm` by what is meant."""

    def apply(self, fgraph):
        """Look at outputs first: the same term may be added up elsewhere in the function."""
        nodes = [node for node in fgraph.apply_nodes if isinstance(node.op, ElementwiseTerm)]
        said = []
        for node in nodes:
            [term], (density, elementwise) = node.outputs, node.inputs
            shown = [(client, k) for client, k in fgraph.clients[term] if isinstance(client.op, Output)]
            if shown and node.op.warning:
                said.append(node.op.warning)
            for client, k in shown:
                fgraph.change_node_input(client, k, elementwise)
            fgraph.replace(term, density)
        # last: where warnings are errors, PyTensor logs this one and goes on with what has been replaced
        for warning in said:
            warn_user(warning)


def register_choice() -> None:
    from pytensor.compile.mode import optdb

    optdb.register("pymc_mrf_terms", ChooseTerms(), "fast_run", "fast_compile", position=-1)


on_first_use.append(register_choice)
