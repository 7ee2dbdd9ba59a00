"""Pairwise Markov random fields as PyMC distributions: one core, one named form per family."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from pytensor.graph.basic import Variable

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.arguments import NO_DATA, GivenData, rows_of
from pymc_mrf.distributions.column_warnings import warn_of_columns
from pymc_mrf.distributions.field import (
    DiscreteField,
    check_parameter_rows,
    check_shape,
    check_states,
    given_graph,
    latent_if_all_missing,
    read_observed,
    registered_node,
    state_dtype,
    without_nan,
)
from pymc_mrf.distributions.field_parameters import (
    check_dims,
    check_rows,
    edge_parameter,
    node_parameter,
)
from pymc_mrf.distributions.field_rv import DRAW_SWEEPS
from pymc_mrf.distributions.likelihood import DeclaredField, likelihood_of
from pymc_mrf.distributions.mrf_rv import MarkovRandomFieldRV
from pymc_mrf.fields.column_kinds import kinds_of_answers
from pymc_mrf.fields.families import BOLTZMANN, ISING, agreement, one_or_each
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.table_columns import as_table
from pymc_mrf.fields.tables import count_states, read_answers
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


class MarkovRandomField(DiscreteField):
    """Core of the named pairwise fields; not used directly."""

    rv_type = MarkovRandomFieldRV

    _counts_states: ClassVar[str] = ""
    """Whether states are counted in the data if `n_states` is left out: of each "node", or of "all"."""

    @classmethod
    def _family(cls, *args: Any, **kwargs: Any) -> Family:
        raise NotImplementedError("use a named field such as pymc_mrf.Ising")

    def __new__(cls, name, *args, graph=None, observed=None, columns=None, weights=None, **kwargs):
        """Register the field with the model on the context stack, after checking the data."""
        graph = given_graph(graph, f"{cls.__name__} {name!r}")
        if kwargs.get("n_states", 0) is None:
            del kwargs["n_states"]
        if cls._counts_states and "n_states" not in kwargs:
            kwargs |= cls._counted(observed, graph, name, columns)
        options = {key: kwargs[key] for key in ("n_states",) if key in kwargs}
        family = cls._family(graph.nodes, **options)
        family.check_nodes(graph.n_nodes)
        check_parameter_rows([*args, *kwargs.values()], observed, graph.nodes, name)
        table = as_table(observed)
        if table is not None:
            of_table = kinds_of_answers(table, graph.nodes, family, columns, f"{name}: observed")
            kwargs.setdefault("record", of_table)
        read = partial(read_answers, nodes=graph.nodes, states=family.node_states(graph.n_nodes))
        observed = read_observed(observed, read, name, columns=columns, weights=weights)
        x = None if observed is None else check_states(observed, family, graph, name)
        kwargs["data"] = GivenData(observed, x, name)
        kwargs["n_rows"] = rows_of(x, kwargs, name)
        if x is not None:
            observed = without_nan(observed, family.states[0])
            observed, kwargs = latent_if_all_missing(observed, kwargs)
        rv = super().__new__(cls, name, *args, graph=graph, observed=observed, **kwargs)
        check_dims(name, observed, graph)
        if x is not None and observed is not None:
            node = registered_node(rv)
            check_rows(node, x, name)
            warn_of_columns(node, x, name)
        return rv

    @classmethod
    def _counted(cls, observed: Any, graph: PairwiseGraph, name: str, columns: Any) -> dict[str, Any]:
        """Count the states in the data, for all nodes or for each; nothing if data are not numbers."""
        if observed is None or isinstance(observed, Variable):
            return {}
        counts = count_states(observed, graph.nodes, f"{name}: observed", columns)
        return {"n_states": one_or_each(counts) if cls._counts_states == "node" else max(counts)}

    @classmethod
    def _dist(cls, family, edge, node, *, graph, **kwargs):
        """Variable of a family that has one edge parameter for each edge, or a block."""
        family.check_nodes(graph.n_nodes)
        parameters = [edge_parameter(edge, family, graph)]
        if family.node_parameter is not None:
            parameters.append(node_parameter(node, family, graph, family.node_parameter))
        return cls._variable(family, parameters, graph, **kwargs)

    @classmethod
    def _variable(
        cls,
        family,
        parameters,
        graph,
        *,
        likelihood="auto",
        n_sweeps=DRAW_SWEEPS,
        dtype="int64",
        n_rows=0,
        data=NO_DATA,
        **kwargs,
    ):
        check_shape(kwargs.get("shape"), graph.n_nodes, "nodes of the graph")
        n_sweeps = whole_number(n_sweeps, "n_sweeps", 1)
        dtype = state_dtype(dtype, family.states)
        op = MarkovRandomFieldRV(graph, family, n_sweeps=n_sweeps, dtype=dtype)
        op = op.under(likelihood_of(likelihood, DeclaredField(op, parameters, data, n_rows)))
        return super().dist(parameters, op=op, **kwargs)


class AgreementMRF(MarkovRandomField):
    r"""Agreement field of Liu & Page (2013, eq. 1).

    .. math::

        p(x \mid \theta) \propto \prod_{(u,v)} \theta_{uv}^{[x_u = x_v]} (1-\theta_{uv})^{[x_u \ne x_v]}

    Parameters
    ----------
    name : str
    theta : tensor_like of float, shape (..., r), (..., 1) or scalar
        One value in (0, 1) per edge, in graph order; above 1/2 the two nodes attract each other.
    graph : networkx.Graph or PairwiseGraph
    n_states : int
        Number of states K >= 2; values are 0..K-1.
    likelihood : str, MonteCarlo or Pseudo
        "auto", "exact", "pseudo", "path", "monte-carlo" or "particles".
        How log p is evaluated. "exact": by junction tree, with gradient; possible on graphs of small
        treewidth. "pseudo": product of full conditionals (Besag, 1975), each to the power of 1/2, so that an
        edge, which stands in those of both of its ends, is counted once; with gradient, approximate; `Pseudo`
        has its option.
        "path": with gradient, for `Ising`, `Potts` and `AgreementMRF` fields whose only parameter is one
        coupling, a scalar or a scalar times constants, the weights of the edges (of an `AgreementMRF`, the
        sigmoid of these), and for `Ising` fields, and `Potts` fields of two or three states, that attract
        neighbours and have one field for all nodes as well: by thermodynamic integration (Gelman & Meng,
        1998, eq. 6), simulated once per graph and weights, and saved.
        "monte-carlo": with gradient, from a sample of the field at one place near the posterior (Geyer &
        Thompson, 1992), which is simulated when the field is declared: a fixed, smooth function, for graphs
        of any treewidth and observed data of many rows, with or without missing cells, parameters that all
        rows share and one number per edge, whatever its prior; `MonteCarlo` has its options.
        "particles": unnormalised energy, for steps that simulate the field. "auto": "exact" if the
        tables of the junction tree have at most 2 ** 20 cells, but "monte-carlo" if a draw then takes more
        than 2e7 operations, and twice those by the sample (`pymc_mrf.likelihood.draw_cost`); else "path" if
        there is one, for rows
        that have at most 2 ** 14 nodes together and whose coupling is random, a single row of up to four
        states and no negative couplings 2 ** 16 nodes, or 2 ** 12 nodes of two states in a field; else
        "monte-carlo" if its reference is found and its noise at most 1.2 times the
        default tolerance, for random edges, and without a `SpikeAndSlab` for as many rows as
        edges at least, or ten times as many where a `DirichletProcess` groups those of a graph of
        four edges to a node, not on others; else "particles".
    n_sweeps : int
        Gibbs sweeps behind each random draw (prior and posterior predictive) that is not exact, every second
        one over clusters where an attractive field may order; a warning tells where they are too few. Draws
        are exact if the likelihood is "exact" and the tables have at most 2 ** 14 cells.
    dtype : str
        Integer type of the values of a hidden field, by default "int64". Draws of a large one take an eighth
        of the memory as "int8", to be used as indices, ``level[x]``, or after a cast,
        ``x.astype("int64")``: elsewhere numbers of such a type wrap around without a word, as in ``100 * x``
        and ``x + x`` but not in ``x.sum()``, and PyTensor computes functions such as ``exp(x)`` in single
        precision.
    **kwargs
        ``observed`` (..., d), ``dims``, ``shape`` and so on, as for every PyMC distribution. Missing
        cells are declared by a masked array; if all of them are masked, the variable is a latent one.
        `observed` may be a table as well, of pandas, polars, pyarrow or xarray: its columns are found by the
        names of the nodes, those of ``columns=[...]`` instead if it is given, and cells without a value are
        missing (`prepare` has all rules). A series, or a DataArray of one dimension, that is labelled by the
        nodes is one row, such as a map.

        ``weights`` (n,), whole numbers: how many observations each row of `observed` (n, d) stands for, as in
        a table of frequencies. The model has the rows so often, in their order: parameters that differ
        between rows, coordinates, predictive draws and pointwise log-likelihoods have sum(weights) rows.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, values are outside their domain, the exact
        likelihood is asked for and the junction tree is too wide, a path and there are other parameters
        than one coupling and one field, or a Monte Carlo likelihood and there are no observed data, they are
        in pm.Data, or parameters differ between rows.

    Warns
    -----
    UserWarning
        If a path is not known well enough for the number of observations.
    """

    @classmethod
    def _family(cls, nodes: Sequence, n_states: int = 2) -> Family:
        return agreement(n_states)

    @classmethod
    def dist(cls, theta, *, graph, n_states=2, **kwargs):
        """Unregistered variable; see the class."""
        return cls._dist(agreement(n_states), theta, None, graph=as_graph(graph), **kwargs)


class Ising(MarkovRandomField):
    r"""Ising model over states -1 and +1.

    .. math::

        p(x \mid J, h) \propto \exp\Big(\sum_{(u,v)} J_{uv} x_u x_v + \sum_i h_i x_i\Big)

    Parameters
    ----------
    name : str
    coupling : tensor_like of float, shape (..., r), (..., 1) or scalar
        One value J per edge, in graph order, or one for all: positive values make the two nodes agree,
        negative ones differ, and zero is no edge.
    field : tensor_like of float, shape (..., d), (..., 1) or scalar
        One value h per node, in graph order, or one for all: positive values favour +1.
    graph, likelihood, n_sweeps, dtype, **kwargs
        As for `AgreementMRF`.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, a parameter is not finite, or the exact
        likelihood is asked for and the junction tree is too wide.

    References
    ----------
    Ising (1925).
    """

    @classmethod
    def _family(cls, nodes: Sequence) -> Family:
        return ISING

    @classmethod
    def dist(cls, coupling, field=0.0, *, graph, **kwargs):
        """Unregistered variable; see the class."""
        return cls._dist(ISING, coupling, field, graph=as_graph(graph), **kwargs)


class BoltzmannMachine(MarkovRandomField):
    r"""Boltzmann machine without hidden units, over states 0 and 1 (Chen & Welling, 2012).

    .. math::

        p(x \mid w, b) \propto \exp\Big(\sum_{(u,v)} w_{uv} x_u x_v + \sum_i b_i x_i\Big)

    Parameters
    ----------
    name : str
    weight : tensor_like of float, shape (..., r), (..., 1) or scalar
        One value w per edge, in graph order, or one for all: what it adds to the log probability if both
        nodes are 1. Zero is no edge.
    bias : tensor_like of float, shape (..., d), (..., 1) or scalar
        One value b per node, in graph order, or one for all: the log odds of 1 where all neighbours are 0.
    graph, likelihood, n_sweeps, dtype, **kwargs
        As for `AgreementMRF`.

    Raises
    ------
    ValueError
        If graph, data and parameters do not fit together, a parameter is not finite, or the exact
        likelihood is asked for and the junction tree is too wide.

    References
    ----------
    Ackley, Hinton & Sejnowski (1985); Chen & Welling (2012).
    """

    @classmethod
    def _family(cls, nodes: Sequence) -> Family:
        return BOLTZMANN

    @classmethod
    def dist(cls, weight, bias=0.0, *, graph, **kwargs):
        """Unregistered variable; see the class."""
        return cls._dist(BOLTZMANN, weight, bias, graph=as_graph(graph), **kwargs)
