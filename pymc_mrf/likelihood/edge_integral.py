"""The likelihood of one edge parameter, integrated over a base density: adaptive quadrature.

For each edge the integrand is exp(l(eta)) h(eta) with l(eta) = s eta - n log(1 + exp(eta + lam)) (see
`pymc_mrf.kernels.crp.edge_log_likelihood`) and h the density of the base measure over eta. The range is
cut into panels; on each the integrand is expanded in Legendre polynomials from its values at
Gauss-Legendre nodes, and a panel is halved until its last coefficients are below the tolerance. The
expansion also yields draws from the normalised integrand by inversion.
"""

from collections.abc import Callable

import numpy as np

from pymc_mrf.kernels.edge_posterior import draw_from_panels

N_NODES = 16
TOLERANCE = 1e-9
MAX_HALVINGS = 60
_T, _W = np.polynomial.legendre.leggauss(N_NODES)
# row k maps node values to the coefficient of P_k
_TO_COEFFICIENTS = (
    np.polynomial.legendre.legvander(_T, N_NODES - 1) * _W[:, None] * (2 * np.arange(N_NODES) + 1) / 2
)


class EdgeIntegrals:
    """Integrals and draws for many edges and one base density.

    Parameters
    ----------
    s : (r,) array
        Statistic of each edge, 0 <= s <= n.
    n : (r,) array or float
        Number of observations behind each statistic.
    lam : (r,) array
        Logit of the edge's probability of f = 1 at eta = 0.
    bounds : tuple of float
        Support of the base on the scale of eta; may be infinite.
    center : float
        A finite value of eta where the base density is positive.

    Attributes
    ----------
    log_integral : (r,) array
        Log of the integral, with relative error below 1e-8; set by `update`.
    """

    def __init__(self, s, n, lam, bounds, center) -> None:
        # edges with equal likelihoods share their panels
        rows = np.stack(np.broadcast_arrays(s, n, lam), axis=1).astype(np.float64)
        rows, self._which = np.unique(rows, axis=0, return_inverse=True)
        self._which = self._which.reshape(-1)
        self._s, self._n, self._lam = rows.T
        self._bounds = bounds
        self._center = center
        self._build()

    def _build(self) -> None:
        """First panels: geometric ladders around the likelihood's mode and the base's centre."""
        low, high = self._bounds
        mean = np.clip(self._s / self._n, 0.5 / self._n, 1.0 - 0.5 / self._n)
        modes = np.log(mean) - np.log1p(-mean) - self._lam
        widths = 1.0 / np.sqrt(self._n * mean * (1.0 - mean))
        reach = 2.0 ** np.arange(-1, 41)
        cuts_list = []
        for mode, width in zip(modes, widths, strict=True):
            steps = np.concatenate(
                [mode + width * reach, mode - width * reach, self._center + reach / 4]
                + [self._center - reach / 4, [mode, self._center]]
            )
            outer = max(abs(mode), abs(self._center)) + 2.0**40
            cuts = np.unique(np.clip(steps, max(low, -outer), min(high, outer)))
            keep = np.concatenate([[True], np.diff(cuts) > 1e-9 * (1 + np.abs(cuts[1:]))])
            cuts_list.append(cuts[keep])
        self._lower = np.concatenate([cuts[:-1] for cuts in cuts_list])
        self._upper = np.concatenate([cuts[1:] for cuts in cuts_list])
        self._owner = np.repeat(np.arange(len(cuts_list)), [len(cuts) - 1 for cuts in cuts_list])
        self._n_first = len(self._owner)

    def update(self, log_base: Callable[[np.ndarray], np.ndarray]) -> None:
        """Evaluate the integrals for a base density.

        Parameters
        ----------
        log_base : callable
            Log density over eta, elementwise on arrays.

        Raises
        ------
        ValueError
            If the integrand cannot be resolved (a base density with a singularity inside its
            support) or vanishes everywhere.
        """
        if len(self._owner) > 4 * self._n_first:
            self._build()
        log_values = self._log_integrand(log_base, self._lower, self._upper, self._owner)
        n_owners = len(self._s)
        for _ in range(MAX_HALVINGS):
            top = np.full(n_owners, -np.inf)
            np.maximum.at(top, self._owner, log_values.max(axis=1))
            if not np.all(np.isfinite(top)):
                raise ValueError(
                    "the base density times the likelihood is zero or not finite everywhere; "
                    "choose a base whose support overlaps the plausible parameters"
                )
            half = 0.5 * (self._upper - self._lower)
            coefficients = np.exp(log_values - top[self._owner, None]) @ _TO_COEFFICIENTS
            mass = np.maximum(2.0 * half * coefficients[:, 0], 0.0)
            total = np.bincount(self._owner, mass, minlength=n_owners)
            error = 2.0 * half * np.abs(coefficients[:, -3:]).sum(axis=1)
            split = error > TOLERANCE * total[self._owner]
            if not split.any():
                break
            log_values = self._halve(split, log_values, log_base)
        else:
            raise ValueError(
                "the integral over the base did not converge; its density seems to be singular "
                "inside its support: choose a smoother base"
            )
        self._mass, self._coefficients = mass, coefficients
        self._ptr = np.searchsorted(self._owner, np.arange(n_owners + 1))
        self.log_integral = (top + np.log(total))[self._which]

    def _halve(self, split, log_values, log_base) -> np.ndarray:
        """Replace the panels in `split` by their halves; keep panels sorted by owner."""
        middle = 0.5 * (self._lower[split] + self._upper[split])
        lower = np.concatenate([self._lower[split], middle])
        upper = np.concatenate([middle, self._upper[split]])
        owner = np.tile(self._owner[split], 2)
        values = self._log_integrand(log_base, lower, upper, owner)
        lower = np.concatenate([self._lower[~split], lower])
        upper = np.concatenate([self._upper[~split], upper])
        owner = np.concatenate([self._owner[~split], owner])
        values = np.concatenate([log_values[~split], values])
        order = np.lexsort((lower, owner))
        self._lower, self._upper, self._owner = lower[order], upper[order], owner[order]
        return values[order]

    def _log_integrand(self, log_base, lower, upper, owner) -> np.ndarray:
        half = 0.5 * (upper - lower)
        eta = (lower + half)[:, None] + half[:, None] * _T  # (panels, nodes)
        z = eta + self._lam[owner, None]
        likelihood = self._s[owner, None] * eta - self._n[owner, None] * np.logaddexp(0.0, z)
        values = likelihood + log_base(eta)
        return np.where(np.isnan(values), -np.inf, values)

    def draw(self, rng: np.random.Generator, which: np.ndarray | None = None) -> np.ndarray:
        """Draw eta for each edge from its normalised integrand.

        Parameters
        ----------
        rng : numpy.random.Generator
        which : (m,) int array, optional
            Edges to draw for; all by default.

        Returns
        -------
        (m,) array
        """
        rows = self._which if which is None else self._which[which]
        out = np.empty(len(rows))
        draw_from_panels(
            rows, self._ptr, self._lower, self._upper, self._mass, self._coefficients, rng, out
        )
        return out
