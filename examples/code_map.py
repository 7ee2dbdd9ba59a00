"""How large the areas of the package are, and how many files a number passes through; before and now.

Writes tables of docs/results.md. Lines of code are those with more on them than a comment or a
docstring. Walks are counted while models are declared and sampled: files whose functions run or are compiled.
"""

import argparse
import ast
import importlib
import io
import os
import pkgutil
import subprocess
import sys
import tarfile
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType
from typing import Any

from examples._report import table, write_fragment

ROOT = Path(__file__).parent.parent
BEFORE = "cb4fc51"
LAYERS = (
    "checks parts threads kernels graph fields estimation distributions likelihood steps analysis plots "
    "runs network papers"
).split()
KERNELS = "kernels", "papers/kernels"

# files by layer and name, with its folder if that matters; the first area that has a file keeps it
AREAS = {
    "Monte Carlo likelihood": "kernels:monte_carlo_* kernels:sample_sums kernels:weighted_sample "
    "kernels:log_partition_by_sample likelihood:monte_carlo/*",
    "fields in time": "kernels:listed_* kernels:simulation/series likelihood:conditional/* "
    "distributions:kinetic* graph:lagged fields:series analysis:forecast",
    "tables of parameters (nominal fields)": "kernels:block_* kernels:pseudo_blocks kernels:table_blocks "
    "kernels:shared_blocks likelihood:block_edges likelihood:shared_blocks analysis:edge_tables "
    "plots:edge_table",
    "Gaussian fields": "kernels:gaussian* likelihood:gaussian/* fields:gaussian distributions:gaussian* "
    "analysis:partial_correlations",
    "cone of precision matrices": "kernels:cone kernels:cone_limits analysis:cone_* analysis:measured_part",
    "mixed fields": "kernels:mixed* likelihood:mixed/* fields:mixed fields:column_kinds distributions:mixed*",
    "tables of users": "fields:column_reader fields:table_columns fields:recoding distributions:network_* "
    "distributions:column_warnings distributions:field_record",
    "communities": "kernels:communities steps:community_gibbs distributions:edge_communities",
    "published samplers": "papers:* kernels:persistent_langevin kernels:reversible_jump "
    "kernels:auxiliary_* kernels:junction_tree_counts likelihood:uncentred_edges "
    "likelihood:stripped_beta estimation:tied_pcd steps:feature_step steps:persistent_langevin "
    "steps:reversible_jump steps:stripped_beta steps:auxiliary_variable",
    "particles": "kernels:*_particles kernels:particle_*  kernels:binary_pairs "
    "kernels:state_pairs likelihood:particle* steps:particle_ratio_gibbs",
    "pseudo-likelihood": "kernels:pseudo_* kernels:factor_pseudo_likelihood likelihood:pseudo/* "
    "likelihood:pseudo_*",
    "EdgeGibbs": "kernels:edge_moves kernels:hamiltonian kernels:questions kernels:noise "
    "kernels:exact_edges kernels:split_field kernels:enumerated_field kernels:shared_edges "
    "kernels:densities kernels:slab_cells kernels:r*_edges kernels:repeated_sweeps "
    "likelihood:edge_engine likelihood:edge_field likelihood:wrapped_engine likelihood:*_edges "
    "likelihood:data_counts likelihood:draw_cost steps:edge_* steps:presence_record "
    "distributions:spike_and_slab distributions:group_weights",
    "groups": "kernels:crp kernels:edge_proposals kernels:edge_terms kernels:*_groups "
    "kernels:group_labels kernels:partitions kernels:series likelihood:base_density likelihood:*_groups "
    "steps:density_series likelihood:group_engine steps:base_measure steps:engine_gibbs "
    "steps:exact_gibbs steps:group_* steps:node_variables distributions:dirichlet_process analysis:groups",
    "hyperparameters": "steps:conjugate* steps:scalar_prior",
    "Exchange": "likelihood:auxiliary* steps:exchange* steps:coordinate_blocks steps:intractable_* "
    "steps:pseudo_posterior",
    "TreeGibbs": "steps:latent_* steps:tree_gibbs steps:missing_cells",
    "tree sampling": "kernels:tree_sampling* kernels:factor_tree_sampling kernels:tree_marginals "
    "kernels:tree_messages kernels:tree_potentials",
    "junction tree": "kernels:junction_tree* kernels:clamped_field kernels:elimination "
    "graph:junction_tree graph:tree_arrays graph:tree_layout graph:elimination",
    "tree partition": "graph:*tree_partition graph:tree_* graph:lattice_partition graph:*forest_arrays "
    "graph:spanning_trees graph:tying_factors graph:factor_trees",
    "factor graphs": "fields:factor_graph graph:factor_graph kernels:factor_cells distributions:factor_*",
    "path": "likelihood:path/* likelihood:*path* likelihood:*grid* distributions:path* "
    "kernels:coupling_path analysis:path_checks",
    "simulation": "kernels:*gibbs kernels:swendsen_wang kernels:coupling_from_the_past "
    "kernels:cell_blocks kernels:*_counts kernels:packed_states kernels:random_lanes "
    "kernels:word_vectors fields:simulation fields:tree_simulation fields:perfect "
    "fields:pairwise_sweep fields:block_sweep fields:cluster_sweep fields:sweeps fields:two_starts "
    "fields:monte_carlo",
    "estimation": "estimation:* kernels:pcd kernels:l1_descent kernels:selected_inverse "
    "kernels:sparse_cholesky",
    "modes, marginals and bounds": "fields:modes fields:belief_propagation fields:exact fields:methods "
    "kernels:belief_propagation kernels:local_search",
    "diagnosis": "analysis:diagnose analysis:convergence analysis:findings analysis:*_checks "
    "analysis:sampler_statistics steps:statistics",
    "evidence and differences": "analysis:edge* analysis:*evidence analysis:presence analysis:intervals "
    "analysis:prior_* analysis:group_differences analysis:known_edges",
    "predictions": "analysis:field_draws analysis:prediction analysis:conditional* analysis:calibration "
    "analysis:cells analysis:plan_summary",
    "compiler": "kernels:_compiler kernels:_lowering kernels:_generators kernels:_jit kernels:_sources",
    "plots": "plots:*",
    "runs": "runs:*",
    "Network": "network:*",
    "other kernels, graphs and fields": "kernels:* graph:* fields:*",
    "other distributions": "distributions:*",
    "other steps and engines": "steps:* likelihood:*",
    "other analysis": "analysis:*",
    "the rest": "*:*",
}


def code_lines(source: str) -> int:
    """Count lines with more on them than a comment or a docstring."""
    documented = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            if isinstance(first.value.value, str) and not isinstance(node, ast.If | ast.For | ast.With):
                documented.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    nothing = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in nothing | {tokenize.ENDMARKER}:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def area_of(file: Path) -> str:
    """Area of a file, relative to the package."""
    layer = file.parts[0] if len(file.parts) > 1 else ""
    names = file.stem, "/".join(file.with_suffix("").parts[1:])
    for area, patterns in AREAS.items():
        for pattern in patterns.split():
            own, name = pattern.split(":")
            if own in ("*", layer) and any(fnmatch(known, name) for known in names):
                return area
    raise AssertionError(f"{file} has no area")


def sizes(package: Path) -> dict[str, list[int]]:
    """Files, lines, and lines of code of each area."""
    found = {area: [0, 0, 0] for area in AREAS}
    for path in sorted(package.rglob("*.py")):
        source, area = path.read_text(encoding="utf-8"), area_of(path.relative_to(package))
        for k, number in enumerate((1, source.count("\n"), code_lines(source))):
            found[area][k] += number
    return found


@contextmanager
def package_at(commit: str) -> Iterator[Path]:
    """Folder with the package as it was at a commit."""
    with TemporaryDirectory() as folder:
        command = ["git", "archive", commit, "pymc_mrf"]
        archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
        tarfile.open(fileobj=io.BytesIO(archive)).extractall(folder, filter="data")
        yield Path(folder) / "pymc_mrf"


def table_of_areas(commit: str) -> str:
    """Areas with their files and lines of code before and now."""
    with package_at(commit) as old:
        before = sizes(old)
    now, rows = sizes(ROOT / "pymc_mrf"), []
    for area in AREAS:
        (old_files, _, old_code), (files, _, code) = before[area], now[area]
        old = [old_files, f"{old_code:,}"] if old_files else ["none", ""]
        rows.append([area, *old, files, f"{code:,}", f"{code - old_code:+,}"])
    sums = [[sum(column) for column in zip(*found.values(), strict=True)] for found in (before, now)]
    (old_files, _, old_code), (files, _, code) = sums
    rows.append(["all", old_files, f"{old_code:,}", files, f"{code:,}", f"{code - old_code:+,}"])
    header = ["area", "files then", "code then", "files now", "code now", "difference"]
    return table(header, rows)


class Walk:
    """Files of the package in which something runs or is compiled, and calls from a layer to a higher one."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.upwards: set[tuple[str, str]] = set()
        self._package = str(ROOT / "pymc_mrf") + os.sep

    def _name(self, code: CodeType) -> str | None:
        file = code.co_filename
        return file.removeprefix(self._package) if file.startswith(self._package) else None

    def note(self, code: CodeType, offset: int) -> Any:
        """Note that a function begins, and what called it."""
        name = self._name(code)
        if name is None or code.co_name == "<module>":
            return sys.monitoring.DISABLE
        self.files.add(name)
        caller = sys._getframe(2)
        while caller and self._name(caller.f_code) is None:
            caller = caller.f_back
        other = self._name(caller.f_code) if caller else None
        if other and rank(other) < rank(name):
            self.upwards.add((other, name))
        return None

    def on_start(self, compilation: Any) -> None:
        """Note a kernel that is compiled."""
        file = compilation.data["dispatcher"].py_func.__code__.co_filename
        if file.startswith(self._package):
            self.files.add(file.removeprefix(self._package))

    def on_end(self, compilation: Any) -> None:
        """Do nothing more."""


def rank(file: str) -> int:
    """Rank the layer of a file, lower ones first."""
    layer = file.split(os.sep)[0].removesuffix(".py")
    return LAYERS.index(layer) if layer in LAYERS else len(LAYERS)


@contextmanager
def walking() -> Iterator[Walk]:
    """Note what runs and what is compiled."""
    import numba.core.event as numba_event

    walk = Walk()
    listener = type(
        "Notes", (numba_event.Listener,), {"on_start": walk.on_start, "on_end": walk.on_end}
    )()
    numba_event.register("numba:compile", listener)
    begin, tool = sys.monitoring.events.PY_START, sys.monitoring.PROFILER_ID
    sys.monitoring.use_tool_id(tool, "code_map")
    sys.monitoring.register_callback(tool, begin, walk.note)
    sys.monitoring.set_events(tool, begin)
    try:
        yield walk
    finally:
        sys.monitoring.set_events(tool, 0)
        sys.monitoring.free_tool_id(tool)
        numba_event.unregister("numba:compile", listener)


def models() -> dict[str, Any]:
    """Make functions that make the models of the walks, by the variable that each is about."""
    import numpy as np
    import pymc as pm

    import pymc_mrf as pmrf

    rng = np.random.default_rng(0)
    grid = pmrf.graphs.grid(4, 4)
    x = rng.integers(0, 2, (200, 16))

    def groups() -> pm.Model:
        with pm.Model(coords=pmrf.coords(grid)) as model:
            theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), dims="edge")
            pmrf.AgreementMRF("x", theta, graph=grid, likelihood="exact", observed=x)
        return model

    def edges() -> pm.Model:
        graph = pmrf.graphs.complete(6)
        with pm.Model(coords=pmrf.coords(graph)) as model:
            w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), dims="edge")
            b = pm.Normal("b", 0, 2, dims="node")
            options = {"graph": graph, "observed": x[:, :6], "likelihood": "particles"}
            pmrf.BoltzmannMachine("x", w, b, **options)
        return model

    def hidden() -> pm.Model:
        y = rng.normal(size=16)
        with pm.Model() as model:
            z = pmrf.Potts("z", 0.8, n_states=3, graph=grid)
            pm.Normal("y", pm.math.stack([0.0, 1.0, 2.0])[z], 1.0, observed=y)
        return model

    return {"theta": groups, "w": edges, "z": hidden}


# what is walked, and the three numbers, by reading, of the package as it was at BEFORE
WALKS = {
    "theta": ("group values `theta`, `GroupGibbs`", (44, 25, 3)),
    "w": ("weights `w`, `EdgeGibbs` with particles", (40, 20, 3)),
    "z": ("hidden `Potts` image, `TreeGibbs`", (48, 24, 7)),
}


def table_of_walks() -> str:
    """Files from the declaration of a model to a draw, files in a draw, and calls upwards."""
    rows = []
    for name, (label, then) in WALKS.items():
        # a process for each: kernels are compiled once, and steps registered
        command = [sys.executable, "-m", "examples.code_map", "--walk", name]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        files, in_draw, upwards = map(int, told.splitlines()[-1].split())
        rows.append([label, then[0], files, then[1], in_draw, then[2], upwards])
    header = ["number", "files then", "now", "in a draw then", "now", "upwards then", "now"]
    return table(header, rows)


def print_walk(name: str) -> None:
    """Print the files of a walk, those of a draw with a star, calls upwards, and the three numbers."""
    import warnings

    import numpy as np
    from pymc.sampling.mcmc import assign_step_methods, instantiate_steppers

    from pymc_mrf.steps.common.base import MRFStep

    warnings.simplefilter("ignore")
    for module in pkgutil.walk_packages([str(ROOT / "pymc_mrf")], "pymc_mrf."):
        importlib.import_module(module.name)  # what runs when it is imported is no part of a walk
    make = models()[name]
    with walking() as whole:
        model = make()
        with model:
            steps = instantiate_steppers(model, *assign_step_methods(model, None))
    [step] = [
        step
        for step in (steps if isinstance(steps, list) else [steps])
        if isinstance(step, MRFStep) and name in [variable.name for variable in step.vars]
    ]
    point = model.initial_point()
    step.setup_chain(np.random.default_rng(0), 5, 5)
    compiled = {file for file in whole.files if file.startswith("kernels")}
    with walking() as draw:
        for _ in range(3):
            point, _ = step.step(point)
    in_draw = draw.files | called_kernels(draw.files) & compiled
    files, upwards = whole.files | draw.files, whole.upwards | draw.upwards
    for file in sorted(files):
        print(file, "*" if file in in_draw else "")
    for lower, higher in sorted(upwards):
        print(f"{lower} calls {higher}")
    print(len(files), len(in_draw), len(upwards))


def called_kernels(files: set[str]) -> set[str]:
    """Files of kernels that those of a draw import, directly or through other kernels."""
    found, new = set(files), set(files)
    while new:
        imports = set().union(*(imported(file) for file in new))
        new = imports - found
        found |= new
    return {file for file in found if file.startswith(KERNELS)}


def imported(file: str) -> set[str]:
    """Files of kernels that a file imports."""
    package, result = ROOT / "pymc_mrf", set()
    for node in ast.walk(ast.parse((package / file).read_text(encoding="utf-8"))):
        base = Path(*(node.module or "").split(".")[1:]) if isinstance(node, ast.ImportFrom) else Path()
        if str(base).startswith(KERNELS):
            for path in (base.with_suffix(".py"), *(base / f"{name.name}.py" for name in node.names)):
                if (package / path).is_file():
                    result.add(str(path))
    return result


def main(argv: list[str] | None = None) -> None:
    """Count, and write both tables, or print a walk."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", default=BEFORE, help="commit to compare with")
    parser.add_argument("--output", type=Path, default=Path("docs"))
    parser.add_argument("--walk", choices=WALKS, help="print the files of this walk, and no table")
    arguments = parser.parse_args(argv)
    if arguments.walk:
        print_walk(arguments.walk)
        return
    write_fragment(table_of_areas(arguments.before), arguments.output, "code_areas.md")
    write_fragment(table_of_walks(), arguments.output, "code_walks.md")


if __name__ == "__main__":
    with TemporaryDirectory() as cache:
        os.environ["NUMBA_CACHE_DIR"] = cache  # kernels are seen when they are compiled
        main()
