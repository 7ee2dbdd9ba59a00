"""The random variable behind a factor graph: its parameter is all log tables, one after the other."""

from functools import lru_cache
from types import ModuleType
from typing import Never

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters

from pymc_mrf.distributions.log_partition import FactorLogPartition
from pymc_mrf.distributions.mrf_rv import DEFAULT_SWEEPS, IMPOSSIBLE, FieldRV
from pymc_mrf.distributions.pseudo_likelihood import FactorLogPseudoLikelihood
from pymc_mrf.distributions.symbolic_tables import pick
from pymc_mrf.graph.factor_forest_arrays import FactorForestArrays, factor_forest_arrays
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.factor_links import factor_links
from pymc_mrf.graph.junction_tree import JunctionTree
from pymc_mrf.kernels.factor_pseudo_likelihood import present_cells
from pymc_mrf.kernels.factor_tree_sampling import factor_tree_sweeps


@lru_cache(maxsize=64)
def factor_graph_tree(graph: FactorGraph) -> JunctionTree:
    """Junction tree of a factor graph, built once per graph."""
    return JunctionTree(graph.scopes, graph.cardinalities)


@lru_cache(maxsize=64)
def single_variables(graph: FactorGraph) -> FactorForestArrays:
    """Partition into single variables: the blocks of the ordinary Gibbs sampler."""
    return factor_forest_arrays(graph, [[i] for i in range(graph.n_variables)])


class FactorGraphRV(FieldRV):
    """Random variable over the d variables of `graph`, given all log tables, (t,)."""

    dtype = "int64"
    __props__ = ("name", "signature", "dtype", "inplace", "graph", "likelihood", "n_sweeps")
    _print_name = ("FactorGraphMRF", r"\operatorname{FactorGraphMRF}")
    table_ndims = (1,)

    def __init__(
        self,
        graph: FactorGraph | None = None,
        likelihood: str = "particles",
        n_sweeps: int = DEFAULT_SWEEPS,
        name: str | None = None,
        signature: str | None = None,
        dtype: str = "int64",
        inplace: bool = False,
    ) -> None:
        if graph is None:
            raise TypeError("FactorGraphRV needs a factor graph")
        self.graph = graph
        self.likelihood = likelihood
        self.n_sweeps = n_sweeps
        super().__init__(name="FactorGraphMRF", signature="(t)->(d)", dtype=dtype, inplace=inplace)

    @property
    def family(self) -> Never:
        """Refuse: steps that ask for it know pairwise fields only."""
        raise NotImplementedError(
            "this step samples parameters of pairwise fields, and a FactorGraphMRF is none; declare it "
            'with likelihood="exact" or "pseudo", for NUTS, or pass numbers as its tables'
        )

    @property
    def groups_edges(self) -> bool:
        """Whether the samplers of Dirichlet processes know its parameters: never."""
        return False

    @property
    def n_variables(self) -> int:
        """Number of variables d."""
        return self.graph.n_variables

    @property
    def tree(self) -> JunctionTree:
        """Junction tree of the factor graph."""
        return factor_graph_tree(self.graph)

    @property
    def single_variables(self) -> FactorForestArrays:
        """Blocks of the ordinary Gibbs sampler."""
        return single_variables(self.graph)

    def log_tables(self, parameters, xp: ModuleType = np) -> list:
        """Return the parameter: it is all log tables one after the other."""
        return list(parameters)

    def decode(self, x: np.ndarray) -> np.ndarray:
        """Return the state indices: they are the values."""
        return x.astype(np.int64)

    def encode(self, value):
        """State indices and whether the values are states."""
        cards = pt.constant(np.array(self.graph.cardinalities))
        legal = pt.ge(value, 0) & pt.lt(value, cards) & pt.eq(value, pt.floor(value))
        return pt.switch(legal, value, 0).astype("int64"), legal

    def log_potential(self, indices, parameters):
        """Sum of the cell of every table."""
        # scopes of equal length, filled up by variable 0 with stride 0
        links = factor_links(self.graph)
        sizes = np.diff(links.factor_ptr)
        filled = np.arange(sizes.max()) < sizes[:, None]  # (F, largest scope)
        variable, stride = np.zeros((2, *filled.shape), dtype=np.int64)
        variable[filled], stride[filled] = links.variable, links.stride
        cells = links.table_ptr[:-1] + (indices[..., variable] * stride).sum(axis=-1)  # (..., F)
        return pick(parameters[0], cells).sum(axis=-1)

    def check(self, logp, parameters):
        """Refuse tables with NaN or +inf."""
        # where no configuration is possible, the log-partition function is -inf too
        logp = pt.switch(pt.isnan(logp), -np.inf, logp)
        legal = pt.all(pt.lt(parameters[0], np.inf))
        return check_parameters(logp, legal, msg="tables must be finite, or -inf where impossible")

    def log_partition_op(self) -> FactorLogPartition:
        """Op on the flat log tables."""
        return FactorLogPartition(self.tree)

    def pseudo_likelihood_op(self) -> FactorLogPseudoLikelihood:
        """Op on states and the flat log tables."""
        return FactorLogPseudoLikelihood(self.graph)

    def gibbs_draws(self, x: np.ndarray, tables: list[np.ndarray], rng: np.random.Generator) -> None:
        """Fill the rows of `x`; refuse to if a chain ends at an impossible configuration."""
        [flat] = tables
        x[:] = rng.random(x.shape) * self.graph.cardinalities
        nothing = np.zeros((0, 0, 0)), np.zeros((0, 0))
        factor_tree_sweeps(x, flat, self.single_variables, self.n_sweeps, rng, *nothing)
        links = factor_links(self.graph)
        cells = np.empty(self.graph.n_factors, dtype=np.int64)
        for z in x:
            present_cells(cells, z, links)
            if flat[cells].min() == -np.inf:
                raise ValueError(IMPOSSIBLE)
