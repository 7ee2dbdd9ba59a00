"""`SpikeAndSlab`: parameters that are exactly zero, or drawn from a continuous distribution.

theta_e = Y_e A_e, Y_e ~ Bernoulli(p_e), A_e ~ slab (Chen & Welling, 2012, sec. 2, with any slab). The
zeros of the variable itself say which edges are absent. Its log density is taken with respect to the
sum of a point mass at zero and Lebesgue measure, entry by entry:

    log p(theta) = sum_e [ theta_e = 0: log(1 - p_e);  else: log p_e + log slab(theta_e) ]

Entries may come in blocks, which are zero or drawn from the slab as a whole: theta_e then is a vector, with
independent entries if it is not zero.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import _support_point
from pymc.logprob.abstract import _logprob
from pytensor.gradient import grad_undefined
from pytensor.graph import Op, Variable

from pymc_mrf.checks import is_integer
from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.distributions.arguments import entries_of_shape, parameter
from pymc_mrf.distributions.field_parameters import axes_of_variable
from pymc_mrf.distributions.foreign_routes import Guarded
from pymc_mrf.distributions.scalar import EntriesPrior, EntriesRV, ScalarDistribution, check_entry_labels

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
        "pm.sample() choose its step, or pass pymc_mrf.steps.EdgeGibbs"
    )

    def outputs(self, x):
        return [pt.tensor(dtype="bool", shape=x.type.shape)]

    def implementation(self, jit):

        def included(x):
            return x != 0

        return included

    def infer_shape(self, node, shapes):
        return shapes

    def pullback(self, inputs, outputs, cotangents):
        """Refuse, as there is no gradient by the value."""
        return [
            grad_undefined(self, 0, inputs[0], f"{IMMOVABLE}, because zeros end under any small move")
        ]


class SpikeAndSlabRV(EntriesRV):
    """n values, each zero or drawn from the slab; or each of the blocks that they come in."""

    name = "SpikeAndSlab"
    extended_signature = "[rng],[size],(n)->[rng],(n)"
    _print_name = ("SpikeAndSlab", r"\operatorname{SpikeAndSlab}")

    @staticmethod
    def entries(own, parameters, scalar, shape, size, blocks):
        rng, n_indicators = pt.random.shared_rng(seed=None), len(blocks) or shape[-1]
        _, included = pt.random.bernoulli(
            own, size=(*shape[:-1], n_indicators), rng=rng, return_next_rng=True
        )
        return pt.switch(of_entries(included, blocks), scalar.draws(shape, *parameters), 0.0)

    @property
    def heads(self) -> Any:
        """Index of the first entry of every block, or of all entries: what tells whether they are present."""
        return np.cumsum((0, *self.blocks[:-1])) if self.blocks else slice(None)


def has_large_blocks(rv) -> bool:
    """Whether a variable is a `SpikeAndSlab` of which several entries are zero together."""
    op = rv.owner.op if rv is not None and rv.owner is not None else None
    return isinstance(op, SpikeAndSlabRV) and max(op.blocks, default=1) > 1


def of_entries(values, blocks: tuple[int, ...]):
    """Repeat values (..., blocks) for the entries of each block; values (..., n) of entries stay."""
    return values[..., np.repeat(np.arange(len(blocks)), blocks)] if blocks else values


@_support_point.register(SpikeAndSlabRV)
def _support_point_of_zeros(op, rv, *inputs):
    return pt.zeros(op.shape_and_arguments(inputs)[0])


@_logprob.register(SpikeAndSlabRV)
def _spike_and_slab_logprob(op, values, *inputs, **kwargs):
    [x] = values
    _, p, *parameters = op.shape_and_arguments(inputs)
    included, slab = Included()(x), op.scalar.log_density(x, *parameters)
    if op.blocks:
        present = included[..., op.heads]
        whole = pt.all(pt.eq(included, of_entries(present, op.blocks)), axis=-1)
        logp = pt.switch(present, pt.log(p), pt.log1p(-p)).sum(axis=-1)
        logp = pt.switch(whole, logp + pt.switch(included, slab, 0.0).sum(axis=-1), -np.inf)
    else:
        logp = pt.switch(included, pt.log(p) + slab, pt.log1p(-p)).sum(axis=-1)
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
        Prior probability that an entry is not zero, in (0, 1): a scalar or one per entry, or per block.
    slab : unregistered scalar distribution
        Where the other values come from: any continuous scalar distribution, for example
        ``pm.Normal.dist(0, sigma)`` or ``pm.Cauchy.dist(0, 1)``; its parameters may be random
        variables of the model.
    blocks : sequence of int, optional
        Numbers of entries, one after the other, that are zero as a whole or not at all, such as the
        parameters of the edges of a `NominalMRF` (`table_sizes`). Every entry alone by default. The slab is
        that of each entry, independently.
    **kwargs
        ``shape`` or ``dims`` give the number of entries (last dimension), which `blocks` tell by themselves;
        other keyword arguments as for every PyMC distribution.

    Raises
    ------
    ValueError, TypeError
        If p is not in (0, 1) or of the wrong shape, `slab` is not a continuous scalar distribution with
        parameters in their domain, `blocks` are no positive numbers that add up to the length of the vector,
        or that cannot be known.

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
        has_blocks = kwargs.get("blocks") is not None
        check_entry_labels(p, f"{name}: p", "edge" if has_blocks else kwargs.get("dims"))
        if has_blocks and kwargs.get("dims") is None:
            kwargs.setdefault("shape", sum(_sizes(kwargs["blocks"])))
        rv = super().__new__(cls, name, p, *args, **kwargs)
        own = pm.modelcontext(None).named_vars_to_dims.get(rv.name)
        is_vector = isinstance(p, Variable) and p.type.ndim > 0
        if own and is_vector and not rv.owner.op.blocks:  # to blocks no dimension belongs
            for axis in axes_of_variable(p)[-1]:
                if axis.dim != own[-1]:
                    raise ValueError(
                        f"{name}: p has dimension {axis.dim!r} (of {axis.owner}), but {name} has "
                        f"{own[-1]!r}: give it one probability for all entries, or one for each of them"
                    )
        return rv

    @classmethod
    def dist(cls, p, slab, *, blocks=None, shape=None, **kwargs):
        """Unregistered variable; see the class."""
        slab = ScalarDistribution(slab, "slab")
        blocks = () if blocks is None else _sizes(blocks)
        lengths = entries_of_shape(sum(blocks) if blocks and shape is None else shape)
        n = lengths[-1]
        if blocks and sum(blocks) != n:
            raise ValueError(
                f"blocks add up to {sum(blocks)} entries, but the vector has {n}: leave shape out, or give "
                "dims of the length of all blocks together"
            )
        p, numbers = parameter(p, "p")
        check_probabilities(numbers)
        m, what = (len(blocks), "blocks") if blocks else (n, "parameters")
        if p.type.ndim > 1 or (p.type.ndim == 1 and p.type.shape[0] not in (None, m)):
            raise ValueError(
                f"p must be a scalar or have one entry for each of the {m} {what}, but its shape is "
                f"{p.type.shape}"
            )
        p = pt.full((m,), p) if p.type.ndim == 0 else pt.specify_shape(p, (m,))
        inputs, size = [p, *slab.arguments], lengths[:-1] or None
        return super().dist(inputs, scalar=slab, n=n, blocks=blocks, size=size, **kwargs)


def check_probabilities(numbers: np.ndarray | None) -> None:
    """Refuse values of `p` outside its range; None if they are not known."""
    wrong = np.zeros(0) if numbers is None else numbers[~((numbers > 0) & (numbers < 1))]
    if wrong.size:
        raise ValueError(
            f"p must lie strictly between 0 and 1, but {wrong[0]:g} does not; drop an edge from "
            "the graph to exclude it for certain"
        )


def _sizes(blocks: Any) -> tuple[int, ...]:
    """Return the sizes of blocks as positive integers."""
    is_several = isinstance(blocks, Sequence | np.ndarray) and not isinstance(blocks, str)
    sizes = list(blocks) if is_several and np.ndim(blocks) == 1 else []
    if not sizes or not all(is_integer(k) and k > 0 for k in sizes):
        raise ValueError(
            f"blocks must be the numbers of entries of each block, positive integers, not {blocks!r}; those "
            "of a NominalMRF are pymc_mrf.fields.table_sizes(graph, n_states)"
        )
    return tuple(int(k) for k in sizes)
