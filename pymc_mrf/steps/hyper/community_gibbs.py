"""`CommunityGibbs`: communities of nodes given the presence of the edges.

The labels one node at a time (Geng, Bhattacharya & Pati, 2019, Algorithm 1, with Beta probabilities
integrated out), and mergers and splits of whole communities (Jain & Neal, 2004). The prior probability of an
edge may be any function of whether its ends are in one community. Not implemented: probabilities that are
particular to each pair of communities.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.pytensorf import constant_fold
from pymc.step_methods.compound import CompoundStep
from pytensor import scalar
from pytensor.compile.ops import ViewOp
from pytensor.graph.basic import Constant
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.basic import BetaRV
from pytensor.tensor.shape import SpecifyShape
from pytensor.tensor.subtensor import AdvancedSubtensor

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.edge_communities import EdgeCommunitiesRV, log_partition_weights
from pymc_mrf.distributions.likelihood import EXACT, Likelihood
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.kernels.groups.communities import (
    EdgeStates,
    merge_or_split,
    order_of_appearance,
    sweep_communities,
)
from pymc_mrf.steps.common.base import MRFStep
from pymc_mrf.steps.common.expressions import PointFunction, children
from pymc_mrf.steps.common.statistics import Statistic, Statistics
from pymc_mrf.steps.hyper.conjugate_hyperparameters import compile_update, is_conjugate, where_it_is

N_SCANS = 3  # of a proposal to merge or split; the last one is that of its probability
REMEDY = (
    "let the labels enter by pymc_mrf.same_community alone, and that entry by entry into the probability p "
    "of a SpikeAndSlab"
)


def is_communities(rv) -> bool:
    return rv.owner is not None and isinstance(rv.owner.op, EdgeCommunitiesRV)


def communities_of(rv, model: pm.Model):
    """Find the free `EdgeCommunities` with which a Beta variable can be moved; None if there is none."""
    if rv.owner is None or not isinstance(rv.owner.op, BetaRV) or not is_conjugate(rv, model):
        return None
    fed = set(children(rv, model))
    free = (other for other in model.free_RVs if is_communities(other))
    return next((z for z in free if fed <= set(children(z, model))), None)


class Edges(NamedTuple):
    """Edges whose probabilities depend on the communities, as far as they are known beforehand.

    `ends` (r, 2) int64. `value`: zero where an edge is absent. `within` and `between`: probabilities
    (r,) of the edges, if their ends are in one community and if they are in two.
    """

    ends: np.ndarray
    value: Any
    within: Any
    between: Any


class CommunityGibbs(MRFStep):
    r"""Communities of an `EdgeCommunities`, and the probabilities of edges within and between them.

    Leaves invariant: the posterior, exactly. In each round two nodes are drawn, their community is proposed
    to be split or their two to be merged, and then one node after the other joins a community of the others
    or founds a new one, with the probabilities of its full conditional. Beta variables among `vars` are
    integrated out meanwhile and drawn at the end: with the probabilities that fit one set of communities no
    other is found.

    ``pm.sample()`` chooses this step for the labels. Within the context of the model (``with model:``) it
    also moves the Beta variables that it can; outside they are held fixed while the labels move, and chains
    mix much worse.

    Parameters
    ----------
    vars : list of variables
        A free `EdgeCommunities`, which feeds nothing but the probability `p` of `SpikeAndSlab` vectors,
        through `same_community`, the probability of an edge depending on its own two nodes only. Besides
        it `pm.Beta` scalars that are the probability of some of these edges, as in the example of
        `EdgeCommunities`, and feed nothing else.
    n_rounds : int
        Rounds per step.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError
        If the variables are not of these kinds, or the labels feed anything else or in any other way.

    Notes
    -----
    Sampler statistics: ``community_gibbs_n``, the number of communities; ``community_gibbs_moved``, the share
    of the nodes that changed their community, and ``community_gibbs_accept``, the share of the mergers and
    splits that were accepted, both means over the rounds.

    References
    ----------
    Geng, Bhattacharya & Pati (2019); Jain & Neal (2004); Miller & Harrison (2018).
    """

    name = "community_gibbs"
    invariant: ClassVar = {Likelihood: EXACT}
    prefix = "community_gibbs"
    kinds = EdgeCommunitiesRV, BetaRV
    statistics: Statistics = (
        Statistic("n", "communities", dtype=np.int64, shown="always", column="Communities"),
        Statistic("moved", "share of nodes that changed their community"),
        Statistic("accept", "accepted mergers and splits"),
    )

    @classmethod
    def _make_several(cls, values, model, args, kwargs):
        """Make a step for each `EdgeCommunities`, with the Beta variables that go with it."""
        rvs = [model.values_to_rvs[value] for value in values]
        found = [rv for rv in rvs if is_communities(rv)]
        if len(found) < 2:
            return None
        with_each = {rv: rv if rv in found else communities_of(rv, model) for rv in rvs}
        parts = [[rv for rv in rvs if with_each[rv] in (z, None)] for z in found]
        return CompoundStep([cls(part, *args, **kwargs) for part in parts])

    def __init__(self, vars, *, n_rounds: int = 2, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        model = self._model
        self._n_rounds = whole_number(n_rounds, "n_rounds", 1)
        labels = [rv for rv in self._rvs if is_communities(rv)]
        betas = [rv for rv in self._rvs if rv not in labels]
        if not labels:
            raise ValueError(
                f"CommunityGibbs samples an EdgeCommunities, and {self._rvs[0].name} is none: leave it to "
                "pm.sample()"
            )
        [z] = labels
        edges = [_edges_of(child, z, model) for child in children(z, model)]
        for rv in betas:
            if communities_of(rv, model) is not z:
                raise ValueError(
                    f"CommunityGibbs draws, beside the labels {z.name}, pm.Beta scalars that are the "
                    f"probability of edges between these nodes and feed nothing else, and {rv.name} is none "
                    "of these: leave it to pm.sample()"
                )
        self._labels = model.rvs_to_values[z].name
        self._ends = np.concatenate([np.zeros((0, 2), dtype=np.int64), *(e.ends for e in edges)])
        self._at_nodes = at_nodes(self._ends, z.owner.op.n)
        self._read = PointFunction(_network(z, betas, edges), model, self._compile_kwargs)
        self._updates = [compile_update(rv, model, self._compile_kwargs) for rv in betas]
        self._warm_up()

    @classmethod
    def claims(cls, var):
        """Whether it is an `EdgeCommunities`, or can be integrated out in the model of the context."""
        model = pm.Model.get_context(error_if_none=False)
        if is_communities(var) or model is None:
            return is_communities(var)
        return var in model.free_RVs and communities_of(var, model) is not None

    def _update(self, point):
        point = dict(point)
        old = point[self._labels]
        labels = np.array(old, dtype=np.int64)
        order_of_appearance(labels)
        network = EdgeStates(self._ends, *self._at_nodes, *self._read(point))
        network = network._replace(gamma=float(network.gamma))
        n_accepted = n_moved = 0
        for _ in range(self._n_rounds):
            n_accepted += merge_or_split(labels, N_SCANS, network, self.rng)
            n_moved += sweep_communities(labels, network, self.rng)
        n = order_of_appearance(labels)
        point[self._labels] = labels.astype(old.dtype)
        for update in self._updates:
            update.draw(point, self.rng)
        stats = {
            "community_gibbs_n": n,
            "community_gibbs_moved": n_moved / (self._n_rounds * labels.size),
            "community_gibbs_accept": n_accepted / self._n_rounds,
        }
        return point, stats, not np.array_equal(old, labels)


def _network(z, betas: list, edges: list[Edges]) -> list:
    """Symbolic arrays of the `EdgeStates` from `present` on, as float64 and int64."""
    gamma, rate = z.owner.op.dist_params(z.owner)
    present: list = []
    within: list = []
    between: list = []
    gain: list = []
    for e in edges:
        here = pt.neq(e.value, 0.0)
        sides = []
        for p, which in ((e.within, within), (e.between, between)):
            source = pt.full((len(e.ends),), -1)
            for c, rv in enumerate(betas):
                source = pt.switch(where_it_is(rv, p), c, source)
            which.append(source)
            logp = pt.switch(here, pt.log(p), pt.log1p(-p))
            sides.append(pt.switch(pt.eq(source, -1), logp, 0.0))
        present.append(here)
        gain.append(sides[0] - sides[1])
    parameters = [rv.owner.op.dist_params(rv.owner) for rv in betas]
    a, b = ([pair[k] for pair in parameters] for k in (0, 1))
    integers = [_joined(v, "int64") for v in (present, within, between)]
    reals = [
        _joined(gain, "float64"),
        *(_joined([pt.atleast_1d(v) for v in x], "float64") for x in (a, b)),
    ]
    log_v = _joined([np.zeros(1), log_partition_weights(z.owner.op.n, gamma, rate)], "float64")
    return [*integers, *reals, gamma.astype("float64"), log_v]


def _joined(vectors: list, dtype: str):
    """Join vectors, possibly none."""
    return pt.concatenate([pt.as_tensor(v).astype(dtype) for v in (np.zeros(0), *vectors)])


def _edges_of(child, z, model: pm.Model) -> Edges:
    """Read how the prior of `child` depends on the labels; an error if that is not edge by edge."""
    if child in model.potentials or not isinstance(child.owner.op, SpikeAndSlabRV):
        raise ValueError(
            f"CommunityGibbs moves {z.name} given edges, but it feeds {child.name}: {REMEDY}"
        )
    _, p, *slab = child.owner.op.shape_and_arguments(child.owner.inputs)
    p, places = _unselected(p)
    others = [rv for rv in model.basic_RVs if rv is not z]
    found = _comparisons(p, z, others)
    if (
        not found
        or z in set(ancestors([p], blockers=[*found, *others]))
        or z in set(ancestors(slab, blockers=others))
    ):
        raise ValueError(
            f"CommunityGibbs has to know how each edge of {child.name} depends on {z.name}, and cannot see "
            f"it: {REMEDY}"
        )
    ends, *more = found.values()
    if any(not np.array_equal(ends, other) for other in more) or not all(
        _enters_by_entry(p, same) for same in found
    ):
        raise ValueError(
            f"CommunityGibbs needs probabilities of edges that depend on their own two nodes, but those of "
            f"{child.name} depend on {z.name} at other nodes as well: {REMEDY}"
        )
    sides = []
    for equal in (True, False):
        known = {same: pt.constant(np.full(len(ends), equal)) for same in found}
        sides += graph_replace([p], known, strict=False)
    if places is not None:
        ends, sides = ends[places], [side[places] for side in sides]
    value = model.rvs_to_values[child][..., child.owner.op.heads]
    return Edges(ends, value, *sides)


def _unselected(p) -> tuple[Any, np.ndarray | None]:
    """Vector of which `p` (r,) has entries at fixed places, and these (r,); `p` and None if there is none."""
    inner = p
    while inner.owner is not None and isinstance(inner.owner.op, ViewOp | SpecifyShape):
        inner = inner.owner.inputs[0]
    if inner.owner is None or not isinstance(inner.owner.op, AdvancedSubtensor):
        return p, None
    vector, *index = inner.owner.inputs
    if vector.ndim != 1 or len(index) != 1 or not isinstance(index[0], Constant):
        return p, None
    places = np.asarray(index[0].data)
    vector, first = _unselected(vector)
    return vector, places if first is None else first[places]


def _comparisons(p, z, others: list) -> dict[Any, np.ndarray]:
    """Vectors that tell whether the labels of node pairs are equal, and these pairs (r, 2)."""
    found = {}
    for v in ancestors([p], blockers=[z, *others]):
        op = getattr(v.owner, "op", None)
        if isinstance(op, Elemwise) and isinstance(op.scalar_op, scalar.EQ) and v.type.ndim == 1:
            ends = [_nodes(side, z) for side in v.owner.inputs]
            pairs = [end for end in ends if end is not None]
            if len(pairs) == 2:
                found[v] = np.column_stack(pairs)
    return found


def _nodes(expression, z) -> np.ndarray | None:
    """Node whose label each entry is; None if the entries are anything else."""
    node = expression.owner
    if node is None or not isinstance(node.op, AdvancedSubtensor) or node.inputs[0] is not z:
        return None
    positions = pt.constant(np.arange(z.owner.op.n))
    labels = graph_replace([expression], {z: positions}, strict=False)
    [nodes] = constant_fold(labels, raise_not_constant=False)
    return np.asarray(nodes, dtype=np.int64) if isinstance(nodes, np.ndarray) else None


def _enters_by_entry(expression, vector) -> bool:
    """Whether entry e of `expression` depends on no entry of `vector` but e."""
    if expression is vector or vector not in set(ancestors([expression])):
        return True
    op, inputs = expression.owner.op, expression.owner.inputs
    if expression.type.ndim != 1:
        return False
    if isinstance(op, AdvancedSubtensor):  # such as probabilities[same]
        return vector not in set(ancestors(inputs[:1])) and all(
            _enters_by_entry(v, vector) for v in inputs[1:]
        )
    return isinstance(op, Elemwise | ViewOp | SpecifyShape) and all(
        _enters_by_entry(v, vector) for v in inputs
    )


def at_nodes(ends: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges at each of d nodes: where those of a node begin, the other ends, the positions of the edges.

    Edges from a node to itself are left out.
    """
    proper = np.flatnonzero(ends[:, 0] != ends[:, 1])
    first, other = ends[proper].T.reshape(-1), ends[proper, ::-1].T.reshape(-1)
    by_node = np.argsort(first, kind="stable")
    indptr = np.zeros(d + 1, dtype=np.int64)
    np.cumsum(np.bincount(first, minlength=d), out=indptr[1:])
    ids = np.tile(proper, 2)
    return indptr, np.ascontiguousarray(other[by_node]), ids[by_node]
