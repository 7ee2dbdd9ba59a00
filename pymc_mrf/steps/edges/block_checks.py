"""Whether the blocks of a `SpikeAndSlab` are those of the edges of its field."""

import numpy as np

from pymc_mrf.distributions.spike_and_slab import has_large_blocks
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.edges.edge_prior import KINDS

SLABS = "pm.Normal, pm.StudentT, pm.Cauchy or pm.Laplace"


def check_blocks(rv, fields: list[ObservedField], step: str) -> None:
    """Refuse blocks where edges have one parameter, other blocks than theirs, and what does not serve them.

    Raises
    ------
    ValueError
        That says what to declare instead.
    """
    op, field = rv.owner.op, fields[0]
    if not field.family.has_blocks:
        if has_large_blocks(rv):
            raise ValueError(
                f"{rv.name} has blocks, but each edge of {field.name} has one "
                f"{field.family.edge_parameter}: leave blocks out, or declare {field.name} as a "
                "pymc_mrf.NominalMRF"
            )
        return
    sizes = field.family.block_sizes(field.graph.edges)
    if not np.array_equal(op.blocks or np.ones(op.n), sizes):
        has = f"blocks of {_few(op.blocks)} entries" if op.blocks else "no blocks"
        raise ValueError(
            f"{rv.name} has {has}, but the edges of {field.name} have tables of {_few(sizes)} parameters, "
            f"which {step} adds and removes as a whole: declare it with "
            f"blocks={field.family.blocks_asked}"
        )
    for other in fields:
        own = other.family.block_sizes(other.graph.edges)
        fits = np.array_equal(own, sizes) and np.array_equal(
            other.entries, np.arange(len(other.entries))
        )
        if fits and len(other.blocks) == 1:
            continue
        raise ValueError(
            f"{step} samples parameters of blocks that are the same in all rows, and the same edges of all "
            f"fields, but those of {other.name} differ between rows, or have edges or states of their own: "
            "give the rows of each group a field, with a SpikeAndSlab of its own, or with sums of the same "
            "vectors, as w + 0.5 * delta and w - 0.5 * delta"
        )
    if not field.likelihood.serves_blocks:
        raise ValueError(
            f'{step} samples tables of edges under likelihood="exact", "monte-carlo" or "pseudo", but '
            f'{field.name} has "{field.likelihood.name}": '
            f"{field.advice(lambda kind: kind.serves_blocks, 'declare it with')}"
        )
    if type(op.scalar.op) not in KINDS:
        raise ValueError(
            f"{step} samples tables of edges whose slab is {SLABS}, but that of {rv.name} is another: give "
            "one of these"
        )


def _few(sizes) -> str:
    """Name the first of some sizes."""
    more = ", ..." if len(sizes) > 5 else ""
    return ", ".join(str(int(k)) for k in sizes[:5]) + more
