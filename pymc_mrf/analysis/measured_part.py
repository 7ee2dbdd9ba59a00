"""The measurements of mixed fields by themselves, of which the prior within the cone is drawn."""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.analysis.cone_fields import cone_nodes, of_cone, sparse_weights


class MeasuredPart(NamedTuple):
    """The measurements of mixed fields by themselves: a model of their prior alone.

    Given what their priors depend on, edges that end in an answer are independent of those between
    measurements, and the cone does not cut them.

    Attributes
    ----------
    model : pymc.Model
        With copies of all variables on which the prior depends.
    entries : (m,) int64 array
        Entries of the weights of the mixed fields that are between measurements.
    p : dict
        Probabilities of all entries of each vector, in terms of the variables of `model`, by its name.
    """

    model: Any
    entries: np.ndarray
    p: dict[str, Any]

    @classmethod
    def of(cls, model: Any, rv: Any) -> "MeasuredPart | None":
        """Make it; None if `rv` is the weight of Gaussian fields.

        Raises
        ------
        ValueError
            If `rv` feeds Gaussian fields beside mixed ones, or mixed ones of other edges.
        """
        import pymc as pm
        import pytensor.tensor as pt
        from pytensor.graph.replace import graph_replace
        from pytensor.graph.traversal import ancestors

        from pymc_mrf.distributions.gaussian import GaussianMRF
        from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
        from pymc_mrf.graph.structure import PairwiseGraph

        nodes = cone_nodes(rv, model)
        if not any(node.op.kind == "mixed" for node in nodes):
            return None
        vectors = [one for one in sparse_weights(model) if set(cone_nodes(one, model)) & set(nodes)]
        layouts = [node.op.layout for node in nodes if node.op.kind == "mixed"]
        is_common = len(layouts) == len(nodes) and all(
            np.array_equal(one.pairs, layouts[0].pairs) and np.array_equal(one.kind, layouts[0].kind)
            for one in layouts
        )
        fed = {frozenset(cone_nodes(one, model)) for one in vectors}
        if (
            not is_common
            or len(fed) > 1
            or any(one.owner.op.n != len(layouts[0].kind) for one in vectors)
        ):
            raise ValueError(
                f"{rv.name} is the weight of a MixedMRF with edges between measurements and of other fields, "
                "or a part of it, and its prior probability within the cone is found where all its fields "
                "have the same edges and are sums of the same vectors"
            )
        needed = set(
            ancestors([*(of_cone(n)[1] for n in nodes), *(v for o in vectors for v in o.owner.inputs)])
        )
        layout = layouts[0]
        entries = nodes[0].op.between_measurements
        ends = layout.ends[entries] - len(layout.cards)
        graph = PairwiseGraph(range(layout.n_measured), ends.tolist())
        copies: dict = {}
        probabilities: dict[str, Any] = {}
        with pm.Model(coords=model.coords) as part:
            for other in model.free_RVs:
                if other in needed and other not in vectors:
                    inputs = graph_replace(list(other.owner.inputs), copies, strict=False)
                    copy = other.owner.clone_with_new_inputs(inputs).outputs[other.index]
                    transform = model.rvs_to_transforms[other]
                    copies[other] = part.register_rv(copy, other.name, default_transform=transform)
            whole = {}
            for one in vectors:
                op = one.owner.op
                _, p, *parameters = op.shape_and_arguments(one.owner.inputs)
                block = layout.edge if op.blocks else np.arange(op.n)
                p, *parameters = graph_replace([p[block], *parameters], copies, strict=False)
                own = SpikeAndSlab(one.name, p[entries], op.scalar.at(*parameters), shape=len(entries))
                probabilities[one.name] = pt.as_tensor(p)
                whole[one] = pt.zeros(op.n)[entries].set(own)
            for k, node in enumerate(nodes):
                weight, diagonal = graph_replace(list(of_cone(node)), {**copies, **whole}, strict=False)
                rows = np.eye(max(2, graph.n_nodes), graph.n_nodes)
                GaussianMRF(f"x_{k}", weight[..., entries], diagonal, graph=graph, observed=rows)
        return cls(part, entries, probabilities)

    def spread(
        self, presence: np.ndarray, values: np.ndarray, draws: dict[str, np.ndarray], rv: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Put presence and values (chain, draw, m) of the entries between measurements among those of all.

        `draws` of the variables of `model`; values of other entries are NaN.
        """
        import pytensor
        from pytensor.graph.traversal import ancestors

        p, shape = self.p[rv.name], presence.shape[:2]
        needed = set(ancestors([p]))
        inputs = [v for v in self.model.free_RVs if v in needed]
        f = pytensor.function(inputs, p)
        if inputs:
            rows = [f(*(draws[v.name][cell] for v in inputs)) for cell in np.ndindex(shape)]
            of_all = np.array(rows).reshape(*shape, -1)
        else:
            of_all = np.broadcast_to(f(), (*shape, rv.owner.op.n)).copy()
        whole = np.full(of_all.shape, np.nan)
        of_all[..., self.entries], whole[..., self.entries] = presence, values
        return of_all, whole
