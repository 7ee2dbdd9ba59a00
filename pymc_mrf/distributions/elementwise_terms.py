"""Terms of a log density that are something else on their own.

Samplers add up all terms of a model: what they move through is the density of data and imputed cells
together, an energy, or a pseudo-likelihood. ``pm.compute_log_likelihood`` returns the terms of the observed
variables as they are, ``pm.compute_log_prior`` those of the free ones, and ArviZ takes them for log
probabilities. The functions that
PyTensor compiles differ: in the second one a term is an output itself.
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.gradient import disconnected_type
from pytensor.graph import Apply, Op
from pytensor.graph.basic import Constant
from pytensor.graph.fg import Output
from pytensor.graph.rewriting.basic import GraphRewriter

from pymc_mrf.checks import warn_user
from pymc_mrf.distributions._numba import on_first_use

REMEDIES = {
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
        f'the {what} of {name} is NaN, as likelihood="{likelihood}" has {instead}: {REMEDIES[what]}, or '
        f"{remedy}"
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
    """Let PyTensor choose before it changes the graph of any function, from now on."""
    from pytensor.compile.mode import optdb

    optdb.register("pymc_mrf_terms", ChooseTerms(), "fast_run", "fast_compile", position=-1)


on_first_use.append(register_choice)
