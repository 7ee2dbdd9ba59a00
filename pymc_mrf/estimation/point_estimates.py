"""`fit`: one door to the estimators of pairwise fields; and exact maximum likelihood.

Where the junction tree is small enough, the likelihood is maximised exactly, of free or tied parameters.

The log-likelihood of an exponential family is concave, its gradient is the gap between observed and
expected statistics, and minus its Hessian is n times their covariance (Wainwright & Jordan, 2008, ch. 3
and 6). All three come from the junction tree. In agreement fields on forests the edges are independent,
and the estimate has a closed form (Liu & Page, 2013, sec. 2).
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.checks import check_option, few, random_generator, warn_user
from pymc_mrf.estimation.pcd import fit_pcd
from pymc_mrf.estimation.problem import FitProblem, FitResult
from pymc_mrf.estimation.pseudo_likelihood import fit_pseudo
from pymc_mrf.graph.junction_tree import check_tractable, junction_tree
from pymc_mrf.kernels.junction_trees import junction_tree as kernel
from pymc_mrf.kernels.junction_trees.junction_tree_derivatives import covariance
from pymc_mrf.threads import minimise

GAP = 1e-7
"""Largest difference of fitted and observed moments (per observation) that counts as converged."""

COVARIANCE_CELLS = 10**9
"""Standard errors are computed up to this number of parameters times table cells: some 30 s."""


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
            raise TypeError(f'{name} is no option of method="{method}"; it has {few(allowed, None)}')
    problem = FitProblem.create(x, graph, family, groups, n_states)
    return METHODS[method](problem, rng, **options)


class ExactEstimate(NamedTuple):
    """Result of `maximize_likelihood`.

    `parameters` (p,): as of `FitProblem`. `standard_error` (p,) or None: from the inverse Fisher
    information; None where it is too large to compute. `log_likelihood`: of all n observations.
    `moment_gap`: largest difference between fitted and observed moments, per observation.
    """

    parameters: np.ndarray
    standard_error: np.ndarray | None
    log_likelihood: float
    moment_gap: float
    converged: bool
    n_iterations: int


def maximize_likelihood(problem: FitProblem) -> ExactEstimate:
    """Exact maximum-likelihood estimate of tied edge parameters and free node parameters.

    `problem`: no statistic may lie on its bound (`FitProblem.check_estimable`). Raises a ValueError if
    the junction tree is too large or the estimate does not exist: some combination of states never
    occurs.
    """
    import networkx as nx

    if not problem.has_nodes and nx.is_forest(problem.graph.to_networkx()):
        return _independent_edges(problem)
    return _Likelihood(problem).maximize()


def _independent_edges(problem: FitProblem) -> ExactEstimate:
    """Use the closed form of agreement fields on forests: each edge agrees by itself, P = mean."""
    n, n_nodes, k = len(problem.x), problem.graph.n_nodes, problem.family.n_states
    sizes = problem.multiplicity
    mean = problem.target / sizes
    eta = np.log(mean) - np.log1p(-mean) + np.log(k - 1)
    log_likelihood = -n * n_nodes * np.log(k) + n * np.sum(
        sizes * (np.log(k) + mean * np.log(mean) + (1 - mean) * (np.log1p(-mean) - np.log(k - 1)))
    )
    error = 1.0 / np.sqrt(n * sizes * mean * (1.0 - mean))
    return ExactEstimate(eta, error, float(log_likelihood), 0.0, True, 0)


class _Likelihood:
    """Mean negative log-likelihood, its gradient and Hessian, in the parameters of the problem."""

    def __init__(self, problem: FitProblem) -> None:
        self._problem = problem
        tree = junction_tree(problem.graph, problem.family.n_states)
        self._n_cells = tree.n_cells
        check_tractable(tree, remedy='use method="pcd" or "pseudo" instead, or a sparser graph')
        self._tree = tree.arrays
        self._work = kernel.allocate_workspace(self._tree)
        self._marginals = np.empty_like(self._work.tables)

    def value_and_gradient(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return A - parameters . target and its gradient, the moment gap (p,)."""
        problem, K = self._problem, self._problem.family.n_states
        kernel.pack_pairwise(*problem.tables(parameters), self._work.tables)
        log_partition = kernel.log_partition_and_marginals(
            self._tree, self._work.tables, self._work, self._marginals
        )
        edge, node = np.split(self._marginals, [problem.graph.n_edges * K**2])
        means = edge.reshape(-1, K**2) @ problem.family.edge_statistic.ravel()
        moments = problem.collect(means, node.reshape(-1, K))
        return log_partition - parameters @ problem.target, moments - problem.target

    def hessian(self) -> np.ndarray:
        """Covariance of the statistics (p, p) at the last parameters of `value_and_gradient`."""
        problem, K, p = self._problem, self._problem.family.n_states, self._problem.n_parameters
        statistics = np.zeros((p, len(self._marginals)))
        edges, nodes = np.split(statistics, [problem.graph.n_edges * K**2], axis=1)  # views
        labels, f, _, basis = problem.statistics
        edges.reshape(p, -1, K**2)[labels, np.arange(len(labels))] = f.ravel()
        i, k = np.nonzero(problem.node_entries)
        nodes.reshape(p, -1, K)[np.arange(problem.n_groups, p), i] = basis[k]
        out = np.empty((p, p))
        covariance(
            self._tree, self._work, statistics, np.empty_like(self._work.belief),
            np.empty_like(self._marginals), out,
        )  # fmt: skip
        return 0.5 * (out + out.T)

    def maximize(self) -> ExactEstimate:
        """L-BFGS-B, then Newton steps as far as the Hessian can be afforded."""
        n = len(self._problem.x)
        result = minimise(
            self.value_and_gradient,
            np.zeros(self._problem.n_parameters),
            options=dict(maxiter=10_000, maxfun=20_000, maxcor=20, ftol=1e-15, gtol=0.1 * GAP),
        )
        parameters, error = result.x, None
        value, gap = self.value_and_gradient(parameters)
        if len(parameters) * self._n_cells <= COVARIANCE_CELLS:
            information = self.hessian()
            self._check_information(information, parameters)
            if np.abs(gap).max(initial=0.0) > 0.1 * GAP:
                parameters = parameters - np.linalg.solve(information, gap)
                value, gap = self.value_and_gradient(parameters)
            error = np.sqrt(np.diag(np.linalg.inv(information)) / n)
        largest = float(np.abs(gap).max(initial=0.0))
        return ExactEstimate(
            parameters=parameters,
            standard_error=error,
            log_likelihood=-n * float(value),
            moment_gap=largest,
            converged=largest <= GAP,
            n_iterations=int(result.nit),
        )

    def _check_information(self, information: np.ndarray, parameters: np.ndarray) -> None:
        """Refuse data on a face of the moment polytope: a direction of no information.

        There the likelihood approaches its supremum at infinity and the optimiser stops on a plateau
        where the field no longer varies along some direction. Moments inside the polytope are of
        order 1 / n away from its faces, which keeps n times the variance along them near one.
        """
        if not len(information):
            return
        problem, n = self._problem, len(self._problem.x)
        values, vectors = np.linalg.eigh(information)
        if n * values[0] > 1e-3 * min(1.0, n * values[-1]):
            return
        k = int(np.abs(vectors[:, 0] * parameters).argmax())
        name = problem.name_of(k)
        raise ValueError(
            f"x: the maximum-likelihood estimate does not exist: {name} goes to infinity (the search "
            f"stopped at {parameters[k]:.3g}), because some combination of states never occurs; tie "
            "edges to others by `groups`, drop the edge or use a Bayesian prior"
        )
