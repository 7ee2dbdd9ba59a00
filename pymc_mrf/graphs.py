"""Ready-made graphs, and partitions of graphs into trees."""

from typing import TYPE_CHECKING

from pymc_mrf._public_names import public_names

if TYPE_CHECKING:
    from pymc_mrf.graph.builders import binary_tree as binary_tree
    from pymc_mrf.graph.builders import block_model as block_model
    from pymc_mrf.graph.builders import chain as chain
    from pymc_mrf.graph.builders import complete as complete
    from pymc_mrf.graph.builders import delaunay as delaunay
    from pymc_mrf.graph.builders import from_weights as from_weights
    from pymc_mrf.graph.builders import grid as grid
    from pymc_mrf.graph.builders import hexagonal as hexagonal
    from pymc_mrf.graph.builders import lagged as lagged
    from pymc_mrf.graph.builders import nearest_neighbors as nearest_neighbors
    from pymc_mrf.graph.builders import random as random
    from pymc_mrf.graph.builders import regions as regions
    from pymc_mrf.graph.factor_graph import FactorGraph as FactorGraph
    from pymc_mrf.graph.lattice_partition import comb_partition as comb_partition
    from pymc_mrf.graph.lattice_partition import spiral_partition as spiral_partition
    from pymc_mrf.graph.tree_partition import check_tree_partition as check_tree_partition
    from pymc_mrf.graph.tree_partition import tree_partition as tree_partition

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "graph.builders": "binary_tree block_model chain complete delaunay from_weights grid hexagonal "
        "lagged nearest_neighbors random regions",
        "graph.factor_graph": "FactorGraph",
        "graph.lattice_partition": "comb_partition spiral_partition",
        "graph.tree_partition": "check_tree_partition tree_partition",
    },
)
