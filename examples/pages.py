"""Run the code of the tutorials: `docs/*.md` holds it, this script keeps what it prints and draws.

The Python blocks of a page are run in order, in one namespace. What block k prints becomes
`docs/_results/PAGE_k.txt`, which the page includes below the block; pictures go where the code saves them,
`docs/figures`. By default the runs are short, a check that the code works, and write to `output`; `--full`
runs the pages as they stand.
"""

import argparse
import contextlib
import io
import re
import time
from pathlib import Path

import matplotlib.pyplot as plt
import pymc as pm

from examples._report import machine, write_fragment

DOCS = Path(__file__).resolve().parents[1] / "docs"
TUTORIALS = (
    "votes_to_groups",
    "linked_items",
    "voters",
    "questionnaire",
    "mixed",
    "measurements",
    "hidden_image",
    "hierarchical",
    "autologistic",
    "kinetic",
    "groups",
    "planning",
)
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def code_blocks(page: Path) -> list[str]:
    """Python blocks of a page, each after so many empty lines that line numbers are those of the page."""
    text = page.read_text(encoding="utf-8")
    return ["\n" * text.count("\n", 0, match.start(1)) + match[1] for match in BLOCK.finditer(text)]


@contextlib.contextmanager
def sampling(**options):
    """Overrule the arguments of `pm.sample`, and show no progress."""
    sample, predict = pm.sample, pm.sample_posterior_predictive
    pm.sample = lambda **kwargs: sample(**{"progressbar": False, **kwargs, **options})
    pm.sample_posterior_predictive = lambda *args, **kwargs: predict(
        *args, **{"progressbar": False, **kwargs}
    )
    try:
        yield
    finally:
        pm.sample, pm.sample_posterior_predictive = sample, predict


def run(page: Path, figures: Path, **options) -> tuple[dict, list[str]]:
    """Run a page and return its namespace and what every block printed.

    Parameters
    ----------
    page : Path
    figures : Path
        Working directory of the code.
    **options
        Arguments of `pm.sample` that overrule the page's, to make a run short.
    """
    figures.mkdir(parents=True, exist_ok=True)
    namespace: dict = {"__name__": page.stem}
    printed = []
    with sampling(**options), contextlib.chdir(figures):
        for block in code_blocks(page):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block, str(page), "exec"), namespace)
            printed.append(output.getvalue())
    return namespace, printed


def main(argv: list[str] | None = None) -> None:
    """Run pages and write their output."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", default=TUTORIALS, help=f"of {', '.join(TUTORIALS)}; all")
    parser.add_argument("--draws", type=int, default=50, help="after as many tuning steps")
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="draws and chains of the pages, into docs")
    parser.add_argument("--output", type=Path, help="instead of output, or docs with --full")
    arguments = parser.parse_args(argv)
    options, folder = {}, Path("docs")
    if not arguments.full:
        options = {"draws": arguments.draws, "tune": arguments.draws, "chains": arguments.chains}
        folder = Path("output")
    folder = arguments.output or folder
    for name in arguments.pages:
        if name not in TUTORIALS:
            parser.error(f"no tutorial {name!r}; there are {', '.join(TUTORIALS)}")
        start = time.perf_counter()
        _, printed = run(DOCS / f"{name}.md", folder / "figures", **options)
        seconds = time.perf_counter() - start
        for k, text in enumerate(printed, start=1):
            if text:
                write_fragment(text, folder, f"{name}_{k}.txt")
        text = f"The code of this page ran in {seconds:.0f} s, compilation included. Machine: {machine()}.\n"
        write_fragment(text, folder, f"{name}.md")


if __name__ == "__main__":
    plt.switch_backend("Agg")
    main()
