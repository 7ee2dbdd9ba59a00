"""Group samplers on data with missing cells, against all partitions and all values of these cells."""

import numpy as np
import pymc as pm
import pytest
from scipy import special

import pymc_mrf as pmrf
from tests.reference import grouped_posterior as reference
from tests.statistics import Z
from tests.steps.groups import state_models as states
from tests.steps.groups.field_models import CYCLE, MISSING, OPTIONS, draw, gaps_of, masked, sample
from tests.steps.groups.state_models import TRIANGLE, near

pytestmark = pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")


def posteriors(x, edges, statistic, nodes, **options):
    """Sums over the values of the missing cells; and with the most frequent states in these, a control."""
    modes = [np.bincount(column.compressed()).argmax() for column in x.T]
    filled = np.where(x.mask, modes, x.data)
    likelihoods = (
        reference.table_log_likelihood(data, edges, statistic, nodes, **options)
        for data in (x.filled(MISSING), filled)
    )
    random_bias = "slope" in options
    return [reference.posterior_of(f, len(edges), 1.0, random_bias=random_bias)[0] for f in likelihoods]


@pytest.mark.slow
def test_agreement_on_a_cycle_of_four_nodes():
    x = masked(draw(CYCLE, [1.5, 1.5, -1.0, 0.5], np.eye(2), 40, 1))
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=4)
        pmrf.AgreementMRF("x", theta, graph=CYCLE, observed=x, likelihood="exact")
    theta = sample(model, draws=500)["theta"].values
    exact, imputed = posteriors(x, CYCLE.edges, np.eye(2), np.zeros((4, 2)))
    assert gaps_of(theta, exact) < Z
    assert gaps_of(theta, imputed) > Z  # negative control


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "monte-carlo"])
def test_nodes_with_states_of_their_own(likelihood, small_samples):
    _, _, statistic, nodes = states.make("ordinal", TRIANGLE)
    x = masked(states.data(TRIANGLE, statistic, nodes))
    model = states.model_of("ordinal", TRIANGLE, x, likelihood)
    theta = special.expit(sample(model, draws=500 if likelihood == "exact" else 1000)["theta"].values)
    exact, imputed = posteriors(x, TRIANGLE.edges, statistic, nodes)
    assert gaps_of(theta, exact) < Z
    assert gaps_of(theta, imputed) > Z  # negative control


@pytest.mark.slow
def test_random_biases_moved_by_the_particles():
    """With the group values: given the cells, as the labels are."""
    statistic = np.array([[0.0, 0.0], [0.0, 1.0]])
    x = masked(draw(TRIANGLE, [1.5, 1.5, -1.0], statistic, 40, 2, bias=-0.5))
    with pm.Model() as model:
        bias = pm.Normal("bias", 0, 1)
        # the logistic function of a weight is uniform a priori
        w = pmrf.DirichletProcess("w", 1.0, pm.Logistic.dist(0, 1), shape=3)
        pmrf.BoltzmannMachine(
            "x", w, bias * np.ones(3), graph=TRIANGLE, observed=x, likelihood="particles"
        )
        steps = [
            pmrf.steps.ParticleRatioGibbs([w, bias], n_particles=1000),
            pmrf.steps.TreeGibbs([model["x_unobserved"]]),
        ]
        idata = pm.sample(250, tune=100, chains=2, cores=1, step=steps, random_seed=1, **OPTIONS)
    theta = special.expit(idata.posterior["w"].values)
    found = posteriors(x, TRIANGLE.edges, statistic, np.zeros((3, 2)), slope=np.arange(2))
    assert near(theta, found[0])
    assert not near(theta, found[1])  # negative control
