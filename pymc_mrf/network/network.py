"""`Network`: a network that a model has learnt, with all that the functions of this package say of it."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import thinned
from pymc_mrf.analysis.centrality import summarize_nodes
from pymc_mrf.analysis.diagnose import diagnose
from pymc_mrf.analysis.edge_summary import OF_INCLUSION, summarize_edges
from pymc_mrf.analysis.edge_tables import edge_table
from pymc_mrf.analysis.edges import BOUNDS, checked_bounds, edge_inclusion, evidence_classes
from pymc_mrf.analysis.evidence import (
    cluster_evidence,
    complexity_probabilities,
    structure_probabilities,
)
from pymc_mrf.analysis.findings import Diagnosis
from pymc_mrf.analysis.forecast import forecast
from pymc_mrf.analysis.group_differences import compare_networks, summarize_differences
from pymc_mrf.analysis.groups import n_groups, point_grouping
from pymc_mrf.analysis.partial_correlations import partial_correlations
from pymc_mrf.analysis.prediction import SHARES, predict_nodes
from pymc_mrf.analysis.predictive_checks import predictive_check
from pymc_mrf.analysis.prior_sensitivity import prior_sensitivity
from pymc_mrf.checks import quoted, whole_number
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.network import html, pictures, words
from pymc_mrf.network.found import FoundNetwork

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

FACTORS = ["bayes_factor", "bayes_factor_bound", "log10_bayes_factor", "log10_bayes_factor_mcse"]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep PyMC from telling what it draws, which nobody asked for."""
    logger = logging.getLogger("pymc.sampling.forward")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


class Network(FoundNetwork):
    """A network that a model has learnt: its edges and nodes, predictions, checks and pictures.

    It finds graph, weights, kinds of nodes, codes, units and groups by itself, and asks the functions of this
    package, which its methods name. They have the same defaults, and say more of what they return.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`. Made with the model, a network keeps a record of the model's fields in
        ``idata.attrs``, which netCDF and zarr keep, so that a stored run can be read without its model.
    model : pymc.Model, optional
        The model that was sampled. Without it `sensitivity` and `communities` are not known, nor are Bayes
        factors that `save` did not keep and those of groups, predictions where parameters are expressions
        without a name, and forecasts and checks of a field in time.
    field : str, optional
        The field, if the model has several. Of groups, as `network_model` and `group_weights` make them, by
        default what they have in common.

    Attributes
    ----------
    idata, model, field
        As given; `field` is None of what groups have in common.
    graph : PairwiseGraph or LaggedGraph
        The candidate edges.
    kinds : ColumnKinds
        What the nodes are, and what the table writes for their states.
    weight : str
        Variable of the edges.
    groups : list
        Labels of groups, empty if there are none.

    Raises
    ------
    TypeError, ValueError
        If `idata` is no DataTree or has no record where there is no model, there is no such field, or several
        and none is named, or the edges have no vector of their own among the variables.

    Examples
    --------
    >>> with pymc_mrf.network_model(table) as model:
    ...     idata = pm.sample()
    >>> net = pymc_mrf.Network(idata, model)
    >>> print(net)
    >>> net.edges.to_csv("edges.csv")
    >>> net.plot("evidence").savefig("evidence.png")
    >>> net.report("network.html")
    >>> net.save("run.nc")

    In another process, without table or model:

    >>> net = pymc_mrf.Network(xarray.load_datatree("run.nc"))
    >>> net.predict(new_rows)
    """

    def group(self, label: Any) -> "Network":
        """Return the network of one of the groups.

        Raises
        ------
        ValueError
            If there is none of this label.
        """
        if label not in self._of_group:
            raise ValueError(f"there is no group {label!r}; there are {quoted(self.groups)}")
        return Network(self.idata, self.model, field=self._of_group[label].name)

    @cached_property
    def edges(self) -> "pd.DataFrame":
        """Table of the edges, the most probable first, as of `summarize_edges`.

        Mean, interval, inclusion, Bayes factor, R-hat and effective size of each. Without a `SpikeAndSlab` in
        the order of the graph, and without what inclusion is about; of a `DirichletProcess` with the
        ``group`` that `point_grouping` puts an edge in.
        """
        table = summarize_edges(
            self.idata,
            self.weight,
            graph=self.graph,
            n_states=self.tables,
            prior_inclusion=self.prior_inclusion if self.is_sparse else None,
            sort="inclusion" if self.is_sparse else "graph",
        )
        if not self.is_sparse:
            table = table.drop(columns=[*OF_INCLUSION], errors="ignore")
        if self.is_grouped:
            table.insert(2, "group", point_grouping(self.idata, self.weight).values)
        return table

    @cached_property
    def edge_groups(self) -> "pd.DataFrame":
        """Table of the groups of edges of a `DirichletProcess`, as of `point_grouping`.

        A row for each group: ``n_edges``, ``mean`` of their values, and the labels of the ``edges``.
        ``attrs["n_groups"]`` has the posterior probabilities of the number of groups, as of `n_groups`.
        """
        if not self.is_grouped:
            raise ValueError(
                f"edge_groups are of a DirichletProcess, which {self.weight} has not: use edges"
            )
        of = self.edges.groupby("group")
        table = of["mean"].agg(n_edges="size", mean="mean")
        table["edges"] = [tuple(rows.index) for _, rows in of]
        numbers, counts = np.unique(n_groups(self.idata, self.weight).values, return_counts=True)
        table.attrs["n_groups"] = dict(
            zip(numbers.tolist(), (counts / counts.sum()).tolist(), strict=True)
        )
        return table

    @cached_property
    def nodes(self) -> "pd.DataFrame":
        """Table of how much each node matters, by measure and node, as of `summarize_nodes`."""
        return summarize_nodes(self.by_edge, self.weight, **self.node_options())

    def partial_correlations(self) -> xr.DataArray:
        """Return the draws of partial correlations between measurements, as `partial_correlations`."""
        field = self.one_field("partial_correlations")
        if not self.kinds.is_measured.any():
            raise ValueError(
                f"partial_correlations are of measurements, which {field} has none of: use edges"
            )
        if self.record.diagonal is None:
            raise ValueError(
                f"the diagonal of {field} has no name in the model: make it a pm.Deterministic"
            )
        return partial_correlations(
            self.idata, self.weight, self.record.diagonal, self.graph, kinds=self.tables
        )

    def table(self, u: Any, v: Any) -> xr.DataArray:
        r"""Return the draws of the table of parameters between two nodes, :math:`T_{uv}(a, b)`.

        Of fields whose edges have tables, nominal and mixed ones; zeros where the edge is absent.

        Returns
        -------
        xarray.DataArray
            With dims ("chain", "draw", "row", "column"): states of the first and of the second node, as the
            table writes them. Rows and columns sum to zero. T(a, b) + T(c, d) - T(a, d) - T(c, b) is a log
            odds ratio given all other nodes. A measurement has one row or column: what its scaled unit adds
            to the log weight of each state.

        Raises
        ------
        ValueError
            If edges have no tables, or there is no such edge.
        """
        if self.tables is None:
            raise ValueError(
                f"an edge of the {self.record.kind} has one number, and no table: use edges"
            )
        return edge_table(self.idata, self.weight, (u, v), graph=self.graph, n_states=self.tables)

    def diagnose(self) -> Diagnosis:
        """Say what speaks for and against trusting the run, as `diagnose`."""
        return diagnose(self.idata, model=self.model)

    def evidence(self, bounds: Sequence[float] = BOUNDS) -> "pd.DataFrame":
        """Tell whether data speak for an edge, as `summarize_edges`, in the order of the graph.

        Returns
        -------
        pandas.DataFrame
            ``evidence``, "for", "undecided" or "against", and the Bayes factor, a bound where it is not
            known, its logarithm and the error of that, as of `edge_inclusion`.
        """
        prior = self.needed_prior("evidence")
        found = edge_inclusion(self.by_edge, self.weight, prior_inclusion=prior)
        classes = evidence_classes(found, *checked_bounds(bounds))
        return classes.to_dataset().assign(found[FACTORS]).to_dataframe()

    def structures(self, n_structures: int = 20) -> "pd.DataFrame":
        """Tabulate the most probable structures, as `structure_probabilities`."""
        return structure_probabilities(self.by_edge, self.weight, n_structures=n_structures)

    def complexity(self) -> "pd.DataFrame":
        """Tabulate the number of edges, as `complexity_probabilities`, with the prior if it is known."""
        return complexity_probabilities(self.by_edge, self.weight, model=self.prior_of_edges)

    def communities(self) -> "pd.DataFrame":
        """Tabulate the number of communities of nodes, as `cluster_evidence`."""
        name = self.record.communities
        if name is None:
            raise ValueError('the model has no EdgeCommunities: declare it with communities="learn"')
        return cluster_evidence(self.idata, name, model=self.needed_model("communities"))

    def sensitivity(self, **options: Any) -> xr.Dataset:
        """Tell what other priors would find, as `prior_sensitivity`, of which these are further arguments."""
        model = self.needed_model("sensitivity")
        return prior_sensitivity(self.idata, self.weight, model=model, **options)

    def differences(self, between: Sequence | None = None, **options: Any) -> "pd.DataFrame":
        """Tabulate on which edges groups differ, as `summarize_differences`."""
        return summarize_differences(**self.several_groups("differences"), between=between, **options)

    def compare(self, between: Sequence | None = None, **options: Any) -> "pd.DataFrame":
        """Tell whether the networks of groups are equal, two at a time, as `compare_networks`."""
        if between is None and not options:
            return self._comparison
        return compare_networks(**self.several_groups("compare"), between=between, **options)

    @cached_property
    def _comparison(self) -> "pd.DataFrame":
        """Give that of all groups, whose warnings are told once."""
        return compare_networks(**self.several_groups("compare"))

    def predict(self, data: Any = None, *, covariates: Any = None, max_draws: int = 500) -> xr.Dataset:
        """Predict every cell of rows from the others of its row, as `predict_nodes`."""
        if self.is_in_time:
            raise ValueError("predict is of rows that do not depend on others: use forecast, or check")
        field, model = self.one_field("predict"), self.reader("predict")
        options = {"covariates": covariates, "max_draws": max_draws}
        return predict_nodes(self.idata, field, data=data, model=model, **options)

    def predictability(
        self, data: Any = None, *, covariates: Any = None, max_draws: int = 500
    ) -> xr.Dataset:
        """Measure in every draw how well nodes are predicted from the others: what `predict` has of it."""
        found = self.predict(data, covariates=covariates, max_draws=max_draws)
        return found[[name for name in SHARES if name in found]]

    def forecast(self, n_rows: int, *, random_seed: Any = None) -> xr.DataArray:
        """Draw the rows that come next in a field in time, as `forecast`."""
        if not self.is_in_time:
            raise ValueError(
                f"forecast is of a KineticMRF, a field in time: rows of the {self.record.kind} do not depend "
                "on each other; use predict"
            )
        field, model = self.one_field("forecast"), self.needed_model("forecast")
        return forecast(self.idata, model, n_rows, var_name=field, random_seed=random_seed)

    def check(
        self, kind: str = "edges", *, n_draws: int = 100, random_seed: Any = None
    ) -> "pd.DataFrame":
        """Compare the data with rows that the draws predict, as `predictive_check`.

        Parameters
        ----------
        kind : {"edges", "runs"}
            Along every edge, or how long the nodes of a field in time keep a state.
        n_draws, random_seed
            Of predictive draws, if `idata` has no ``posterior_predictive``: at most so many, of all chains
            together.
        """
        field, model = self.one_field("check"), None
        if self.is_in_time or kind == "runs":
            model = self.reader("check")
        tree = self.replicated(n_draws, random_seed)
        return predictive_check(tree, field, kind, graph=self.graph, model=model, kinds=self.tables)

    def replicated(self, n_draws: int = 100, random_seed: Any = None) -> xr.DataTree:
        """Return data and predictive draws of the field: those of `idata`, or new ones."""
        import pymc as pm

        field = self.one_field("check")
        if field in self.idata.children.get("posterior_predictive", ()):
            return self.idata
        posterior = self.idata["posterior"].to_dataset()
        most = whole_number(n_draws, "n_draws", 1)
        kept = thinned(posterior.sizes["chain"], posterior.sizes["draw"], most)
        with _quiet():
            drawn = pm.sample_posterior_predictive(
                posterior.isel(draw=kept),
                model=self.reader("check"),
                var_names=[field],
                random_seed=random_seed,
                progressbar=False,
            )
        groups = {"posterior_predictive": drawn, "observed_data": self.idata}
        return xr.DataTree.from_dict({name: tree[name].to_dataset() for name, tree in groups.items()})

    def plot(self, kind: str = "edges", **options: Any) -> Any:
        """Draw a picture.

        Parameters
        ----------
        kind : str
            "edges" (`plot_edges`; groups are beside each other), "evidence" (`plot_evidence`), "inclusion"
            (`plot_inclusion`), "nodes" (`plot_nodes`), "complexity" (`plot_complexity`), "sensitivity"
            (`plot_prior_sensitivity`), "diagnostics" (`plot_diagnostics`), "check" (`plot_ppc_edges`), "runs"
            (`plot_ppc_runs`) of a field in time, "table" (`plot_edge_table`, with ``edge=(u, v)``); and of a
            `DirichletProcess` "groups" (`plot_groups`), "n_groups" (`plot_n_groups`) and "co_clustering"
            (`plot_co_clustering`).
        **options
            Further arguments of these functions.

        Returns
        -------
        arviz_plots.PlotCollection
            With the method `savefig`.
        """
        return pictures.draw(self, kind, options)

    def to_networkx(self, min_inclusion: float = 0.5) -> "nx.Graph":
        """Return a graph of networkx of the edges that are more probable than `min_inclusion`.

        Returns
        -------
        networkx.Graph, or MultiDiGraph of arrows, whose keys are lags
            All nodes, with their ``kind``. Edges have the columns of `edges` for attributes, and ``weight``,
            the mean of the draws with the edge, as of `median_graph`.
        """
        import networkx as nx

        has_arrows = isinstance(self.graph, LaggedGraph)
        made: Any = nx.MultiDiGraph() if has_arrows else nx.Graph()
        made.add_nodes_from(
            (u, {"kind": k}) for u, k in zip(self.graph.nodes, self.kinds.kinds, strict=True)
        )
        weights = edge_inclusion(self.by_edge, self.weight)["mean_included"].values
        for weight, row in zip(weights, self.edges.loc[self.labels].to_dict("records"), strict=True):
            u, v = (row.pop(end) for end in (("source", "target") if has_arrows else ("u", "v")))
            if row.get("inclusion", 1.0) > min_inclusion and np.isfinite(weight):
                key = {"key": row["lag"]} if has_arrows else {}
                made.add_edge(u, v, **key, weight=float(weight), **row)
        return made

    def to_graphml(self, path: str | PathLike, min_inclusion: float = 0.5) -> None:
        """Write the graph of `to_networkx` as GraphML, which Gephi, Cytoscape and igraph read."""
        import networkx as nx

        nx.write_graphml(self.to_networkx(min_inclusion), fspath(path))

    def to_csv(self, path: str | PathLike) -> None:
        """Write the table of the edges as CSV."""
        self.edges.to_csv(path)

    def save(self, path: str | PathLike) -> None:
        """Write the results, and with them what is known of the fields and of the prior of the edges.

        Parameters
        ----------
        path : path or str
            A zarr store if it ends in ".zarr", else a file of netCDF. ``xarray.load_datatree(path)`` reads
            it, and a `Network` of that needs no model.
        """
        if self.is_sparse:
            self.prior_inclusion  # noqa: B018  # keeps it with the results
        if fspath(path).endswith(".zarr"):
            self.idata.to_zarr(path, mode="w")
        else:
            self.idata.to_netcdf(path)

    def report(self, path: str | PathLike, *, title: str = "Network") -> None:
        """Write one page of HTML with a summary, warnings, the network and tables, for any browser.

        It needs neither a server nor a connection: tables are sorted by a click, and nodes and edges tell
        their numbers under the mouse.
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(html.page(self, title))

    def summary(self) -> str:
        """Say in text what the network is, what is known of its edges, and whether the run can be trusted."""
        return words.summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"Network({self.graph.n_nodes} nodes, {self.graph.n_edges} candidate edges, {self.weight!r})"
        )

    def _repr_html_(self) -> str:
        return html.fragment(self)
