"""Free variables behind the node parameters of fields, moved by a step together with its own variable."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.traversal import ancestors

from pymc_mrf.parts import Parts
from pymc_mrf.steps.common.expressions import children
from pymc_mrf.steps.common.observed_field import ObservedField

LEAST_PRECISION = 1e-4


class NoNodeVariables:
    """Nothing behind the node parameters of `n_fields` fields; see `NodeVariables`."""

    size = 0

    def __init__(self, n_fields: int) -> None:
        self._nothing = [np.zeros(0)] * n_fields

    def pack(self, point: dict) -> np.ndarray:
        return np.zeros(0)

    def unpack(self, v: np.ndarray, point: dict) -> dict:
        return point

    def evaluate(self, v: np.ndarray, point: dict) -> tuple[float, list[np.ndarray]]:
        """Log density 0, and nothing for the engines to take for node parameters."""
        return 0.0, self._nothing

    def slope(self, v: np.ndarray, point: dict, cotangents: list[np.ndarray]) -> np.ndarray:
        """Return no gradient."""
        return np.zeros(0)


class NodeVariables:
    """Value variables v (P,), flat, whatever their priors, and the node parameters that they give.

    Parameters
    ----------
    values : list of TensorVariable
        Continuous value variables of `model`.
    fields : list of ObservedField
    model : pymc.Model
    compile_kwargs : dict, optional

    Attributes
    ----------
    size : int
        P.
    """

    def __init__(
        self, values: list, fields: list[ObservedField], model: pm.Model, compile_kwargs=None
    ) -> None:
        self._names = [value.name for value in values]
        point = model.initial_point()
        self._parts = Parts(np.shape(point[name]) for name in self._names)
        self.size = self._parts.size
        own = [model.values_to_rvs[value] for value in values]
        names = {field.name for field in fields}
        touched = {child for rv in own for child in children(rv, model) if child.name not in names}
        log_density = model.logp(
            vars=[rv for rv in (*model.basic_RVs, *model.potentials) if rv in touched | {*own}]
        )
        nodes = model.replace_rvs_by_values([field.node_parameter for field in fields])
        shapes = [field.family.node_shape(field.graph.n_nodes) for field in fields]
        nodes = [
            pt.broadcast_to(node.reshape((-1, *shape[1:])), shape).ravel().astype("float64")
            for node, shape in zip(nodes, shapes, strict=True)
        ]
        cotangents = [pt.dvector(f"cotangent_{j}") for j in range(len(fields))]
        total = log_density + sum(pt.dot(g, node) for g, node in zip(cotangents, nodes, strict=True))
        slope = pt.concatenate([g.reshape((-1,)) for g in pt.grad(total, values)])
        needed = set(ancestors([total, slope]))
        self._inputs = [v for v in model.value_vars if v in needed]
        options = {
            "point_fn": False,
            "on_unused_input": "ignore",
            "trust_input": True,
            **(compile_kwargs or {}),
        }
        self._evaluate = model.compile_fn([log_density, *nodes], inputs=self._inputs, **options)
        self._pull_back = model.compile_fn(slope, inputs=[*self._inputs, *cotangents], **options)
        self._widths = [int(np.prod(shape)) for shape in shapes]

    def pack(self, point: dict) -> np.ndarray:
        """Flat values (P,) at a point of the sampler."""
        return np.concatenate([np.ravel(point[name]).astype(np.float64) for name in self._names])

    def unpack(self, v: np.ndarray, point: dict) -> dict:
        """Point with the values `v` (P,)."""
        return {**point, **dict(zip(self._names, self._parts.of(v), strict=True))}

    def evaluate(self, v: np.ndarray, point: dict) -> tuple[float, list[np.ndarray]]:
        """Log density of everything but the fields that `v` enters, and the node parameters, (d q,) each."""
        point = self.unpack(v, point)
        log_density, *nodes = self._evaluate(*(point[x.name] for x in self._inputs))
        return float(log_density), nodes

    def slope(self, v: np.ndarray, point: dict, cotangents: list[np.ndarray]) -> np.ndarray:
        """Gradient (P,) of the log density plus the sum of cotangents (d q,) times node parameters."""
        point = self.unpack(v, point)
        return self._pull_back(*(point[x.name] for x in self._inputs), *cotangents)

    def curvature(self, v: np.ndarray, point: dict) -> np.ndarray:
        """Minus the second derivatives (P,) of the log density, bounded below; by differences."""
        zero = [np.zeros(width) for width in self._widths]
        out = np.empty(self.size)
        for i in range(self.size):
            step = np.zeros(self.size)
            step[i] = 1e-4 * (1.0 + abs(v[i]))
            up, down = (self.slope(v + sign * step, point, zero)[i] for sign in (1.0, -1.0))
            out[i] = (down - up) / (2.0 * step[i])
        return np.maximum(np.nan_to_num(out), LEAST_PRECISION)

    def jacobians(self, v: np.ndarray, point: dict) -> list[np.ndarray]:
        """Differentiate the node parameters of every field, (d q, P) each."""
        zero = [np.zeros(width) for width in self._widths]
        still = self.slope(v, point, zero)
        found = []
        for j, width in enumerate(self._widths):
            rows = []
            for i in range(width):
                one = [g.copy() for g in zero]
                one[j][i] = 1.0
                rows.append(self.slope(v, point, one) - still)
            found.append(np.array(rows))
        return found
