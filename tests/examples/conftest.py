from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure


def words(figure):
    """Titles, labels, legends and other texts of a figure."""
    texts = [text for legend in figure.legends for text in legend.get_texts()]
    for ax in figure.axes:
        texts += [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
        texts += [] if ax.get_legend() is None else ax.get_legend().get_texts()
    return {text.get_text() for text in texts} - {""}


def n_marks(ax):
    """Finite points of lines, markers and shapes; cells of images that are not all alike."""
    arrays = [line.get_xydata() for line in ax.lines]
    arrays += [patch.get_path().vertices for patch in ax.patches]
    for collection in ax.collections:
        arrays += [collection.get_offsets(), *(path.vertices for path in collection.get_paths())]
    marks = sum(int(np.isfinite(np.ma.filled(array, np.nan)).all(axis=-1).sum()) for array in arrays)
    pictures = [np.asarray(image.get_array(), dtype=float) for image in ax.images]
    return marks + sum(picture.size for picture in pictures if np.nanmax(picture) > np.nanmin(picture))


@pytest.fixture
def figures(monkeypatch):
    """Words of each figure that is saved, by the name of its file; something is drawn on all its axes."""
    found = {}
    save = Figure.savefig

    def savefig(self, path, **options):
        save(self, path, **options)
        assert Path(path).read_bytes().startswith(b"\x89PNG")
        assert self.axes and all(n_marks(ax) > 1 for ax in self.axes)
        found[Path(path).name] = words(self)

    monkeypatch.setattr(Figure, "savefig", savefig)
    return found
