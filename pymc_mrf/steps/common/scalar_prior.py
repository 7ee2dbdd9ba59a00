"""The scalar distribution in a prior, the base of a process or a slab: its support and its log density."""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.pytensorf import compile as compile_pytensor

from pymc_mrf.distributions.scalar import ScalarDistribution


class ScalarPrior:
    """Compiled access to a scalar distribution.

    Parameters
    ----------
    distribution : ScalarDistribution
    parameters : sequence of Variable
        Symbolic.
    compile_kwargs : dict, optional
    transform : pymc Transform, optional
        From the distribution's support onto the whole line: then all is that of the transformed variable.

    Attributes
    ----------
    has_support : bool
        Whether PyMC tells the support.
    range : list of Variable
        Ends of the support, the whole line if it is not known, and the support point.
    """

    def __init__(
        self, distribution: ScalarDistribution, parameters, compile_kwargs=None, transform=None
    ) -> None:
        ends = distribution.support(*parameters) if transform is None else None
        self.has_support = ends is not None
        center = distribution.support_point(*parameters)
        if transform is not None:
            center = transform.forward(center)
        self.range: list[Any] = [
            pt.as_tensor(v).astype("float64") for v in (*(ends or (-np.inf, np.inf)), center)
        ]
        x, inputs = pt.dvector("x"), [parameter.type() for parameter in parameters]
        if transform is None:
            density = distribution.log_density(x, *inputs)
        else:
            density = distribution.log_density(transform.backward(x), *inputs) + transform.log_jac_det(x)
        kwargs = {"trust_input": True, **(compile_kwargs or {})}
        self._log_density = compile_pytensor([x, *inputs], density, **kwargs)

    def log_density(self, x: np.ndarray, parameters: list[np.ndarray]) -> np.ndarray:
        """Log density at values of any shape; -inf off the support."""
        values = self._log_density(x.reshape(-1), *parameters).reshape(x.shape)
        if not self.has_support:  # derived densities are NaN off the support
            values = np.where(np.isnan(values), -np.inf, values)
        return values
