"""Likelihood and simulation of a field in time, from the formula."""

import itertools

import numpy as np
from scipy import special


def kinetic_log_likelihood(x, edges, family, series=None, whole_rows=False, weight=0.5, constants=None):
    """Log-likelihood of state indices `x` (T, d) as a function of parameters (Q, r + d q).

    `edges`: (from, to, lag) of arrows; lag 0 of links, whose both ends are seen given each other, or whose
    sum over all states of the row is taken where `whole_rows` is true; else nodes with links have
    conditionals to the power of `weight`. The first rows of each series, as many as the largest lag, are
    given. With `constants` (mean, slope, weight) nodes with links and arrows have second conditionals, to the
    power of 1 - `weight`: neighbours within the row have the scores mean + slope' past, and deviations from
    that the given weights.
    """
    x = np.asarray(x)
    (T, d), q, n_most = x.shape, len(family.node_basis), max(lag for *_, lag in edges)
    F = np.broadcast_to(family.edge_features, (d, *family.edge_features.shape[-2:]))
    floor = np.where(family.possible(d), 0.0, -np.inf)
    series = np.zeros(T, dtype=int) if series is None else np.asarray(series)
    places = [np.flatnonzero(series == s) for s in np.unique(series)]
    past = [x[rows[k - n_most : k + 1]] for rows in places for k in range(n_most, len(rows))]
    ends = [i for *edge, lag in edges if lag == 0 for i in edge]
    powers = np.where(np.isin(np.arange(d), ends), weight, 1.0)
    past, counts = np.unique(np.array(past), axis=0, return_counts=True)  # (m, most + 1, d)

    def of_whole_rows(parameters):
        out = np.zeros(len(parameters))
        biases = parameters[:, len(edges) :].reshape(-1, d, q) @ family.node_basis
        rows = list(itertools.product(*(np.flatnonzero(np.isfinite(own)) for own in floor)))
        for states, count in zip(past, counts, strict=True):

            def potential(row, before=states):
                total = biases[:, np.arange(d), row].sum(axis=1)
                for e, (j, i, lag) in enumerate(edges):
                    source = row[j] if lag == 0 else before[-1 - lag, j]
                    total = total + parameters[:, e] * (F[j, :, source] @ F[i, :, row[i]])
                return total

            every = np.array([potential(row) for row in rows])
            out += count * (potential(states[-1]) - special.logsumexp(every, axis=0))
        return out

    def value(parameters):
        out = np.zeros(len(parameters))
        for states, count in zip(past, counts, strict=True):
            scores = parameters[:, len(edges) :].reshape(-1, d, q) @ family.node_basis + floor
            for e, (j, i, lag) in enumerate(edges):
                for source, target in [(j, i), (i, j)] if lag == 0 else [(j, i)]:
                    f = F[source, :, states[-1 - lag, source]] @ F[target]
                    scores[:, target] += parameters[:, [e]] * f
            own = scores[:, np.arange(d), states[-1]]
            out += count * (own - special.logsumexp(scores, axis=-1)) @ powers
            if constants is not None:
                out += count * of_expected(parameters, states) @ (lacks * (1.0 - powers))
        return out

    lags = sorted({lag for *_, lag in edges if lag})
    lacks = np.isin(np.arange(d), [i for _, i, lag in edges if lag])

    def of_expected(parameters, states):
        """Log conditionals (Q, d) of the present row of `states` given expected neighbours."""
        mean, slope, constant = constants
        own = F[np.arange(d), 0, states[-1]]
        past = np.concatenate([F[np.arange(d), 0, states[-1 - lag]] for lag in lags])
        expected = mean + slope.T @ past
        scores = parameters[:, len(edges) :].reshape(-1, d, q) @ family.node_basis + floor
        scores = scores + ((own - expected) @ constant)[:, None] * F[:, 0]
        for e, (j, i, lag) in enumerate(edges):
            for source, target in [(j, i), (i, j)] if lag == 0 else [(j, i)]:
                seen = expected[source] if lag == 0 else F[source, 0, states[-1 - lag, source]]
                scores[:, target] += parameters[:, [e]] * seen * F[target, 0]
        return scores[:, np.arange(d), states[-1]] - special.logsumexp(scores, axis=-1)

    return of_whole_rows if whole_rows else value


def kinetic_series(first, n_rows, edges, family, w, b, rng):
    """State indices (n_rows, d) of one series without links, drawn row by row after the rows `first`."""
    x = np.array(first)
    d = x.shape[1]
    F = np.broadcast_to(family.edge_features, (d, *family.edge_features.shape[-2:]))
    while len(x) < n_rows:
        scores = b.reshape(d, -1) @ family.node_basis + np.where(family.possible(d), 0.0, -np.inf)
        for e, (j, i, lag) in enumerate(edges):
            scores[i] += w[e] * (F[j, :, x[-lag, j]] @ F[i])
        p = special.softmax(scores, axis=1)
        x = np.vstack([x, [rng.choice(p.shape[1], p=own) for own in p]])
    return x
