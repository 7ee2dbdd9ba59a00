"""Whether the blocks of a `SpikeAndSlab` are those of the edges of its field."""

import numpy as np

from pymc_mrf.distributions.remedies import listed
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.edges.edge_prior import KINDS

SLABS = "pm.Normal, pm.StudentT, pm.Cauchy or pm.Laplace"
SERVED = ("exact", "pseudo", "monte-carlo", "mixed-exact", "mixed-pseudo", "mixed-monte-carlo")


def check_blocks(rv, fields: list[ObservedField], step: str) -> None:
    """Refuse blocks where edges have one parameter, other blocks than theirs, and what does not serve them.

    Raises
    ------
    ValueError
        That says what to declare instead.
    """
    op, field = rv.owner.op, fields[0]
    if not field.family.has_blocks:
        if op.blocks:
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
    if len(fields) > 1 or not field.is_plain or len(field.blocks) > 1:
        raise ValueError(
            f"{step} samples tables of the edges of one field, the same in all rows, but {rv.name} feeds "
            "several, or is one term of a sum: give each field, or the rows of each group, a SpikeAndSlab of "
            "its own, which may share p and the slab's scale, and compare their draws; a factor belongs into "
            "the scale of the slab"
        )
    if field.likelihood not in SERVED:
        raise ValueError(
            f"{step} samples tables of edges under likelihood={listed(SERVED)}, but {field.name} has "
            f'"{field.likelihood}": declare it with likelihood="pseudo" or "monte-carlo"'
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
