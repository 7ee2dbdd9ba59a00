"""`ConjugateHyperparameters`: exact draws of the sparsity and the slab's scale given the edges.

Chen & Welling (2012, sec. 5, eq. 14). Not implemented: any prior that is not conjugate; NUTS moves those.
"""

from typing import ClassVar, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import LogOddsTransform, LogTransform
from pytensor import scalar
from pytensor.compile.ops import ViewOp
from pytensor.graph.basic import Constant
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors
from pytensor.tensor.basic import Alloc, tensor_copy
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.random.basic import BetaRV, GammaRV, InvGammaRV, NormalRV
from pytensor.tensor.shape import SpecifyShape
from pytensor.tensor.subtensor import AdvancedSubtensor
from scipy.special import logit

from pymc_mrf.distributions.likelihood import EXACT, Likelihood
from pymc_mrf.distributions.parents import strip_views
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.steps.common.expressions import PointFunction, children
from pymc_mrf.steps.common.statistics import Statistic, Statistics
from pymc_mrf.steps.hyper.conjugate import ConjugateStep, draw_inside, feeds_only

EXPONENTS = {GammaRV: -0.5, InvGammaRV: 0.5}
"""To which power a precision or a variance is the standard deviation."""

TRANSFORMS = {BetaRV: LogOddsTransform, GammaRV: LogTransform, InvGammaRV: LogTransform}
"""Which transforms have the whole support: PyMC's own."""

FORWARD = {LogOddsTransform: logit, LogTransform: np.log, type(None): float}


def exponent(expression, x, others) -> float | None:
    """Alpha if `expression` is k x^alpha for all x > 0, k free of x; None if that cannot be seen.

    `others` are variables not to be looked through.
    """
    if expression is x:
        return 1.0
    if expression.owner is None or expression in others:
        return 0.0
    op, inputs = expression.owner.op, expression.owner.inputs
    found = [exponent(v, x, others) for v in inputs]
    parts = [alpha for alpha in found if alpha is not None]
    if len(parts) < len(found):
        return None
    if not any(parts):
        return 0.0
    if not isinstance(op, Elemwise | DimShuffle | ViewOp):
        return None
    match op.scalar_op if isinstance(op, Elemwise) else scalar.identity:
        case scalar.Mul():
            return sum(parts)
        case scalar.TrueDiv():
            return parts[0] - parts[1]
        case scalar.Pow() if isinstance(strip_views(inputs[1]), Constant):
            return parts[0] * float(strip_views(inputs[1]).data)
        case scalar.Sqrt():
            return 0.5 * parts[0]
        case scalar.Sqr():
            return 2.0 * parts[0]
        case scalar.Reciprocal():
            return -parts[0]
        case scalar.Sign():
            return 0.0
        case scalar.Abs() | scalar.Identity() | scalar.Cast():
            return parts[0]
    return None


def where_it_is(x, p):
    """Which entries of `p` are the scalar `x`, symbolic, if all others are free of it; else None."""
    if p is x:
        return pt.constant(np.array(True))
    if x not in set(ancestors([p])):
        return pt.constant(np.array(False))
    op, inputs = p.owner.op, p.owner.inputs
    if isinstance(op, Alloc | DimShuffle | SpecifyShape | ViewOp) or op == tensor_copy:
        inner = where_it_is(x, inputs[0])
        # a scalar is repeated, a vector is left as it is
        return inner if p.type.ndim == inputs[0].type.ndim or inputs[0].type.ndim == 0 else None
    if isinstance(op, AdvancedSubtensor) and x not in set(ancestors(inputs[1:])):
        inner, places = where_it_is(x, inputs[0]), inputs[1:]
        return inner if inner is None or inner.type.ndim == 0 else inner[tuple(places)]
    if isinstance(op, Elemwise) and isinstance(op.scalar_op, scalar.Switch):
        condition, *branches = inputs
        here = [where_it_is(x, branch) for branch in branches]
        if x not in set(ancestors([condition])) and all(mask is not None for mask in here):
            return pt.switch(condition, *here)
    return None


def is_conjugate(rv, model: pm.Model) -> bool:
    """Whether a free variable has a conjugate prior and feeds nothing but `SpikeAndSlab` vectors.

    As the probability `p` of all entries or of some, or through the standard deviation of a normal slab.
    """
    return feeds_only(rv, model, TRANSFORMS, _is_conjugate_to)


def _is_conjugate_to(rv, child, model: pm.Model) -> bool:
    if child in model.potentials or not isinstance(child.owner.op, SpikeAndSlabRV):
        return False
    others = {v for v in model.basic_RVs if v is not rv}
    p, parameters = _parameters(child)
    exponents = [exponent(v, rv, others) for v in parameters]
    if isinstance(rv.owner.op, BetaRV):
        return where_it_is(rv, p) is not None and not any(exponents) and None not in exponents
    normal = isinstance(child.owner.op.scalar.op, NormalRV)
    return normal and exponent(p, rv, others) == 0.0 and exponents == [0.0, EXPONENTS[type(rv.owner.op)]]


def _parameters(child) -> tuple:
    """Return p (n,) and the slab's parameters, as its own Op takes them if it is normal."""
    op = child.owner.op
    _, p, *parameters = op.shape_and_arguments(child.owner.inputs)
    normal = isinstance(op.scalar.op, NormalRV)
    return p, list(op.scalar.native_parameters(*parameters)) if normal else parameters


class Update(NamedTuple):
    """Compiled update of one variable.

    `rv` and `name`: of the variable and of its value. `prior`: Op of the prior. `read`: the two
    parameters of the full conditional. `transform`: that of the value variable, as in `FORWARD`.
    """

    rv: str
    name: str
    prior: type
    read: PointFunction
    transform: type  # pickled by name, as functions of scipy are not

    def draw(self, point: dict[str, np.ndarray], rng: np.random.Generator) -> None:
        first, second = self.read(point)
        new = self._draw(float(first), float(second), rng)
        point[self.name] = np.asarray(FORWARD[self.transform](new), dtype=point[self.name].dtype)

    def _draw(self, first: float, second: float, rng: np.random.Generator) -> float:
        """Draw a value, none that double precision rounds to the ends."""
        if self.prior is BetaRV:
            return draw_inside(self.rv, lambda: rng.beta(first, second), 1.0)
        if self.prior is GammaRV:
            return draw_inside(self.rv, lambda: rng.gamma(first) / second, np.inf)
        return draw_inside(self.rv, lambda: second / (rng.gamma(first) or np.nan), np.inf)


class ConjugateHyperparameters(ConjugateStep):
    r"""Draws of hyperparameters of `SpikeAndSlab` vectors from their full conditionals.

    Leaves invariant: the posterior, exactly; every draw is independent of the last value. With k of the
    entries theta_e of all vectors that a variable feeds not zero, and m of them zero (of the blocks that they
    come in, if p is drawn):

    - ``p = pm.Beta("p", a, b)`` is drawn from Beta(a + k, b + m); if it is the probability of some entries
      only, as ``p_1`` in ``pm.math.switch(condition, p_1, p_2)``, k and m count these;
    - ``tau = pm.Gamma("tau", c, d)`` with the slab ``pm.Normal.dist(mu, tau=tau)`` from
      Gamma(c + k / 2, d + sum (theta_e - mu)^2 / 2), the sum over present entries;
    - ``s2 = pm.InverseGamma("s2", c, d)`` with the slab ``pm.Normal.dist(mu, sigma=pt.sqrt(s2))`` from
      InverseGamma with the same two parameters.

    The standard deviation may be written in other ways, if it is a product of powers:
    ``sigma=scale / pt.sqrt(tau)`` is recognised too. a, b, c, d, mu and such factors may be numbers or
    depend on other variables of the model.

    ``pm.sample()`` chooses this step for these variables within the context of the model
    (``with model:``); all others are left to NUTS.

    Parameters
    ----------
    vars : list of variables
        Free scalar variables as above, each feeding `SpikeAndSlab` vectors and nothing else.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError
        If a variable is not of that kind.

    Notes
    -----
    Sampler statistic: ``conjugate_n_present``, the entries that are not zero in the vectors that the
    variables feed, at the time of the draws.

    References
    ----------
    Chen & Welling (2012, eq. 14).

    Examples
    --------
    >>> with pm.Model(coords=pymc_mrf.coords(graph)):
    ...     p = pm.Beta("p", 5, 5)
    ...     tau = pm.Gamma("tau", 5, 5)
    ...     weight = pymc_mrf.SpikeAndSlab("weight", p, pm.Normal.dist(0, tau=tau), dims="edge")
    ...     pymc_mrf.BoltzmannMachine("x", weight, graph=graph, observed=x)
    ...     idata = pm.sample()
    """

    name = "conjugate_hyperparameters"
    invariant: ClassVar = {Likelihood: EXACT}
    prefix = "conjugate"
    kinds = BetaRV, GammaRV, InvGammaRV
    statistics: Statistics = (
        Statistic("n_present", "entries that are not 0", dtype=np.int64, shown="always"),
    )

    refusal: ClassVar = (
        "ConjugateHyperparameters draws a pm.Beta that is the p of SpikeAndSlab vectors, a pm.Gamma that is "
        "the precision or a pm.InverseGamma that is the variance of their normal slabs, scalars that feed "
        "nothing else, and {name} is none of these: leave it to NUTS"
    )
    is_served = staticmethod(is_conjugate)

    def _draw_of(self, rv):
        return compile_update(rv, self._model, self._compile_kwargs)

    def _prepare(self):
        model = self._model
        values = {model.rvs_to_values[child] for rv in self._rvs for child in children(rv, model)}
        self._free = [value.name for value in values if value in model.value_vars]
        known = [value for value in values if value not in model.value_vars]
        self._known = [PointFunction(value, model) for value in known]

    def _update(self, point):
        vectors = [point[name] for name in self._free] + [read(point) for read in self._known]
        n_present = sum(map(np.count_nonzero, vectors))
        point, _, moved = super()._update(point)
        return point, {"conjugate_n_present": int(n_present)}, moved


def compile_update(rv, model: pm.Model, kwargs) -> Update:
    """Compile the update of one variable."""
    first, second = rv.owner.op.dist_params(rv.owner)
    one = pt.constant(1.0, dtype=rv.dtype)
    if isinstance(rv.owner.op, GammaRV):
        second = pt.reciprocal(second)  # PyTensor's Op takes the scale
    for child in children(rv, model):
        value = model.rvs_to_values[child]
        here = pt.neq(value, 0.0)
        k = here.sum()
        if isinstance(rv.owner.op, BetaRV):
            here = here[..., child.owner.op.heads]
            mask = pt.broadcast_to(where_it_is(rv, _parameters(child)[0]), here.shape)
            k = (here & mask).sum()
            first, second = first + k, second + mask.sum() - k
            continue
        mu, sigma = _parameters(child)[1]
        unit = graph_replace(sigma, {rv: one}, strict=False)  # what multiplies the power
        first = first + 0.5 * k
        second = second + 0.5 * pt.switch(here, ((value - mu) / unit) ** 2, 0.0).sum()
    return Update(
        rv.name,
        model.rvs_to_values[rv].name,
        type(rv.owner.op),
        PointFunction([v.astype("float64") for v in (first, second)], model, kwargs),
        type(model.rvs_to_transforms[rv]),
    )
