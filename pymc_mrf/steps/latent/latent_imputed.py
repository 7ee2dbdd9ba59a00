"""Missing data that depend on a hidden field are drawn with it.

PyMC makes a free variable of the missing entries of data. Given such an entry, the state of its node would
hardly ever change, and given the state, neither would the entry. The field is therefore drawn without them,
and they are drawn from their law given the field: both together given the rest of the model.
"""

import numpy as np
import pymc as pm
import pytensor
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.tensor.random.type import RandomType

from pymc_mrf.steps.latent.latent_vectors import SplitNormal, is_split_normal


class Imputed:
    """Free variables that depend on a field and on which nothing depends.

    Parameters
    ----------
    rvs : list of TensorVariable
        Free variables of `model`, maybe missing components of normal vectors.
    model : pymc.Model
    """

    def __init__(self, rvs: list, model: pm.Model) -> None:
        self._names = [model.rvs_to_values[rv].name for rv in rvs]
        self._generators: list[SharedVariable] = []
        drawn = [self._symbolic(rv, model) for rv in rvs]
        inputs = model.value_vars
        # in Python: they are drawn at once, by numpy
        options = {"mode": "FAST_COMPILE", "on_unused_input": "ignore", "trust_input": True}
        self._f = pytensor.function(inputs, drawn, **options) if rvs else None
        self._inputs = [value.name for value in inputs]

    def _symbolic(self, rv, model: pm.Model):
        """Value of a variable, drawn given the values of all others, as the sampler has it."""
        node = rv.owner
        if is_split_normal(rv):
            new = SplitNormal(rv, model).draw(self._generator())
            return new.astype(model.rvs_to_values[rv].dtype)
        given = model.replace_rvs_by_values(list(node.inputs))
        given = [self._generator() if isinstance(v.type, RandomType) else v for v in given]
        new = node.op.make_node(*given).outputs[node.outputs.index(rv)]
        transform = model.rvs_to_transforms[rv]
        value = new if transform is None else transform.forward(new, *given)
        return value.astype(model.rvs_to_values[rv].dtype)

    def _generator(self) -> SharedVariable:
        self._generators.append(pytensor.shared(np.random.default_rng(0)))
        return self._generators[-1]

    def draw(self, point: dict, rng: np.random.Generator) -> dict:
        """Return `point` with new values."""
        if self._f is None:
            return point
        for shared in self._generators:
            shared.set_value(np.random.default_rng(rng.integers(2**63)), borrow=True)
        values = self._f(*(np.asarray(point[name]) for name in self._inputs))
        return {**point, **dict(zip(self._names, map(np.asarray, values), strict=True))}


def can_be_drawn(rv, model: pm.Model, point: dict) -> bool:
    """Whether a variable has random draws."""
    try:
        Imputed([rv], model).draw(point, np.random.default_rng(0))
    except NotImplementedError:
        return False
    return True
