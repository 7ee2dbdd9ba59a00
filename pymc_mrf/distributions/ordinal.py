"""The ordinal field as a PyMC distribution: answers in ordered categories, as those of a questionnaire."""

from collections.abc import Sequence
from typing import Any

from pymc_mrf.distributions.field_parameters import check_states_given
from pymc_mrf.distributions.mrf import MarkovRandomField
from pymc_mrf.fields.families import ordinal
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.structure import as_graph


class OrdinalMRF(MarkovRandomField):
    r"""Field of ordinal variables over states 0..K-1 (Marsman, van den Bergh & Haslbeck, 2025).

    .. math::

        p(x \mid w, b) \propto \exp\Big(\sum_{(u,v)} w_{uv} s_u(x_u) s_v(x_v) + \sum_i b_i(x_i)\Big)

    Parameters
    ----------
    name : str
    weight : tensor_like of float, shape (..., r), (..., 1) or scalar
        One value w per edge, in graph order, or one for all: positive values make high states of both ends
        go together, and zero is no edge.
    threshold : tensor_like of float, shape (..., d, K - 1), (..., 1, K - 1), (K - 1,) or scalar
        Log weight b of states 1 to K - 1, relative to state 0, where all neighbours have the score 0; per
        node, or the same for all. Beyond the states of a node entries have no meaning: they keep their prior.
    graph : networkx.Graph or PairwiseGraph
    n_states : int, or sequence of d of them, optional
        Number of states of every node, or of each; K is the largest. If it is left out, those of each node
        are counted: 0 to the largest state in its column of `observed`, or its ordered categories.
    scores : (K,) sequence of float, or sequence of d of them, optional
        Increasing scores s of the states; 0..K-1 by default. One vector for all nodes, of which those with
        fewer states have the first numbers, or one for each node, as long as it has states.
    likelihood, n_sweeps, dtype, **kwargs
        As for `AgreementMRF`.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, a parameter is not finite, scores do not increase,
        or the exact likelihood is asked for and the junction tree is too wide.

    Warns
    -----
    UserWarning
        If no observation is in one of a node's states, and the thresholds are a free variable.

    Notes
    -----
    With two states this is `BoltzmannMachine`, the only threshold of a node being its bias. A model of
    Blume and Capel, with a linear and a quadratic term about a reference state c, is a threshold:

    >>> k = np.arange(1, n_states)
    >>> threshold = linear[:, None] * k + quadratic[:, None] * ((k - c) ** 2 - c**2)

    with ``scores=np.arange(n_states) - c``.

    Examples
    --------
    Scores about the middle state and a wide prior keep the thresholds from bending the weights:

    >>> scores = np.arange(5) - 2
    >>> with pm.Model(coords={**pymc_mrf.coords(graph), "state": range(1, 5)}):
    ...     weight = pm.Normal("weight", 0, 0.5, dims="edge")
    ...     threshold = pm.Normal("threshold", 0, 3, dims=("node", "state"))
    ...     OrdinalMRF("x", weight, threshold, graph=graph, n_states=5, scores=scores, observed=x)

    Two answers beside five, as a yes or no beside grades, with scores of the same range for both:

    >>> scores = [[-1, 1] if k == 2 else np.linspace(-1, 1, k) for k in n_states]
    """

    _counts_states = "node"

    @classmethod
    def _family(cls, nodes: Sequence, n_states: Any = None, scores: Any = None) -> Family:
        check_states_given(n_states, "ordinal field, or one for each node")
        return ordinal(n_states, scores, nodes)

    @classmethod
    def dist(cls, weight, threshold=0.0, *, graph, n_states=None, scores=None, **kwargs):
        """Unregistered variable; see the class."""
        graph = as_graph(graph)
        family = cls._family(graph.nodes, n_states, scores)
        return cls._dist(family, weight, threshold, graph=graph, **kwargs)
