"""EdgeGibbs with blocks of parameters: posteriors by quadrature over all structures, what is refused."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ISING, nominal
from tests.insides import uncorrected
from tests.marks import slow
from tests.posteriors import Question, draws_of, fixed_p, furthest
from tests.reference.spike_and_slab import field_log_likelihood, structure_posterior
from tests.small_fields import tables
from tests.statistics import Z
from tests.steps.edges.block_models import PAIR, TRIANGLE, model_of, states

BIAS = np.array([[0.3, -0.2, 0.1], [0.0, 0.4, 0.0], [-0.1, 0.2, 0.0]])


@pytest.mark.slow
def test_other_names_of_states_give_the_same_edges():
    """The posterior of one naming, by quadrature, is that which is sampled of the other."""
    bias = np.zeros((2, 3))
    field = tables([3, 3], PAIR, 40, bias)
    x, exact = field.x, Question((field,), sd=1.0, n_nodes=7).posterior()
    renamed = np.stack([np.array([2, 0, 1])[x[:, 0]], np.array([1, 0, 2])[x[:, 1]]], axis=1)
    [w] = draws_of(model_of(renamed, [3, 3], PAIR, bias=bias), ["w"], 3000)
    present = (w[..., 0] != 0).astype(float)
    assert abs(present.mean() - exact.inclusion[0]) < Z * float(az.mcse(present))


@pytest.mark.slow
def test_two_states_are_the_ising_field_of_half_the_parameter():
    x = states(40, [2, 2, 2])
    [w] = draws_of(model_of(x, [2, 2, 2], TRIANGLE, bias=np.zeros((3, 2))), ["w"], 3000)
    value = field_log_likelihood(x, TRIANGLE.edges, ISING, "exact")
    exact = structure_posterior(
        value, 3, 3, fixed_p(0.4, 3), stats.norm(0, 0.5).logpdf, bias=np.zeros(3), n_nodes=7
    )
    assert furthest(w / 2, exact, [1, 1, 1]) < Z


SLABS = {
    "Cauchy": (lambda: pm.Cauchy.dist(0, 1), stats.cauchy(0, 1).logpdf),
    "Laplace": (lambda: pm.Laplace.dist(0, 0.7), stats.laplace(0, 0.7).logpdf),
    "StudentT": (lambda: pm.StudentT.dist(nu=5, mu=0.2, sigma=0.8), stats.t(5, 0.2, 0.8).logpdf),
}


def on_a_grid(x, log_slab):
    """Inclusion probability and mean of the parameters of the one edge of nodes with 3 and 2 states."""
    bias, value = BIAS[:2].ravel(), field_log_likelihood(x, PAIR.edges, nominal([3, 2]), "exact")
    t = np.linspace(-5.5, 5.5, 600)  # the grid is far wider where densities have heavy tails
    points = np.stack(np.meshgrid(np.sinh(t), np.sinh(t), indexing="ij"), axis=-1).reshape(-1, 2)
    log_f = value(np.hstack([points, np.tile(bias, (len(points), 1))])) + log_slab(points).sum(axis=1)
    mass = np.exp(log_f - value(np.r_[0.0, 0.0, bias][None]))
    mass *= np.multiply.outer(np.cosh(t), np.cosh(t)).ravel() * (t[1] - t[0]) ** 2
    odds = 0.4 / 0.6 * mass.sum()
    inclusion = odds / (1 + odds)
    return inclusion, inclusion * (mass @ points) / mass.sum()


@pytest.mark.parametrize("name", [slow(name) for name in SLABS])
def test_other_slabs(name):
    slab, log_slab = SLABS[name]
    x = states(50, [3, 2])
    [w] = draws_of(model_of(x, [3, 2], PAIR, bias=BIAS[:2], slab=slab()), ["w"], 4000)
    inclusion, mean = on_a_grid(x, log_slab)
    present = (w[..., 0] != 0).astype(float)
    assert abs(present.mean() - inclusion) < Z * float(az.mcse(present))
    for k in range(2):
        assert abs(w[..., k].mean() - mean[k]) < Z * float(az.mcse(w[..., k]))


@pytest.mark.slow
def test_without_the_correction_the_posterior_is_another():
    """Few data, which leave the odds of presence to a slab whose integral a parabola does not tell."""
    slab, log_slab = SLABS["Cauchy"]
    x = states(6, [3, 2])
    inclusion, _ = on_a_grid(x, log_slab)
    for corrected in (True, False):
        model = model_of(x, [3, 2], PAIR, bias=BIAS[:2], slab=slab())
        [w] = draws_of(model, ["w"], 2000, change=None if corrected else uncorrected)
        present = (w[..., 0] != 0).astype(float)
        is_right = abs(present.mean() - inclusion) < Z * float(az.mcse(present))
        assert is_right == corrected


@pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")
@pytest.mark.slow
def test_missing_cells_and_hyperparameters():
    """`pm.sample` finds the steps; the probability of edges is drawn from blocks, not from entries."""
    x = np.ma.masked_array(states(40, [3, 3]), mask=False)
    x[:5, 0] = np.ma.masked
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, 1), blocks=[4])
        b = pm.Normal("b", 0, 1.5, shape=(2, 3))
        pmrf.NominalMRF("x", w, b, graph=PAIR, n_states=3, observed=x)
        idata = pm.sample(200, tune=50, chains=1, random_seed=1, progressbar=False, quiet=True,
                          compute_convergence_checks=False)  # fmt: skip
    assert {"edge_gibbs_accept", "conjugate_n_present"} <= set(idata.sample_stats.data_vars)
    assert ((idata.posterior.w != 0).sum("w_dim_0").isin([0, 4])).all()
    present = (idata.posterior.w[..., 0] != 0).values
    assert idata.posterior.p.values[present].mean() < 0.9  # one of one: Beta(2, 1), with mean 2/3
    assert model["w"].owner.op.blocks == (4,)


def test_groups_with_tables_of_their_own():
    """Two fields with vectors of their own, which share p and the scale of the slab."""
    with pm.Model() as model:
        p, scale = pm.Beta("p", 1, 1), pm.HalfNormal("scale", 1)
        for k, group in enumerate("ab"):
            w = pmrf.SpikeAndSlab(f"w_{group}", p, pm.Normal.dist(0, scale), blocks=[4])
            pmrf.NominalMRF(f"x_{group}", w, graph=PAIR, n_states=3, observed=states(20, [3, 3], k))
        steps = pm.sampling.mcmc.assign_step_methods(model)[1]
    names = {cls.__name__: {v.name for v in found} for cls, found in steps.items() if found}
    assert names["EdgeGibbs"] == {"w_a", "w_b"}


def test_a_dirichlet_process():
    with pm.Model(), pytest.raises(ValueError, match="DirichletProcess: its samplers group parameters"):
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=4)
        pmrf.NominalMRF("x", theta, graph=PAIR, n_states=3, observed=states(20, [3, 3]))
