"""Fields with numbers in them; no PyMC."""

from typing import TYPE_CHECKING

from pymc_mrf._public_names import public_names

if TYPE_CHECKING:
    from pymc_mrf.fields.column_kinds import ColumnKinds as ColumnKinds
    from pymc_mrf.fields.factor_graph import FactorGraphField as FactorGraphField
    from pymc_mrf.fields.families import table_sizes as table_sizes
    from pymc_mrf.fields.tables import prepare as prepare

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "fields.column_kinds": "ColumnKinds",
        "fields.factor_graph": "FactorGraphField",
        "fields.families": "table_sizes",
        "fields.tables": "prepare",
    },
)
