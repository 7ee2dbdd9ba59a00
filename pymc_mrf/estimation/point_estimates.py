"""`fit`: one door to the estimators of pairwise fields."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from pymc_mrf.checks import check_option, random_generator, warn_user
from pymc_mrf.estimation.exact_fit import maximize_likelihood
from pymc_mrf.estimation.pcd import fit_pcd
from pymc_mrf.estimation.problem import FitProblem, FitResult
from pymc_mrf.estimation.pseudo_likelihood import fit_pseudo


def fit_exact(problem: FitProblem, rng: np.random.Generator) -> FitResult:
    """Maximum likelihood with exact moments (`maximize_likelihood`); `rng` is not used.

    Warns
    -----
    UserWarning
        If the optimiser stopped before the moments agreed.
    """
    problem.check_estimable()
    found = maximize_likelihood(problem)
    if not found.converged:
        warn_user(
            f"the likelihood was not maximised: moments differ by {found.moment_gap:.2g}. The "
            "estimate may not exist: tie edges by `groups` or use a Bayesian prior"
        )
    return problem.result(
        "exact",
        found.parameters,
        found.standard_error,
        converged=found.converged,
        n_iterations=found.n_iterations,
        moment_gap=found.moment_gap,
    )


# A method is a function (problem, rng, **options) -> FitResult; this table is its only registration.
METHODS: dict[str, Callable[..., FitResult]] = {"pcd": fit_pcd, "exact": fit_exact, "pseudo": fit_pseudo}


def fit(
    x: Any,
    graph: Any,
    method: str = "pcd",
    family: str = "agreement",
    *,
    groups: Any = None,
    n_states: Any = 2,
    random_seed: int | np.random.Generator | None = None,
    **options: Any,
) -> FitResult:
    """Estimate the parameters of a pairwise field from complete data.

    Parameters
    ----------
    x : (n, d) array_like, or table
        Observed states, as the family has them: 0..n_states-1 (agreement), -1 and +1 (ising),
        0 and 1 (boltzmann), 0..K_i-1 (ordinal). Columns follow the node order of the graph; those of tables
        are found by name, ordered categories are states in their order, and codes from 1 up to the number of
        states are counted from 0.
    graph : networkx.Graph or PairwiseGraph
    method : {"pcd", "exact", "pseudo"}
        Maximum likelihood by persistent contrastive divergence or with the exact partition function
        (graphs of small treewidth), or maximum pseudo-likelihood.
    family : {"agreement", "ising", "boltzmann", "ordinal"}
    groups : (r,) array_like of int, optional
        Edges with equal labels have one parameter in common; by default every edge has its own. Node
        parameters are always free.
    n_states : int, or (d,) sequence of int
        Number of states of the agreement or the ordinal family; the latter may have one for each node.
    random_seed : int or numpy.random.Generator, optional
        Governs the methods that draw random numbers.
    **options
        "pcd": ``n_particles`` (persistent chains; by default n, at least 1000) and
        ``max_iterations`` (sweeps, 5000). "pseudo": ``max_iterations``. "exact": none.

    Returns
    -------
    FitResult

    Raises
    ------
    ValueError
        If an argument is invalid, or the estimate is infinite because a moment of the data lies on
        its bound (an edge whose ends always or never agree, a constant column with a bias, an empty
        category).

    Warns
    -----
    UserWarning
        If the method did not converge, or codes from 1 are counted from 0.

    References
    ----------
    Tieleman (2008), Training restricted Boltzmann machines using approximations to the likelihood
    gradient; Besag (1975), Statistical analysis of non-lattice data.
    """
    check_option(method, "method", METHODS)
    rng = random_generator(random_seed, "random_seed")
    allowed = list(inspect.signature(METHODS[method]).parameters)[2:]
    for name in options:
        if name not in allowed:
            has = ", ".join(allowed) or "none"
            raise TypeError(f'{name} is no option of method="{method}"; it has {has}')
    problem = FitProblem.create(x, graph, family, groups, n_states)
    return METHODS[method](problem, rng, **options)
