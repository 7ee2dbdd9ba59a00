"""`DirichletProcess`: parameters that fall into an unknown number of groups of equal value.

theta_i | G ~ G, G ~ DP(alpha, G0), with G integrated out. The variable itself carries the ties:
entries that are exactly equal are one group. Its log density is taken with respect to counting
measure over partitions times Lebesgue measure on the distinct values:

    log p(theta) = K log alpha + log Gamma(alpha) - log Gamma(alpha + n)
                   + sum_groups [ log Gamma(n_k) + log g0(phi_k) ]

(Ewens' formula times the base density at the K distinct values; Antoniak, 1974).
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Continuous
from pymc.distributions.distribution import support_point as base_support_point
from pymc.distributions.shape_utils import rv_size_is_none, shape_from_dims
from pymc.logprob.abstract import _logprob
from pymc.logprob.basic import logp as pm_logp
from pymc.pytensorf import floatX
from pytensor.gradient import grad_undefined
from pytensor.graph import Apply, Op
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.distributions._numba import NumbaRegistered
from pymc_mrf.kernels import crp


class TieCounts(NumbaRegistered, Op):
    """Size of each entry's group of exactly equal entries, (n,) -> (n,)."""

    __props__ = ()
    gufunc_signature = "(n)->(n)"

    def make_node(self, x):
        """Build the node."""
        x = pt.as_tensor(x)
        return Apply(self, [x], [pt.vector(dtype="float64", shape=x.type.shape)])

    def perform(self, node, inputs, output_storage):
        """Evaluate by the kernel."""
        output_storage[0][0] = crp.tie_counts(inputs[0])

    def pullback(self, inputs, outputs, cotangents):
        """Refuse: the density of tied values has no gradient in the space of all values."""
        return [grad_undefined(self, 0, inputs[0], "ties change under any small move")]


class DirichletProcessRV(NumbaRegistered, RandomVariable):
    """n values drawn from a random measure G ~ DP(alpha, base)."""

    name = "DirichletProcess"
    dtype = "floatX"
    __props__ = ("name", "signature", "dtype", "inplace", "base_op", "n")
    _print_name = ("DirichletProcess", r"\operatorname{DirichletProcess}")

    def __init__(
        self, base_op=None, n=None, name=None, signature=None, dtype="floatX", inplace=False
    ) -> None:
        if base_op is None or n is None:
            raise TypeError("DirichletProcessRV needs base_op and n")
        self.base_op = base_op
        self.n = n
        signature = ",".join(["()"] * (1 + len(base_op.inputs_sig))) + "->(n)"
        super().__init__(signature=signature, dtype=dtype, inplace=inplace)

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return (pt.as_tensor(self.n, dtype="int64"),)

    def base(self, *parameters):
        """Variable distributed as the base measure, with these parameters."""
        rng = pt.random.shared_rng(seed=None)
        return self.base_op(*parameters, rng=rng, return_next_rng=True)[1]

    def rng_fn(self, rng, *args):
        """Draw a partition from the Chinese restaurant process and a base value per group."""
        alpha, *base_parameters, size = args
        batch = np.broadcast_shapes(np.shape(alpha), *map(np.shape, base_parameters))
        if size is not None:
            batch = tuple(size)
        alpha = np.broadcast_to(alpha, batch)
        columns = [np.broadcast_to(p, batch)[..., None] for p in base_parameters]
        atoms = self.base_op.rng_fn(rng, *columns, (*batch, self.n))
        labels = np.empty((*batch, self.n), dtype=np.int64)
        for row in np.ndindex(batch):
            crp.crp_labels(float(alpha[row]), labels[row], rng)
        return np.take_along_axis(np.asarray(atoms), labels, axis=-1)


@_logprob.register(DirichletProcessRV)
def _dp_logprob(op, values, rng, size, alpha, *base_parameters, **kwargs):
    [x] = values
    columns = [p[..., None] if p.type.ndim else p for p in base_parameters]
    log_g0 = pm_logp(op.base(*columns), x)
    counts = TieCounts()(x) if x.type.ndim == 1 else Blockwise(TieCounts())(x)
    share = 1.0 / counts  # the members of a group contribute one group together
    logp = (
        pt.sum(share, axis=-1) * pt.log(alpha)
        + pt.gammaln(alpha)
        - pt.gammaln(alpha + op.n)
        + pt.sum(share * (pt.gammaln(counts) + log_g0), axis=-1)
    )
    return check_parameters(logp, alpha > 0, msg="alpha > 0")


def _check_base(base: Any) -> None:
    owner = getattr(base, "owner", None)
    remedy = "pass an unregistered scalar distribution such as pm.Uniform.dist(0, 1)"
    if owner is None:
        raise TypeError(f"base must be a PyMC distribution, not {base!r}; {remedy}")
    if not isinstance(owner.op, RandomVariable):
        raise TypeError(f"base {owner.op} is not a basic random variable; {remedy}")
    if owner.op.ndim_supp != 0 or base.type.ndim != 0:
        raise ValueError(f"base must be scalar, but it has {base.type.ndim} dimensions; {remedy}")
    if base.type.dtype not in ("float64", "float32"):
        raise TypeError(
            f"base must be continuous, not of dtype {base.type.dtype}: with a discrete base two "
            "groups could share a value"
        )


class DirichletProcess(Continuous):
    r"""Dirichlet-process prior on a vector: its entries fall into groups of equal value.

    Parameters
    ----------
    name : str
    alpha : tensor_like of float
        Concentration, positive; about alpha log(1 + n / alpha) groups are expected a priori.
    base : unregistered scalar distribution
        Where group values come from, for example ``pm.Uniform.dist(0, 1)``; its parameters may be
        random variables of the model.
    **kwargs
        ``shape`` or ``dims`` give the number of entries (last dimension); other keyword arguments as
        for every PyMC distribution.

    Raises
    ------
    ValueError, TypeError
        If alpha is not positive, `base` is not a continuous scalar distribution, or the length of the
        vector cannot be known.

    Notes
    -----
    The density refers to partitions and their distinct values, so gradient-based steps, ``pm.fit``,
    ``pm.find_MAP`` and ``pm.sample_smc`` must not move this variable; ``pm.sample`` assigns a step of
    this package by itself, and NUTS moves `alpha` and the parameters of `base` given the groups.

    References
    ----------
    Antoniak (1974); Neal (2000); Liu & Page (2013, eq. 3).
    """

    rv_type = DirichletProcessRV

    @classmethod
    def rv_op(cls, alpha, *base_parameters, base_op, n, size=None, rng=None):
        """Build the random variable."""
        rng = pt.random.shared_rng(seed=None) if rng is None else rng
        op = DirichletProcessRV(base_op, n)
        return op(alpha, *base_parameters, size=size, rng=rng, return_next_rng=True)[1]

    def __new__(cls, name, alpha, base, *, dims=None, shape=None, **kwargs):
        """Register the variable with the model on the context stack."""
        if shape is None and dims is not None:
            names = (dims,) if isinstance(dims, str) else dims
            lengths = shape_from_dims(names, pm.modelcontext(None))
            shape = tuple(int(pt.as_tensor(length).eval()) for length in lengths)
        return super().__new__(cls, name, alpha, base, dims=dims, shape=shape, **kwargs)

    @classmethod
    def dist(cls, alpha, base, *, shape=None, **kwargs):
        """Unregistered variable; see the class."""
        _check_base(base)
        if shape is None or np.ndim(shape) > 1 or np.size(shape) == 0:
            raise ValueError(
                f'shape={shape!r} does not give the number of entries; use shape=n, or dims="edge" '
                "with pm.Model(coords=pymc_mrf.coords(graph))"
            )
        shape = tuple(int(length) for length in np.atleast_1d(shape))
        if shape[-1] < 1:
            raise ValueError(f"shape={shape} has no entries; at least one parameter is needed")
        if isinstance(alpha, float | int | np.number) and not (alpha > 0 and np.isfinite(alpha)):
            raise ValueError(f"alpha must be positive and finite, not {alpha}")
        alpha = floatX(pt.as_tensor_variable(alpha))
        base_parameters = base.owner.op.dist_params(base.owner)
        return super().dist(
            [alpha, *base_parameters],
            base_op=base.owner.op,
            n=shape[-1],
            size=shape[:-1] or None,
            **kwargs,
        )

    def support_point(rv, size, alpha, *base_parameters):
        """All entries in one group, at the support point of the base."""
        op = rv.owner.op
        value = base_support_point(op.base(*base_parameters))
        shape = (op.n,) if rv_size_is_none(size) else (*size, op.n)
        return (
            pt.full(shape, value) if value.type.ndim == 0 else pt.broadcast_to(value[..., None], shape)
        )
