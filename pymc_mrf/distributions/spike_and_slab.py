"""`SpikeAndSlab`: parameters that are exactly zero, or drawn from a continuous distribution.

theta_e = Y_e A_e, Y_e ~ Bernoulli(p_e), A_e ~ slab (Chen & Welling, 2012, sec. 2, with any slab). The
zeros of the variable itself say which edges are absent. Its log density is taken with respect to the
sum of a point mass at zero and Lebesgue measure, entry by entry:

    log p(theta) = sum_e [ theta_e = 0: log(1 - p_e);  else: log p_e + log slab(theta_e) ]
"""

import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Continuous, SymbolicRandomVariable, _support_point
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.logprob.abstract import _logprob
from pymc.pytensorf import collect_default_updates
from pytensor.gradient import grad_undefined
from pytensor.graph import Apply, Op
from pytensor.tensor.random.utils import normalize_size_param

from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.distributions.arguments import (
    check_observed_entries,
    entries_of_dims,
    entries_of_shape,
    parameter,
)
from pymc_mrf.distributions.scalar import ScalarDistribution

IMMOVABLE = (
    "the density of a SpikeAndSlab has no gradient in its values, so that NUTS and pm.fit cannot move "
    "them (pm.sample() finds a step that can)"
)


class Included(NumbaOp, Op):
    """Whether each entry differs from zero; no gradient, because a zero ends under any small move."""

    __props__ = ()

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


class SpikeAndSlabRV(SymbolicRandomVariable):
    """n values, each zero or drawn from the slab."""

    name = "SpikeAndSlab"
    extended_signature = "[rng],[size],(n)->[rng],(n)"
    _print_name = ("SpikeAndSlab", r"\operatorname{SpikeAndSlab}")

    def __init__(self, *args, slab: ScalarDistribution, n: int, **kwargs) -> None:
        self.slab = slab
        self.n = n
        super().__init__(*args, **kwargs)

    @classmethod
    def rv_op(cls, p, *parameters, slab: ScalarDistribution, n: int, size=None, rng=None):
        """Build the random variable: indicators times draws of the slab."""
        size = normalize_size_param(size)
        inner_size, inner_p = size.type(), p.type()
        inner_parameters = [parameter.type() for parameter in parameters]
        shape = () if rv_size_is_none(size) else tuple(inner_size[i] for i in range(size.type.shape[0]))
        shape = (*shape, n)
        inner_rng = pt.random.shared_rng(seed=None)
        _, included = pt.random.bernoulli(inner_p, size=shape, rng=inner_rng, return_next_rng=True)
        theta = pt.switch(included, slab.draws(shape, *inner_parameters), 0.0)
        inputs = [inner_size, inner_p, *inner_parameters]
        updates = collect_default_updates(inputs=inputs, outputs=(theta,))
        n_rngs = len(updates)
        signature = "".join(
            f",({','.join('p' + str(i) + str(j) for j in range(parameter.type.ndim))})"
            for i, parameter in enumerate(parameters)
        )
        rngs = ",".join(["[rng]"] * n_rngs)
        op = cls(
            inputs=[*updates.keys(), *inputs],
            outputs=[*updates.values(), theta],
            slab=slab,
            n=n,
            extended_signature=f"{rngs},[size],(n){signature}->{rngs},(n)",
        )
        fresh = [rng if rng is not None else pt.random.shared_rng(seed=None)]
        fresh += [pt.random.shared_rng(seed=None) for _ in range(n_rngs - 1)]
        return op(*fresh, size, p, *parameters)

    def rebuild_rv(self, *args, **kwargs):
        """Build the variable anew, of another size."""
        return self.rv_op(*args, slab=self.slab, n=self.n, **kwargs)


def arguments(op: SpikeAndSlabRV, inputs) -> tuple:
    """Size, p (n,) and the parameters of the slab among the inputs of a node."""
    (_, size, positions), _ = op.get_input_output_type_idxs(op.extended_signature)
    return inputs[size], *(inputs[i] for i in positions)


@_support_point.register(SpikeAndSlabRV)
def _support_point_of_zeros(op, rv, *inputs):
    size, *_ = arguments(op, inputs)
    shape = (op.n,) if rv_size_is_none(size) else (*size, op.n)
    return pt.zeros(shape)


@_logprob.register(SpikeAndSlabRV)
def _spike_and_slab_logprob(op, values, *inputs, **kwargs):
    [x] = values
    _, p, *parameters = arguments(op, inputs)
    slab = pt.log(p) + op.slab.log_density(x, *parameters)
    logp = pt.switch(Included()(x), slab, pt.log1p(-p)).sum(axis=-1)
    # zeros do not show that a slab has no density
    return check_parameters(
        logp,
        pt.all((p > 0) & (p < 1)),
        op.slab.has_density(*parameters),
        msg="0 < p < 1, parameters of the slab in their domain",
    )


class SpikeAndSlab(Continuous):
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
    The density refers to a point mass at zero plus Lebesgue measure. As the weight of a `BoltzmannMachine` or
    the coupling of an `Ising` field this variable is moved by `EdgeGibbs`, or by `ReversibleJump` with
    `PersistentLangevin`, and by no other step: ``pm.Metropolis``, ``pm.Slice`` and ``pm.DEMetropolisZ`` run,
    but they never make a zero, or never leave it, so that their draws are no sample (`diagnose` with
    ``model=`` tells). Gradient-based steps, ``pm.fit``, ``pm.find_MAP`` and ``pm.sample_smc`` must not move
    it either. Other steps move `p` and the parameters of `slab` given the weights.

    Examples
    --------
    >>> with pm.Model(coords=pymc_mrf.coords(graph)):
    ...     p = pm.Beta("p", 5, 5)
    ...     weight = SpikeAndSlab("weight", p, pm.Normal.dist(0, 1), dims="edge")
    ...     bias = pm.Normal("bias", 0, 10, dims="node")
    ...     pymc_mrf.BoltzmannMachine("x", weight, bias, graph=graph, observed=x)

    References
    ----------
    Mitchell & Beauchamp (1988); Chen & Welling (2012).
    """

    rv_type = SpikeAndSlabRV
    rv_op = SpikeAndSlabRV.rv_op

    def __new__(cls, name, p, slab, *, dims=None, shape=None, **kwargs):
        """Register the variable with the model on the context stack."""
        if shape is None and dims is not None:
            shape = entries_of_dims(dims, name)
        if shape is not None:
            check_observed_entries(kwargs.get("observed"), entries_of_shape(shape)[-1], name)
        return super().__new__(cls, name, p, slab, dims=dims, shape=shape, **kwargs)

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
        return super().dist([p, *slab.arguments], slab=slab, n=n, size=shape[:-1] or None, **kwargs)
