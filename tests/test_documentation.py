"""The documentation: its code runs, what it shows exists, its tables name what there is."""

import pkgutil
import re
from pathlib import Path

import pytest

import pymc_mrf as pmrf
from examples import pages
from tests.public import NAMES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
SHORT = {"draws": 10, "tune": 10, "chains": 2, "cores": 1, "quiet": True}


def text_of(*parts: str) -> str:
    return ROOT.joinpath(*parts).read_text(encoding="utf-8")


def documented_names() -> set[str]:
    """Names of the reference, with their modules."""
    documented, module = set(), ""
    for line in text_of("docs", "api.md").splitlines():
        if found := re.match(r"\.\. currentmodule:: ([\w.]+)$", line):
            module = found[1]
        elif found := re.match(r"   ([\w.]+)$", line):
            documented.add(f"{module}.{found[1]}")
    return documented


def saved_figures(code: list[str]) -> set[str]:
    return set(re.findall(r'savefig\("([\w.]+)"', "".join(code)))


# so short a run warms up badly, which NumPy notices, and has few draws, which ArviZ does
@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:overflow:RuntimeWarning",
    "ignore:invalid value:RuntimeWarning",
    "ignore:Found chain dimension to be longer than draw:UserWarning",
    "ignore:.* effective draws carry the rarer answer:UserWarning",
    # and too few to know whole structures
    "ignore:the draws hold:UserWarning",
    # or to mix
    "ignore:.*the chains have not mixed:UserWarning",
    "ignore:.*which never switched:UserWarning",
    # data of a tutorial may have missing cells, of which PyMC says that it imputes them
    "ignore::pymc.exceptions.ImputationWarning",
)
@pytest.mark.parametrize("name", pages.TUTORIALS)
def test_tutorial_runs_and_shows_what_it_makes(name, tmp_path, few_starts):
    page = DOCS / f"{name}.md"
    _, printed = pages.run(page, tmp_path, compute_convergence_checks=False, **SHORT)
    text = page.read_text(encoding="utf-8")
    shown = set(re.findall(rf"_results/{name}_(\d+)\.txt", text))
    assert shown == {str(k) for k, output in enumerate(printed, start=1) if output}
    figures = saved_figures(pages.code_blocks(page))
    assert {path.name for path in tmp_path.glob("*.png")} == figures
    assert set(re.findall(r"\(figures/([\w.]+)\)", text)) == figures


def test_pages_are_run_by_name(tmp_path, capsys):
    with pytest.raises(SystemExit):
        pages.main(["votes", "--output", str(tmp_path)])
    assert "no tutorial 'votes'; there are votes_to_groups" in capsys.readouterr().err


def test_line_numbers_of_errors_are_those_of_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\n```\n\nmore\n\n```python\nprint(x)\n```\n")
    first, second = pages.code_blocks(page)
    assert (first.count("\n", 0, first.index("x")), second.count("\n", 0, second.index("p"))) == (3, 9)
    namespace, printed = pages.run(page, tmp_path)
    assert namespace["x"] == 1
    assert printed == ["", "1\n"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_included_files_exist(page):
    text = page.read_text(encoding="utf-8")
    included = re.findall(r"\{(?:literal)?include\} (\S+)", text) + re.findall(
        r"\((figures/\S+)\)", text
    )
    assert [name for name in included if not (DOCS / name).exists()] == []


def test_landing_page_and_readme_have_the_same_example():
    readme, landing = pages.code_blocks(ROOT / "README.md"), pages.code_blocks(DOCS / "index.md")
    assert [code.strip() for code in readme] == [code.strip() for code in landing]


def slug(heading: str) -> str:
    """Anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def anchors(page: Path) -> set[str]:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE)}


def labels(page: Path) -> list[str]:
    return re.findall(r"^\(([\w-]+)\)=$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)


def missing_targets(page: Path) -> list[str]:
    """Targets of the links of a page that lead nowhere: files, headings of files, labels."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    known = {label for other in PAGES for label in labels(other)}
    missing = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        if "://" in target or target in known:
            continue
        file = page.parent / name if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            missing.append(target)
    return missing


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    assert missing_targets(page) == []


def test_links_that_lead_nowhere_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        '# What `"auto"` means\n\n[](more-items) [](#what-auto-means) [a](https://b.c)\n'
        "[](gone) [](#gone) [a](page.md#gone) [a](gone.md)\n"
    )
    assert missing_targets(page) == ["gone", "#gone", "page.md#gone", "gone.md"]


def test_labels_are_used_once():
    everywhere = [label for page in PAGES for label in labels(page)]
    assert len(everywhere) == len(set(everywhere))


def test_every_fragment_is_shown():
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    included = set(re.findall(r"_results/([\w.]+)", shown))
    assert {path.name for path in (DOCS / "_results").iterdir()} - included == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_that_pages_refer_to_are_public(page):
    names = re.findall(r"\{(?:func|class)\}`~?(pymc_mrf\.[\w.]+)`", page.read_text(encoding="utf-8"))
    assert set(names) - documented_names() == set()


def test_code_of_the_choosing_page_runs(tmp_path):
    namespace, output = pages.run(DOCS / "choosing.md", tmp_path)
    [printed] = filter(None, output)
    assert namespace["questionnaire"]["x"].eval().shape == (80, 4)
    width, n_cells, n_bytes = map(int, printed.split())
    assert 10 <= width < 20
    assert n_bytes > n_cells


def test_code_of_the_page_on_tables_runs(tmp_path):
    namespace, _ = pages.run(DOCS / "tables.md", tmp_path)
    assert namespace["table"]["x"].eval().shape == (50, 3)
    assert namespace["counted"]["x"].eval().shape == (59, 3)


def test_code_of_the_page_on_likelihoods_runs(tmp_path):
    namespace, _ = pages.run(DOCS / "likelihoods.md", tmp_path)
    assert namespace["x"].owner.op.likelihood.name == "path"


@pytest.mark.slow
def test_code_of_the_page_on_covariates_runs(tmp_path):
    namespace, _ = pages.run(DOCS / "covariates.md", tmp_path)
    assert {"weight", "delta"} <= set(namespace["differences"].named_vars)
    assert {"x_1", "x_2"} <= set(namespace["sessions"].named_vars)
    shapes = [namespace[name]["probability"].shape for name in ("own", "new")]
    assert shapes == [(50, 4, 2), (2, 4, 2)]
    assert set(namespace["old"]["u"]) <= {0, 1, 2} and len(namespace["old"]) == 6


def test_code_of_the_page_for_users_of_other_packages_runs(tmp_path):
    namespace, _ = pages.run(DOCS / "coming_from.md", tmp_path)
    model = namespace["as_in_bgms"]
    assert {variable.name for variable in model.free_RVs} == {"weight", "share"}
    assert model["weight"].eval().shape == (6,)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_code_of_the_page_on_long_runs_runs(tmp_path):
    namespace, [*_, progress, _, _] = pages.run(DOCS / "long_runs.md", tmp_path)
    assert progress.startswith("steps 400, 400 of 400, about 0 seconds left\n300 draws per chain: R-hat")
    assert namespace["so_far"].posterior.equals(namespace["idata"].posterior)
    assert 250 <= namespace["enough"].posterior.sizes["draw"] < 5000
    assert list(namespace["study"].results) == [0, 1, 2, 3, 4]
    assert {path.name for path in tmp_path.iterdir()} == {"items", "study"}


def test_reference_has_every_public_name():
    documented = documented_names()
    data = {name for name in NAMES if name.startswith("pymc_mrf.datasets.") and ".load_" not in name}
    classes = ("PairwiseField.", "FactorGraphField.", "Network.")
    methods = {name for name in documented if any(f".{own}" in name for own in classes)}
    assert documented - methods == set(NAMES) - data
    assert all(pkgutil.resolve_name(name).__doc__ for name in methods)


def test_table_of_algorithms_names_existing_files():
    table = text_of("docs", "algorithms.md")
    missing = []
    for row in table.splitlines():
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) == 6 and ".py" in row:
            for cell, folder in ((cells[3], "pymc_mrf"), (cells[4], "tests")):
                names = re.findall(r"`([\w/]+\.py)`", cell)
                assert names, row
                missing += [name for name in names if not (ROOT / folder / name).exists()]
    assert missing == []


def test_references_are_cited():
    """By the name of their first author, and their year not far from it."""
    references, _, _ = text_of("docs", "references.md").partition("(other-software)=")
    sources = [
        *PAGES,
        ROOT / "README.md",
        *ROOT.glob("pymc_mrf/**/*.py"),
        *ROOT.glob("examples/**/*.py"),
    ]
    prose = " ".join(path.read_text(encoding="utf-8") for path in sources if path.stem != "references")
    prose = re.sub(r"\s+", " ", prose)
    entries = re.findall(r"^- ([^,.]+), .+?\((\d{4})\)", references, flags=re.MULTILINE | re.DOTALL)
    assert len(entries) > 100
    uncited = [
        (author, year)
        for author, year in entries
        if not re.search(rf"{re.escape(author)}[^()]{{0,120}}\(?{year}", prose)
    ]
    assert uncited == []


def test_examples_are_listed():
    listed = set(re.findall(r"`([\w/]+\.py)`", text_of("examples", "README.md")))
    scripts = {
        str(path.relative_to(ROOT / "examples"))
        for path in (ROOT / "examples").rglob("*.py")
        if "__name__ ==" in path.read_text(encoding="utf-8")
    }
    assert listed == scripts


def test_citation_names_the_version():
    assert f"version: {pmrf.__version__}\n" in text_of("CITATION.cff")
