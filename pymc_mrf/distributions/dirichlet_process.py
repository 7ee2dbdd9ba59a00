"""`DirichletProcess`: parameters that fall into an unknown number of groups of equal value.

theta_i | G ~ G, G ~ DP(alpha, G0), with G integrated out. The variable itself carries the ties:
entries that are exactly equal are one group. Its log density is taken with respect to counting
measure over partitions times Lebesgue measure on the distinct values:

    log p(theta) = K log alpha + log Gamma(alpha) - log Gamma(alpha + n)
                   + sum_groups [ log Gamma(n_k) + log g0(phi_k) ]

(Ewens' formula times the base density at the K distinct values; Antoniak, 1974).
"""

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import _support_point
from pymc.logprob.abstract import _logprob
from pytensor.gradient import grad_undefined
from pytensor.graph import Op
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.distributions._numba import NumbaOp, NumbaRV
from pymc_mrf.distributions.arguments import entries_of_shape, positive_scalar
from pymc_mrf.distributions.foreign_routes import Guarded
from pymc_mrf.distributions.scalar import EntriesPrior, EntriesRV, ScalarDistribution

IMMOVABLE = (
    "the density of a DirichletProcess has no gradient in its values, so that NUTS and pm.fit cannot "
    "move them (pm.sample() finds a step that can)"
)


class TieCounts(NumbaOp, Guarded, Op):
    """Size of each entry's group of exactly equal entries, (n,) -> (n,)."""

    __props__ = ()
    immovable = (
        "the density of a DirichletProcess, or of EdgeCommunities, is one of partitions and of values that "
        "are equal within groups, so that pm.Metropolis, pm.Slice, pm.sample_smc and pm.find_MAP would never "
        "make a group: let pm.sample() choose its step"
    )
    gufunc_signature = "(n)->(n)"

    def outputs(self, x):
        return [pt.vector(dtype="float64", shape=x.type.shape)]

    def implementation(self, jit):
        from pymc_mrf.kernels.groups import crp  # imports numba

        def tie_counts(x):
            return crp.tie_counts(x)

        return tie_counts

    def pullback(self, inputs, outputs, cotangents):
        """Refuse: the density of tied values has no gradient in the space of all values."""
        return [
            grad_undefined(self, 0, inputs[0], f"{IMMOVABLE}, because ties change under any small move")
        ]


class LabelsRV(NumbaRV, RandomVariable):
    """Labels of n values, of which those with equal labels are one group."""

    dtype = "int64"
    __props__ = (*RandomVariable.__props__, "n")

    def __init__(self, n: int, **props) -> None:
        self.n = n
        super().__init__(**props)

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return (pt.as_tensor(self.n, dtype="int64"),)


class PartitionRV(LabelsRV):
    """Group labels under the Chinese restaurant process."""

    name = "ChineseRestaurantProcess"
    signature = "()->(n)"

    def implementation(self, jit):
        from pymc_mrf.kernels.groups import crp  # imports numba

        n = self.n

        def random(rng, alpha):
            labels = np.empty(n, dtype=np.int64)
            crp.crp_labels(alpha, labels, rng)
            return labels

        return random


class DirichletProcessRV(EntriesRV):
    """n values drawn from a random measure G ~ DP(alpha, base)."""

    name = "DirichletProcess"
    extended_signature = "[rng],[size],()->[rng],(n)"
    _print_name = ("DirichletProcess", r"\operatorname{DirichletProcess}")

    @staticmethod
    def entries(own, parameters, scalar, shape, size, blocks):
        """Draw a value of the base for each label of a random partition."""
        labels_rng = pt.random.shared_rng(seed=None)
        _, labels = PartitionRV(shape[-1])(own, size=size, rng=labels_rng, return_next_rng=True)
        atoms = scalar.draws(shape, *parameters)
        return atoms[labels] if size is None else pt.take_along_axis(atoms, labels, axis=-1)


@_support_point.register(DirichletProcessRV)
def _dp_support_point(op, rv, *inputs):
    shape, _alpha, *parameters = op.shape_and_arguments(inputs)
    return pt.full(shape, op.scalar.support_point(*parameters))


@_logprob.register(DirichletProcessRV)
def _dp_logprob(op, values, *inputs, **kwargs):
    [x] = values
    _shape, alpha, *parameters = op.shape_and_arguments(inputs)
    log_g0 = op.scalar.log_density(x, *parameters)
    counts = TieCounts()(x) if x.type.ndim == 1 else Blockwise(TieCounts())(x)
    share = 1.0 / counts  # the members of a group contribute one group together
    logp = (
        pt.sum(share, axis=-1) * pt.log(alpha)
        + pt.gammaln(alpha)
        - pt.gammaln(alpha + op.n)
        + pt.sum(share * (pt.gammaln(counts) + log_g0), axis=-1)
    )
    return check_parameters(logp, alpha > 0, msg="alpha > 0")


class DirichletProcess(EntriesPrior):
    r"""Dirichlet-process prior on a vector: its entries fall into groups of equal value.

    It serves as the edge parameter of `AgreementMRF`, `Ising`, `BoltzmannMachine`, `OrdinalMRF`, and `Potts`
    with one coupling per edge.

    Parameters
    ----------
    name : str
    alpha : tensor_like of float
        Concentration, positive; about alpha log(1 + n / alpha) groups are expected a priori.
    base : unregistered scalar distribution
        Where group values come from: any continuous scalar distribution, composed ones such as
        ``pm.LogitNormal``, ``pm.Truncated``, ``pm.Mixture`` or a ``pm.CustomDist`` with ``dist=``
        included; its parameters may be random variables of the model.
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
    The density refers to partitions and their distinct values, so that PyMC's own steps, ``pm.fit``,
    ``pm.find_MAP`` and ``pm.sample_smc`` refuse to move this variable; ``pm.sample`` assigns a step of
    this package by itself. Given the groups `ConjugateConcentration` moves an `alpha` with a prior pm.Gamma,
    and NUTS moves any other, and the parameters of `base`.

    References
    ----------
    Antoniak (1974); Neal (2000); Liu & Page (2013, eq. 3).
    """

    rv_type = DirichletProcessRV

    rv_op = DirichletProcessRV.rv_op

    @classmethod
    def dist(cls, alpha, base, *, shape=None, **kwargs):
        """Unregistered variable; see the class."""
        base = ScalarDistribution(base, "base")
        shape = entries_of_shape(shape)
        inputs = [positive_scalar(alpha, "alpha"), *base.arguments]
        return super().dist(inputs, scalar=base, n=shape[-1], size=shape[:-1] or None, **kwargs)
