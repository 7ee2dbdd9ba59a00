"""Families of pairwise fields: which statistic a parameter multiplies.

log p(x) = sum_e f_e(x_u, x_v) + sum_i g_i(x_i) - A, where the log tables are

| family    | states   | f_e(a, b)          | g_i(a)  | edge parameter       | node parameter |
|-----------|----------|--------------------|---------|----------------------|----------------|
| agreement | 0..K-1   | eta_e 1[a = b]     | 0       | theta, eta = logit   | none           |
| ising     | -1, +1   | eta_e a b          | b_i a   | coupling, eta = J    | field          |
| boltzmann | 0, 1     | eta_e a b          | b_i a   | weight, eta = w      | bias           |
| potts (0) | 0..K-1   | eta_e 1[a = b]     | b_i[a]  | coupling (r,)        | field (d, K)   |
| potts (1) | 0..K-1   | eta_e[a] 1[a = b]  | b_i[a]  | coupling (r, K)      | field (d, K)   |
| potts (2) | 0..K-1   | eta_e[a, b]        | b_i[a]  | coupling (r, K, K)   | field (d, K)   |
| ordinal   | 0..K_i-1 | eta_e s_u[a]s_v[b] | b_i[a]  | weight, eta = w      | threshold (*)  |
| nominal   | 0..K_i-1 | (U' eta_e V)[a, b] | b_i[a]  | weight (P,) (+)      | bias (d, K)    |

(*) (d, K - 1): b_i[0] = 0, the first threshold is that of state 1. K is the largest K_i; what lies beyond
the states of a node is impossible, its threshold without meaning.

(+) eta_e (K_u - 1, K_v - 1), those of all edges one after the other; U and V are orthonormal contrasts.

A new family is a function that returns a `Family`, in a file of its own where it has more to say than the
ones here, and an entry of `FAMILIES`; nothing asks for the name of a family.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pymc_mrf.checks import MEASUREMENTS, check_option
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.ordinal import ordinal
from pymc_mrf.fields.state_numbers import states_of


def agreement(n_states: int = 2) -> Family:
    """Agreement field of Liu & Page (2013, eq. 1) over `n_states` >= 2 states."""
    return Family(
        "agreement",
        states_of(n_states),
        "theta",
        None,
        title="AgreementMRF",
        is_log_odds=True,
        is_categorical=True,
    )


def potts(n_states: int, edge_axes: int = 0) -> Family:
    """Potts model (Potts, 1952) over `n_states` >= 2 states.

    `edge_axes` tells how much an edge parameter holds: one number (0), one per state in which both ends
    agree (1), or a full table (2).
    """
    if edge_axes not in (0, 1, 2):
        raise ValueError(f"edge_axes must be 0, 1 or 2, not {edge_axes!r}")
    return Family(
        "potts",
        states_of(n_states),
        "coupling",
        "field",
        edge_axes,
        1,
        title="Potts",
        is_categorical=True,
    )


ISING = Family("ising", (-1, 1), "coupling", "field", title="Ising")
BOLTZMANN = Family(
    "boltzmann",
    (0, 1),
    "weight",
    "bias",
    title="BoltzmannMachine",
    extremes=("are both 1 in every row", "are never both 1"),
)


def _of_two_states(family: Family) -> Callable[[Any], Family]:
    def make(n_states: Any) -> Family:
        if n_states != 2:
            raise ValueError(
                f"the {family.name} family has two states; n_states={n_states!r} does not apply"
            )
        return family

    return make


FAMILIES: dict[str, Callable[[Any], Family]] = {
    "agreement": agreement,
    "ising": _of_two_states(ISING),
    "boltzmann": _of_two_states(BOLTZMANN),
    "ordinal": ordinal,
}
"""Families that functions know by name, from their number of states."""


def get_family(
    name: str, n_states: Any = 2, scores: Any = None, nodes: Sequence | None = None
) -> Family:
    """Look a family up by its name in `FAMILIES`; `scores`, of `nodes`, as of `ordinal`."""
    remedies = {
        "gaussian": f": {MEASUREMENTS}",
        "mixed": ": for answers and measurements, declare a pymc_mrf.MixedMRF",
        "nominal": ": for answers without an order, declare a pymc_mrf.NominalMRF",
    }
    check_option(name, "family", FAMILIES, remedies.get(str(name), ""))
    if FAMILIES[name] is ordinal:
        return ordinal(n_states, scores, nodes)
    if scores is not None:
        raise ValueError(
            f'scores={scores!r} are those of ordered states: say family="ordinal", or leave them out'
        )
    return FAMILIES[name](n_states)
