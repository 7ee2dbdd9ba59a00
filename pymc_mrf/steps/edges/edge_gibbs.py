"""`EdgeGibbs`: which edges a field has, how strong they are, and its biases."""

from typing import Any, ClassVar

import numpy as np
import pymc as pm
from pymc.step_methods.compound import CompoundStep

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.chain_record import is_kept
from pymc_mrf.distributions.likelihood import registered
from pymc_mrf.distributions.parents import feeds_intractable, field_node
from pymc_mrf.distributions.remedies import advice_of, possible_of
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.kernels.edges.edge_moves import NOT_TOLD
from pymc_mrf.likelihood.edges.edge_engine import MAX_LEAPFROG, TRAJECTORY
from pymc_mrf.steps.common.base import hand_back
from pymc_mrf.steps.common.expressions import children, constant_value, fields_fed
from pymc_mrf.steps.common.statistics import Statistic, Statistics, acceptance, sample_statistics
from pymc_mrf.steps.edges.edge_prior import has_readable_prior
from pymc_mrf.steps.edges.edge_setup import EdgeStart, by_block, engine_of, never_changed
from pymc_mrf.steps.edges.edge_step import EdgeStep, belongs_to_nuts, biases_of_fields, is_spike_and_slab
from pymc_mrf.steps.edges.presence_record import STATISTIC, OtherTerms

MORE = 'simulate more: a larger n_particles; under likelihood="monte-carlo" the tolerance of the warning'
NEARER = (
    'more particles, or sweeps of them; with few rows likelihood="particles" in place of "monte-carlo"'
)
LONGEST_LOG_STEP = float(np.log(TRAJECTORY))
TARGET_ACCEPT = 0.8


class EdgeGibbs(EdgeStep):
    """Edges, weights and biases of an observed field with a `SpikeAndSlab` prior on its weights.

    Leaves invariant: the posterior, exactly, under ``likelihood="exact"``, of a `GaussianMRF` and of a
    `KineticMRF` without links; the distribution proportional to prior times pseudo-likelihood, exactly, under
    ``likelihood="pseudo"``; that proportional to prior times Monte Carlo likelihood, exactly, under
    ``likelihood="monte-carlo"``, which is the posterior but for the error of one simulation, made when the
    field is declared; in all these cases up to 1e-11 in the log density of a slab that is not pm.Normal,
    pm.Cauchy, pm.StudentT or pm.Laplace, which is tabulated. Under ``likelihood="particles"``, for fields of
    any treewidth: an approximation of the posterior, whose error vanishes as the particles increase. On a
    complete binary field of four nodes (n = 80 and 600) the largest error of an inclusion probability was
    0.007 with m = 5 n particles, where its Monte-Carlo error is 0.006, and up to 0.026 with m = n; twelve
    strongly coupled nodes are in ``docs/results.md``. Adaptation ends with tuning, which the correction for
    noise needs: without tuning the means that it takes for expected are those of the start.

    One step updates every candidate edge in turn, presence and value together: the proposal does not
    depend on the present state of the edge and approximates its full conditional by Laplace's method,
    and a Metropolis-Hastings step corrects the rest. If the biases belong to this step, a change of an edge
    moves those of its ends, so that b_i + sum_j w_ij c_ij stays; the c_ij, means of y_j if i and j are
    independent, make weights and biases about independent in the posterior. Then Hamiltonian Monte Carlo
    moves the weights of all present edges, and the biases, jointly.

    Under ``likelihood="pseudo"``, and of arrows, scores of all absent edges of a field with 8,000 candidates
    or more are found by products of matrices, from which most edges are seen to be hopeless
    (`pymc_mrf.kernels.views.pseudo_scores`). Edges whose probability of presence given all else was below .02
    in tuning, where these are 95 % of all, are then visited with probability 1/4 in a draw
    (`pymc_mrf.likelihood.pseudo.visits`).

    Edges of a `NominalMRF` have a block of parameters each, under the first three likelihoods: the same sweep
    moves them as a whole, by Laplace's method in as many dimensions as a block has parameters, with the same
    correction. Where both ends have five states half or more of the proposals are accepted.

    Under the first three likelihoods, and of a `GaussianMRF`, the vector may be one term, times constant
    factors, of the edge parameters of one or more fields of one family, such as ``w + 0.5 * delta`` and ``w
    - 0.5 * delta``, each sparse vector having a step of its own that moves the biases as well. Under "exact"
    and "pseudo", and of a `GaussianMRF`, parameters may also differ between rows, as by ``b + z[:, None] *
    slope``: rows with the same parameters are treated as a field of their own, and the time of a step is
    proportional to their number. Other steps move what such biases are computed from. Vectors with blocks
    may be such terms where all fields have the same edges, and rows are alike; NUTS then moves the biases.

    Of a `GaussianMRF` an edge moves within the limits between which the precision is positive definite, or
    those of all fields that it is a part of, a determinant being quadratic in one weight, and the joint move
    has the weights and the log of the diagonal for coordinates, about a normal approximation of the posterior
    at the mean of the precisions that tuning has seen. `ConjugateMeans` moves the means.

    Of Gaussian fields, of binary ones that are enumerated, and of pseudo-likelihoods a step sweeps over the
    edges up to 10 times, while that takes less than the rest of a draw, by a count of operations
    (`pymc_mrf.likelihood.draw_cost`).

    Of a `MixedMRF` all edges are blocks, of one parameter or more. Measurements are integrated out, and what
    an edge changes is added up over the listed states of the answers or over a sample of them; under
    ``likelihood="pseudo"`` over the rows, each node given all others; the joint move has the weights, the
    biases and the log of the diagonal for coordinates, about a normal approximation by covariances of the
    data.

    Cells of the data may be missing: `TreeGibbs`, `SeriesGibbs` of a `KineticMRF`, `GaussianGibbs` or
    `MixedGibbs` draws them in turn with this step, which takes them for data. Under ``likelihood="pseudo"``
    `TreeGibbs` and this step together are an approximation.

    Arrows of a `KineticMRF` have one end that they change, and move the biases of that end only. With links
    within rows its likelihood is ``"pseudo"``, with all that is said of this below, or exact: the states
    of a row are listed for each set of earlier rows that occurs.

    Under ``likelihood="monte-carlo"`` the points of a sample that does not change are weighted for the
    present parameters (`pymc_mrf.kernels.views.monte_carlo_edges`): nothing is simulated, and chains share
    the likelihood. Joint moves do not go where the weights are worth less than a hundredth of the points,
    nor, after tuning, come back from there, which keeps them reversible.

    Under ``likelihood="particles"`` what enumeration or the junction tree tells otherwise is estimated
    from weighted particles: the weights follow every change exactly, particles are drawn anew where an edge
    changes, swept, and resampled when the effective size of their weights falls below one half; joint moves
    are cut into pieces that the weights can follow; estimates are corrected for their own noise, by means
    that are learnt in tuning (`pymc_mrf.kernels.views.particle_edges`). Joint moves leave out nodes with a
    state that fewer than five rows show, of which counts of particles tell nothing: their biases are drawn
    node by node (`pymc_mrf.kernels.edges.particle_moves`).

    Parameters
    ----------
    vars : list of variables
        A `SpikeAndSlab` that is the weight of an observed `BoltzmannMachine`, `OrdinalMRF`, `GaussianMRF`,
        `KineticMRF` or, with `blocks`, `NominalMRF` or `MixedMRF`, the coupling of an `Ising` field or of a
        `Potts` model with one for each edge, or, in ``pm.math.sigmoid(w)``, the log odds of the theta of an
        `AgreementMRF`; optionally the free variable that is the bias (field, threshold, or the log of the
        diagonal) of the same field, as it is or as the logit of a pm.Beta or the log of a positive variable,
        if it feeds nothing else and its entries all have the same continuous prior, or one of pm.Normal,
        pm.Cauchy, pm.StudentT and pm.Laplace; or, where there are several fields, as many such variables of
        which their biases are sums with constant factors, as ``b + 0.5 * d`` and ``b - 0.5 * d``. Other
        biases are read, and left to other steps; under ``likelihood="particles"`` they must be constants.
    n_joint : int
        Joint moves in a step; at least one if biases are moved, as nothing else moves them alone.
    n_particles : int, optional
        Particles, under ``likelihood="particles"`` only: 5 times the rows of the data and at least 500 by
        default. A test of their number is that twice as many change nothing.
    n_sweeps : int, optional
        Gibbs sweeps of the particles after every sweep over the edges and after resampling in it, under
        ``likelihood="particles"`` only: 1 by default.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError, TypeError
        If the variable feeds no field, anything else or a field through a transformation, an option is out of
        range or without meaning for the field's likelihood, or biases are random that this step cannot or
        does not move although the likelihood is from particles.

    Notes
    -----
    A chain that starts at PyMC's default, no edges, is moved to the biases that its data have without edges,
    if the step moves biases and the field has no measurements; the first sweeps find the edges. Any other
    start is kept.

    Sampler statistics: ``edge_gibbs_n_active`` (present edges), ``edge_gibbs_accept`` (accepted share of
    the single-edge proposals that would change something), ``edge_gibbs_joint_accept`` (mean acceptance
    probability of joint moves) and ``edge_gibbs_step_size`` (of their leapfrog steps);
    ``edge_gibbs_noise`` (standard deviation of the estimated log-likelihood ratio between two values of an
    edge one posterior standard deviation apart, root mean square over the edges that were not hopeless),
    ``edge_gibbs_ess`` (smallest effective size of the weights in the step, relative to the particles) and
    ``edge_gibbs_resamplings``, which are 0, 1 and 0 where nothing is estimated. The weights follow every
    change, so that particles cannot lag behind it: noise and effective size say whether they are enough.
    Under ``likelihood="monte-carlo"`` the noise is that of the log-likelihood ratio of a present edge against
    its absence, and of values of a bias one standard deviation apart, measured at about 20 draws from halves
    of the sample; the effective size is that of the weights of the points; ``edge_gibbs_error``, 0 otherwise,
    is half the difference of the log-likelihoods of all rows, relative to the reference, by the two halves of
    the sample; ``edge_gibbs_distance``, 0 otherwise, is that of the draw from the reference, root mean square
    over all directions of present edges and biases, in standard deviations that the rows leave of them. It is
    about 1 if the reference is the posterior mean.

    ``edge_gibbs_presence_w`` of a variable w, except under ``likelihood="particles"``, is for
    `summarize_edges`, `edge_inclusion` and all that reads these: the logs of the mean probabilities, given
    all else, that an edge is present and that it is absent, of up to 16 edges in every draw, of r of
    them in every 40th at most, or every 250th of 250,000 edges and more. At a visit x is the present value of
    the edge or, if it is absent, a draw from the proposal q; with w = t(x) / q(x), t the density of the edge
    given all else relative to its absence, the probability w / (1 + w) given x has the right mean over the
    chain whatever q is. Of the visits to absent edges of which a bound says that they are hopeless the last
    one before an edge is told of counts for all: a draw takes 4 to 15 % longer, of 6 to 100 nodes. Of
    vectors that `group_weights` adds up it has the same for each of their sums, from which the probability
    that a group has an edge, or that groups differ on it, follows
    (`pymc_mrf.steps.edges.presence_record`).

    Under ``likelihood="pseudo"`` the conditionals of both ends of an edge hold the same evidence, half of
    which each counts, so that it is counted once (`pymc_mrf.likelihood.pseudo.conditional_weights`); how
    near that comes to the posterior is in ``docs/_results/pseudo_likelihood_weights.md`` and
    ``docs/_results/pseudo_likelihood_calibration.md``. What stands in one conditional only is counted half:
    biases, and arrows into nodes that have links as well, are less sure than under the likelihood. With
    ``likelihood=pymc_mrf.Pseudo(weight=1)``, as is usual, edges are counted twice, and many of those found
    may be false.

    A warning at the end of a chain says if the noise, root mean square over the draws, was above 0.5;
    if, under ``likelihood="monte-carlo"``, a draw was so far from the reference that the weights were
    worth less than a twentieth of the points, or if the distance, root mean square over the draws, was above
    2.2; if a pseudo-likelihood that counts edges more than once claims too few false ones
    (`pymc_mrf.likelihood.pseudo.checks`), or else couplings are so strong that a pseudo-likelihood is less
    near to the posterior (`pymc_mrf.fields.pairwise_tables`); or if neither an edge nor a weight ever
    changed in 50 draws or more.

    References
    ----------
    Chen & Welling (2012); Besag (1975); Neal (2011); Cox & Reid (1987) for parameters that are orthogonal;
    Geyer & Thompson (1992) and Geyer (1994) for Monte Carlo likelihoods;
    Geyer (1991) and Asuncion et al. (2010) for weighted particles; Ceperley & Dewing (1999) for corrections
    of random log ratios; Gelfand & Smith (1990) and Barker (1965) for probabilities given all else.
    """

    name = "edge_gibbs"
    invariant: ClassVar = {kind: kind.invariant for kind in registered() if kind.edges}
    serves_many_states = True
    fills_missing_cells = True
    serves_sums = tuple(kind for kind in invariant if kind.serves_sums)
    remembers = (
        "n_tuned", "log_step", "information", "particles", "record", "presence",
    )  # fmt: skip
    prefix = "edge_gibbs"
    changes_edges = True
    kinds = takes_along = (SpikeAndSlabRV,)
    statistics: Statistics = (
        Statistic(
            "n_active", "present edges", dtype=np.int64, shown="always", should_vary=True, column="Edges"
        ),
        Statistic(
            "accept", "acceptance", acceptance("sample longer: single edges move too rarely", 0.05)
        ),
        Statistic(
            "joint_accept",
            "acceptance, joint moves",
            acceptance("tune longer: the step size has not settled", 0.4),
        ),
        Statistic("step_size", "step size"),
        *sample_statistics(MORE, NEARER),
        Statistic("resamplings", "resamplings of particles", dtype=np.int64, estimated="noise"),
    )

    @classmethod
    def _make_several(cls, values, model: pm.Model, args, kwargs):
        """One step for each vector of edges; biases that the steps cannot move go to others.

        Biases of a field with a sum of several vectors are moved with each of them.
        """
        edges = [v for v in values if is_spike_and_slab(model.values_to_rvs[v])]
        blocks = []
        for value in edges:
            biases = [
                model.rvs_to_values[b.rv]
                for b in biases_of_fields(model.values_to_rvs[value], model).free
            ]
            own = biases if all(v in values for v in biases) else []
            blocks.append([value, *own])
        others = [v for v in values if not any(v in block for block in blocks)]
        if others and kwargs.get("initial_point") is not None:
            return cls._leave_biases(others, [v for v in values if v not in others], model, args, kwargs)
        if len(edges) < 2:
            return None
        if others:
            blocks.append(others)
        return CompoundStep([cls(block, *args, **kwargs) for block in blocks])

    @classmethod
    def _leave_biases(cls, others, values, model: pm.Model, args, kwargs):
        """Give biases that this step cannot move to PyMC's own, if those can; make the step for `values`.

        Their edges may be in another step, or they feed another likelihood beside the field.
        """
        for value in others:
            rv = model.values_to_rvs[value]
            if not feeds_intractable(rv):
                continue
            fed = [child for child in children(rv, model) if field_node(child) is None]
            node = fields_fed(rv, model)[0]
            remedy = "Pass it to the step of the edges, EdgeGibbs or PersistentLangevin, as well"
            if type(node.op.likelihood) not in possible_of(node, model):
                remedy = advice_of(node, model, "declare the field with")
                remedy = remedy[0].upper() + remedy[1:]
                if fed:
                    remedy += f", or let {fed[0].name} depend on something else than {rv.name}"
            raise ValueError(
                f"{rv.name} is left to no step that can move it: it parametrises a field whose partition "
                f"function is intractable. {remedy}"
            )
        own = (lambda: cls(values, *args, **kwargs)) if values else None
        return hand_back(cls, others, model, kwargs, own, has_grad=True)

    def __init__(
        self,
        vars,
        *,
        n_joint: int = 1,
        n_particles: int | None = None,
        n_sweeps: int | None = None,
        **kwargs,
    ) -> None:
        super().__init__(vars, n_particles, n_sweeps, **kwargs)
        rv, biases, fields, likelihood = self._target
        # moves of single edges leave the centred biases where they are
        self._n_joint = whole_number(n_joint, "n_joint", 1 if biases.free else 0)
        if likelihood.is_intractable:
            self._check_biases(rv, biases_of_fields(rv, self._model).free)
        prior = self._prior.read(self._point)[0]
        self._n_edges = len(prior.log_odds)
        self._tells_presence = not likelihood.is_intractable  # of which odds are estimates
        if self._tells_presence:
            self._others = OtherTerms(rv, self._model)
            self._presence_name = STATISTIC.format(rv.name)
            # PyMC makes a vector for each draw of what it takes for an object
            own = {self._presence_name: (object, [self._others.record(self._n_edges).size])}
            self.stats_dtypes_shapes = {**self.stats_dtypes_shapes, **own}
            self.stats_dtypes = [{name: one for name, (one, _) in self.stats_dtypes_shapes.items()}]
        self._offsets = [field.offset_reader(self._compile_kwargs) for field in fields]
        self._engine = engine_of(self._target, self._is_shared, self._options)
        self._information = self._engine.information.copy()
        only_means = all(field.cells.only_means_change for field in fields)
        self._only_means_change = self._engine.takes_means and only_means
        field = getattr(self._engine.view, "whole", self._engine.view).field
        fits = biases.free and not self._engine.starts_at_default
        self._start = EdgeStart(fields, field) if fits else None
        self._warm_up()

    def _check_biases(self, rv, found) -> None:
        """Refuse random biases that another step would have to move: none can, under particles."""
        [field] = self._fields
        if not self._bias_names and field.node_parameter is not None:
            if constant_value(field.node_parameter) is None:
                what = (
                    "give numbers, or a vector of pm.Normal, pm.Cauchy, pm.StudentT or pm.Laplace that feeds "
                    "nothing else"
                )
                if found:
                    name = found[0].rv.name
                    what = f"pass {name} too, as in step=pymc_mrf.steps.EdgeGibbs([{rv.name}, {name}])"
                raise ValueError(
                    f'under likelihood="{field.likelihood.name}" EdgeGibbs moves the '
                    f"{field.family.node_parameter} of {field.name} itself, or it must be a constant: {what}"
                )

    @property
    def particles(self) -> tuple:
        """States, weights and parameters of the particles, part of the resumable state; else empty."""
        return self._engine.get_state()

    @particles.setter
    def particles(self, state: tuple) -> None:
        self._engine.set_state(*state)

    @property
    def information(self) -> np.ndarray:
        """What the engine has learnt about the scale of joint moves: part of the resumable state."""
        return self._engine.information.copy()

    @information.setter
    def information(self, information: np.ndarray) -> None:
        self._engine.information[:] = information

    def _forget(self) -> None:
        super()._forget()
        self.n_tuned = 0
        self.log_step = float(np.log(0.4))
        self.record = self._target.likelihood.record()
        self.presence: Any = self._others.record(self._n_edges) if self._tells_presence else None
        self.information = self._information
        self._engine.forget()

    @classmethod
    def claims(cls, var):
        """Whether it is a spike-and-slab variable, or biases that the step can move."""
        return is_spike_and_slab(var) or (has_readable_prior(var) and not belongs_to_nuts(var))

    def _begin(self, point, w, b, prior):
        if self._start is None or not self._starts_at_default(point, [self._name]):
            return w, b
        return w, self._start.draw(self._offset(point) if self._is_shared else None, self.rng)

    def _offset(self, point) -> np.ndarray:
        """Edge parameters of all blocks without the vector, one after the other."""
        return np.concatenate([offset(point).ravel() for offset in self._offsets])

    def _update(self, point):
        if self._is_shared:
            self._engine.set_offset(self._offset(point))
        if self._only_means_change:
            shifts = [field.cells.shift(point) for field in self._fields for _ in field.blocks]
            self._engine.set_means(shifts)
        elif any(field.cells.changes for field in self._fields):
            states = [field.present(point) for field in self._fields]
            self._engine.set_data(by_block(self._fields, states))
        if self._tells_presence and not self.tune:
            self._n_others = self._others.n_present(point)
        return super()._update(point)

    def _move(self, w, b, prior):
        """Update every edge, then present edges and biases jointly."""
        old = w.copy()
        engine, presence = self._engine, self.presence
        is_told = self._tells_presence and not self.tune
        sums = presence.view(self.rng) if is_told else NOT_TOLD
        n_proposed, n_accepted = engine.sweep(
            w,
            b,
            prior,
            self.rng,
            presence=sums,
            rng_of_presence=presence.rng if is_told else None,
            tuned=not self.tune,
        )
        if self.tune:
            self._engine.learn_sweep()
        accepts = [self._joint(w, b, prior) for _ in range(self._n_joint)]
        accepts = [accept for accept in accepts if not np.isnan(accept)]  # where anything was to move
        present, keeps = engine.present(w), not self.tune and is_kept(self.count)
        stats: dict[str, Any] = {
            "edge_gibbs_n_active": int(np.count_nonzero(present)),
            "edge_gibbs_accept": n_accepted / n_proposed if n_proposed else 1.0,
            "edge_gibbs_joint_accept": sum(accepts) / len(accepts) if accepts else 1.0,
            "edge_gibbs_step_size": float(np.exp(self.log_step)),
            **{f"edge_gibbs_{name}": value for name, value in self._engine.statistics().items()},
        }
        if self._tells_presence:
            vector = presence.tell(engine.n_told, self._n_others) if is_told else presence.untold()
            stats[self._presence_name] = vector
        record, noise = self.record, stats["edge_gibbs_noise"]
        if keeps:
            record.measured_noise = self._engine.measure_noise() or 0.0
        stats["edge_gibbs_noise"] = max(noise, record.measured_noise)
        # without an edge, nor a proposal of one, there is nothing that could have moved
        moved = not np.array_equal(w, old) or not (w.any() or n_proposed)
        if not self.tune:
            told = (stats[f"edge_gibbs_{name}"] for name in ("noise", "ess", "distance"))
            record.add(*told)
            parameters = engine.edge_parameters() if keeps else None
            record.add_edges(present, prior.log_odds, parameters)
        return stats, moved

    def _warn_at_end(self) -> list[str]:
        messages, fields = never_changed(self._name, self.count), self._fields
        if self.record.squares:
            messages += self._target.likelihood.against_chain(
                self._name, fields, self.record, self._engine.n_particles
            )
        return messages

    def _joint(self, w, b, prior) -> float:
        """One joint move, and what is learnt from it in tuning; NaN if there was nothing to move."""
        step = float(np.exp(self.log_step))
        n_steps = min(max(round(TRAJECTORY / step), 1), MAX_LEAPFROG)
        step *= self.rng.uniform(0.8, 1.2)
        accept = self._engine.joint(w, b, prior, step, n_steps, self.rng, enters=self.tune)
        if self.tune and not np.isnan(accept):
            self.n_tuned += 1
            self.log_step += (self.n_tuned + 4.0) ** -0.6 * (accept - TARGET_ACCEPT)
            self.log_step = min(self.log_step, LONGEST_LOG_STEP)
            self._engine.learn(1.0 / (self.n_tuned + 10.0))
        return accept
