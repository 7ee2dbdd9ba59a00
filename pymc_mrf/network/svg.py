"""The picture of a network as SVG whose nodes and edges tell their numbers under the mouse.

It is that of `Network.plot`. Matplotlib writes marks with an address as links, by which they are found again;
each gets a title in the place of the link, which all browsers show.
"""

import copy
import io
from typing import Any
from xml.etree import ElementTree

from pymc_mrf.graph.coordinates import node_names

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
FONTS = "DejaVu Sans, Verdana, sans-serif"  # of the same widths
HIT_WIDTH = "9"  # of invisible lines, which the mouse meets in the place of thin ones


def network(net: Any) -> str:
    """Write the network as an element ``svg``."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    addresses = [f"edge {e}" for e in range(net.graph.n_edges)]
    pc = net.plot("groups" if net.is_grouped else "edges", visuals={"edges": {"urls": addresses}})
    networks = [net] if net.field is not None else [net.group(label) for label in net.groups]
    titles: dict[str, str] = {}
    for k, one in enumerate(networks):
        lines = pc.get_viz("edges", one.weight)
        lines.set_urls([f"{address} {k}" for address in lines.get_urls() if address])
        titles |= {f"edge {e} {k}": text for e, text in enumerate(_of_edges(one))}
        titles |= {f"node {i} {k}": text for i, text in enumerate(_texts_of_nodes(one))}
        _address_nodes(
            pc.get_viz("nodes", one.weight), [f"node {i} {k}" for i in range(net.graph.n_nodes)]
        )
    figure = pc.viz["figure"].item()
    file = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pymc_mrf"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return _titled(file.getvalue(), titles)


def _address_nodes(nodes: Any, addresses: list[str]) -> None:
    """Give labels, or dots, an address each."""
    if not hasattr(nodes, "dims"):
        nodes.set_urls(addresses)
        return
    for label, address in zip(nodes.values.ravel(), addresses, strict=True):
        label.set_url(address)
        label.get_bbox_patch().set_url(address)


def _titled(text: str, titles: dict[str, str]) -> str:
    """Put titles in the place of links."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", LINK)
    root = ElementTree.fromstring(text)
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    for name in ("width", "height"):
        root.attrib.pop(name)  # as wide as the page; the view box tells the shape
    for mark in root.iter(f"{{{SVG}}}a"):
        address = mark.attrib[f"{{{LINK}}}href"]
        mark.tag = f"{{{SVG}}}g"
        mark.attrib.clear()
        if address.startswith("edge"):
            for line in list(mark):
                mark.append(_hit(line))
        title = ElementTree.Element(f"{{{SVG}}}title")
        title.text = titles[address]
        mark.insert(0, title)
    for words in root.iter(f"{{{SVG}}}text"):
        words.attrib["style"] = words.attrib.get("style", "").replace("'DejaVu Sans'", FONTS)
    return ElementTree.tostring(root, encoding="unicode")


def _hit(line: Any) -> Any:
    """Copy a mark as a wide one that is not seen."""
    found = copy.deepcopy(line)
    style = (
        f"fill: none; stroke: #000; stroke-opacity: 0; stroke-width: {HIT_WIDTH}; pointer-events: stroke"
    )
    for mark in found.iter():
        if "style" in mark.attrib:
            mark.attrib["style"] = style
    return found


def _of_edges(net: Any) -> list[str]:
    """Numbers of each edge, in the order of the graph."""
    table = net.edges.loc[net.labels]
    low, high = (next(name for name in table if name.endswith(end)) for end in ("_lb", "_ub"))
    lines = []
    for label, (_, row) in zip(net.graph.edge_labels, table.iterrows(), strict=True):
        told = [label, f"mean {row['mean']:.3g}, between {row[low]:.3g} and {row[high]:.3g}"]
        told += [
            f"{name} {row[name]:.3g}" for name in ("inclusion", "bayes_factor", "r_hat") if name in row
        ]
        lines.append("\n".join(told))
    return lines


def _texts_of_nodes(net: Any) -> list[str]:
    """Kind and states of each node, and how much it matters."""
    kinds, lines = net.kinds, []
    for name, kind, k, labels in zip(
        net.graph.nodes, kinds.kinds, kinds.n_states, kinds.labels, strict=True
    ):
        states = ", ".join(map(str, labels or range(k)))
        lines.append(f"{name}\n{kind}" + (f": {states}" if k else ""))
    if not net.record.has_sums:
        return lines
    measures = net.nodes["mean"].unstack("measure").loc[node_names(net.graph)]
    return [
        "\n".join([line, *(f"{name} {value:.3g}" for name, value in row.items())])
        for line, (_, row) in zip(lines, measures.iterrows(), strict=True)
    ]
