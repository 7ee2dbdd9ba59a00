"""The page of a network: parsed, escaped, and without anything from elsewhere."""

import json
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

import pymc_mrf as pmrf
from tests.network import models

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# clicks on the head of the second column, twice, and says what it found
VISITOR = """<script>
const told = {errors: window.errors}, head = document.querySelectorAll("thead th")[1];
const column = () => [...head.closest("table").tBodies[0].rows].map(row => row.cells[1].textContent);
told.name = head.textContent;
for (const order of ["down", "up"]) {
  head.click();
  told[order] = column();
  told[order + " is said"] = head.getAttribute("aria-sort");
}
const svg = document.querySelector("svg"), box = svg.getBoundingClientRect();
told.size = [box.width, box.height];
const title = mark => mark?.querySelector(":scope > title")?.textContent ?? "";
const line = [...svg.querySelectorAll("g")].find(mark => title(mark).includes("mean "));
line.scrollIntoView({block: "center"});
const at = line.getBoundingClientRect();
const met = document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2);
told.mouse = title(met.closest("g:has(> title)"));
told.line = title(line);
document.body.insertAdjacentHTML("beforeend", "<pre></pre>");
document.querySelector("body > pre:last-child").textContent = JSON.stringify(told);
</script></body>"""
WATCH = "<head><script>window.errors = []; onerror = message => errors.push(message)</script>"
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


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on the PATH")
def test_a_browser_sorts_tables_and_tells_numbers(text, items, tmp_path):
    path, seen = tmp_path / "network.html", text.replace("<head>", WATCH).replace("</body>", VISITOR)
    path.write_text(seen, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [BROWSER, *options, "--virtual-time-budget=2000", "--dump-dom", path.as_uri()]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    told = json.loads(Page(ran.stdout).texts["pre"][-1])
    assert told["errors"] == [] and told["name"] == "mean" and min(told["size"]) > 100
    means = sorted(items.edges["mean"])
    for order, expected in (("up", means), ("down", means[::-1])):
        assert told[order] == [f"{mean:.4g}" for mean in expected]
    assert (told["up is said"], told["down is said"]) == ("ascending", "descending")
    assert told["mouse"] == told["line"]


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
