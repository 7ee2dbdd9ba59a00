"""`likelihood="particles"`: an energy, whose ratios of partition functions steps estimate.

`IntractableLogPartition` stands for A(eta, b) in the log probability. Its value is 0 and its gradient is
undefined: log probabilities are unnormalised, gradient-based steps refuse the parents of the field, and the
package's own steps, which need ratios of partition functions only, never ask for the value.
"""

import logging
from collections.abc import Sequence
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.gradient import grad_undefined
from pytensor.graph import Op
from pytensor.graph.traversal import explicit_graph_inputs
from pytensor.tensor.type import discrete_dtypes

from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.distributions.foreign_routes import Guarded
from pymc_mrf.distributions.likelihood import AGAINST, APPROXIMATE, DeclaredField, Likelihood
from pymc_mrf.distributions.parents import (
    FreeBias,
    field_node,
    fields_of,
    free_behind,
    free_bias,
    strip_views,
)
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.graph.junction_tree import AUTO_CELLS
from pymc_mrf.likelihood.monte_carlo.checks import EDGE_NOISE
from pymc_mrf.likelihood.particles.particle_edges import ParticleEdges

logger = logging.getLogger("pymc_mrf")


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


class Particles(Likelihood):
    """The likelihood up to its normalisation, which only steps of the package know how to do without."""

    name: ClassVar[str] = "particles"
    invariant: ClassVar[str] = APPROXIMATE
    no_probability: ClassVar[str] = "an unnormalised energy only"
    not_comparable: ClassVar[tuple[str, str]] = (
        AGAINST,
        "its log_likelihood is an unnormalised energy: arviz.loo and compare of it mean nothing",
    )
    edges: ClassVar[Any] = ParticleEdges
    is_intractable: ClassVar[bool] = True
    serves_sums: ClassVar[bool] = False
    serves_blocks: ClassVar[bool] = False

    @classmethod
    def serves(cls, field: DeclaredField) -> bool:
        """Whether steps move the free variables behind the field, if they are known."""
        return field.model is None or _serves_particles(field, field.model)

    @classmethod
    def unasked(cls, field: DeclaredField) -> "Particles":
        """Where nothing else serves."""
        logger.info(
            'likelihood="auto" is "particles" here: the junction tree has width %d and more than the %d '
            "table cells up to which it is used unasked; continuous parameters are sampled by Exchange",
            field.op.tree.width,
            AUTO_CELLS,
        )
        return cls()

    def log_partition(self, op: Any, parameters: Sequence, value: Any) -> Any:
        """Nothing, with an undefined gradient."""
        return IntractableLogPartition()(*parameters)

    def against_chain(self, name: str, fields: list, record: Any, n_particles: int = 0) -> list[str]:
        """Whether there were too few particles."""
        return too_few_particles("EdgeGibbs", name, n_particles, record.noise, EDGE_NOISE)


def too_few_particles(step: str, name: str, n_particles: int, noise: float, target: float) -> list[str]:
    """Warn if the noise of a step's particles is above its target; NaN, where none varies, is not."""
    if not noise > target:
        return []
    enough = int(np.ceil(1.2 * n_particles * (noise / target) ** 2))
    return [
        f"The {n_particles} particles of {step} are too few for {name}: estimated log-likelihood "
        f"ratios have a noise of {noise:.2f}, above {target:g}. Try n_particles={enough}"
    ]


def _serves_particles(field: DeclaredField, model: pm.Model) -> bool:
    """Whether steps move the free variables behind a field whose partition function is not known."""
    free = free_behind(field.parameters, model)
    if any(not v.type.dtype.startswith("float") for v in free):
        return False
    return not any(
        isinstance(v.owner.op, SpikeAndSlabRV) and (v.owner.op.blocks or not _is_plain(v, field, model))
        for v in free
    )


def _is_plain(rv, field: DeclaredField, model: pm.Model) -> bool:
    """Whether edges are the parameter of one field, all rows alike, with biases that move with them."""
    edge, *nodes = field.parameters
    bare = strip_views(edge)
    if bare.owner is not None and bare.owner.op == pt.sigmoid:
        bare = strip_views(bare.owner.inputs[0])
    fed = {node for _, node in fields_of(model) if rv in free_behind(node.inputs, model)}
    others = [node for node in fed if node.op.dist_params(node)[0] is not edge]
    moved = all(
        not free_behind([b], model) or _feeds_field_only(free_bias(b, model), model) for b in nodes
    )
    return bare is rv and field.rows_are_alike and moved and not others


def _feeds_field_only(bias: FreeBias | None, model: pm.Model) -> bool:
    """Whether there is a free bias that no other variable depends on than fields."""
    if bias is None:
        return False
    others = [v for v in [*model.basic_RVs, *model.potentials] if v.owner and field_node(v) is None]
    return not any(bias.rv in free_behind(v.owner.inputs, model) for v in others if v is not bias.rv)
