"""Scores of predicted cells: of the probabilities of states, of the means of measurements."""

import numpy as np
import xarray as xr

LOG_2PI = float(np.log(2.0 * np.pi))


def state_scores(p: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Scores (d,) of probabilities (n, d, K) of cells (n, d); -1 does not count."""
    known = x >= 0
    n = known.sum(axis=0)
    right = np.where(known[:, :, None], np.eye(p.shape[2])[x], 0.0)  # (n, d, K)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = right.sum(axis=0) / n[:, None]
        of_right = np.where(known, (p * right).sum(axis=2), 1.0)
        log_score = np.log(of_right).sum(axis=0) / n
        of_shares = np.where(shares > 0.0, shares * np.log(np.where(shares > 0.0, shares, 1.0)), 0.0)
        accuracy = ((p.argmax(axis=2) == x) & known).sum(axis=0) / n
        common = shares.max(axis=1)
        scores = {
            "n": n,
            "accuracy": accuracy,
            "explained_accuracy": np.where(common < 1.0, (accuracy - common) / (1.0 - common), np.nan),
            "log_score": log_score,
            "explained_log_score": np.where(
                common < 1.0, 1.0 - log_score / of_shares.sum(axis=1), np.nan
            ),
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
