"""Denoise a photograph: a latent Potts field of three grey levels, sampled tree by tree.

The picture is the portrait of Grace Hopper that comes with matplotlib, a work of the US Navy. Noise is added,
and the classes of the pixels, the grey levels and the noise are learnt together. `pm.sample` chooses
`TreeGibbs` for the field and NUTS for the rest.
"""

import argparse
import time
from pathlib import Path

import arviz as az
import matplotlib.image
import numpy as np
import pymc as pm
import xarray as xr
from matplotlib.cbook import get_sample_data
from matplotlib.figure import Figure
from scipy.ndimage import gaussian_filter

import pymc_mrf as pmrf
from examples._report import SILENT, machine, save_figure, table, write_fragment

LEVELS = np.array([0.1, 0.45, 0.8])
"""Prior means of dark, middle and light grey."""
WIDTHS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
"""Of the Gaussian filters compared, in pixels."""


def photograph(block: int) -> np.ndarray:
    """Grey values in [0, 1], averaged over blocks of pixels."""
    with get_sample_data("grace_hopper.jpg") as file:
        grey = matplotlib.image.imread(file, format="jpg").mean(axis=2) / 255.0
    rows, columns = grey.shape[0] // block, grey.shape[1] // block
    grey = grey[: rows * block, : columns * block]
    return grey.reshape(rows, block, columns, block).mean(axis=(1, 3))


def hidden_potts(noisy: np.ndarray, coupling: float) -> pm.Model:
    """Classes of all pixels, grey levels in increasing order, standard deviation of the noise."""
    with pm.Model() as model:
        level = pm.Normal("level", LEVELS, 0.1, transform=pm.distributions.transforms.ordered)
        noise = pm.HalfNormal("noise", 0.5)
        graph = pmrf.graphs.grid(*noisy.shape)
        x = pmrf.Potts("x", coupling, graph=graph, n_states=len(LEVELS))
        pm.Normal("y", level[x], noise, observed=noisy.ravel())
    return model


def sample(
    noisy: np.ndarray, coupling: float, draws: int, chains: int, seed: int
) -> tuple[xr.DataTree, float]:
    """Posterior, and CPU time from the model's declaration on, compilation included."""
    start = time.process_time()
    with hidden_potts(noisy, coupling):
        idata = pm.sample(
            draws,
            tune=max(draws // 2, 1),
            chains=chains,
            random_seed=seed,
            **SILENT,  # R-hat is undefined for pixels that never change class
        )
    return idata, time.process_time() - start


def restored(idata: xr.DataTree, shape: tuple[int, int]) -> np.ndarray:
    """Posterior mean of the grey value of each pixel."""
    x = idata.posterior["x"].values
    level = idata.posterior["level"].values
    return np.take_along_axis(level, x.astype(np.int64), axis=2).mean(axis=(0, 1)).reshape(shape)


def rmse(picture: np.ndarray, truth: np.ndarray) -> float:
    """Root of the mean squared error per pixel."""
    return float(np.sqrt(((picture - truth) ** 2).mean()))


def draw_figure(pictures: dict[str, np.ndarray]) -> Figure:
    """Pictures side by side."""
    figure = Figure(figsize=(2.6 * len(pictures), 3.5), layout="constrained")
    axes = figure.subplots(1, len(pictures))
    for ax, (title, picture) in zip(axes, pictures.items(), strict=True):
        ax.imshow(picture, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
        ax.set_title(title, fontsize=10)
        ax.set_axis_off()
    return figure


def main(argv: list[str] | None = None) -> None:
    """Add noise, restore, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--block", type=int, default=6, help="side of the squares of pixels averaged")
    parser.add_argument("--noise", type=float, default=0.25, help="standard deviation; black 0, white 1")
    parser.add_argument("--coupling", type=float, default=1.0, help="of the Potts field, fixed")
    parser.add_argument("--draws", type=int, default=600, help="after half as many tuning steps")
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--output", type=Path, default=Path("docs"), help="gets figures/ and _results/")
    arguments = parser.parse_args(argv)
    for name in ("block", "noise", "draws", "chains"):
        if not getattr(arguments, name) > 0:
            parser.error(f"--{name} must be positive, not {getattr(arguments, name)}")
    truth = photograph(arguments.block)
    rng = np.random.default_rng(arguments.seed)
    noisy = truth + rng.normal(0.0, arguments.noise, truth.shape)
    size = arguments.draws, arguments.chains, arguments.seed
    idata, seconds = sample(noisy, arguments.coupling, *size)
    alone, alone_seconds = sample(noisy, 0.0, *size)
    filters = {width: gaussian_filter(noisy, width) for width in WIDTHS}
    width = min(WIDTHS, key=lambda w: rmse(filters[w], truth))
    pictures = {
        "photograph": truth,
        "with noise": noisy,
        "each pixel alone": restored(alone, truth.shape),
        "Potts field": restored(idata, truth.shape),
        "Gaussian filter": filters[width],
    }
    notes = {
        "with noise": "",
        "each pixel alone": f"the same model, coupling 0; {alone_seconds:.0f} s",
        "Potts field": f"coupling {arguments.coupling:g}; {seconds:.0f} s",
        "Gaussian filter": f"standard deviation {width:g} pixels, the best of {len(WIDTHS)} by its error",
    }
    errors_of = {name: rmse(pictures[name], truth) for name in notes}
    errors = [[name, f"{errors_of[name]:.4f}", note] for name, note in notes.items()]
    summary = az.summary(idata, var_names=["level", "noise"], round_to="none")
    posterior = [
        [name, *(f"{float(row[key]):.3g}" for key in ("mean", "sd", "ess_bulk", "r_hat"))]
        for name, row in summary.iterrows()
    ]
    rows, columns = truth.shape
    text = (
        f"A photograph of {rows} x {columns} pixels, grey values in [0, 1], with Gaussian noise of standard "
        f"deviation {arguments.noise:g}; three grey levels, the standard deviation of the noise and the "
        f"class of every pixel are sampled: {arguments.chains} chains of {arguments.draws} draws after half "
        "as many tuning steps, with the steps that `pm.sample` chooses. Restored is the posterior mean of "
        "the grey value. Seconds are of CPU time, compilation included.\n\n"
        f"{table(['picture', 'root mean squared error', ''], errors)}\n"
        f"{table(['parameter', 'mean', 'sd', 'bulk ESS', 'R-hat'], posterior)}\n"
        "Three levels cannot render shades: the deviation of the photograph from them counts as noise. "
        "The Gaussian filter, its width chosen by the photograph itself, has "
        f"{errors_of['Gaussian filter'] / errors_of['Potts field']:.2f} times the error of the Potts "
        "field.\n\n"
        "![A photograph restored](../figures/denoise.png)\n\n"
        f"Made by `examples/denoise.py`, seed {arguments.seed}. Machine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "denoise.md")
    save_figure(draw_figure(pictures), arguments.output, "denoise.png")


if __name__ == "__main__":
    main()
