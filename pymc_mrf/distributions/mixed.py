"""The mixed field as a PyMC distribution: answers and measurements of one table."""

from functools import partial
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_mrf.checks import check_labels, check_option, whole_number
from pymc_mrf.distributions.arguments import NO_DATA, GivenData
from pymc_mrf.distributions.column_warnings import warn_of_answers
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
    registered_node,
)
from pymc_mrf.distributions.field_parameters import by_unit, check_numbers, named_parameter
from pymc_mrf.distributions.gaussian import GaussianMRF
from pymc_mrf.distributions.gaussian_rv import starts_anywhere
from pymc_mrf.distributions.likelihood import DeclaredField, likelihood_of
from pymc_mrf.distributions.mixed_rv import MixedFieldRV
from pymc_mrf.fields.column_kinds import ColumnKinds, check_mixed
from pymc_mrf.fields.gaussian import GAUSSIAN
from pymc_mrf.fields.table_columns import as_table
from pymc_mrf.graph.structure import PairwiseGraph


class MixedMRF(ContinuousField):
    r"""Mixed field: answers, with an order or without, and measurements, of which each pair may be tied.

    .. math::

        p(x, y) \propto \exp\Big(\sum_i b_i(x_i) + \tfrac12 z^\top W z\Big), \qquad
        z = \big(f_1(x_1), \dots, f_a(x_a), (y - \mu) / s\big)

    This is the conditional Gaussian distribution of Lauritzen & Wermuth (1989) in its homogeneous form: given
    the answers measurements are normal, with means that depend on the answers and a precision K that does
    not; answers given all else are log-linear. Two nodes are independent given all others if and only if
    the parameters of their edge are zero.

    The feature f of an ordinal answer is its state about the middle of all, 0, ..., K - 1 less (K - 1) / 2;
    those of a nominal one are K - 1 orthonormal contrasts of its states, as in `NominalMRF`. So biases are
    those where all else is in the middle, and means those where all answers are. The weights W of an edge
    multiply the products of the features of both ends; between measurements -W is K, with `diagonal` for its
    diagonal.

    Parameters
    ----------
    name : str
    weight : tensor_like of float, shape (P,)
        Parameters of all edges, one edge after the other in graph order, ``kinds.block_sizes(graph)`` of
        each: one, but for edges of nominal answers, those of two nominal ones row by row. An edge whose
        parameters are all zero is absent.
    bias : tensor_like of float, shape (a, K), (1, K), (K,) or scalar
        Log weight of each state of each answer. Beyond the states of an answer entries have no meaning: they
        keep their prior. Left out if there are no answers.
    diagonal : tensor_like of float, shape (c,), (1,) or scalar, optional
        Diagonal of the precision of the scaled measurements: one over the variance of each given all else.
        Any positive prior, such as pm.Gamma. Left out if there are no measurements.
    mean : tensor_like of float, shape (..., c), (..., 1) or scalar
        Of each measurement, in its units, where the answers are in the middle; it may differ between rows,
        as ``intercept + age[:, None] * slope``.
    graph : networkx.Graph or PairwiseGraph
        With the names of the columns for nodes, in their order.
    kinds : ColumnKinds
        What each node is (`column_kinds`).
    scale : (c,) array_like of float, or scalar, optional
        Positive numbers, by which measurements are divided before anything else, such as their standard
        deviations, so that one slab for all edges means the same; 1 by default. Means, data and draws stay
        in the units of the measurements; weights and diagonal are those of the scaled ones.
    likelihood : {"auto", "exact", "monte-carlo", "pseudo"} or Pseudo
        "exact": the normaliser is a sum over all states of the answers, of which there may be some hundred
        thousand. "monte-carlo": a sum over a sample of them, made when the field is declared, at a reference
        near the data, which must be complete.
        "pseudo": the product of the conditionals of all answers and measurements given all else, each to the
        power of 1/2, so that every edge is counted once; `Pseudo` has its option. "auto" is "exact" where all
        answers together have no more states than the sample would have points, 20 for each row, at least
        20,000 and at most 200,000 (without complete data 20,000), as a state costs as much as a point; else
        "monte-carlo", or "pseudo" without complete data.
    observed : (n, d) array_like, masked array, or table of pandas, polars, pyarrow or xarray, optional
        States and measurements, columns in node order, or found by the names of the nodes. Masked cells, NaN
        and cells of tables without a value are missing: `MixedGibbs` draws them.
    columns : sequence, optional
        Names of the columns of a table that are the nodes, in node order, if they are others.
    weights : (n,) array_like of int, optional
        How many observations each row of `observed` stands for.
    n_sweeps : int
        Gibbs sweeps of a random draw where the answers have more than 4,096 states together; else draws are
        exact.
    **kwargs
        As for every PyMC distribution.

    Raises
    ------
    ValueError, TypeError
        If graph, kinds, data and parameters do not fit together, a parameter is not finite, numbers of
        `diagonal` or `scale` are not positive, a column is of another kind than said, or a measurement has
        the same value in all rows.

    Notes
    -----
    The log density is -inf where K is not positive definite, with the consequences for the prior that
    `GaussianMRF` tells of.

    Without answers this is a `GaussianMRF`, whose likelihood is the normal density: weights are one for each
    edge, and there is nothing to choose.

    Examples
    --------
    >>> kinds = pymc_mrf.column_kinds(table, {"trust": "ordinal", "party": "nominal"})
    >>> graph = pymc_mrf.graphs.complete(kinds.names)
    >>> with pm.Model(coords=kinds.coords(graph)):
    ...     slab, blocks = pm.Normal.dist(0, 0.5), kinds.block_sizes(graph)
    ...     weight = pymc_mrf.SpikeAndSlab("weight", 0.5, slab, blocks=blocks, dims="entry")
    ...     bias = pm.Normal("bias", 0, 2, dims=("answer", "state"))
    ...     diagonal = pm.Gamma("diagonal", 2, 1, dims="measurement")
    ...     mean = pm.Normal("mean", 0, 100, dims="measurement")
    ...     pymc_mrf.MixedMRF(
    ...         "x", weight, bias, diagonal, mean, graph=graph, kinds=kinds, scale=scale, observed=table
    ...     )

    References
    ----------
    Lauritzen & Wermuth (1989); Lee & Hastie (2015) for the pairwise form and its pseudo-likelihood.
    """

    rv_type = MixedFieldRV

    def __new__(
        cls, name, *args, graph=None, kinds=None, observed=None, columns=None, weights=None, **kwargs
    ):
        """Register the field with the model on the context stack, after checking the data."""
        graph = _checked_graph(graph, kinds, f"{cls.__name__} {name!r}")
        check_parameter_rows([*args, *kwargs.values()], observed, graph.nodes, name)
        if as_table(observed) is not None:
            kwargs.setdefault("record", kinds)
        observed = read_observed(observed, kinds.read, name, columns=columns, weights=weights)
        x = None
        if observed is not None:
            diagonal = args[2] if len(args) > 2 else kwargs.get("diagonal")
            own = needs_spread(diagonal, len(kinds.measurements))
            check = partial(check_mixed, kinds=kinds, needs_spread=own)
            x = measured_values(observed, graph.n_nodes, check, name)
            kwargs["data"] = GivenData(observed, x, name)
        rv = super().__new__(
            cls, name, *args, graph=graph, kinds=kinds, observed=observed, x=x, **kwargs
        )
        if x is not None and len(kinds.answers):
            warn_of_answers(registered_node(rv), np.ma.masked_array(x), name)
        return rv

    @classmethod
    def dist(
        cls,
        weight,
        bias=0.0,
        diagonal=None,
        mean=0.0,
        *,
        graph,
        kinds,
        scale=1.0,
        likelihood="auto",
        n_sweeps=100,
        data=NO_DATA,
        **kwargs,
    ):
        """Unregistered variable; see the class."""
        graph = _checked_graph(graph, kinds, cls.__name__)
        n_sweeps, c = whole_number(n_sweeps, "n_sweeps", 1), len(kinds.measurements)
        if c and diagonal is None:
            raise TypeError(
                "diagonal is missing: give the diagonal of the precision of the measurements, as "
                'pm.Gamma("diagonal", 2, 1, dims="measurement")'
            )
        if not len(kinds.answers):
            check_option(likelihood, "likelihood of a MixedMRF without answers", ("auto",))
            if isinstance(bias, Variable) or np.any(np.asarray(bias) != 0.0):
                raise ValueError(
                    f"bias is that of answers, but all {c} columns hold measurements: leave it out"
                )
            return GaussianMRF.dist(weight, diagonal, mean, graph=graph, scale=scale, **kwargs)
        check_shape(kwargs.get("shape"), graph.n_nodes, "nodes of the graph")
        scale = positive_scale(scale, [kinds.names[i] for i in kinds.measurements])
        op = MixedFieldRV(graph, kinds, scale, n_sweeps=n_sweeps)
        diagonal = np.zeros(0) if diagonal is None else diagonal
        check_diagonal(diagonal)
        of_edges = _parameter(weight, "weight", len(op.layout.pairs), "entry", op)
        likelihood = likelihood_of(likelihood, DeclaredField(op, [], data))
        op = MixedFieldRV(graph, kinds, op.scale, likelihood, n_sweeps, starts_anywhere(of_edges))
        parameters = [
            of_edges,
            _bias(bias, op),
            _parameter(diagonal, "diagonal", c, "measurement", op),
            _parameter(mean, "mean", c, "measurement", op, may_differ=True),
        ]
        return super().dist(parameters, op=op, **kwargs)


def _checked_graph(graph: Any, kinds: Any, what: str) -> PairwiseGraph:
    graph = given_graph(graph, what)
    if not isinstance(kinds, ColumnKinds):
        raise TypeError(f"{what} needs kinds=, what pymc_mrf.column_kinds(table) found, not {kinds!r}")
    return kinds.checked(graph)


def _parameter(value, label: str, length: int, unit: str, op: MixedFieldRV, may_differ: bool = False):
    """Symbolic parameter (length,) from that, (1,) or a scalar, numbers checked."""
    names = op.columns.coords(op.graph)[unit]
    check_labels(value, names, label, unit)
    symbolic, numbers, _ = named_parameter(value, 1, label)
    check_numbers(numbers, GAUSSIAN, label)
    if symbolic.type.ndim > 1 and not may_differ:
        raise ValueError(
            f"{label} has {symbolic.type.ndim} dimensions, but all rows of a mixed field have the same: give "
            f'one value for each {unit}, as with dims="{unit}"; means may differ between rows'
        )
    return by_unit(symbolic, length, label, unit, coords="kinds.coords(graph)")


def _bias(value, op: MixedFieldRV):
    """Symbolic biases (a, K) from that, (1, K), (K,) or a scalar, numbers checked."""
    a, K = len(op.layout.cards), op.layout.features.shape[1]
    check_labels(value, op.columns.coords(op.graph)["answer"], "bias", "answer", axis=-2)
    symbolic, numbers, _ = named_parameter(value, 2, "bias")
    check_numbers(numbers, GAUSSIAN, "bias")
    shape = symbolic.type.shape
    if len(shape) > 2 or any(n not in (None, 1, m) for n, m in zip(shape[::-1], (K, a), strict=False)):
        raise ValueError(
            f"bias has shape {shape}, but there are {a} answers of up to {K} states: give shape ({a}, {K}), "
            '(1, K) or (K,), as with dims=("answer", "state")'
        )
    return pt.broadcast_to(symbolic, (a, K)) if shape != (a, K) else symbolic
