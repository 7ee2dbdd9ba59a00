"""The Gaussian field as a PyMC distribution: measurements, such as ages, sum scores and reaction times."""

from functools import partial

from pymc_mrf.distributions.field import (
    ContinuousField,
    check_diagonal,
    check_parameter_rows,
    check_shape,
    given_graph,
    measured_values,
    needs_spread,
    positive_scale,
    read_observed,
)
from pymc_mrf.distributions.field_parameters import edge_parameter, node_parameter
from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV, starts_anywhere
from pymc_mrf.distributions.likelihood import DeclaredField, likelihood_of
from pymc_mrf.fields.column_kinds import kinds_of_measurements
from pymc_mrf.fields.gaussian import GAUSSIAN, check_measurements
from pymc_mrf.fields.table_columns import as_table
from pymc_mrf.graph.structure import as_graph


class GaussianMRF(ContinuousField):
    r"""Gaussian Markov random field: normal measurements, of which each pair may be tied or not.

    .. math::

        p(x \mid w, \kappa, \mu) \propto \exp\Big(\sum_{(u,v)} w_{uv} z_u z_v
        - \tfrac12 \sum_u \kappa_u z_u^2\Big), \qquad z_u = (x_u - \mu_u) / s_u

    This is the normal distribution of z with the precision matrix K, K_uu = kappa_u and K_uv = -w_uv, 0 where
    the graph has no edge. Two nodes are independent given all others if and only if w_uv = 0; their partial
    correlation, w_uv / sqrt(kappa_u kappa_v), has the sign of the weight (`partial_correlations`). Means of
    the nodes given all others are linear: mu_u + s_u sum_v w_uv z_v / kappa_u.

    Parameters
    ----------
    name : str
    weight : tensor_like of float, shape (..., r), (..., 1) or scalar
        One value w per edge, in graph order, or one for all: positive values make high values of both go
        together, and zero is no edge.
    diagonal : tensor_like of float, shape (..., d), (..., 1) or scalar
        Diagonal kappa of the precision, in graph order, or one number for all: one over the variance of each
        scaled node given all others. Any positive prior, such as pm.Gamma.
    mean : tensor_like of float, shape (..., d), (..., 1) or scalar
        Of each node, in graph order, or of all, in its units; it may differ between rows, as
        ``intercept + z[:, None] * slope``.
    graph : networkx.Graph or PairwiseGraph
    scale : (d,) array_like of float, or scalar, optional
        Positive numbers s, by which deviations from the means are divided, such as the standard deviations of
        the columns, so that one slab for all edges means the same; 1 by default. Means, data and draws stay
        in the units of the measurements; weights and diagonal are those of the scaled ones.
    observed : (n, d) array_like, masked array, or table of pandas, polars, pyarrow or xarray, optional
        Measurements, columns in node order, or found by the names of the nodes, as are the entries of a
        series (d,) that is labelled by them. Masked cells, NaN and cells
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
        or `scale` are not positive, a column holds text, dates, categories, truth values or infinite values,
        or the same value in all of two or more rows.

    Warns
    -----
    UserWarning
        If columns are linearly dependent, as a total beside its items, in more complete rows than there are
        nodes.

    Notes
    -----
    **The prior.** The log density is -inf where K is not positive definite (or, where all weights are
    continuous variables, lower by a million for each row than within, with a slope that leads chains into the
    cone that PyMC starts outside), so that prior and likelihood together know positive definite K only: the
    prior of weights and diagonal is what you declare, times an indicator of the cone of positive definite
    matrices, up to a constant. A `SpikeAndSlab` on the weights thus means a joint density of structure S,
    weights and diagonal proportional to
    ``p^|S| (1 - p)^(r - |S|) slab(w) prior(kappa) 1[K > 0]``, as in Wang (2015), whose spike is a narrow
    normal density. Where the prior of K given S is normalised for every S, as the G-Wishart one of BDgraph,
    p(S) is the binomial one. Here structures with many edges are in the cone for fewer of their values, so
    that the prior probability of an edge is below p, the more so the wider the slab and the larger the
    field: `prior_in_cone` draws from this prior. Draws from the prior, as of
    ``pm.sample_prior_predictive``, do not know of the cone: rows whose precision is not positive definite
    are NaN, and all other draws are those of the prior.

    **Units.** One slab for all edges means what it says if the scaled nodes have similar units: give the
    standard deviations of the columns as `scale`. A column divided by s has a weight s times as large;
    partial correlations stay. `original_units` has weights and diagonal of the measurements themselves.

    The likelihood is exact, and log-likelihoods are those of the observed cells, row by row.

    Examples
    --------
    >>> graph = pymc_mrf.graphs.complete(table.columns)
    >>> with pm.Model(coords=pymc_mrf.coords(graph)):
    ...     weight = pymc_mrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 0.5), dims="edge")
    ...     diagonal = pm.Gamma("diagonal", 2, 1, dims="node")
    ...     mean = pm.Normal("mean", table.mean(), 10 * table.std(), dims="node")
    ...     pymc_mrf.GaussianMRF(
    ...         "x", weight, diagonal, mean, graph=graph, scale=table.std(), observed=table
    ...     )
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
        graph = given_graph(graph, f"{cls.__name__} {name!r}")
        check_parameter_rows([*args, *kwargs.values()], observed, graph.nodes, name)
        record = kinds_of_measurements(graph.nodes)
        if as_table(observed) is not None:
            kwargs.setdefault("record", record)
        observed = read_observed(observed, record.read, name, columns=columns, weights=weights)
        diagonal = args[1] if len(args) > 1 else kwargs.get("diagonal")
        own = needs_spread(diagonal, graph.n_nodes)
        check = partial(check_measurements, nodes=graph.nodes, needs_spread=own)
        x = None if observed is None else measured_values(observed, graph.n_nodes, check, name)
        return super().__new__(cls, name, *args, graph=graph, observed=observed, x=x, **kwargs)

    @classmethod
    def dist(cls, weight, diagonal, mean=0.0, *, graph, scale=1.0, **kwargs):
        """Unregistered variable; see the class."""
        graph = as_graph(graph)
        check_shape(kwargs.get("shape"), graph.n_nodes, "nodes of the graph")
        edge = edge_parameter(weight, GAUSSIAN, graph)
        node = node_parameter(diagonal, GAUSSIAN, graph, "diagonal")
        check_diagonal(diagonal)
        centre = node_parameter(mean, GAUSSIAN, graph, "mean")
        op = GaussianFieldRV(graph, positive_scale(scale, graph.nodes), starts_anywhere(edge))
        op = op.under(likelihood_of("auto", DeclaredField(op, [edge, node, centre])))
        return super().dist([edge, node, centre], op=op, **kwargs)
