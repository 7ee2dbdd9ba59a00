"""What a network is, found in results and their model, or in the record that results keep of it."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import check_model, check_tree, sampled_vector
from pymc_mrf.analysis.cone_draws import warn_of_cone
from pymc_mrf.analysis.edge_tables import edge_strength
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.analysis.group_differences import named_groups
from pymc_mrf.analysis.prior_inclusion import (
    difference_inclusion,
    log_prior_equal,
    model_inclusion,
)
from pymc_mrf.checks import quoted, warn_user
from pymc_mrf.distributions.field_record import (
    GROUPED,
    IN_TIME,
    SPARSE,
    FieldRecord,
    keep_records,
    kept_records,
    model_of,
    records_of,
)
from pymc_mrf.distributions.group_weights import kept_contrasts
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.steps.edges.edge_step import is_spike_and_slab

if TYPE_CHECKING:
    import pymc as pm


class FoundNetwork:
    """What the functions of this package are to be asked with; `Network` asks them."""

    def __init__(
        self, idata: xr.DataTree, model: "pm.Model | None" = None, *, field: Any = None
    ) -> None:
        check_tree(idata, "idata")
        self.idata, self.model = idata, model
        self._priors: dict[str, np.ndarray] = {}
        if model is not None:
            check_model(model)
            warn_of_cone(idata, model, "posterior")
            records = records_of(model)
            keep_records(idata, records, {})
        else:
            records, self._priors = kept_records(idata)
        if not records and model is None:
            raise ValueError(
                "idata has no record of a network, as it was stored before a pymc_mrf.Network was made of it "
                "and its model: give the model, as pymc_mrf.Network(idata, model)"
            )
        self._records = records
        common, self._of_group = self._find_groups()
        self.groups = list(self._of_group)
        self.field = self._chosen(field, common)
        self.record = records[next(iter(records)) if self.field is None else self.field]
        self.graph: PairwiseGraph | LaggedGraph = self.record.graph
        self.kinds: ColumnKinds = self.record.columns
        self.weight = self._checked_weight(common if self.field is None else self.record.weight)

    def _find_groups(self) -> tuple[str | None, dict[Any, FieldRecord]]:
        """Return the weights that groups have in common, and the fields of the groups by their labels."""
        fields = {r.weight: r for r in self._records.values() if isinstance(r.weight, str)}
        for common in kept_contrasts(self.idata):
            weights, labels, _ = named_groups(self.idata, common, self.model)
            if set(weights) <= set(fields):
                return common, {label: fields[w] for label, w in zip(labels, weights, strict=True)}
        return None, {}

    def _chosen(self, field: Any, common: str | None) -> str | None:
        """Return the name of the field that is asked for, None for what all groups have in common."""
        if not self._records:
            raise ValueError("the model has no field with a graph, and so no network")
        names = quoted(self._records)
        if field is not None and field not in self._records:
            raise ValueError(f"field={field!r} is no field with a graph; the model has {names}")
        if field is None and common is not None and len(self._of_group) == len(self._records):
            return None
        if field is None and len(self._records) != 1:
            raise ValueError(f"the model has the fields {names}: name one of them, as field=...")
        return next(iter(self._records)) if field is None else field

    def _checked_weight(self, weight: Any) -> str:
        """Refuse edges that have no vector of their own among the variables."""
        label = next(iter(self.record.parameters))
        if not isinstance(weight, str):
            what = "an expression without a name" if weight is None else "given as numbers"
            raise ValueError(
                f"the {label} of {self.record.name} is {what}, so that there are no draws of edges to read: "
                f'make it a variable, of an expression pm.Deterministic("{label}", ...)'
            )
        n, wanted = sampled_vector(self.idata, weight, "posterior").shape[-1], self.graph.n_edges
        if self.tables is not None:
            wanted = int(self.tables.block_sizes(self.graph).sum())
        if n != wanted:
            raise ValueError(
                f"{weight} has {n} entries, but the {self.graph.n_edges} edges of {self.record.name} have "
                f"{wanted}: a network has parameters of its own for each edge"
            )
        return weight

    @property
    def tables(self) -> ColumnKinds | None:
        """What functions know as `n_states`: kinds of the nodes if edges have tables of parameters."""
        return self.kinds if self.record.has_tables else None

    @property
    def is_sparse(self) -> bool:
        """Whether edges may be absent, by a `SpikeAndSlab`."""
        return self.record.prior == SPARSE

    @property
    def is_grouped(self) -> bool:
        """Whether edges form groups, by a `DirichletProcess`."""
        return self.record.prior == GROUPED

    @property
    def is_in_time(self) -> bool:
        """Whether edges are arrows from row to row, of a `KineticMRF`."""
        return self.record.kind == IN_TIME

    @cached_property
    def by_edge(self) -> xr.DataTree:
        """Give the results with one number for each edge of all groups: its strength if it has a table."""
        if self.tables is None:
            return self.idata
        posterior = self.idata["posterior"].to_dataset()
        strengths = {
            name: edge_strength(self.idata, name, graph=self.graph, n_states=self.tables)
            for name in (self.weight, *(record.weight for record in self._of_group.values()))
        }
        others = posterior.drop_dims({str(posterior[name].dims[-1]) for name in strengths})
        groups = {"posterior": others.assign(strengths)}
        for name in ("sample_stats", "constant_data"):
            if name in self.idata.children:
                groups[name] = self.idata[name].to_dataset()
        return xr.DataTree.from_dict(groups)

    @property
    def values(self) -> xr.DataArray:
        """Draws (chain, draw, edge) of one number for each edge."""
        return edge_values(self.by_edge, self.weight, self.graph, "posterior")

    @property
    def labels(self) -> list:
        """Labels of the edges in tables, in the order of the graph."""
        return self.values[self.values.dims[-1]].values.tolist()

    @cached_property
    def prior_inclusion(self) -> np.ndarray | None:
        """Prior probability of each edge (r,), from the model or as it was saved; None if it is not known."""
        if self._has_slab or (self.model is not None and self._is_of_group):
            try:
                found = self._model_inclusion()
            except ValueError as error:
                warn_user(f"the network has no Bayes factors: {error} to pymc_mrf.summarize_edges")
                return None
            self._priors[self.weight] = found
            keep_records(self.idata, self._records, self._priors)
        return self._priors.get(self.weight)

    def _model_inclusion(self) -> np.ndarray:
        if self._is_of_group:
            return difference_inclusion(self.model, [self.weight]).mean(axis=0)
        found = model_inclusion(self.model, sampled_vector(self.idata, self.weight, "posterior"))
        assert found is not None  # of a model that is given
        if self.tables is not None:
            return found[np.cumsum(self.tables.block_sizes(self.graph)) - 1]
        return found

    @property
    def _is_of_group(self) -> bool:
        """Whether the weights are those that `group_weights` gave one group."""
        return self.field is not None and self.field in {
            record.name for record in self._of_group.values()
        }

    @property
    def _has_slab(self) -> bool:
        """Whether the model has the weights as a `SpikeAndSlab` of their own."""
        return self.model is not None and is_spike_and_slab(self.model[self.weight])

    def needed_prior(self, call: str) -> np.ndarray:
        """Prior probabilities of the edges, without which `call` has no answer."""
        if not self.is_sparse:
            raise ValueError(f"{call} is of edges that may be absent, by a SpikeAndSlab: use edges")
        if self.prior_inclusion is None:
            self.needed_model(call)
            raise ValueError(
                f"{call}: the prior probability of the edges of {self.weight} is not known; give it as "
                "prior_inclusion to pymc_mrf.summarize_edges"
            )
        return self.prior_inclusion

    def needed_model(self, call: str, lacking: str = "what it asks") -> "pm.Model":
        """Return the model, without which `call` has no answer."""
        if self.model is None:
            raise ValueError(
                f"{call} needs the model, as the results do not keep {lacking}: give it, as "
                "pymc_mrf.Network(idata, model)"
            )
        return self.model

    @property
    def prior_of_edges(self) -> "pm.Model | None":
        """Give the model, if it has a prior of the edges."""
        return self.model if self._has_slab else None

    @cached_property
    def _read_model(self) -> "pm.Model":
        return model_of(self.record, self.idata)

    def reader(self, call: str) -> "pm.Model":
        """Return the model, or one that tells what the draws say of rows, which `call` asks."""
        if self.model is None and not self.record.lacks:
            return self._read_model
        return self.needed_model(call, self.record.lacks)

    def one_field(self, call: str) -> str:
        """Return the name of the field whose rows `call` is about."""
        if self.field is None:
            raise ValueError(
                f"{call} is of the rows of one group: take it of network.group({self.groups[0]!r}), of "
                f"{quoted(self.groups)}"
            )
        return self.field

    def several_groups(self, call: str) -> dict[str, Any]:
        """Arguments of functions that compare groups."""
        if self.field is not None:
            known = (
                f"of {self.field} alone: make it without field="
                if self.groups
                else "of one group of rows: declare groups, as network_model(table, groups=...)"
            )
            raise ValueError(f"{call} is of several groups, but this network is {known}")
        prior = {"differences": difference_inclusion, "compare": log_prior_equal}[call]
        given = {"graph": self.graph, "n_states": self.tables, "model": self._model_of_prior(prior)}
        return {"idata": self.idata, "var_names": self.weight, **given}

    def _model_of_prior(self, prior: Callable[[Any, list[str]], Any]) -> "pm.Model | None":
        """Return the model, if it tells a prior of differences, which not all networks of measurements do."""
        if self.model is not None and self.kinds.is_measured.any():
            try:
                prior(self.model, self.weights_of_groups)
            except ValueError as error:
                warn_user(f"differences have no Bayes factors: {error}")
                return None
        return self.model

    def node_options(self) -> dict[str, Any]:
        """Arguments of functions that measure how much nodes matter."""
        if not self.record.has_sums:
            raise ValueError(
                f"the {self.weight} of the {self.record.kind} are no weights, whose sums would tell how much "
                "a node matters: use edges"
            )
        return {"graph": self.graph, "communities": self.record.communities}

    @property
    def weights_of_groups(self) -> list[str]:
        """Variables of the groups; the only one if there are none."""
        if self.field is not None:
            return [self.weight]
        return [str(record.weight) for record in self._of_group.values()]
