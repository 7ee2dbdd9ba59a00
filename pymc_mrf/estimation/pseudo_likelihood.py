"""Maximum pseudo-likelihood: Besag (1975), with sandwich standard errors (Godambe, 1960).

The log pseudo-likelihood is concave in the natural parameters, so that L-BFGS-B with its analytic
gradient finds the maximum if there is one.
"""

import numpy as np

from pymc_mrf.checks import warn_user, whole_number
from pymc_mrf.estimation.problem import PARAMETER_MAX, FitProblem, FitResult
from pymc_mrf.kernels.estimates.pseudo_likelihood import (
    binary_gradient,
    pseudo_scores_and_information,
    states_gradient,
)
from pymc_mrf.threads import minimise


def maximise(
    problem: FitProblem, *, ridge: float = 0.0, max_iterations: int = 2000
) -> tuple[np.ndarray, bool, int]:
    """Maximum of lpl / n - ridge / 2 * sum(parameters ** 2) in the box of +-PARAMETER_MAX.

    Returns `parameters` (p,), `converged` and `n_iterations`.
    """
    max_iterations = whole_number(max_iterations, "max_iterations", 1)
    (rows, counts, _), graph, family = problem.distinct_rows, problem.graph, problem.family
    weights = counts / counts.sum()
    statistics, K = family.edge_statistics(graph.edges), family.n_states
    evaluate = binary_gradient if K == 2 else states_gradient
    by_edge, by_node = np.empty((graph.n_edges, K, K)), np.empty((graph.n_nodes, K))

    def objective(parameters):
        tables = problem.tables(parameters)
        lpl = evaluate(rows, *tables, graph.arrays, weights, by_edge, by_node)
        gradient = problem.collect((by_edge * statistics).sum(axis=(1, 2)), by_node)
        value = lpl - 0.5 * ridge * parameters @ parameters
        return -value, ridge * parameters - gradient

    found = minimise(
        objective,
        np.zeros(problem.n_parameters),
        bounds=[(-PARAMETER_MAX, PARAMETER_MAX)] * problem.n_parameters,
        options={"maxiter": max_iterations, "maxcor": 20, "ftol": 1e-14, "gtol": 1e-8},
    )
    # a line search that cannot improve at rounding level is convergence, a spent budget is not
    converged = bool(found.success) or float(np.abs(found.jac).max()) < 1e-5
    return found.x, converged, int(found.nit)


def sandwich(problem: FitProblem, parameters: np.ndarray) -> np.ndarray | None:
    """Covariance H^-1 J H^-1 of the maximum pseudo-likelihood estimate, (p, p).

    H is the summed negative Hessian, J the sum of outer products of the rows' gradients. None if
    the pseudo-likelihood is flat in some direction.
    """
    p, (rows, counts, _) = problem.n_parameters, problem.distinct_rows
    scores, H = np.empty((len(rows), p)), np.empty((p, p))
    tables = problem.tables(parameters)
    pseudo_scores_and_information(
        rows, counts, problem.statistics, *tables, problem.graph.arrays, scores, H
    )
    # flat: a standard error wider than the range that was searched
    if np.linalg.eigvalsh(H)[0] <= PARAMETER_MAX**-2:
        return None
    half = np.linalg.solve(H, scores.T)  # (p, different rows)
    return (half * counts) @ half.T


def fit_pseudo(
    problem: FitProblem, rng: np.random.Generator, *, max_iterations: int = 2000
) -> FitResult:
    """Maximum pseudo-likelihood estimate; deterministic, `rng` is not used.

    Parameters
    ----------
    problem : FitProblem
    rng : numpy.random.Generator
    max_iterations : int
        Of L-BFGS-B.

    Raises
    ------
    ValueError
        If a moment of the data lies on its bound.

    Warns
    -----
    UserWarning
        If the optimiser stopped early, or the pseudo-likelihood has no finite maximum.

    Notes
    -----
    Standard errors come from the sandwich of Godambe over independent rows. They are asymptotic in
    n, too small when n is not well above the number of parameters, and None for a single row.
    """
    problem.check_estimable()
    parameters, converged, n_iterations = maximise(problem, max_iterations=max_iterations)
    covariance = sandwich(problem, parameters)
    if covariance is None or np.abs(parameters).max() >= PARAMETER_MAX:
        converged = False
        warn_user(
            "the pseudo-likelihood has no finite maximum: in the data some node follows from its "
            "neighbours; tie edges by `groups`, drop edges or use a Bayesian prior"
        )
    elif not converged:
        warn_user(
            f"the pseudo-likelihood was not maximised in {n_iterations} iterations; raise max_iterations"
        )
    standard_error = None
    if covariance is not None and len(problem.x) > 1:
        standard_error = np.sqrt(np.diag(covariance))
    return problem.result(
        "pseudo",
        parameters,
        standard_error,
        converged=converged,
        n_iterations=n_iterations,
        moment_gap=None,
    )
