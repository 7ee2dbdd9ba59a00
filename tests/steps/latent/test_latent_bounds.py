"""Arrays indexed by latent states: bounds, and states that pick the same entry; impossible nodes."""

import re
import warnings

import networkx as nx
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_mrf as pmrf
from pymc_mrf.graph import builders
from pymc_mrf.steps.latent.latent_warnings import check_indices
from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs

GRAPH = builders.grid(2, 3)
Y = np.array([-1.0, 1.0, -0.5, 0.7, -1.0, 1.2])


def make(child, field=pmrf.Potts, graph=GRAPH, **options):
    with pm.Model() as model:
        if field is pmrf.Potts:
            options = {"n_states": 3, **options}
        x = field("x", 0.5, graph=graph, **options)
        child(x)
    return TreeGibbs([x], model=model, rng=1)


def means(n):
    return pt.as_tensor(np.linspace(-1.0, 1.0, n))


def constant_means(x):
    pm.Normal("y", means(2)[x], 1.0, observed=Y)


def random_means(x):
    pm.Normal("y", pm.Normal("mu", shape=2)[x], 1.0, observed=Y)


def one_of_two(x):
    pm.Normal("z", means(3)[x], 1.0, observed=Y)
    pm.Normal("y", means(3)[x], pm.HalfNormal("sigma", shape=2)[x], observed=Y)


def rows(x):
    pm.Normal("y", pt.as_tensor(np.zeros((2, 4)))[x].sum(axis=-1), 1.0, observed=Y)


def one_node(x):
    pm.Normal("y", means(2)[x[4]], 1.0, observed=0.3)


def flattened(x):
    pm.Normal("y", means(6)[3 * (x > 0) + x], 1.0, observed=Y[:6])


def written_to(x):
    pm.Normal("y", pt.set_subtensor(means(2)[x], 0.0).sum(), 1.0, observed=0.3)


def potential(x):
    pm.Potential("y", pt.take_along_axis(means(2)[:, None] * np.ones(6), x[None], axis=0).sum())


LEAVE_BOUNDS = [constant_means, random_means, one_of_two, rows, one_node, written_to, potential]


@pytest.mark.parametrize("child", LEAVE_BOUNDS)
def test_an_index_out_of_bounds_is_refused(child):
    message = (
        "y takes an entry by the states of x that is not there when all nodes are in state 2: .*"
        r"out of bounds.* needs one entry for each of its 3 states \(0, 1, 2\)"
    )
    with pytest.raises(ValueError, match=message):
        make(child)


def test_indices_that_leave_the_bounds_where_nodes_differ():
    def child(x):
        pm.Normal("y", means(3)[pm.math.abs(x[1:] - x[:-1]) * 2], 1.0, observed=Y[1:])

    with pytest.raises(ValueError, match="not there when nodes differ"):
        make(child)


def test_ising_indices_beyond_the_end():
    with pytest.raises(
        ValueError, match=r"state 1: .* \(-1, 1\), and \(x \+ 1\) // 2 counts them from 0"
    ):
        make(lambda x: pm.Normal("y", means(1)[x], 1.0, observed=Y), pmrf.Ising)


def several_uses(x):
    mu = pm.Normal("mu", 0, 1, shape=3)
    order = np.array([3, 1, 0, 2, 5, 4])
    pm.Normal("y", mu[x] + mu[x[order]], 1.0 + means(3)[x] ** 2, observed=Y)


@pytest.mark.filterwarnings("ignore:TreeGibbs cannot draw x at once")
@pytest.mark.parametrize("child", [several_uses, lambda x: pm.Normal("y", x, 1.0, observed=Y)])
def test_indices_within_bounds_pass(child):
    make(child)


def test_an_image_passes():
    with pm.Model() as model:
        x = pmrf.Potts("x", 0.5, graph=builders.grid(64, 64), n_states=3, likelihood="particles")
        y = pm.Normal("y", pm.Normal("mu", shape=3)[x], 1.0, observed=np.zeros(4096))
    [term] = model.logp(vars=[y], sum=False)
    states = np.tile(np.arange(3), (4096, 1))
    check_indices(model.rvs_to_values[x], [(y, term)], model, states, model.initial_point())


SAYS_NOTHING = "the rest of the model seems to say nothing about x"


def test_states_that_pick_the_same_entry():
    remedy = re.escape("(y) were the same") + ".*" + re.escape("(-1, 1) must pick an entry of its own: ")
    with pytest.warns(UserWarning, match=f"{SAYS_NOTHING}.*{remedy}" + r"index by \(x \+ 1\) // 2"):
        make(random_means, pmrf.Ising)
    with pytest.warns(UserWarning, match=SAYS_NOTHING):
        make(lambda x: pm.Normal("y", pm.math.eq(x, 5), 1.0, observed=Y))


def switched_off(x):
    effect = pm.Normal("effect", 0.0, 1.0, initval=0.0)
    pm.Normal("y", effect * x, 1.0, observed=Y)


def gated(x):
    gate = pm.Bernoulli("gate", 0.2, initval=0)
    pm.Normal("y", gate * x, 1.0, observed=Y)


def some_ignored(x):
    pm.Normal("y", 0.0 * x, 1.0, observed=Y)
    pm.Normal("z", means(2)[(x[:1] + 1) // 2], 1.0, observed=Y[:1])


def agreement(x):
    pm.Potential("y", 0.5 * pm.math.eq(x[0], x[1]))


INFORMATIVE = [
    lambda x: pm.Normal("y", pm.Normal("mu", shape=2)[(x + 1) // 2], 1.0, observed=Y),
    switched_off,
    gated,
    some_ignored,
    agreement,
    lambda x: None,
]


@pytest.mark.parametrize("child", INFORMATIVE)
def test_no_warning_where_some_state_is_told_apart(child):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="TreeGibbs cannot draw x at once")
        make(child, pmrf.Ising)


PATH = nx.path_graph(["a", "b", "c"])


def uniform(y):
    def child(x):
        pm.Uniform("y", pt.as_tensor(np.array([-3.0, -1.0, 0.0]))[x], 3.0, observed=y)

    return child


@pytest.mark.warm
def test_a_node_without_possible_state_is_named():
    with pytest.raises(
        ValueError, match=r"no state of node 'b' of x is possible: y\[1\] has probability"
    ):
        make(uniform([1.0, -4.0, 2.0]), graph=PATH)
    rows = [[1.0, -2.0, 2.0], [0.5, 1.0, 7.0]]
    with pytest.raises(
        ValueError, match=r"node 'c' of x in row 1 is possible: y\[1, 2\] has probability"
    ):
        make(uniform(rows), graph=PATH, shape=(2, 3))
    make(uniform([1.0, -2.5, 2.0]), graph=PATH)


@pytest.mark.warm
def test_a_cell_of_no_known_node_is_named():
    message = r"y\[0\] has probability zero at every configuration of x that was tried.*initvals="
    with pytest.raises(ValueError, match=message):
        make(uniform([-4.0, -5.0, 8.0]), graph=PATH)

    def child(x):
        order = np.array([2, 0, 1])
        pm.Uniform(
            "y", pt.as_tensor(np.array([-3.0, -1.0, 0.0]))[x[order]], 3.0, observed=[-4.0, 1.0, -2.0]
        )

    with pytest.raises(ValueError, match=message):
        make(child, graph=PATH)


@pytest.mark.warm
def test_terms_that_exclude_all_states_of_a_node_together_are_named():
    def child(x):
        is_up = pm.math.eq(x, 1)
        up, down = pm.math.switch(is_up, 0.0, -3.0), pm.math.switch(is_up, -3.0, 0.0)
        pm.Uniform("y", up, up + 3.0, observed=[1.0, 2.0, 1.0])
        pm.Uniform("z", down, down + 3.0, observed=[-1.0, 2.0, -1.0])
        pm.Normal("w", x, 1.0, observed=np.zeros(3))

    with pytest.raises(
        ValueError, match=r"no state of node 'b' of x is possible: .* undefined \(y, z\)"
    ):
        make(child, pmrf.Ising, graph=PATH)
