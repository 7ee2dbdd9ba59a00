"""Scores of predicted cells: of the probabilities of states, of the means of measurements."""

import numpy as np
import xarray as xr

LOG_2PI = float(np.log(2.0 * np.pi))


def explained_states(p: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Accuracy, and what is explained (d,), of probabilities (n, d, K) of cells (n, d); -1 does not count."""
    if not x.shape[1]:
        return {name: np.zeros(0) for name in ("accuracy", "explained_accuracy", "explained_log_score")}
    n, right = _right_states(p, x)
    known = x >= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = right.sum(axis=0) / n[:, None]
        of_shares = np.where(shares > 0.0, shares * np.log(np.where(shares > 0.0, shares, 1.0)), 0.0)
        accuracy = ((p.argmax(axis=2) == x) & known).sum(axis=0) / n
        common = shares.max(axis=1)
        explained = 1.0 - _log_score(p, right, known) / of_shares.sum(axis=1)
        return {
            "accuracy": accuracy,
            "explained_accuracy": np.where(common < 1.0, (accuracy - common) / (1.0 - common), np.nan),
            "explained_log_score": np.where(common < 1.0, explained, np.nan),
        }


def _right_states(p: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count the known cells (d,), and mark the state (n, d, K) that each is in by 1."""
    known = x >= 0
    return known.sum(axis=0), np.where(known[:, :, None], np.eye(p.shape[2])[x], 0.0)


def _log_score(p: np.ndarray, right: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Mean log probability (d,) of the right states."""
    of_right = np.where(known, (p * right).sum(axis=2), 1.0)
    return np.log(of_right).sum(axis=0) / known.sum(axis=0)


def state_scores(p: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Scores (d,) of probabilities (n, d, K) of cells (n, d), as `score_predictions` returns them."""
    n, right = _right_states(p, x)
    known, explained = x >= 0, explained_states(p, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = {
            "n": n,
            "accuracy": explained["accuracy"],
            "explained_accuracy": explained["explained_accuracy"],
            "log_score": _log_score(p, right, known),
            "explained_log_score": explained["explained_log_score"],
            "brier": np.where(known[:, :, None], (p - right) ** 2, 0.0).sum(axis=(0, 2)) / n,
        }
    if p.shape[2] == 2:
        scores["auc"] = np.array(
            [_auc(p[known[:, i], i, 1], x[known[:, i], i]) for i in range(x.shape[1])]
        )
    return scores


def _auc(p: np.ndarray, x: np.ndarray) -> float:
    """Probability that a cell in state 1 has a higher `p` than one in state 0; ties count one half."""
    from scipy.stats import rankdata

    n_high = int(x.sum())
    n_low = len(x) - n_high
    if not n_high or not n_low:
        return np.nan
    return (rankdata(p)[x == 1].sum() - 0.5 * n_high * (n_high + 1)) / (n_high * n_low)


def measurement_scores(predicted: xr.Dataset, x: np.ndarray) -> dict[str, np.ndarray]:
    """Scores (c,) of means and standard deviations of cells (n, c), as `score_predictions` returns them."""
    mean, sd = predicted["mean"].values, predicted["sd"].values
    z = (x - mean) / sd
    with np.errstate(invalid="ignore", divide="ignore"):
        n = (~np.isnan(x)).sum(axis=0)
        return {
            "n": n,
            "rmse": np.sqrt(np.nansum((x - mean) ** 2, axis=0) / n),
            "explained_variance": explained_variance(mean, x),
            "log_score": -np.nansum(0.5 * z**2 + np.log(sd) + 0.5 * LOG_2PI + 0.0 * x, axis=0) / n,
        }


def explained_variance(mean: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Share (d,) of the variance of the cells of `x` (n, d) about their means that `mean` (n, d) explains."""
    with np.errstate(invalid="ignore", divide="ignore"):
        of_mean = np.nansum(x, axis=0) / (~np.isnan(x)).sum(axis=0)
        return 1.0 - np.nansum((x - mean) ** 2, axis=0) / np.nansum((x - of_mean) ** 2, axis=0)
