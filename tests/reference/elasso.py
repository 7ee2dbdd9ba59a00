"""The estimator of IsingFit by a general optimiser: regressions one by one, weights in two parts."""

import numpy as np
from scipy.optimize import minimize


def regression(y, X, penalty):
    """Intercept, coefficients and log-likelihood at the minimum of the mean loss with scaled predictors."""
    n, p = X.shape
    Z = (X - X.mean(axis=0)) / X.std(axis=0)

    def objective(parameters):
        beta = parameters[1 : p + 1] - parameters[p + 1 :]
        logits = parameters[0] + Z @ beta
        residual = 1 / (1 + np.exp(-logits)) - y
        slope = Z.T @ residual / n
        value = np.mean(np.logaddexp(0, logits) - y * logits) + penalty * parameters[1:].sum()
        return value, np.concatenate([[residual.mean()], slope + penalty, penalty - slope])

    found = minimize(
        objective, np.zeros(2 * p + 1), jac=True, method="L-BFGS-B",
        bounds=[(None, None)] + [(0, None)] * (2 * p),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000},
    ).x  # fmt: skip
    beta = found[1 : p + 1] - found[p + 1 :]
    logits = found[0] + Z @ beta
    beta[np.abs(beta) < 1e-7] = 0
    beta = beta / X.std(axis=0)
    return found[0] - X.mean(axis=0) @ beta, beta, np.sum(y * logits - np.logaddexp(0, logits))


def elasso(x, gamma, rule, log_candidates):
    """Weights (d, d), biases (d,) and least extended BIC (d,); `log_candidates` is what gamma multiplies."""
    n, d = x.shape
    weights, biases, least = np.zeros((d, d)), np.zeros(d), np.full(d, np.inf)
    for i in range(d):
        others = np.arange(d) != i
        X, y = x[:, others].astype(float), x[:, i].astype(float)
        largest = np.abs((X - X.mean(axis=0)).T @ (y - y.mean()) / n / X.std(axis=0)).max()
        for penalty in np.geomspace(largest, 1e-4 * largest, 100):
            bias, beta, log_likelihood = regression(y, X, penalty)
            k = np.count_nonzero(beta)
            ebic = -2 * log_likelihood + k * np.log(n) + 2 * gamma * k * log_candidates
            if ebic < least[i]:
                weights[i, others], biases[i], least[i] = beta, bias, ebic
    if rule == "and":
        weights = weights * (weights.T != 0)
    return (weights + weights.T) / 2, biases, least
