"""The nominal field as a PyMC distribution: answers without an order, a table of parameters for each edge."""

from collections.abc import Sequence
from typing import Any

from pymc_mrf.distributions.field_parameters import check_states_given
from pymc_mrf.distributions.mrf import MarkovRandomField
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.nominal import nominal
from pymc_mrf.graph.structure import as_graph


class NominalMRF(MarkovRandomField):
    r"""Field of nominal variables over states 0..K-1, with a table of parameters for each edge.

    .. math::

        p(x \mid w, b) \propto \exp\Big(\sum_{(u,v)} T_{uv}(x_u, x_v) + \sum_i b_i(x_i)\Big), \qquad
        T_{uv} = U_u^\top W_{uv} U_v

    An edge has :math:`(K_u - 1)(K_v - 1)` parameters, :math:`W_{uv}`, in sum-to-zero coding: :math:`U_i`,
    (K_i - 1, K_i), are orthonormal contrasts of the states of node i (Helmert), so that the rows and the
    columns of the table :math:`T_{uv}` sum to zero, and its Frobenius norm is that of :math:`W_{uv}`.

    Parameters
    ----------
    name : str
    weight : tensor_like of float, shape (..., P) or (r, W)
        Parameters W of all edges, one edge after the other in graph order, those of an edge row by row: P of
        them, `table_sizes` of each edge. A matrix (r, W) if all nodes have the same number of states, W = (K
        - 1)^2. An edge whose parameters are all zero is absent.
    bias : tensor_like of float, shape (..., d, K), (..., 1, K), (K,) or 0
        Log weight of each state; per node, or the same for all. Beyond the states of a node entries have no
        meaning: they keep their prior.
    graph : networkx.Graph or PairwiseGraph
    n_states : int, or sequence of d of them, optional
        Number of states of every node, or of each; K is the largest. If it is left out, those of each node
        are counted: 0 to the largest state in its column of `observed`, or its ordered categories.
    likelihood, n_sweeps, dtype, **kwargs
        As for `AgreementMRF`, but "path" and, with a `SpikeAndSlab`, "particles", which do
        not serve tables.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, a parameter is not finite, or the exact
        likelihood is asked for and the junction tree is too wide.

    Warns
    -----
    UserWarning
        If no observation is in one of a node's states, and the biases are a free variable.

    Notes
    -----
    With ``SpikeAndSlab(..., blocks=table_sizes(graph, n_states))`` as the weight, tables are present or
    absent as a whole, and `EdgeGibbs` moves them. The prior is the same whatever the states are called if the
    slab is ``pm.Normal.dist(0, sigma)`` and the biases of a node are alike: its density depends on the norm
    of the table only. Other slabs depend on the contrasts.

    With two states this is an Ising field with couplings w / 2, and the fields (b[1] - b[0]) / 2.

    Adding a constant to a row of `bias` changes nothing: biases need a prior under which their posterior is
    proper.

    References
    ----------
    Agresti (2013, ch. 9) for log-linear models; Ekeberg et al. (2013) for tables that sum to zero, and their
    norms as measures of strength (`edge_strength`).

    Examples
    --------
    >>> n_states = [3, 4, 2]
    >>> with pm.Model():
    ...     blocks = pymc_mrf.fields.table_sizes(graph, n_states)
    ...     weight = pymc_mrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 1), blocks=blocks)
    ...     bias = pm.Normal("bias", 0, 2, shape=(3, 4))
    ...     NominalMRF("x", weight, bias, graph=graph, n_states=n_states, observed=x)
    """

    _counts_states = "node"

    @classmethod
    def _family(cls, nodes: Sequence, n_states: Any = None) -> Family:
        check_states_given(n_states, "nominal field, or one for each node")
        return nominal(n_states, nodes)

    @classmethod
    def dist(cls, weight, bias=0.0, *, graph, n_states=None, **kwargs):
        """Unregistered variable; see the class."""
        graph = as_graph(graph)
        return cls._dist(cls._family(graph.nodes, n_states), weight, bias, graph=graph, **kwargs)
