"""The Gaussian field as a PyMC distribution: measurements, such as ages, sum scores and reaction times."""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import Continuous
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable

from pymc_mrf.checks import numeric_array, warn_user
from pymc_mrf.distributions.arguments import value_of
from pymc_mrf.distributions.field import (
    RegisteredField,
    check_shape,
    latent_if_all_missing,
    read_observed,
    registered_node,
)
from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
from pymc_mrf.distributions.mrf import check_dims, check_rows, edge_parameter, node_parameter
from pymc_mrf.fields.gaussian import GAUSSIAN, check_measurements
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


class GaussianMRF(RegisteredField, Continuous):
    r"""Gaussian Markov random field: normal measurements, of which each pair may be tied or not.

    .. math::

        p(x \mid w, \kappa, \mu) \propto \exp\Big(\sum_{(u,v)} w_{uv} (x_u - \mu_u)(x_v - \mu_v)
        - \tfrac12 \sum_u \kappa_u (x_u - \mu_u)^2\Big)

    This is the normal distribution with the precision matrix K, K_uu = kappa_u and K_uv = -w_uv, 0 where
    the graph has no edge. Two nodes are independent given all others if and only if w_uv = 0; their partial
    correlation, w_uv / sqrt(kappa_u kappa_v), has the sign of the weight (`partial_correlations`). Means of
    the nodes given all others are linear: mu_u + sum_v w_uv (x_v - mu_v) / kappa_u.

    Parameters
    ----------
    name : str
    weight : tensor_like of float, shape (..., r), (..., 1) or scalar
        One value w per edge, in graph order, or one for all, in units of one over those of both ends:
        positive values make high values of both go together, and zero is no edge.
    diagonal : tensor_like of float, shape (..., d), (..., 1) or scalar
        Diagonal kappa of the precision, in graph order, or one number for all: one over the variance of each
        node given all others. Any positive prior, such as pm.Gamma.
    mean : tensor_like of float, shape (..., d), (..., 1) or scalar
        Of each node, in graph order, or of all, in its units; it may differ between rows, as
        ``intercept + z[:, None] * slope``.
    graph : networkx.Graph or PairwiseGraph
    observed : (n, d) array_like, masked array, or table of pandas, polars, pyarrow or xarray, optional
        Measurements, columns in node order, or found by the names of the nodes. Masked cells, NaN and cells
        of tables without a value are missing: `GaussianGibbs` draws them. There may be fewer rows than
        nodes.
    columns : sequence, optional
        Names of the columns of a table that are the nodes, in node order, if they are others.
    weights : (n,) array_like of int, optional
        How many observations each row of `observed` stands for.
    **kwargs
        As for every PyMC distribution.

    Raises
    ------
    ValueError, TypeError
        If graph, data and parameters do not fit together, a parameter is not finite, numbers of `diagonal`
        are not positive, a column holds text, dates, categories, truth values or infinite values, or the
        same value in all of two or more rows.

    Warns
    -----
    UserWarning
        If a column is a multiple of another one, up to a constant, in more complete rows than there are
        nodes.

    Notes
    -----
    **The prior.** The log density is -inf where K is not positive definite, so that prior and likelihood
    together know such parameters only: the prior of weights and diagonal is what you declare, times an
    indicator of the cone of positive definite matrices, up to a constant. A `SpikeAndSlab` on the weights
    thus means a joint density of structure S, weights and diagonal proportional to
    ``p^|S| (1 - p)^(r - |S|) slab(w) prior(kappa) 1[K > 0]``, as in Wang (2015), whose spike is a narrow
    normal density. Where the prior of K given S is normalised for every S, as the G-Wishart one of BDgraph,
    p(S) is the binomial one. Here structures with many edges are in the cone for fewer of their values, so
    that the prior probability of an edge is below p, the more so the wider the slab and the larger the
    field: `prior_in_cone` draws from this prior. Draws from the prior, as of
    ``pm.sample_prior_predictive``, do not know of the cone: rows whose precision is not positive definite
    are NaN, and all other draws are those of the prior.

    **Units.** One slab for all edges means what it says if the nodes have similar units: divide columns by
    their standard deviations before, and turn draws back after (`original_units`). A column divided by s has
    a weight s times as large; partial correlations stay.

    The likelihood is exact, and log-likelihoods are those of the observed cells, row by row.

    Examples
    --------
    >>> graph = pymc_mrf.graphs.complete(table.columns)
    >>> with pm.Model(coords=pymc_mrf.coords(graph)):
    ...     weight = pymc_mrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 0.5), dims="edge")
    ...     diagonal = pm.Gamma("diagonal", 2, 1, dims="node")
    ...     mean = pm.Normal("mean", 0, 1, dims="node")
    ...     pymc_mrf.GaussianMRF("x", weight, diagonal, mean, graph=graph, observed=table / table.std())
    ...     idata = pm.sample()
    >>> pymc_mrf.summarize_edges(idata, "weight", graph)
    >>> pymc_mrf.partial_correlations(idata, "weight", "diagonal", graph)

    References
    ----------
    Dempster (1972); Rue & Held (2005); Wang (2015).
    """

    rv_type = GaussianFieldRV

    def __new__(cls, name, *args, graph=None, observed=None, columns=None, weights=None, **kwargs):
        """Register the field with the model on the context stack, after checking the data."""
        if graph is None:
            raise TypeError(
                f"{cls.__name__} {name!r} needs graph=, a networkx.Graph or one of pymc_mrf.graphs"
            )
        graph = as_graph(graph)
        observed = read_observed(observed, graph.nodes, None, name, columns=columns, weights=weights)
        x = None
        if observed is not None:
            x = _check_observed(observed, graph, name)
            if not isinstance(observed, Variable):
                observed = x
            observed, kwargs = latent_if_all_missing(observed, kwargs)
        rv = super().__new__(cls, name, *args, graph=graph, observed=observed, **kwargs)
        check_dims(name, name, graph)
        if isinstance(observed, SharedVariable):
            check_dims(str(observed.name), name, graph)
        if x is not None and observed is not None:
            check_rows(registered_node(rv), x, name, "mean")
        return rv

    @classmethod
    def rv_op(cls, *parameters, graph, size=None, rng=None):
        """Build the random variable."""
        rng = pt.random.shared_rng(seed=None) if rng is None else rng
        return GaussianFieldRV(graph)(*parameters, size=size, rng=rng, return_next_rng=True)[1]

    @classmethod
    def dist(cls, weight, diagonal, mean=0.0, *, graph, **kwargs):
        """Unregistered variable; see the class."""
        graph = as_graph(graph)
        check_shape(kwargs.get("shape"), graph.n_nodes, "nodes of the graph")
        edge = edge_parameter(weight, GAUSSIAN, graph)
        node = node_parameter(diagonal, GAUSSIAN, graph, "diagonal")
        if not isinstance(diagonal, Variable) and (np.asarray(diagonal) <= 0).any():
            wrong = np.asarray(diagonal)[np.asarray(diagonal) <= 0].flat[0]
            raise ValueError(
                f"diagonal must be positive, one over a variance, but has the value {wrong:g}: give positive "
                "numbers, or a positive prior such as pm.Gamma"
            )
        centre = node_parameter(mean, GAUSSIAN, graph, "mean")
        return super().dist([edge, node, centre], graph=graph, **kwargs)


def _check_observed(observed: Any, graph: PairwiseGraph, name: str) -> np.ndarray:
    """Refuse what are no measurements of the nodes; return them as floats, masked where cells are missing."""
    if isinstance(observed, Variable):
        observed = observed.get_value() if isinstance(observed, SharedVariable) else value_of(observed)
    mask = np.ma.getmaskarray(observed) if isinstance(observed, np.ma.MaskedArray) else None
    data = np.ma.getdata(observed)
    values = numeric_array(data, f"{name}: observed", "iuf").astype(np.float64)
    if values.ndim == 0 or values.shape[-1] != graph.n_nodes:
        raise ValueError(
            f"{name}: `observed` has shape {values.shape}, but its last dimension must be the "
            f"{graph.n_nodes} nodes of the graph, in node order"
        )
    if values.size == 0:
        raise ValueError(f"{name}: `observed` has no rows; at least one observation is needed")
    is_missing = np.isnan(values) | (False if mask is None else mask)
    values = np.where(is_missing, 0.0, values)
    twins = check_measurements(
        values.reshape(-1, graph.n_nodes),
        is_missing.reshape(-1, graph.n_nodes),
        graph.nodes,
        f"{name}: observed",
    )
    if twins:
        u, v = twins[0]
        warn_user(
            f"{name}: {v} is a multiple of {u}, up to a constant, in all rows: only the priors keep the "
            "precision of such nodes finite; leave one of the two out"
        )
    return np.ma.masked_array(values, is_missing) if is_missing.any() else values
