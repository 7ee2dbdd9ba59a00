"""Shapes of the nodes of a network by their kinds: measurements, and answers with or without an order."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.analysis._posterior import of_nodes
from pymc_mrf.checks import check_labels, sequence
from pymc_mrf.plots._labels import PADDING


class Shape(NamedTuple):
    """How nodes of one kind look.

    Attributes
    ----------
    box : str or callable
        Style of the box of a label, as matplotlib takes it.
    marker : str
        Of a dot.
    growth : float
        Width and height in parts of those of the label.
    """

    box: Any
    marker: str
    growth: float


def ellipse(x0: float, y0: float, width: float, height: float, mutation_size: float) -> Any:
    """Path of the ellipse around a label, as a custom box style of matplotlib."""
    from matplotlib.path import Path

    centre, half = _padded(x0, y0, width, height, mutation_size)
    circle = Path.unit_circle()
    return Path(centre + np.sqrt(2.0) * half * circle.vertices, circle.codes)


def rectangle(x0: float, y0: float, width: float, height: float, mutation_size: float) -> Any:
    """Path of the rectangle around a label, as a custom box style of matplotlib."""
    return _polygon([(-1, -1), (1, -1), (1, 1), (-1, 1)], x0, y0, width, height, mutation_size)


def diamond(x0: float, y0: float, width: float, height: float, mutation_size: float) -> Any:
    """Path of the diamond around a label, as a custom box style of matplotlib."""
    return _polygon([(-2, 0), (0, -2), (2, 0), (0, 2)], x0, y0, width, height, mutation_size)


def _polygon(corners: list, *label: float) -> Any:
    """Path through corners in half sizes of a label from its centre."""
    from matplotlib.path import Path

    centre, half = _padded(*label)
    return Path(centre + half * np.array([*corners, corners[0]]), closed=True)


def _padded(x0: float, y0: float, width: float, height: float, size: float) -> tuple:
    """Centre and half sizes of a label with padding, at least as wide as high: one letter gets a circle."""
    pad = 2.0 * PADDING * size
    half = 0.5 * np.array([max(width, height) + pad, height + pad])
    return np.array([x0 + 0.5 * width, y0 + 0.5 * height]), half


PLAIN = Shape(f"round,pad={PADDING}", "o", 1.0)
SHAPES = {
    "continuous": Shape(ellipse, "o", float(np.sqrt(2.0))),
    "ordinal": Shape(rectangle, "s", 1.0),
    "nominal": Shape(diamond, "D", 2.0),
}


def node_kinds(nodes: Sequence[Hashable], node_kind: Any) -> list[str] | None:
    """Kind of each of the `nodes`; None if none are given.

    Parameters
    ----------
    nodes : sequence of d hashables
    node_kind : mapping by node, sequence of d kinds, field variable of a model, or None

    Raises
    ------
    TypeError, ValueError
        If a node has no kind, or one that has no shape.
    """
    if node_kind is None:
        return None
    if isinstance(node_kind, Mapping):
        kinds = of_nodes(node_kind, nodes, "node_kind", "kind")
    elif hasattr(node_kind, "owner"):
        kinds = _kinds_of_field(node_kind, len(nodes))
    else:
        check_labels(node_kind, nodes, "node_kind", "node")
        kinds = sequence(node_kind, "node_kind", "kinds")
    if len(kinds) != len(nodes):
        raise ValueError(f"node_kind has {len(kinds)} entries, but the graph has {len(nodes)} nodes")
    for node, kind in zip(nodes, kinds, strict=True):
        if kind not in SHAPES:
            raise ValueError(
                f"node_kind of {node!r} is {kind!r}, but must be one of {', '.join(map(repr, SHAPES))}"
            )
    return kinds


def _kinds_of_field(variable: Any, n_nodes: int) -> list[str]:
    """Kinds of the nodes of a field of a model."""
    from pymc_mrf.distributions.parents import field_node
    from pymc_mrf.fields.gaussian import GAUSSIAN
    from pymc_mrf.fields.mixed import MixedFamily

    node = field_node(variable)
    family = getattr(node.op, "family", None) if node is not None else None
    if family is None:
        raise TypeError(
            f"node_kind={variable.name!r} is no field of nodes that all have one kind: give a kind for each "
            "node, in a dictionary"
        )
    if isinstance(family, MixedFamily):
        return list(family.columns.kinds)
    kind = "continuous" if family is GAUSSIAN else "nominal" if family.has_blocks else "ordinal"
    return [kind] * n_nodes


def shapes_of(kinds: list[str] | None, n_nodes: int) -> list[Shape]:
    """Shape of each node, that of nodes without a kind if there are no `kinds`."""
    return [PLAIN] * n_nodes if kinds is None else [SHAPES[kind] for kind in kinds]


def shape_handles(kinds: list[str]) -> list:
    """Entries of a legend for the kinds that occur."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {
        "linestyle": "",
        "markersize": 9,
        "color": "#D9D9D9",
        "markeredgecolor": "#606060",
    }
    return [
        Line2D([], [], marker=shape.marker, label=kind, **style)
        for kind, shape in SHAPES.items()
        if kind in kinds
    ]
