"""What a model keeps of its fields and their tables, and draws of their model.

The record of a field's table stays with its variable. What draws keep, so that fields can be read where
the model is not, is one text in JSON, the attribute `ATTRIBUTE` of the results, which netCDF and zarr
keep.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import ancestors

from pymc_mrf.distributions.arguments import value_of
from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.edge_communities import EdgeCommunitiesRV
from pymc_mrf.distributions.field import field_class
from pymc_mrf.distributions.field_rv import DiscreteFieldRV
from pymc_mrf.distributions.gaussian import GaussianMRF
from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
from pymc_mrf.distributions.kinetic import KineticMRF
from pymc_mrf.distributions.mixed import MixedMRF
from pymc_mrf.distributions.mrf import AgreementMRF
from pymc_mrf.distributions.multistate import NominalMRF
from pymc_mrf.distributions.parents import field_node, fields_of, is_same
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.distributions.symbolic_tables import strip_views
from pymc_mrf.fields.column_kinds import ColumnKinds, kinds_of_states
from pymc_mrf.graph.coordinates import node_names
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph

ATTRIBUTE = "pymc_mrf"
FORMAT = 2
IN_TIME = KineticMRF.__name__
SPARSE, GROUPED = "SpikeAndSlab", "DirichletProcess"


def record_of(model: pm.Model, name: str) -> ColumnKinds:
    """Return the record of the table of a field; of states and measurements as they are if it had none.

    `name`: of the field, whose variables are nodes of a graph.
    """
    kept: Any = getattr(model[name].tag, "mrf_table", None)
    return record_of_states(field_node(model[name]).op) if kept is None else kept


def labels_of_states(model: pm.Model, name: str) -> dict[int, Any]:
    """Return what the table of a field writes for each state, by the numbers of states in draws.

    Where nodes differ in that, these are the numbers themselves.
    """
    record, family = record_of(model, name), getattr(field_node(model[name]).op, "family", None)
    labels = record.state_labels
    numbers = range(len(labels)) if family is None else family.states
    own = [record.labels[i] or tuple(range(record.n_states[i])) for i in record.answers]
    if any(list(known) != labels[: len(known)] for known in own):
        labels = list(numbers)
    return dict(zip(numbers, labels, strict=True))


def record_of_states(op: Any) -> ColumnKinds:
    """Return the record of tables that hold the states of a field, or its measurements, as they are."""
    if isinstance(op, DiscreteFieldRV):
        return kinds_of_states(op.graph.nodes, op.family)
    return op.columns.of_states()


def scale_of(model: pm.Model, name: str) -> np.ndarray:
    """Return what measurements are divided by (d,) in the Gaussian fields of which a variable is a parameter.

    Raises a ValueError if there are none, or they divide by different numbers.
    """
    nodes = [node for _, node in fields_of(model) if isinstance(node.op, GaussianFieldRV)]
    own = [node for node in nodes if model[name] in set(ancestors(node.inputs))]
    scales = {node.op.scale for node in own or nodes}
    if len(scales) != 1:
        told = (
            "is no parameter of a GaussianMRF" if not scales else "is one of fields of different scales"
        )
        raise ValueError(f"{name} {told}, whose scale could tell the units")
    return np.array(scales.pop())


@dataclass(frozen=True)
class FieldRecord:
    """What a field of a model is.

    `kind`: its class, such as "OrdinalMRF". `columns`: what its table was. `parameters`: by what users
    call them: the name of the variable that a parameter is, or its numbers as lists; None where it is an
    expression of several variables without a name. `prior`: "SpikeAndSlab" or "DirichletProcess" if such
    vectors are behind the parameter of the edges, else "". `communities`: `EdgeCommunities` behind it.
    `options`: arguments of the class, but for the graph and the data.
    """

    name: str
    kind: str
    graph: PairwiseGraph | LaggedGraph
    columns: ColumnKinds
    parameters: dict[str, Any]
    prior: str
    communities: str | None
    options: dict[str, Any]

    @property
    def weight(self) -> Any:
        """Name of the variable that is the parameter of the edges, numbers, or None."""
        return next(iter(self.parameters.values()))

    @property
    def diagonal(self) -> Any:
        """Variable or numbers of the diagonal of the precision of measurements; None if it has no name."""
        value = self.parameters.get("diagonal")
        return np.squeeze(value) if isinstance(value, list) else value

    @property
    def field(self) -> Any:
        return field_class(self.kind)

    @property
    def is_mixed(self) -> bool:
        """Whether nodes may be of several kinds."""
        return self.field is MixedMRF

    @property
    def has_tables(self) -> bool:
        return self.field in (NominalMRF, MixedMRF)

    @property
    def lacks(self) -> str:
        """What the model alone knows that tells of rows; empty if the record knows it."""
        unknown = [label for label, source in self.parameters.items() if source is None]
        if unknown:
            return f"the {unknown[0]} of {self.name}, an expression without a name"
        return f"the order of the rows of {self.name}" if self.field is KineticMRF else ""

    @property
    def has_sums(self) -> bool:
        """Whether weights are zero where there is no edge, so that sums of their sizes mean something."""
        return self.field is not AgreementMRF


def records_of(model: pm.Model) -> dict[str, FieldRecord]:
    """Describe the fields of a model that have a graph of pairs or arrows, by their names."""
    return {
        rv.name: _described(model, rv.name, node)
        for rv, node in fields_of(model)
        if isinstance(getattr(node.op, "graph", None), PairwiseGraph | LaggedGraph)
    }


def _described(model: pm.Model, name: str, node: Any) -> FieldRecord:
    op, given = node.op, node.op.dist_params(node)
    labels = [label for label in op.labels if label is not None]
    behind = set(ancestors(given[:1]))
    sources = [rv for rv in model.free_RVs if rv in behind]
    priors = {SPARSE: SpikeAndSlabRV, GROUPED: DirichletProcessRV}
    is_of = (
        prior for prior, kind in priors.items() if any(isinstance(v.owner.op, kind) for v in sources)
    )
    communities = [rv.name for rv in sources if isinstance(rv.owner.op, EdgeCommunitiesRV)]
    return FieldRecord(
        name,
        op.name,
        op.graph,
        record_of(model, name),
        {label: _source(p, model) for label, p in zip(labels, given, strict=True)},
        next(is_of, ""),
        next(iter(communities), None),
        _options(op),
    )


def _source(parameter: Any, model: pm.Model) -> Any:
    """Return the name of the variable that a parameter is, its numbers, or None."""
    inner = strip_views(parameter)
    for rv in [*model.free_RVs, *model.deterministics]:
        if is_same(strip_views(rv), inner):
            return rv.name
    behind = set(ancestors([parameter]))
    if not behind.isdisjoint(model.basic_RVs) or any(isinstance(v, SharedVariable) for v in behind):
        return None
    return value_of(parameter).tolist()


def _options(op: Any) -> dict[str, Any]:
    """Arguments that make the same field of the same parameters, data and graph."""
    field = field_class(op.name)
    if field in (GaussianMRF, MixedMRF):
        return {"scale": list(op.scale)}
    if field is KineticMRF:
        return {}
    found: dict[str, Any] = {"likelihood": "exact" if op.draws_exactly else "pseudo"}
    if "n_states" in signature(field.dist).parameters:
        found["n_states"] = list(op.family.cards) or op.family.n_states
    if op.family.scores:
        scores = op.family.scores
        if op.family.has_own_scores:
            cards = op.family.cards or [op.family.n_states] * len(scores)
            scores = [own[:k] for own, k in zip(scores, cards, strict=True)]
        found["scores"] = _json_value(scores)
    return found


def model_of(record: FieldRecord, idata: xr.DataTree) -> pm.Model:
    """Declare the field of a record again, given the parameters that `idata` has draws of.

    Its priors are flat: it tells what the draws say of rows, and nothing of priors or of how it was sampled.

    The record must not lack anything.
    """
    options = dict(record.options)
    if record.is_mixed:
        options |= {"kinds": record.columns.of_states(), "likelihood": "pseudo"}
    posterior = idata["posterior"]
    shape: tuple[int, ...] = (1, record.graph.n_nodes)
    if "observed_data" in idata.children and record.name in idata["observed_data"]:
        shape = idata["observed_data"][record.name].shape
    with pm.Model() as model:
        given = [
            pm.Flat(source, shape=posterior[source].shape[2:])
            if isinstance(source, str)
            else np.array(source)
            for source in record.parameters.values()
        ]
        record.field(
            record.name, *given, graph=record.graph, shape=shape, record=record.columns, **options
        )
    return model


def keep_records(
    results: xr.DataTree | xr.Dataset,
    records: Mapping[str, FieldRecord],
    prior_inclusion: Mapping[str, Any],
) -> None:
    """Write records, and prior probabilities of the edges by the names of their weights, into results.

    Probabilities that are there already stay, if the fields are the same.
    """
    told = {
        "format": FORMAT,
        "fields": json.loads(json.dumps([_as_json(record) for record in records.values()])),
        "prior_inclusion": {name: np.asarray(p).tolist() for name, p in prior_inclusion.items()},
    }
    there = json.loads(results.attrs.get(ATTRIBUTE, "{}"))
    if all(there.get(key) == told[key] for key in ("format", "fields")):
        told["prior_inclusion"] = there["prior_inclusion"] | told["prior_inclusion"]
    results.attrs[ATTRIBUTE] = json.dumps(told)


def kept_records(idata: xr.DataTree) -> tuple[dict[str, FieldRecord], dict[str, np.ndarray]]:
    """Read what `keep_records` wrote; nothing if it wrote nothing.

    Raises a ValueError if another version of the package wrote it.
    """
    if ATTRIBUTE not in idata.attrs:
        return {}, {}
    told = json.loads(idata.attrs[ATTRIBUTE])
    if told["format"] != FORMAT:
        raise ValueError(
            f"idata keeps a record of format {told['format']}, which another version of pymc_mrf wrote: give "
            "the model, as pymc_mrf.Network(idata, model)"
        )
    records = [_from_json(record) for record in told["fields"]]
    priors = {name: np.array(p) for name, p in told["prior_inclusion"].items()}
    return {record.name: record for record in records}, priors


def _json_value(value: Any) -> Any:
    """Return what JSON can hold: lists, texts and numbers; of other labels their texts."""
    if isinstance(value, tuple | list):
        return [_json_value(one) for one in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float) else str(value)


def _as_json(record: FieldRecord) -> dict[str, Any]:
    graph, columns, names = record.graph, record.columns, _json_value(node_names(record.graph))
    found: dict[str, Any] = {"nodes": names, "edges": graph.edges.tolist()}
    if isinstance(graph, LaggedGraph):
        found |= {"lags": list(graph.lags), "lag_of": graph.lag_of.tolist()}
    return vars(record) | {
        "graph": found,
        "columns": [columns.kinds, columns.n_states, _json_value(columns.labels), columns.ends],
    }


def _from_json(told: dict[str, Any]) -> FieldRecord:
    graph = told["graph"]
    nodes, pairs = graph["nodes"], [(graph["nodes"][u], graph["nodes"][v]) for u, v in graph["edges"]]
    made: PairwiseGraph | LaggedGraph
    if "lags" in graph:
        of_lag = [
            [pair for pair, k in zip(pairs, graph["lag_of"], strict=True) if k == lag] for lag in (0, 1)
        ]
        made = LaggedGraph(nodes, of_lag[1], graph["lags"], of_lag[0])
    else:
        made = PairwiseGraph(nodes, pairs)
    kinds, n_states, labels, found = told["columns"]
    ends = tuple(None if own is None else tuple(own) for own in found)
    columns = ColumnKinds(tuple(nodes), tuple(kinds), tuple(n_states), tuple(map(tuple, labels)), ends)
    return FieldRecord(**(told | {"graph": made, "columns": columns}))
