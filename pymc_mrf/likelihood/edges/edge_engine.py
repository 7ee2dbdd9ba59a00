"""What `EdgeGibbs` asks of an engine: the likelihood of one field and its data, by edges.

An engine owns a view for `pymc_mrf.kernels.edges`, where the moves are written once; it keeps the
view up to date and learns how far joint moves should go.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import NOT_TOLD, EdgePrior, Presence, sweep_edges
from pymc_mrf.kernels.edges.hamiltonian import (
    Coordinates,
    NormalCoordinates,
    allocate_coordinates,
    draw_momentum,
    hamiltonian_move,
    normal_coordinates,
    prior_precisions,
)
from pymc_mrf.kernels.views.questions import Field, FieldData, bias_prior, centred
from pymc_mrf.likelihood.data_counts import Columns, Data, DataCounts, columns_of, present_rows
from pymc_mrf.likelihood.edges.edge_field import (
    data_information,
    edge_field,
    fill_sums,
    node_correlations,
)

# length of a joint move, in standard deviations: a quarter of an oscillation; engines may stretch it
TRAJECTORY = 1.6
MAX_LEAPFROG = 16  # steps of one trajectory


class LikelihoodExpansion(NamedTuple):
    """A log-likelihood to second order about a place near the posterior, as a function of N parameters.

    Attributes
    ----------
    precision : (N, N) array
    slope : (N,) array
        Where the parameters are 0.
    biases : (d q,) array
        Of that place, not centred: where the prior of biases is expanded.
    """

    precision: np.ndarray
    slope: np.ndarray
    biases: np.ndarray


class EdgeEngine:
    """Base of the engines of the edge sampler.

    A subclass supplies `__init__`, which makes the view of what `take_data` gives it, `refresh`, and what
    else is not as here: nothing estimated, nothing learnt, nothing remembered from step to step.

    Parameters
    ----------
    x : (n, D) int8 array, or list of (n_b, D_b) int8 arrays
        Observed state indices, as of `Columns`; of each block if there are several.
    graph : PairwiseGraph or LaggedGraph
        Candidate edges.
    family : Family
        With one parameter for each edge.
    moves_biases : bool
        Whether the node parameters are this engine's to move.
    **options
        Options of its own.

    Attributes
    ----------
    view : NamedTuple
        The likelihood as `edge_moves` sees it.
    information : array
        What the lengths of joint moves are scaled by: `data_information` (r + d q,), of a field in time as if
        sources were nodes of the same row, or what is the engine's own; `learn` may change it in place.
    correlations : (d, q, q) array
        `node_correlations`, of which joint moves make blocks of their mass matrix.
    starts_at_default : bool
        Whether chains start where PyMC starts them; else at the biases that fit without edges. Either way
        edges come in the first sweeps.
    takes_share : bool
        Whether it takes a `Share` itself, by the option `share`; else `SharedEdges` is put around it.
    takes_means : bool
        Whether it takes other means of the data by `set_means`.
    n_repeats : int
        Passes over all edges in a `sweep`: several where they cost little beside the rest of a step.
    """

    view: Any
    information: np.ndarray
    correlations: np.ndarray
    starts_at_default: ClassVar[bool] = False
    takes_share: ClassVar[bool] = False
    takes_means: ClassVar[bool] = False
    n_repeats: int = 1
    _columns: Columns  # of the data
    _counts: DataCounts | None = None  # of data that change

    def __init__(self, x: Data, graph: Any, family: Family, moves_biases: bool, **options: Any) -> None:
        raise NotImplementedError

    def take_data(
        self,
        x: Data,
        graph: PairwiseGraph | LaggedGraph,
        family: Family,
        is_centred: bool,
        order: np.ndarray | None = None,
    ) -> tuple[Field, FieldData]:
        """Make the `edge_field`, its edges in their own or another `order` (r,), and read its scales."""
        order = np.arange(graph.n_edges) if order is None else order
        field, data = edge_field(x, graph, family, is_centred, order)
        rows = present_rows(x, graph)
        self._columns = columns_of(x, graph)
        self.information = data_information(rows, field)
        self.correlations = node_correlations(rows, field)
        return field, data

    def refresh(self, rng) -> None:
        """Bring the view up to date with its parameters `w`, `b` and `beta`."""
        raise NotImplementedError

    def set_data(self, x: Data) -> None:
        """Take other data of the same shapes, missing cells being filled anew; for the next `sweep`."""
        view, columns = self.view, self._columns
        if self._counts is None:
            self._counts = DataCounts(columns.ends, view.field.features.shape[2])
        self._counts.count(x)
        fill_sums(self._counts.nodes[columns.present], self._counts.pairs, view.field, view.data)

    def set_means(self, shifts: Sequence[np.ndarray]) -> None:
        """Take the first data less a shift (d_b,) of all rows of each block; for the next `sweep`."""
        raise NotImplementedError

    def coordinates(self, active: np.ndarray, prior: EdgePrior) -> Coordinates:
        """Room for a trajectory of the edges `active` (k,) and the biases, with its mass matrix.

        Or `NormalCoordinates` about an approximation of the posterior.
        """
        of_prior = np.empty(len(self.view.b))
        slab = prior_precisions(prior, of_prior)
        of_edges, of_biases = self.likelihood_precisions()
        precisions = of_edges[active] + slab * self.slab_curvatures()[active]
        if not self.view.n_biases:
            return allocate_coordinates(1.0 / precisions)
        x = allocate_coordinates(1.0 / np.concatenate([precisions, of_biases + of_prior]))
        d, q, _ = self.correlations.shape
        if q == 1:
            return x
        scale = np.sqrt(of_biases).reshape(d, q)
        precision = self.correlations * scale[:, :, None] * scale[:, None, :]
        np.einsum("iaa->ia", precision)[:] += of_prior.reshape(d, q)
        x.inverse_mass[len(active) :] = 1.0
        return x._replace(roots=np.linalg.cholesky(np.linalg.inv(precision)))

    def expansion(self, at: np.ndarray, moved: np.ndarray) -> LikelihoodExpansion | None:
        """Expand the log-likelihood; None where there is no place for that.

        As a function of what is added to `at` (r + d q,), weights and centred biases, at N of them, `moved`.
        """
        return None

    def likelihood_precisions(self) -> tuple[np.ndarray, np.ndarray]:
        """Information of the likelihood about every edge (r,) and bias (d q,), roughly."""
        r = len(self.view.w)
        return self.information[:r], self.information[r:]

    def slab_curvatures(self) -> np.ndarray:
        """Curvature of the slab at the weight of every edge relative to its centre, roughly; (r,)."""
        return np.ones(len(self.view.w))

    def remember(self) -> None:
        """Keep what `learn` needs of the state before a joint move."""

    def sweep(
        self,
        w,
        b,
        prior: EdgePrior,
        rng,
        corrected: bool = True,
        presence: Presence = NOT_TOLD,
        rng_of_presence=None,
        tuned: bool = False,
    ) -> tuple[int, int]:
        """Update every edge in turn, `n_repeats` times; `w` (r,) and `b` (d q,) are changed in place.

        Without the Metropolis-Hastings correction if not `corrected`. Every other pass, `n_told` of them,
        adds to `presence`, with random numbers of its own. Once `tuned`, an engine may leave out edges, by
        rates that it has learnt before. Returns the numbers of proposals that would change an edge, and of
        those accepted.
        """
        view, n_proposed, n_accepted = self.view, 0, 0
        self.go_to(w, b)
        # anew in every sweep, so that rounding errors do not add up over the chain
        self.refresh(rng)
        for order, told in self.scan(prior, presence, rng, tuned):
            proposed, accepted = sweep_edges(
                view, order, prior, corrected, rng, told, rng_of_presence or rng, self.n_repeats
            )
            n_proposed, n_accepted = n_proposed + proposed, n_accepted + accepted
        self.follow_sweep(prior, rng)
        w[:], b[:] = view.w, view.b
        return n_proposed, n_accepted

    def follow_sweep(self, prior: EdgePrior, rng) -> None:
        """Move what belongs to a sweep beside the edges."""

    def visits(self) -> Iterable[np.ndarray]:
        """Edges of a pass, in the order of visits: parts, before each of which the view may be prepared."""
        return [self.view.field.order]

    def scan(
        self, prior: EdgePrior, presence: Presence, rng, tuned: bool
    ) -> Iterable[tuple[np.ndarray, Presence]]:
        """Edges of a pass as `visits` gives them, each part with what its visits add to."""
        return ((order, presence) for order in self.visits())

    @property
    def n_told(self) -> int:
        """Number of passes of a `sweep` that add to what it tells of the presence of edges."""
        return -(-self.n_repeats // 2)

    def go_to(self, w, b) -> None:
        view = self.view
        view.w[:], view.b[:] = w, b
        centred(view.field, w, b, view.beta)

    def joint(
        self, w, b, prior: EdgePrior, step: float, n_steps: int, rng, enters: bool = False
    ) -> float:
        """Move all present edges and the biases jointly, in place, after `sweep`.

        By `n_steps` leapfrog steps of length `step`. Returns the acceptance probability, NaN if there is
        nothing to move. In tuning it `enters` where the likelihood is trusted, from where it is not.
        """
        active = self.view.field.order[w[self.view.field.order] != 0.0]
        if not len(active) + self.view.n_biases:
            return np.nan
        accept = self.trajectory(active, prior, step, n_steps, rng, enters)
        w[:], b[:] = self.view.w, self.view.b
        return accept

    def stretch(self, rng) -> float:
        """How many times longer than `TRAJECTORY` the next joint move is."""
        return 1.0

    def trajectory(
        self, active: np.ndarray, prior: EdgePrior, step: float, n_steps: int, rng, enters: bool
    ) -> float:
        """Make the joint move of the edges `active` (k,), of `n_steps` steps times `stretch`.

        Returns the acceptance probability.
        """
        n_steps = int(np.rint(n_steps * self.stretch(rng)))
        self.remember()
        x = self.coordinates(active, prior)
        draw_momentum(x, rng)
        told = [array.copy() for array in self.told_of_place()]
        accept, _, accepted = hamiltonian_move(self.view, active, prior, x, step, n_steps, rng, enters)
        if not accepted:
            for array, before in zip(self.told_of_place(), told, strict=True):
                array[:] = before
        return accept

    def told_of_place(self) -> list[np.ndarray]:
        """Arrays of which `statistics` tells, where a move looked last: they are kept if it is rejected."""
        return []

    def set_offset(self, offset: np.ndarray) -> None:
        """Take what edge parameters are without the vector that is a part of them, for the next `sweep`."""
        self.offset = offset

    def edge_parameters(self) -> np.ndarray:
        """Parameters of the edges (r,), after the last move."""
        return self.view.w.copy()

    def present(self, w: np.ndarray) -> np.ndarray:
        """Whether each edge (r,) is present at parameters `w`."""
        return w != 0.0

    def learn_sweep(self) -> None:
        """Learn from the last `sweep`; called in tuning only."""

    def learn(self, weight: float) -> None:
        """Learn from the last `joint` with this weight of the present; called in tuning only."""

    @property
    def n_particles(self) -> int:
        return 0

    def statistics(self) -> dict[str, float]:
        """How the estimates since the beginning of the last `sweep` fared.

        The "noise" of log-likelihood ratios, the smallest effective size ("ess") relative to the particles,
        the number of "resamplings", and, after the last move, the estimated "error" of the log-likelihood and
        the "distance" of the parameters from those of a sample that does not follow them.
        """
        return {"noise": 0.0, "ess": 1.0, "resamplings": 0, "error": 0.0, "distance": 0.0}

    def measure_noise(self) -> float | None:
        """Noise as `statistics` has it, where it takes long and is asked for now and then; else None."""
        return None

    def get_state(self) -> tuple[np.ndarray, ...]:
        """Copy all that is remembered from step to step, besides `information`."""
        return ()

    def set_state(self, *state: np.ndarray) -> None:
        """Restore what `get_state` gave."""

    def forget(self) -> None:
        """Unlearn and forget everything, besides `information`."""


class MeasuredEngine(EdgeEngine):
    """Base of the engines of fields with measurements, whose precision has to be positive definite.

    Joint moves follow a normal approximation of the posterior near the mean of the parameters that tuning has
    seen, which `information` has. It is no place where chains must stay: it shapes moves, which are
    corrected.
    """

    starts_at_default = True
    matrix: ClassVar[str]  # what has to be positive definite

    @abstractmethod
    def _refresh(self) -> float:
        """Bring the view up to date; NaN if the precision is not positive definite."""

    @abstractmethod
    def _parameters(self) -> np.ndarray:
        """Parameters at which the view is, as in `information`."""

    def refresh(self, rng) -> None:
        """Compute anew what the view keeps.

        Raises
        ------
        ValueError
            If the precision is not positive definite, as only that of a start can be.
        """
        if not np.isfinite(self._refresh()):
            raise ValueError(
                f"{self.matrix} is not positive definite at the start of a chain: start from smaller weights "
                "or a larger diagonal, as in pm.sample(initvals={...})"
            )

    def stretch(self, rng) -> float:
        """Up to twice as far: always twice would be half an oscillation, which leaves distances alone."""
        return rng.uniform(1.0, 2.0)

    def learn(self, weight: float) -> None:
        """Let the mean follow the chain; that of positive definite matrices is one."""
        self.information += weight * (self._parameters() - self.information)


def posterior_coordinates(
    likelihood: LikelihoodExpansion, prior: EdgePrior, k: int
) -> NormalCoordinates:
    """Coordinates about a normal approximation of the posterior of `k` weights, and of biases if they move.

    The arrays of the expansion of the likelihood are changed.
    """
    precision, slope, biases = likelihood
    of_biases, by_bias = np.zeros((2, len(biases)))
    diagonal = np.einsum("ii->i", precision)
    of_slab = prior_precisions(prior, of_biases)
    diagonal[:k] += of_slab
    slope[:k] += of_slab * prior.slab.location
    if len(slope) > k:
        bias_prior(prior.bias, biases, by_bias)
        diagonal[k:] += of_biases
        slope[k:] += by_bias + of_biases * biases
    return normal_coordinates(slope, precision)
