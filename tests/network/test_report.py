"""The page of a network: parsed, escaped, and without anything from elsewhere."""

from html.parser import HTMLParser

import pytest

import pymc_mrf as pmrf
from tests.network import models

VOID = {"meta", "link", "br", "img", "input"}


class Page(HTMLParser):
    """Elements of a page, all of which must be closed in their order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes = [], [], {}, []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and data.strip():
            self.texts.setdefault(self.open[-1], []).append(data.strip())


@pytest.fixture(scope="module")
def items():
    model = models.quietly(pmrf.network_model, models.odd_table(), columns=models.ODD)
    return pmrf.Network(models.sampled(model), model)


@pytest.fixture(scope="module")
def text(items, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "network.html"
    items.report(path, title="Sleep & <mood>")
    return path.read_text(encoding="utf-8")


def test_the_page_is_well_formed_and_escaped(text, items):
    page = Page(text)
    assert page.texts["h1"] == page.texts["title"][:1] == ["Sleep & <mood>"]
    assert "i" not in page.tags  # as a name that is written as it is would be
    assert {"table", "svg", "script", "style"} <= set(page.tags)
    cells = page.texts["td"]
    for label, row in items.edges.iterrows():
        assert label in cells and f"{row['mean']:.4g}" in cells
    assert set(models.ODD) <= set(cells)


def test_the_page_needs_nothing_from_elsewhere(text):
    page = Page(text)
    links = [value for name, value in page.attributes if name in ("src", "href", "xlink:href")]
    assert [link for link in links if not link.startswith("#")] == []
    assert "http" not in text.replace("http://www.w3.org/", "")


def test_marks_tell_their_numbers(text, items):
    titles = Page(text).texts["title"]
    drawn = items.edges[
        (items.values != 0).mean(("chain", "draw")).loc[items.edges.index].values >= 0.25
    ]
    for label, row in drawn.iterrows():
        [told] = [title for title in titles if title.splitlines()[0] == label]
        assert f"mean {row['mean']:.3g}" in told and f"inclusion {row['inclusion']:.3g}" in told
    strength = items.nodes.loc["strength", "mean"]
    for name, levels in zip(models.ODD, items.kinds.labels, strict=True):
        [told] = {title for title in titles if title.splitlines()[0] == name}  # of the label and its box
        assert f"strength {strength[name]:.3g}" in told and ", ".join(map(str, levels)) in told


def test_a_notebook_shows_table_picture_and_warnings(items):
    page = Page(items._repr_html_())
    assert {"table", "svg"} <= set(page.tags)
    assert any(text.startswith("Against trusting this run: ") for text in page.texts["p"])


def test_arrows_and_groups_of_edges_have_pages(tmp_path):
    for name, make in (("arrows", models.kinetic_model), ("groups", models.grouped_model)):
        model = make()
        net = pmrf.Network(models.sampled(model), model)
        net.report(tmp_path / f"{name}.html")
        titles = Page((tmp_path / f"{name}.html").read_text(encoding="utf-8")).texts["title"]
        assert any(title.splitlines()[0] in net.labels for title in titles)


@pytest.mark.filterwarnings("ignore:.*effective draws carry the rarer answer:UserWarning")
def test_a_page_of_groups_has_their_differences(tmp_path):
    table = models.odd_table().drop(columns=models.ODD[3:])
    model = models.quietly(pmrf.network_model, table, groups="group")
    net = pmrf.Network(models.sampled(model), model)
    net.report(tmp_path / "groups.html")
    page = Page((tmp_path / "groups.html").read_text(encoding="utf-8"))
    assert "Differences between groups" in page.texts["h2"]
    assert {"weight[x<1]", "weight[y z]", "weight[é]"} <= set(page.texts["th"])
