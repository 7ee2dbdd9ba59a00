"""What the priors of this package share: n entries, made from draws of a scalar distribution."""

from abc import abstractmethod
from typing import Any

import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import Continuous, Distribution, SymbolicRandomVariable
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.pytensorf import collect_default_updates
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.utils import normalize_size_param

from pymc_mrf.checks import axes_of_values, check_labels
from pymc_mrf.distributions.arguments import (
    check_observed_entries,
    entries_of_dims,
    entries_of_shape,
)
from pymc_mrf.distributions.scalar import ScalarDistribution


def entries_behind(parameter: Variable) -> list[Variable]:
    """Vectors of entries, as of a `SpikeAndSlab`, that a parameter depends on."""
    return [v for v in ancestors([parameter]) if v.owner and isinstance(v.owner.op, EntriesRV)]


class EntriesRV(SymbolicRandomVariable):
    """n values; inputs are a parameter of the prior's own and those of the scalar distribution.

    `blocks` are the sizes of runs of entries with something in common, () if there are none.
    """

    def __init__(
        self, *args, scalar: ScalarDistribution, n: int, blocks: tuple[int, ...] = (), **kwargs
    ) -> None:
        self.scalar = scalar
        self.n = n
        self.blocks = blocks
        super().__init__(*args, **kwargs)

    @staticmethod
    @abstractmethod
    def entries(
        own, parameters: list, scalar: ScalarDistribution, shape: tuple, size, blocks: tuple[int, ...]
    ) -> Any:
        """Draw entries of the `shape` (..., n) symbolically; `size` is that shape without n, or None."""

    @classmethod
    def rv_op(
        cls,
        own,
        *parameters,
        scalar: ScalarDistribution,
        n: int,
        blocks: tuple[int, ...] = (),
        size=None,
        rng=None,
    ):
        """Build the random variable."""
        size = normalize_size_param(size)
        inner_size, inner_own = size.type(), own.type()
        inner_parameters = [p.type() for p in parameters]
        batch = () if rv_size_is_none(size) else tuple(inner_size[i] for i in range(size.type.shape[0]))
        shape = (*batch, n)
        own_size = inner_size if batch else None
        theta = cls.entries(inner_own, inner_parameters, scalar, shape, own_size, blocks)
        inputs = [inner_size, inner_own, *inner_parameters]
        updates = collect_default_updates(inputs=inputs, outputs=(theta,))
        n_rngs = len(updates)
        core = ("m" if blocks else "n") if own.type.ndim else ""
        signature = "".join(
            f",({','.join('p' + str(i) + str(j) for j in range(p.type.ndim))})"
            for i, p in enumerate(parameters)
        )
        rngs = ",".join(["[rng]"] * n_rngs)
        op = cls(
            inputs=[*updates.keys(), *inputs],
            outputs=[*updates.values(), theta],
            scalar=scalar,
            n=n,
            blocks=blocks,
            extended_signature=f"{rngs},[size],({core}){signature}->{rngs},(n)",
        )
        fresh = [rng if rng is not None else pt.random.shared_rng(seed=None)]
        fresh += [pt.random.shared_rng(seed=None) for _ in range(n_rngs - 1)]
        return op(*fresh, size, own, *parameters)

    def rebuild_rv(self, *args, **kwargs):
        """Build the variable anew, of another size."""
        return self.rv_op(*args, scalar=self.scalar, n=self.n, blocks=self.blocks, **kwargs)

    def shape_and_arguments(self, inputs) -> tuple:
        """Shape (..., n), the prior's own parameter and those of the scalar among the inputs of a node."""
        (_, size, positions), _ = self.get_input_output_type_idxs(self.extended_signature)
        batch = () if rv_size_is_none(inputs[size]) else tuple(inputs[size])
        return (*batch, self.n), *(inputs[i] for i in positions)


def check_entry_labels(values: Any, name: str, dims: Any) -> None:
    """Refuse a vector with labels that are not the coordinates of the last of `dims`, which are of edges."""
    axes = axes_of_values(values, name)
    if not axes or not axes[-1]:
        return
    *_, dim = (dims,) if isinstance(dims, str | None) else dims
    own, what = pm.modelcontext(None).coords.get(dim), "edge"
    if own is None:
        own, what = range(axes[-1][0].length or 0), "entry"
    check_labels(values, own, name, what)


class KnownLength(Distribution):
    """Registers vectors whose length is known from `shape` or `dims`, before anything is made of them."""

    def __new__(cls, name, *args, dims=None, shape=None, **kwargs):
        """Register the variable with the model on the context stack."""
        if shape is None and dims is not None:
            shape = entries_of_dims(dims, name)
        if shape is not None:
            for given in ("observed", "initval"):
                check_entry_labels(kwargs.get(given), f"{name}: {given}", dims)
            check_observed_entries(kwargs.get("observed"), entries_of_shape(shape)[-1], name)
        return super().__new__(cls, name, *args, dims=dims, shape=shape, **kwargs)


class EntriesPrior(KnownLength, Continuous):
    """Core of such priors; not used directly."""
