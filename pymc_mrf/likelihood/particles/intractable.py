"""The log-partition function of a field that no method here can evaluate.

`IntractableLogPartition` stands for A(eta, b) in the log probability of a field with
``likelihood="particles"``. Its value is 0 and its gradient is undefined: log probabilities are
unnormalised, gradient-based steps refuse the field's parents, and the package's own steps, which
need ratios of partition functions only, never ask for the value.
"""

from typing import ClassVar
from weakref import WeakSet

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.gradient import grad_undefined
from pytensor.graph import Op
from pytensor.graph.traversal import explicit_graph_inputs
from pytensor.tensor.type import discrete_dtypes

from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.distributions.foreign_routes import Guarded


class IntractableLogPartition(NumbaOp, Guarded, Op):
    """0.0, with an undefined gradient with respect to every parameter of the field."""

    __props__ = ()
    immovable = (
        'under likelihood="particles" the log probability of a field is known up to a normalisation that '
        "depends on its parameters, so that pm.Metropolis, pm.Slice, pm.sample_smc and pm.find_MAP would go "
        "wherever it is largest: let pm.sample() choose the step of these parameters, or declare the field "
        'with likelihood="exact" or "monte-carlo" where one of them serves, else "pseudo", which is nearly '
        "right"
    )
    used = False
    """Whether the log probability of any intractable field has been asked for in this process."""

    discrete_inputs: ClassVar[WeakSet] = WeakSet()
    """Discrete variables from which the parameters of such fields were computed."""

    def outputs(self, *parameters):
        """One number; note what the parameters are computed from."""
        IntractableLogPartition.used = True
        for variable in explicit_graph_inputs(parameters):
            discrete = getattr(variable.type, "dtype", None) in discrete_dtypes
            if discrete and not isinstance(variable, SharedVariable):
                self.discrete_inputs.add(variable)
        return [pt.dscalar()]

    def implementation(self, jit):
        """Return zero."""

        def zero(*parameters):
            return np.asarray(0.0)

        return zero

    def pullback(self, inputs, outputs, cotangents):
        """Refuse: a null gradient, never a disconnected one."""
        why = (
            "the partition function of this field is intractable, so that NUTS and pm.fit have no gradient "
            'in its parameters: let pm.sample() choose a step, or declare the field with likelihood="exact" '
            'or "pseudo"'
        )
        return [grad_undefined(self, i, x, why) for i, x in enumerate(inputs)]
