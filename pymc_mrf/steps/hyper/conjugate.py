"""Steps that draw variables from full conditionals which their model is seen to have.

What they share; draws of the concentration of Dirichlet processes given their groups, and of the means of
measurements given edges, diagonal and answers.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.continuous import FlatRV
from pymc.logprob.transforms import LogTransform
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import GammaRV, NormalRV

from pymc_mrf.distributions.arguments import value_of
from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.likelihood import EXACT, OF_SAMPLE, Likelihood
from pymc_mrf.distributions.mixed_rv import MixedFieldRV
from pymc_mrf.distributions.network_columns import Standardised
from pymc_mrf.distributions.parents import field_node, strip_views
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.kernels import mixed as kernels
from pymc_mrf.kernels.gaussian import draw_shift
from pymc_mrf.likelihood.gaussian.likelihood import Normal
from pymc_mrf.likelihood.mixed.likelihood import ExactOfMixed, MonteCarloOfMixed
from pymc_mrf.steps.common.base import MRFStep
from pymc_mrf.steps.common.expressions import HeldData, PointFunction, children, varies_by_row
from pymc_mrf.steps.common.model_field import field_of

MAX_DRAWS = 100  # until a value that double precision can hold


class ConjugateStep(MRFStep):
    """Base of these steps.

    A subclass says which variables it draws (`is_served`, `refusal`), and how (`_draw_of`).
    """

    refusal: ClassVar[str]
    """Why a variable, named in the place of {name}, is not drawn, and the remedy."""

    @staticmethod
    @abstractmethod
    def is_served(rv: Any, model: pm.Model) -> bool:
        """Whether a variable of a model is of this kind."""

    @abstractmethod
    def _draw_of(self, rv: Any) -> Any:
        """Compile what puts a draw of a variable into a point, by its method ``draw(point, rng)``."""

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        for rv in self._rvs:
            if not self.is_served(rv, self._model):
                raise ValueError(self.refusal.format(name=rv.name))
        self._draws = [self._draw_of(rv) for rv in self._rvs]
        self._prepare()
        self._warm_up()

    def _prepare(self) -> None:
        """Make ready what a subclass needs beside its draws."""

    @classmethod
    def claims(cls, var):
        """Whether it is one in the model of the context; without one that cannot be known."""
        model = pm.Model.get_context(error_if_none=False)
        return model is not None and var in model.free_RVs and cls.is_served(var, model)

    def _update(self, point):
        point = dict(point)
        for one in self._draws:
            one.draw(point, self.rng)
        return point, {}, True


def draw_inside(name: str, draw: Callable[[], float], end: float) -> float:
    """Draw until the value is none that double precision rounds to 0 or to the `end` of the support.

    Raises a ValueError if it never is; `name` is the variable.
    """
    for _ in range(MAX_DRAWS):
        value = draw()
        if 0.0 < value < end:
            return value
    raise ValueError(
        f"the prior of {name} leaves it at the end of its support to double precision, where no "
        "density is finite; give it larger parameters"
    )


def feeds_only(rv, model: pm.Model, transforms: dict[type, type], takes: Callable[..., bool]) -> bool:
    """Whether a free scalar has a prior of these, not cut off by its transform, and feeds only what takes it.

    `transforms`: those of the priors that do not cut them off; `takes(rv, child, model)`.
    """
    if rv.owner is None or type(rv.owner.op) not in transforms or rv.ndim:
        return False
    if type(model.rvs_to_transforms[rv]) not in (transforms[type(rv.owner.op)], type(None)):
        return False
    found = children(rv, model)
    return bool(found) and all(takes(rv, child, model) for child in found)


def is_concentration(rv, model: pm.Model) -> bool:
    """Whether a free scalar has a Gamma prior and is the concentration of processes, and nothing else."""
    return feeds_only(rv, model, {GammaRV: LogTransform}, _is_its_process)


def _is_its_process(rv, child, model: pm.Model) -> bool:
    if (
        child in model.potentials
        or child.ndim != 1
        or not isinstance(child.owner.op, DirichletProcessRV)
    ):
        return False
    _, alpha, *base = child.owner.op.shape_and_arguments(child.owner.inputs)
    others = [other for other in model.basic_RVs if other is not rv]
    return strip_views(alpha) is rv and rv not in set(ancestors(base, blockers=others))


class Concentration(NamedTuple):
    """Update of one concentration.

    `rv` and `name`: of the variable and of its value. `read`: shape and scale of its prior, then the
    vectors of its processes. `is_log`: whether the value is its logarithm.
    """

    rv: str
    name: str
    read: PointFunction
    is_log: bool

    def draw(self, point: dict[str, np.ndarray], rng: np.random.Generator) -> None:
        shape, scale, *vectors = self.read(point)
        value = float(point[self.name])
        alpha, rate = np.exp(value) if self.is_log else value, 1.0 / scale
        for theta in vectors:
            n = len(theta)
            rate -= np.log(rng.beta(alpha + 1.0, n))
            shape = shape + len(np.unique(theta)) - (rng.random() < n / (n + alpha))
        new = draw_inside(self.rv, lambda: rng.gamma(shape) / rate, np.inf)
        point[self.name] = np.asarray(np.log(new) if self.is_log else new, dtype=point[self.name].dtype)


class ConjugateConcentration(ConjugateStep):
    r"""Draws of the concentration of `DirichletProcess` vectors given the groups.

    Leaves invariant: the posterior, exactly. The concentration alpha has a prior Gamma(a, b); processes of
    n_j entries have K_j groups. Given the last value, draw eta_j from Beta(alpha + 1, n_j) and s_j, which is
    1 with probability n_j / (n_j + alpha), else 0; then alpha from Gamma(a + sum (K_j - s_j), b - sum log
    eta_j).

    ``pm.sample()`` chooses this step within the context of the model (``with model:``); where the base has no
    random parameters, nothing is left for NUTS then.

    Parameters
    ----------
    vars : list of variables
        Free scalars with a prior pm.Gamma, each the `alpha` of `DirichletProcess` vectors and nothing else.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError
        If a variable is not of that kind.

    References
    ----------
    Escobar & West (1995, sec. 6), for one process; Teh et al. (2006, appendix A), for several.
    """

    name = "conjugate_concentration"
    invariant: ClassVar = {Likelihood: EXACT}
    prefix = "conjugate_concentration"
    kinds = (GammaRV,)

    refusal: ClassVar = (
        "ConjugateConcentration draws a scalar pm.Gamma that is the alpha of DirichletProcess vectors and "
        "feeds nothing else, and {name} is no such variable: leave it to NUTS"
    )
    is_served = staticmethod(is_concentration)

    def _draw_of(self, rv):
        model = self._model
        outputs = [
            *(v.astype("float64") for v in rv.owner.op.dist_params(rv.owner)),
            *(model.rvs_to_values[child] for child in children(rv, model)),
        ]
        read = PointFunction(outputs, model, self._compile_kwargs)
        is_log = model.rvs_to_transforms[rv] is not None
        return Concentration(rv.name, model.rvs_to_values[rv].name, read, is_log)


def field_of_means(rv, model: pm.Model):
    """Find the apply node of the field whose means are a variable that `ConjugateMeans` draws; else None."""
    if rv.owner is None or not isinstance(rv.owner.op, NormalRV | FlatRV) or rv.ndim != 1:
        return None
    transform = model.rvs_to_transforms[rv]
    if rv.dtype != "float64" or not isinstance(transform, Standardised | None):
        return None  # another transform may cut the prior off
    fed = children(rv, model)
    nodes = {field_node(child) for child in fed}
    if len(nodes) != 1 or None in nodes or not any(child in model.observed_RVs for child in fed):
        return None
    [node] = nodes
    if not isinstance(node.op.likelihood, ConjugateMeans.serves) or varies_by_row(node):
        return None
    weight, *others, mean = node.op.dist_params(node)
    if strip_views(mean) is not rv or tuple(value_of(rv.shape)) != (len(node.op.scale),):
        return None
    if rv in set(ancestors([weight, *others], blockers=model.free_RVs)):
        return None  # the field is no normal density of its means
    # with weights of any other prior NUTS moves the means as well
    owners = [v.owner for v in ancestors([weight]) if v.owner is not None]
    return node if any(isinstance(owner.op, SpikeAndSlabRV) for owner in owners) else None


class RowTotals(NamedTuple):
    """What the rows of a field tell of its means.

    `n`: number of rows. `average` (c,): of the measurements. `features` (Q,): sums of the features of
    the answers.
    """

    n: int
    average: np.ndarray
    features: np.ndarray


class FieldMeans:
    """Draws of the means of one field.

    `rv`: the means (c,), for which `field_of_means` finds the field. `compile_kwargs` (dict, optional).

    Attributes: `held`: to be asked at the start of every chain whether the data are still those of the
    model.
    """

    def __init__(self, rv, model: pm.Model, compile_kwargs=None) -> None:
        node = field_of_means(rv, model)
        self._field = field_of(node, model)
        self._layout = node.op.layout if isinstance(node.op, MixedFieldRV) else None
        self._edges, self._within = node.op.graph.edges, np.arange(node.op.graph.n_edges)
        if self._layout is not None:
            n_features, kind = len(self._layout.owner), self._layout.kind
            self._within, self._across = (
                np.flatnonzero(kind == k) for k in (kernels.OF_MEASURED, kernels.MIXED)
            )
            self._edges = self._layout.pairs[self._within] - n_features
            self._ends = self._layout.pairs[self._across] - np.array([0, n_features])
        self._name, self._transform = model.rvs_to_values[rv].name, model.rvs_to_transforms[rv]
        weight, *_, diagonal, _ = parameters = list(node.op.dist_params(node))
        is_normal = isinstance(rv.owner.op, NormalRV)
        prior = rv.owner.op.dist_params(rv.owner) if is_normal else [pt.zeros(()), pt.as_tensor(np.inf)]
        outputs = [v.astype("float64") for v in (weight, diagonal, *prior)]
        self._read = PointFunction(outputs, model, compile_kwargs)
        self._rows = None if self._field.is_free else self._summed(self._field.table)
        self.held = HeldData(self._field.name, ConjugateMeans.__name__, parameters)

    def _summed(self, x: np.ndarray) -> RowTotals:
        features = np.zeros(0)
        if self._layout is not None:
            states = x[:, self._field.op.columns.answers].T.astype(np.int8)
            features = kernels.list_states(self._layout, states, np.zeros(len(x))).z.sum(axis=1)
        return RowTotals(len(x), x[:, self._field.measured].mean(axis=0), features)

    def draw(self, point: dict[str, np.ndarray], rng: np.random.Generator) -> None:
        """Put a draw of the means given all else into `point`."""
        n, average, features = self._rows or self._summed(self._field.values(point))
        w, diagonal, location, sd = (value.ravel() for value in self._read(point))
        precision = (self._field.scale / sd) ** 2
        score = precision * (location - average) / self._field.scale
        if (
            self._layout is not None
        ):  # what answers explain of the average is no deviation from the means
            of_feature, of_measurement = self._ends.T
            by = w[self._across] * features[of_feature]
            score = score - np.bincount(of_measurement, by, minlength=len(average))
        shift = np.empty(len(average))
        draw_shift(self._edges, w[self._within], diagonal, n, score, precision, shift, rng)
        mean = average + self._field.scale * shift
        point[self._name] = mean if self._transform is None else self._transform.forward(mean)


class ConjugateMeans(ConjugateStep):
    r"""Draws of the means of measurements from their full conditional.

    Leaves invariant: the posterior, exactly, of a `GaussianMRF` and under ``likelihood="exact"``; the
    distribution proportional to prior times Monte Carlo likelihood, exactly, under
    ``likelihood="monte-carlo"``. Every draw is independent of the last value. Given the precision K of the
    measurements, and the coefficients B of the features z of the answers, which a `GaussianMRF` does not
    have, n rows y have

    .. math:: K (y - \mu) \sim N(B z, K),

    so that a prior N(m, D^-1) of the means makes their distribution normal, of precision n K + D (Rue & Held,
    2005, sec. 2.3.3); y is scaled as the field is. `EdgeGibbs` moves the edges and the diagonal, so that
    nothing is left for NUTS.

    ``pm.sample()`` chooses this step for these variables within the context of the model (``with model:``) if
    the weights of the field have a `SpikeAndSlab` prior.

    Parameters
    ----------
    vars : list of variables
        Vectors of pm.Normal or pm.Flat, each the ``mean`` of one observed `GaussianMRF` or `MixedMRF` with
        such weights, as it is, and of nothing else. Weights and diagonal are the same in all rows.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError
        If a variable is not of that kind.

    References
    ----------
    Rue & Held (2005).
    """

    name = "conjugate_means"
    invariant: ClassVar = {Normal: EXACT, ExactOfMixed: EXACT, MonteCarloOfMixed: OF_SAMPLE}
    prefix = "conjugate_means"
    kinds = NormalRV, FlatRV

    refusal: ClassVar = (
        "ConjugateMeans draws vectors of pm.Normal or pm.Flat without a transform of their own, each the "
        "mean of one observed GaussianMRF or MixedMRF whose weights are a SpikeAndSlab and the same in all "
        "rows, and {name} is none of these: leave it to NUTS"
    )

    @staticmethod
    def is_served(rv, model):
        """Whether it is the mean of such a field."""
        return field_of_means(rv, model) is not None

    def _draw_of(self, rv):
        return FieldMeans(rv, self._model, self._compile_kwargs)

    def _prepare(self):
        self._held = [means.held for means in self._draws]
