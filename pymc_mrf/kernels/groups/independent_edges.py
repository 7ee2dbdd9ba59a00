"""View of edges whose likelihoods do not depend on each other, for `group_labels`."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.groups.edge_terms import add_term
from pymc_mrf.kernels.groups.group_labels import describe, follow


class FixedView(NamedTuple):
    """Edges whose likelihoods do not depend on each other: s, n and lam as in `edge_terms`, each (r,)."""

    s: np.ndarray
    n: np.ndarray
    lam: np.ndarray


@describe.register(FixedView)
def describe_fixed(view, e, x, terms):
    """Likelihood of an edge that stands alone."""
    if view.n[e] > 0.0:
        terms.total[0] += view.s[e]
        add_term(terms, view.n[e], view.lam[e], 0.0)


@follow.register(FixedView)
def follow_fixed(view, e, x, value):
    return False
