"""Make `digit_patch.npz`, the stand-in for the MNIST patch, from the digits that scikit-learn comes with.

The 1,797 digits of the UCI set "Optical recognition of handwritten digits" (Alpaydin & Kaynak, 1998; CC BY
4.0), 8 x 8 pixels of 0 to 16, are interpolated to 14 x 14, thresholded, cut to the central 12 rows x 9
columns as in Chen & Welling (2012, sec. 6.1), and shuffled. Run from the repository root:

    python examples/chen_welling_2012/make_digits.py
"""

from pathlib import Path

import numpy as np

OUTPUT = Path(__file__).with_name("digit_patch.npz")
THRESHOLD = 6.0  # of 16: strokes stay a pixel or two wide
SHAPE = (12, 9)


def make(seed: int = 2012) -> tuple[np.ndarray, np.ndarray]:
    """Binary patches (1797, 108) and labels (1797,)."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    digits = load_digits()
    large = zoom(digits.images, (1, 14 / 8, 14 / 8), order=1)  # (1797, 14, 14)
    patches = (large[:, 1:13, 2:11] > THRESHOLD).reshape(len(large), -1)
    order = np.random.default_rng(seed).permutation(len(large))
    return patches[order].astype(np.uint8), digits.target[order].astype(np.uint8)


def main() -> None:
    """Write the file."""
    x, label = make()
    np.savez_compressed(OUTPUT, x=np.packbits(x, axis=1), label=label, shape=np.array(SHAPE))
    print(f"{OUTPUT.name}: {x.shape}, mean {x.mean():.3f}, {OUTPUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
