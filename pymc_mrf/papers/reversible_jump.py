"""`ReversibleJump`: which edges a field has, by the moves of Chen & Welling (2012), sec. 4."""

from typing import Any

import numpy as np

from pymc_mrf.checks import number
from pymc_mrf.papers.chen_welling import ChenWellingStep
from pymc_mrf.steps.common.statistics import Statistic, Statistics, acceptance

WIDTH = 0.01  # Chen & Welling (2012), sec. 6.2
EXACT_WIDTH = 8.0  # large jumps: nearly every edge that might be absent lies within
ACCEPTANCE = acceptance("sample longer, or let EdgeGibbs sample the edges", 0.001)


class ReversibleJump(ChenWellingStep):
    """Additions and deletions of edges with a `SpikeAndSlab` prior, by reversible jumps.

    Leaves invariant: the posterior given all else, exactly, under ``likelihood="exact"`` (up to 1e-11 in
    the log density of a slab that is tabulated, see `EdgeGibbs`); an approximation of it under
    ``likelihood="particles"``, whose error comes from the noise and the lag of the chains, the expansion and
    the parallel proposals, and vanishes with `width`. With `PersistentLangevin`, on a four-node complete
    field, 100 chains and a width of 0.5 (50 times the paper's), probabilities of inclusion were within 0.015
    of exact integration for 80 observations and within 0.01 for 600; the Monte-Carlo errors were 0.014 and
    0.007.

    An absent edge is proposed a value from the truncated Gaussian of eq. (13) on [-Delta, Delta]; a
    present edge whose value lies there is proposed for deletion; the ratio is that of eq. (8). Every edge
    is proposed once in a step. Values of present edges do not move otherwise: combine with
    `PersistentLangevin`.

    - ``likelihood="particles"`` is the algorithm of the paper: the ratio of partition functions is
      expanded to second order around 0 and corrected for its bias (eq. 9-11), its moments come from
      persistent Gibbs chains, and all edges are proposed in parallel from one set of states (sec. 4.3).
    - ``likelihood="exact"`` is "Bayes Exact" (sec. 6.2): large jumps, exact ratios (one marginal of the
      pair gives the ratio for every value), one edge after the other.

    Parameters
    ----------
    vars : list of variables
        A `SpikeAndSlab` that is the weight of an observed `BoltzmannMachine` or the coupling of an
        `Ising` field. The biases are read, whatever their prior.
    width : float, optional
        Delta_a = width / sqrt(N Var f_a), Var f_a the variance of the edge's feature in the data. By
        default 0.01 under particles (sec. 6.2) and 8 under the exact likelihood, which allows Delta_a up
        to 150.
    n_particles : int, optional
        Gibbs chains, n in the paper, under ``likelihood="particles"`` only: 100 by default, as in sec. 6.2.
    n_sweeps : int, optional
        Sweeps of all chains in a step, N_Gibbs, under ``likelihood="particles"`` only: 1 by default, as in
        sec. 6.2.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError, TypeError
        If the variable feeds no field, anything else or a field through a transformation, the data are
        incomplete, the likelihood is "pseudo", or an option is out of range.

    Notes
    -----
    The step starts from the point it is given; PyMC's default for a `SpikeAndSlab` is no edges. Each step
    keeps chains of its own: the sweep it saves `PersistentLangevin` is cheap, and steps without a common
    state can be copied, resumed and seeded one by one.

    Sampler statistics: ``reversible_jump_n_active`` (present edges after the step), ``_n_added``,
    ``_n_deleted``, ``_add_accept`` (accepted share of the proposals to absent edges) and
    ``_delete_accept`` (of the proposals to edges within Delta); a share of nothing is NaN. A warning at the
    end of a chain says if no edge was added or deleted in 50 draws or more.

    References
    ----------
    Chen & Welling (2012), sec. 4; Green (1995).
    """

    name = "reversible_jump"
    prefix = "reversible_jump"
    changes_edges = True
    statistics: Statistics = (
        Statistic("n_active", "present edges", dtype=np.int64, shown="always", should_vary=True),
        Statistic("n_added", "edges added", dtype=np.int64, shown="always"),
        Statistic("n_deleted", "edges deleted", dtype=np.int64, shown="always"),
        Statistic("add_accept", "acceptance, added edges", ACCEPTANCE),
        Statistic("delete_accept", "acceptance, deleted edges", ACCEPTANCE),
    )

    def __init__(
        self,
        vars,
        *,
        width: float | None = None,
        n_particles: int | None = None,
        n_sweeps: int | None = None,
        **kwargs,
    ) -> None:
        super().__init__(vars, n_particles, n_sweeps, **kwargs)
        if self._bias_names:
            raise ValueError(
                f"ReversibleJump moves edges only; leave {self._bias_names[0]} to PersistentLangevin, as in "
                f"step=[ReversibleJump([{self._name}]), "
                f"PersistentLangevin([{self._name}, {self._bias_names[0]}])]"
            )
        if width is None:
            width = EXACT_WIDTH if self._engine.corrects else WIDTH
        self._relative_width = number(width, "width", 0.0)
        spread = np.sqrt(self._engine.data_curvature[: self._field.graph.n_edges])
        self._width = self._relative_width / spread
        self._warm_up()

    def _move(self, w, b, prior) -> tuple[dict[str, Any], bool]:
        absent, added, deletable, deleted = self._engine.jump(w, b, prior, self._width, self.rng)
        stats = {
            "reversible_jump_n_active": int(np.count_nonzero(w)),
            "reversible_jump_n_added": int(added),
            "reversible_jump_n_deleted": int(deleted),
            "reversible_jump_add_accept": added / absent if absent else np.nan,
            "reversible_jump_delete_accept": deleted / deletable if deletable else np.nan,
        }
        return stats, bool(added or deleted)

    def _warn_at_end(self) -> list[str]:
        if not self.count.stood_still:
            return []
        return [
            f"ReversibleJump neither added nor deleted an edge of {self._name} in {self.count.n_draws} "
            "draws: they do not tell which edges there are, unless the data leave no doubt of any. Sample "
            f"longer, take a larger width than {self._relative_width:g}, or let EdgeGibbs sample the edges"
        ]
