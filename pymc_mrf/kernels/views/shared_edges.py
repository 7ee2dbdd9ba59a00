"""View of edges whose parameters have a common vector as a part, for `edge_moves` and `hamiltonian`.

The parameter of an edge is an offset plus a constant factor times an entry of the vector; an entry may be a
part of the parameters of several edges, one in each of several fields, which are blocks of one. As no edge
joins the blocks, log-likelihoods add.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean
from pymc_mrf.kernels.priors.densities import Combined, density_of, log_density, slope_and_precision
from pymc_mrf.kernels.vector_sums import copy
from pymc_mrf.kernels.views import questions


class SharedTerms(NamedTuple):
    """Edges whose parameters an entry of the vector is a part of: terms first[k] to first[k + 1] of entry k.

    Attributes
    ----------
    order : (r,) int64 array
        Order of visits.
    contrast : float
        Largest change of the log odds of a pair by an entry of value 1.
    first : (r + 1,) int64 array
    edge : (T,) int64 array
        No two of an entry are in the same block.
    factor : (T,) array
    """

    order: np.ndarray
    contrast: float
    first: np.ndarray
    edge: np.ndarray
    factor: np.ndarray


class SharedView(NamedTuple):
    """A vector and the field with all blocks.

    Attributes
    ----------
    field : SharedTerms
    whole : a view
        Of the field.
    w : (r,) array
        The vector.
    b, beta, n_biases
        Those of the field.
    offset : (T,) array
        Parameter of the edge of each term without the entry.
    base : (T,) array
        Log-likelihood at the offset, relative to no edge, for the entry that is looked at.
    score, information : (q,) arrays
        Score and information at 0 of the entry that is looked at.
    edges : (T,) int64 array
        Scratch: edges of the entries other than 0.
    slope : (T + n_biases,) array
        Scratch.
    tilt : (n_biases,) array
        Scratch of zeros: by how much sums of biases change with the entry that is looked at.
    """

    field: SharedTerms
    whole: Any
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    offset: np.ndarray
    base: np.ndarray
    score: np.ndarray
    information: np.ndarray
    edges: np.ndarray
    slope: np.ndarray
    tilt: np.ndarray


@lean
def terms_at(whole, e, y):
    """`likelihood_terms`, a kernel of its own: it would be compiled at every place as a part of others."""
    return questions.likelihood_terms(whole, e, y)


@questions.look_at.register(SharedView)
def look_at_entry(view, k, x):
    """Look at every edge; score and information at the offsets."""
    terms, whole, g, h, first = view.field, view.whole, 0.0, 0.0, view.field.first[k]
    for t in range(first, terms.first[k + 1]):
        e, c, value, slope, information = terms.edge[t], terms.factor[t], 0.0, 0.0, 0.0
        questions.look_at(whole, e, whole.w[e])
        if terms.first[k + 1] - first > 1:
            questions.keep_look(whole, t - first)
        if view.offset[t] == 0.0:
            slope, information = questions.without_edge(whole, e)
        else:
            value, slope, information = terms_at(whole, e, view.offset[t])
        view.base[t] = value
        g += c * slope
        h += c * c * information
    view.score[k], view.information[k] = g, h
    return 0.5 * g * g / h, h


@questions.without_edge.register(SharedView)
def without_entry(view, k):
    """Return what `look_at_entry` found."""
    return view.score[k], view.information[k]


@lean
def recall(view, k, t):
    """Make the edge of term t of entry k that which may be asked."""
    if view.field.first[k + 1] - view.field.first[k] > 1:
        questions.recall_look(view.whole, t - view.field.first[k])


@questions.likelihood_terms.register(SharedView)
def entry_terms(view, k, x):
    """Add those of the edges."""
    terms, value, g, h = view.field, 0.0, 0.0, 0.0
    for t in range(terms.first[k], terms.first[k + 1]):
        c = terms.factor[t]
        recall(view, k, t)
        gained, slope, information = terms_at(view.whole, terms.edge[t], view.offset[t] + c * x)
        value += gained - view.base[t]
        g += c * slope
        h += c * c * information
    return value, g, h


@questions.gain.register(SharedView)
def entry_gain(view, k, x):
    """Add those of the edges."""
    terms, value = view.field, 0.0
    for t in range(terms.first[k], terms.first[k + 1]):
        recall(view, k, t)
        y = view.offset[t] + terms.factor[t] * x
        value += questions.gain(view.whole, terms.edge[t], y) - view.base[t]
    return value


@questions.bias_terms.register(SharedView)
def entry_bias_terms(view, k, x, bias):
    """Ask `prior_terms`, by the type of the prior, if the biases move."""
    value, slope, curvature = 0.0, 0.0, 0.0
    if view.n_biases > 0:
        value, slope, curvature = prior_terms(bias, view, k, x)
    return value, slope, curvature


@by_type
def prior_terms(bias: Any, view: Any, k: int, x: float) -> Any:
    """Log prior of the biases that move with entry k, at its value x; slope and curvature by x."""


@prior_terms.register(object)
def terms_of_each(bias, view, k, x):
    """Add up `bias_terms` of the edges."""
    terms, value, slope, curvature = view.field, 0.0, 0.0, 0.0
    for t in range(terms.first[k], terms.first[k + 1]):
        c = terms.factor[t]
        log_prior, g, h = questions.bias_terms(view.whole, terms.edge[t], view.offset[t] + c * x, bias)
        value += log_prior
        slope += c * g
        curvature += c * c * h
    return value, slope, curvature


@lean
def end_of(view, t, p):
    """Node parameter p of those at both ends of the edge of term t, and how much of it the entry moves."""
    field, e, q = view.whole.field, view.field.edge[t], view.whole.field.basis.shape[0]
    a = field.edges[e, p // q] * q + p % q
    return a, -view.field.factor[t] * questions.shift(field, a, e, p // q)


@prior_terms.register(Combined)
def terms_of_sums(bias, view, k, x):
    """Add up the terms of every sum that moves with the entry."""
    value, slope, curvature = 0.0, 0.0, 0.0
    inverse, n_fields, n_ends = bias.inverse, bias.inverse.shape[0], 2 * view.whole.field.basis.shape[0]
    width = view.n_biases // n_fields
    for t in range(view.field.first[k], view.field.first[k + 1]):
        for p in range(n_ends):
            a, step = end_of(view, t, p)
            for f in range(n_fields):
                view.tilt[f * width + a % width] += inverse[f, a // width] * step
    for t in range(view.field.first[k], view.field.first[k + 1]):
        for p in range(n_ends):
            i = end_of(view, t, p)[0] % width
            for f in range(n_fields):
                tilt = view.tilt[f * width + i]
                if tilt != 0.0:  # not yet met
                    density = density_of(bias.densities, f * width + i)
                    at = sum_at(bias, view.b, f, i) + (x - view.w[k]) * tilt
                    g, h = slope_and_precision(density, at)
                    value += log_density(density, at)
                    slope += tilt * g
                    curvature += tilt * tilt * h
                    view.tilt[f * width + i] = 0.0
    return value, slope, curvature


@lean
def sum_at(bias, b, f, i):
    """Sum f at place i of the biases `b` (n_biases,)."""
    n_fields, value = bias.inverse.shape[0], 0.0
    for g in range(n_fields):
        value += bias.inverse[f, g] * b[g * (b.shape[0] // n_fields) + i]
    return value


@questions.bias_prior.register(Combined)
def prior_of_sums(bias, b, slope):
    """Sum the log density of each sum, as each has its own."""
    n_fields, value = bias.inverse.shape[0], 0.0
    width = b.shape[0] // n_fields
    for i in range(slope.shape[0]):
        slope[i] = 0.0
    for f in range(n_fields):
        for i in range(width):
            density, at = density_of(bias.densities, f * width + i), sum_at(bias, b, f, i)
            value += log_density(density, at)
            g = slope_and_precision(density, at)[0]
            for block in range(n_fields):
                slope[block * width + i] += bias.inverse[f, block] * g
    return value


@questions.fill_bias_precisions.register(Combined)
def fill_precisions_of_sums(bias, out):
    """Fill the curvature by every bias with the others fixed."""
    n_fields = bias.inverse.shape[0]
    width = out.shape[0] // n_fields
    for i in range(out.shape[0]):
        out[i] = 0.0
    for f in range(n_fields):
        for i in range(width):
            density = density_of(bias.densities, f * width + i)
            precision = slope_and_precision(density, density.location)[1]
            for block in range(n_fields):
                out[block * width + i] += bias.inverse[f, block] ** 2 * precision


@questions.set_edge.register(SharedView)
def set_entry(view, k, x):
    view.w[k] = x


@questions.follow.register(SharedView)
def follow_entry(view, k, old, new):
    """Look at every edge, set it and follow."""
    terms, whole = view.field, view.whole
    for t in range(terms.first[k], terms.first[k + 1]):
        e, before = terms.edge[t], view.offset[t] + terms.factor[t] * old
        after = view.offset[t] + terms.factor[t] * new
        questions.look_at(whole, e, before)
        if after != 0.0:
            terms_at(whole, e, after)
        questions.set_edge(whole, e, after)
        questions.follow(whole, e, before, after)


@lean
def list_edges(view, active):
    """List the edges of the entries `active` (k,) in `view.edges`; their number."""
    terms, used = view.field, 0
    for a in range(active.shape[0]):
        for t in range(terms.first[active[a]], terms.first[active[a] + 1]):
            view.edges[used] = terms.edge[t]
            used += 1
    return used


@questions.set_parameters.register(SharedView)
def set_entries(view, active, place):
    """Parameters of all edges of the active entries, and the biases."""
    terms, k, used, n = view.field, active.shape[0], 0, list_edges(view, active)
    for a in range(k):
        view.w[active[a]] = place[a]
        for t in range(terms.first[active[a]], terms.first[active[a] + 1]):
            view.slope[used] = view.offset[t] + terms.factor[t] * place[a]
            used += 1
    for i in range(view.n_biases):
        view.slope[n + i] = place[k + i]
    questions.set_parameters(view.whole, view.edges[:n], view.slope)


@questions.without_slab.register(SharedView)
def entries_without_slab(view, active, bias, slope):
    """Slopes by the edges of an entry, times the factors."""
    terms, k, used, n = view.field, active.shape[0], 0, list_edges(view, active)
    value = questions.without_slab(view.whole, view.edges[:n], bias, view.slope)
    copy(view.slope[n : n + view.n_biases], slope[k:])
    for a in range(k):
        slope[a] = 0.0
        for t in range(terms.first[active[a]], terms.first[active[a] + 1]):
            slope[a] += terms.factor[t] * view.slope[used]
            used += 1
    return value


@questions.is_trusted.register(SharedView)
def whole_is_trusted(view):
    return questions.is_trusted(view.whole)
