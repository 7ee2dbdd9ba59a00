"""`SpikeAndSlab`: parameters that are exactly zero, or drawn from a continuous distribution.

theta_e = Y_e A_e, Y_e ~ Bernoulli(p_e), A_e ~ slab (Chen & Welling, 2012, sec. 2, with any slab). The
zeros of the variable itself say which edges are absent. Its log density is taken with respect to the
sum of a point mass at zero and Lebesgue measure, entry by entry:

    log p(theta) = sum_e [ theta_e = 0: log(1 - p_e);  else: log p_e + log slab(theta_e) ]
"""

import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import _support_point
from pymc.logprob.abstract import _logprob
from pytensor.gradient import grad_undefined
from pytensor.graph import Apply, Op, Variable

from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.distributions.arguments import entries_of_shape, parameter
from pymc_mrf.distributions.entries import EntriesPrior, EntriesRV
from pymc_mrf.distributions.foreign_routes import Guarded
from pymc_mrf.distributions.named_axes import axes_of_variable
from pymc_mrf.distributions.scalar import ScalarDistribution

IMMOVABLE = (
    "the density of a SpikeAndSlab has no gradient in its values, so that NUTS and pm.fit cannot move "
    "them (pm.sample() finds a step that can)"
)


class Included(NumbaOp, Guarded, Op):
    """Whether each entry differs from zero; no gradient, because a zero ends under any small move."""

    __props__ = ()
    immovable = (
        "the density of a SpikeAndSlab is one of point masses at zero beside the slab, so that "
        "pm.Metropolis, pm.Slice, pm.sample_smc and pm.find_MAP would never make or leave a zero: let "
        "pm.sample() choose its step, or pass pymc_mrf.EdgeGibbs"
    )

    def make_node(self, x):
        """Build the node."""
        x = pt.as_tensor(x)
        return Apply(self, [x], [pt.tensor(dtype="bool", shape=x.type.shape)])

    def implementation(self, jit):
        """Compare."""

        def included(x):
            return x != 0

        return included

    def infer_shape(self, node, shapes):
        """Shape of the input."""
        return shapes

    def pullback(self, inputs, outputs, cotangents):
        """Refuse."""
        return [
            grad_undefined(self, 0, inputs[0], f"{IMMOVABLE}, because zeros end under any small move")
        ]


class SpikeAndSlabRV(EntriesRV):
    """n values, each zero or drawn from the slab."""

    name = "SpikeAndSlab"
    extended_signature = "[rng],[size],(n)->[rng],(n)"
    _print_name = ("SpikeAndSlab", r"\operatorname{SpikeAndSlab}")

    @staticmethod
    def entries(own, parameters, scalar, shape, size):
        """Draw indicators, times draws of the slab."""
        rng = pt.random.shared_rng(seed=None)
        _, included = pt.random.bernoulli(own, size=shape, rng=rng, return_next_rng=True)
        return pt.switch(included, scalar.draws(shape, *parameters), 0.0)


@_support_point.register(SpikeAndSlabRV)
def _support_point_of_zeros(op, rv, *inputs):
    return pt.zeros(op.shape_and_arguments(inputs)[0])


@_logprob.register(SpikeAndSlabRV)
def _spike_and_slab_logprob(op, values, *inputs, **kwargs):
    [x] = values
    _, p, *parameters = op.shape_and_arguments(inputs)
    slab = pt.log(p) + op.scalar.log_density(x, *parameters)
    logp = pt.switch(Included()(x), slab, pt.log1p(-p)).sum(axis=-1)
    # zeros do not show that a slab has no density
    return check_parameters(
        logp,
        pt.all((p > 0) & (p < 1)),
        op.scalar.has_density(*parameters),
        msg="0 < p < 1, parameters of the slab in their domain",
    )


class SpikeAndSlab(EntriesPrior):
    r"""Spike-and-slab prior on a vector: each entry is exactly zero, or drawn from a slab.

    Parameters
    ----------
    name : str
    p : tensor_like of float
        Prior probability that an entry is not zero, in (0, 1): a scalar or one per entry.
    slab : unregistered scalar distribution
        Where the other values come from: any continuous scalar distribution, for example
        ``pm.Normal.dist(0, sigma)`` or ``pm.Cauchy.dist(0, 1)``; its parameters may be random
        variables of the model.
    **kwargs
        ``shape`` or ``dims`` give the number of entries (last dimension); other keyword arguments as
        for every PyMC distribution.

    Raises
    ------
    ValueError, TypeError
        If p is not in (0, 1) or of the wrong shape, `slab` is not a continuous scalar distribution with
        parameters in their domain, or the length of the vector cannot be known.

    Notes
    -----
    The density refers to a point mass at zero plus Lebesgue measure. As the edge parameter of a
    `BoltzmannMachine`, `OrdinalMRF`, `Ising` or `Potts` field, or as one term of it, this variable is moved
    by `EdgeGibbs`, or by `ReversibleJump` with `PersistentLangevin`, and by no other step: ``pm.Metropolis``,
    ``pm.Slice``, ``pm.find_MAP``, ``pm.fit`` and ``pm.sample_smc`` refuse to move it. Other steps move `p`
    and the parameters of `slab` given the weights.

    Examples
    --------
    >>> with pm.Model(coords=pymc_mrf.coords(graph)):
    ...     p = pm.Beta("p", 5, 5)
    ...     weight = SpikeAndSlab("weight", p, pm.Normal.dist(0, 1), dims="edge")
    ...     bias = pm.Normal("bias", 0, 10, dims="node")
    ...     pymc_mrf.BoltzmannMachine("x", weight, bias, graph=graph, observed=x)

    A sparse difference between two groups, and a field that changes with a covariate z of the rows:

    >>> pymc_mrf.BoltzmannMachine("patients", w + 0.5 * delta, b1, graph=graph, observed=x1)
    >>> pymc_mrf.BoltzmannMachine("controls", w - 0.5 * delta, b2, graph=graph, observed=x2)
    >>> w_of_row, b_of_row = w + z[:, None] * delta, b + z[:, None] * slope
    >>> pymc_mrf.BoltzmannMachine("x", w_of_row, b_of_row, graph=graph, observed=x)

    References
    ----------
    Mitchell & Beauchamp (1988); Chen & Welling (2012).
    """

    rv_type = SpikeAndSlabRV
    rv_op = SpikeAndSlabRV.rv_op

    def __new__(cls, name, p, *args, **kwargs):
        """Register the variable with the model on the context stack."""
        rv = super().__new__(cls, name, p, *args, **kwargs)
        own = pm.modelcontext(None).named_vars_to_dims.get(rv.name)
        for axis in axes_of_variable(p)[-1] if own and isinstance(p, Variable) and p.type.ndim else []:
            if axis.dim != own[-1]:
                raise ValueError(
                    f"{name}: p has dimension {axis.dim!r} (of {axis.owner}), but {name} has {own[-1]!r}: "
                    "give it one probability for all entries, or one for each of them"
                )
        return rv

    @classmethod
    def dist(cls, p, slab, *, shape=None, **kwargs):
        """Unregistered variable; see the class."""
        slab = ScalarDistribution(slab, "slab")
        shape = entries_of_shape(shape)
        n = shape[-1]
        p, numbers = parameter(p, "p")
        if numbers is not None:
            wrong = numbers[~((numbers > 0) & (numbers < 1))]
            if wrong.size:
                raise ValueError(
                    f"p must lie strictly between 0 and 1, but {wrong[0]:g} does not; drop an edge from "
                    "the graph to exclude it for certain"
                )
        if p.type.ndim > 1 or (p.type.ndim == 1 and p.type.shape[0] not in (None, n)):
            raise ValueError(
                f"p must be a scalar or have one entry for each of the {n} parameters, but its shape is "
                f"{p.type.shape}"
            )
        p = pt.full((n,), p) if p.type.ndim == 0 else pt.specify_shape(p, (n,))
        return super().dist([p, *slab.arguments], scalar=slab, n=n, size=shape[:-1] or None, **kwargs)
