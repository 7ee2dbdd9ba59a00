"""Fields of discrete states: densities, gradients and draws of every form of parameters, by enumeration."""

from collections.abc import Callable
from typing import Any, NamedTuple

import cloudpickle
import networkx as nx
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.fields.families import nominal
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration
from tests.reference.derivatives import assert_gradients
from tests.statistics import assert_frequencies

GRAPH = PairwiseGraph("abcde", [("a", "b"), ("c", "b"), ("c", "a"), ("c", "d")])  # e has no edge
EDGES, R, D, K = GRAPH.edges, 4, 5, 3
RNG = np.random.default_rng(5)
J, H, THETA = 0.6 * RNG.normal(size=R), RNG.normal(size=D), RNG.uniform(0.2, 0.8, R)
PER_STATE, TABLES, FIELD = RNG.normal(size=(R, K)), RNG.normal(size=(R, K, K)), RNG.normal(size=(D, K))
THRESHOLD = RNG.normal(size=(D, K - 1))
OWN, SCORES = [3, 2, 3, 2, 3], [-1.0, 0.5, 2.0]
OWN_SCORES = [[-1, 0.5, 2], [-1, 1], [0, 1, 3], [0.5, 2], [0, 1, 2]]
TABLE_WEIGHTS = RNG.normal(0, 0.4, sum(pmrf.fields.table_sizes(GRAPH, OWN)))


class Form(NamedTuple):
    """A class with parameters, log tables (r, K, K) and (d, K) by the formula, and the values of states."""

    kind: Any
    parameters: tuple
    edge: np.ndarray
    node: np.ndarray
    options: dict[str, Any] = {}  # noqa: RUF012
    values: tuple[int, ...] = (0, 1, 2)

    def dist(self, **options):
        return self.kind.dist(*self.parameters, graph=GRAPH, **self.options, **options)

    def declare(self, name="x", **options):
        return self.kind(name, *self.parameters, graph=GRAPH, **self.options, **options)

    @property
    def states(self):
        """All configurations, as the field has them."""
        return np.array(self.values)[enumeration.configurations(D, len(self.node[0]))]

    @property
    def p(self):
        return enumeration.probabilities(EDGES, self.edge, self.node)


def agreement(n_states):
    edge = special.logit(THETA)[:, None, None] * np.eye(n_states)
    node, values = np.zeros((D, n_states)), tuple(range(n_states))
    return Form(pmrf.AgreementMRF, (THETA,), edge, node, {"n_states": n_states}, values)


def binary(kind, values):
    product = np.multiply.outer(values, values)
    return Form(
        kind, (J, H), J[:, None, None] * product, np.multiply.outer(H, values), values=tuple(values)
    )


def potts(coupling, field, edge, node=FIELD):
    edge, node = np.broadcast_to(edge, (R, K, K)), np.broadcast_to(node, (D, K))
    return Form(pmrf.Potts, (coupling, field), edge, node, {"n_states": K})


def ordinal(weight, threshold, at_states=THRESHOLD, own=(K,) * D, scores=(range(K),) * D, **options):
    scores = np.array([np.resize(one, K) for one in scores])  # those beyond its states mean nothing
    products = np.array([np.outer(scores[u], scores[v]) for u, v in EDGES])
    node = np.column_stack([np.zeros(D), np.broadcast_to(at_states, (D, K - 1))])
    node[np.arange(K) >= np.array(own)[:, None]] = -np.inf
    edge = np.broadcast_to(weight, R)[:, None, None] * products
    return Form(pmrf.OrdinalMRF, (weight, threshold), edge, node, {"n_states": K, **options})


def tables_of_items():
    node = np.where(np.arange(K) < np.array(OWN)[:, None], FIELD, -np.inf)
    edge = np.array(nominal(OWN).edge_tables(TABLE_WEIGHTS, EDGES))
    return Form(pmrf.NominalMRF, (TABLE_WEIGHTS, FIELD), edge, node, {"n_states": OWN})


DIAGONAL = np.eye(K)
FORMS = {
    "agreement": agreement(2),
    "agreement of three states": agreement(3),
    "Ising": binary(pmrf.Ising, (-1, 1)),
    "Boltzmann": binary(pmrf.BoltzmannMachine, (0, 1)),
    "nominal": tables_of_items(),
    "Potts": potts(0.7, 0, 0.7 * DIAGONAL, 0.0),
    "Potts: edge; node, state": potts(J, FIELD, J[:, None, None] * DIAGONAL),
    "Potts: edge, state; state": potts(PER_STATE, FIELD[0], PER_STATE[:, None] * DIAGONAL, FIELD[0]),
    "Potts: state; one, state": potts(PER_STATE[:1], FIELD[:1], PER_STATE[0] * DIAGONAL, FIELD[0]),
    "Potts: edge, table": potts(TABLES, FIELD.tolist(), TABLES),
    "Potts: table": potts(TABLES[0], FIELD, TABLES[0]),
    "Potts: one, table": potts(TABLES[:1], FIELD, TABLES[0]),
    "ordinal": ordinal(0.4, -0.3, -0.3),
    "ordinal without thresholds": ordinal(0.4, 0, 0.0),
    "ordinal: edge; node, state": ordinal(J, THRESHOLD),
    "ordinal: edge; state": ordinal(J, THRESHOLD[0], THRESHOLD[0]),
    "ordinal: edge; one, state": ordinal(J, THRESHOLD[:1].tolist(), THRESHOLD[0]),
    "scores": ordinal(J, THRESHOLD, scores=[SCORES] * D) ._replace(options={"n_states": K, "scores": SCORES}),
    "own states": ordinal(J, THRESHOLD, own=OWN, n_states=OWN),
    "own states, scores": ordinal(J, 0.3, 0.3, OWN, [SCORES] * D)._replace(
        options={"n_states": np.array(OWN), "scores": np.array(SCORES)}
    ),
    "own scores": ordinal(J, THRESHOLD, own=OWN, scores=OWN_SCORES)._replace(
        options={"n_states": OWN, "scores": OWN_SCORES}
    ),
    "own scores of as many states": ordinal(0.4, THRESHOLD, scores=np.add.outer(range(D), SCORES))._replace(
        options={"n_states": K, "scores": np.add.outer(range(D), SCORES)}
    ),
}  # fmt: skip
EVERY_FORM = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def log(p):
    """Logarithms, -inf of zero."""
    return np.log(p, where=p > 0, out=np.full(p.shape, -np.inf))


def log_conditionals(p, power):
    """Sum over the nodes of the log conditional probability of every configuration, by their powers."""
    configs, expected = enumeration.configurations(D, round(len(p) ** (1 / D))), np.zeros(len(p))
    for i in range(D):
        rest = np.delete(configs, i, axis=1)
        _, same = np.unique(rest, axis=0, return_inverse=True)
        expected += power[i] * (log(p) - log(np.bincount(same.ravel(), p))[same.ravel()])
    return np.where(p > 0, expected, -np.inf)


def evaluate(*outputs):
    return pytensor.function([], list(outputs), mode="FAST_COMPILE")()


@EVERY_FORM
def test_densities(form):
    """Each conditional to the power of one half, but for the node without edges, or of one."""
    p, states = form.p, form.states
    illegal = states[:2].copy()
    illegal[0, 2], illegal[1, 1] = 7, -5
    likelihoods = "exact", "pseudo", pmrf.Pseudo(weight=1), "particles"
    outputs = []
    for likelihood in likelihoods:
        rv = form.dist(likelihood=likelihood, size=(len(states),))
        outputs += [pm.logp(rv, states), pm.logp(form.dist(likelihood=likelihood, size=(2,)), illegal)]
    exact, a, once, b, twice, c, unnormalised, d = evaluate(*outputs)
    np.testing.assert_allclose(exact, log(p), atol=1e-10)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(once, log_conditionals(p, [0.5] * 4 + [1.0]), atol=1e-10)
        np.testing.assert_allclose(twice, log_conditionals(p, [1.0] * D), atol=1e-10)
    potentials = enumeration.log_potentials(
        enumeration.configurations(D, len(form.node[0])), EDGES, form.edge, form.node
    )
    possible = p > 0
    gaps = unnormalised[possible] - potentials[possible]  # up to a constant
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-10)
    assert np.all(unnormalised[~possible] == -np.inf)
    assert np.all(np.concatenate([a, b, c, d]) == -np.inf)
    assert form.dist().owner.op.likelihood.name == "exact"  # "auto" on a small graph


# shapes of parameters of edges and nodes, N of rows of their own
N = 5
GRADIENTS = {
    "Ising": (pmrf.Ising, {}, [((R,), (D,)), ((N, 1), (D,)), ((N, R), (N, D))]),
    "Boltzmann": (pmrf.BoltzmannMachine, {}, [((R,), ()), ((), (N, D))]),
    "Potts": (
        pmrf.Potts, {"n_states": K},
        [
            ((R,), (D, K)), ((R, K), (K,)), ((R, K, K), (D, K)), ((N, R, K, K), (D, K)),
            ((R,), (N, D, K)),
        ],
    ),
    "ordinal": (
        pmrf.OrdinalMRF, {"n_states": K},
        [((), (D, K - 1)), ((R,), (K - 1,)), ((N, R), ()), ((R,), (N, D, K - 1))],
    ),
    "own scores": (
        pmrf.OrdinalMRF, {"n_states": OWN, "scores": OWN_SCORES},
        [((), (D, K - 1)), ((R,), (K - 1,)), ((N, R), (N, D, K - 1))],
    ),
    "nominal": (pmrf.NominalMRF, {"n_states": OWN}, [((len(TABLE_WEIGHTS),), (D, K))]),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "options", "pairs"), GRADIENTS.values(), ids=GRADIENTS)
def test_gradients(kind, options, pairs, rng):
    """Under the likelihood and the pseudo-likelihood, by finite differences."""
    x, parameters, costs = rng.integers(2, size=(N, D)), [], []
    x = 2 * x - 1 if kind is pmrf.Ising else x
    for edge_shape, node_shape in pairs:
        edge, node = (pt.tensor(shape=shape, dtype="float64") for shape in (edge_shape, node_shape))
        parameters += [edge, node]
        for likelihood in ("exact", "pseudo"):
            rv = kind.dist(edge, node, graph=GRAPH, likelihood=likelihood, size=(N,), **options)
            costs.append(rng.normal() * pm.logp(rv, x).sum())
    total = pt.stack(costs).sum()
    f = pytensor.function(parameters, [total, *pytensor.grad(total, parameters)])
    point = [np.asarray(0.5 * rng.normal(size=shape)) for pair in pairs for shape in pair]
    assert_gradients(f, point)


def assert_draws(x, form, p=None):
    """Rows of `x` have the frequencies of a field; impossible configurations never occur."""
    p = form.p if p is None else p
    index = enumeration.configuration_index(np.searchsorted(form.values, x), len(form.node[0]))
    counts = np.bincount(index, minlength=len(p))
    assert not counts[p == 0.0].any()
    assert_frequencies(counts[p > 0.0], p[p > 0.0])


DRAWN = {
    "agreement": ("exact", "particles"), "agreement of three states": ("exact", "pseudo"),
    "Ising": ("exact", "particles"), "Boltzmann": ("exact", "particles"), "nominal": ("exact", "pseudo"),
    "Potts: edge, state; state": ("exact",), "Potts: edge, table": ("particles",),
    "Potts: table": ("pseudo",),
    "ordinal: edge; node, state": ("exact", "particles"), "own scores": ("exact", "pseudo"),
}  # fmt: skip
NUMBA = [
    pytest.param(*one, marks=[pytest.mark.compiled, pytest.mark.slow], id=f"{'-'.join(one)}-numba")
    for one in (("Ising", "particles"), ("own scores", "exact"), ("own scores", "pseudo"))
]
BY_LIKELIHOOD = [(name, likelihood) for name, own in DRAWN.items() for likelihood in own]


@pytest.mark.parametrize(("name", "likelihood"), [*BY_LIKELIHOOD, *NUMBA])
def test_draws(name, likelihood, rng):
    form = FORMS[name]
    rv = form.dist(likelihood=likelihood, size=(4000,), n_sweeps=50)
    assert rv.owner.op.draws_exactly == (likelihood == "exact")
    x = pm.draw(rv, random_seed=rng)
    assert_draws(x, form)
    with pytest.raises(AssertionError):  # negative control: other couplings
        assert_draws(x, form, form._replace(edge=-form.edge).p)


def test_shapes_of_draws_and_rows_of_their_own(rng):
    form = FORMS["Potts: edge, table"]
    assert evaluate(form.dist())[0].shape == (D,)
    assert evaluate(form.dist(size=(2, 5)))[0].shape == (2, 5, D)
    both = form._replace(parameters=(np.stack([TABLES, -TABLES]), FIELD))
    x = pm.draw(both.dist(likelihood="exact", size=(3000, 2)), random_seed=rng)
    p = [form.p, form._replace(edge=-form.edge).p]
    for k in range(2):
        assert_draws(x[:, k], form, p[k])
        with pytest.raises(AssertionError):
            assert_draws(x[:, k], form, p[1 - k])  # negative control


@pytest.mark.slow
@pytest.mark.compiled
def test_two_graphs_have_two_samplers():
    graphs = [PairwiseGraph("abc", [edge]) for edge in (("a", "b"), ("b", "c"))]
    rvs = [pmrf.AgreementMRF.dist([0.9], graph=g, size=(4000,), likelihood="exact") for g in graphs]
    assert rvs[0].owner.op != rvs[1].owner.op
    tables = [special.logit(0.9) * np.eye(2)], np.zeros((3, 2))
    p = [enumeration.probabilities(graph.edges, *tables) for graph in graphs]
    for k, x in enumerate(pm.draw(rvs, random_seed=3)):
        counts = np.bincount(enumeration.configuration_index(x, 2), minlength=8)
        assert_frequencies(counts, p[k])
        with pytest.raises(AssertionError):
            assert_frequencies(counts, p[1 - k])


SOME_FORMS = pytest.mark.parametrize(
    "name", ["Ising", "agreement", "Boltzmann", "Potts: edge, state; state", "own scores", "nominal"]
)


@SOME_FORMS
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_masked_cells_are_imputed(name, likelihood):
    """What is under the mask is no data; states that a node has not are impossible."""
    form = FORMS[name]
    complete = form.states[np.random.default_rng(1).choice(np.flatnonzero(form.p > 0), 3)]
    mask = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0]], dtype=bool)
    with pm.Model() as model:
        masked = np.ma.masked_array(np.where(mask, 99, complete), mask)
        form.declare(observed=masked, likelihood=likelihood)
    logp, cells = model.compile_logp(), complete[mask]
    [expected] = evaluate(pm.logp(form.dist(likelihood=likelihood, size=(3,)), complete).sum())
    np.testing.assert_allclose(logp({"x_unobserved": cells}), expected)
    assert np.isfinite(logp(model.initial_point()))
    beyond = np.broadcast_to(form.options.get("n_states", 2), D)[np.nonzero(mask)[1]]
    for k in range(len(cells)):
        with_one = np.where(np.arange(len(cells)) == k, beyond, cells)
        assert logp({"x_unobserved": with_one}) == -np.inf


@SOME_FORMS
def test_starts_data_that_change_and_copies(name):
    """Latent fields start in the first state; models know their dimensions, and can be pickled."""
    form = FORMS[name]
    x = form.states[np.random.default_rng(2).choice(np.flatnonzero(form.p > 0), 4)]
    with pm.Model(coords={**pmrf.coords(GRAPH), "obs": range(2)}) as model:
        data = pm.Data("data", x[:2])
        form.declare(observed=data, shape=data.shape)
        form.declare("latent", dims="node")
        form.declare("rows", dims=("obs", "node"))
    point = model.initial_point()
    np.testing.assert_array_equal(point["latent"], np.full(D, form.values[0]))
    np.testing.assert_array_equal(point["rows"], np.full((2, D), form.values[0]))
    logp = model.compile_logp(vars=[model["x"]])
    log_p = {tuple(z): v for z, v in zip(form.states, log(form.p), strict=True)}
    for rows in (x[:2], x[[3, 0, 2, 1]]):
        with model:
            pm.set_data({"data": rows})
        np.testing.assert_allclose(logp(point), sum(log_p[tuple(z)] for z in rows))
    assert pm.draw(model["x"]).shape == (4, D)
    with model:
        pm.set_data({"data": np.full((2, D), 7)})
    assert logp(point) == -np.inf
    again = cloudpickle.loads(cloudpickle.dumps(model))
    assert again["x"].owner.op == model["x"].owner.op
    with model:
        pm.set_data({"data": x[:2]})
        prior = pm.sample_prior_predictive(2, random_seed=1)
    assert prior.prior.latent.dims == ("chain", "draw", "node")
    assert prior.prior.rows.dims == ("chain", "draw", "obs", "node")
    assert list(prior.prior.latent.node.values) == list("abcde")


SAME: dict[str, Callable] = {
    "agreement": lambda: (FORMS["agreement"], pmrf.Potts.dist, (special.logit(THETA),), (0, 1)),
    "Ising": lambda: (
        FORMS["Ising"], pmrf.Potts.dist, (2 * J, np.stack([-H, H], axis=1)), (0, 1),
    ),
    "Boltzmann": lambda: (FORMS["Boltzmann"], pmrf.OrdinalMRF.dist, (J, H[:, None]), (0, 1)),
    "nominal": lambda: (
        FORMS["Ising"], pmrf.NominalMRF.dist, (2 * J, np.stack([-H, H], axis=1)), (0, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize("name", SAME)
def test_two_states_are_those_of_another_class(name, likelihood):
    form, other, parameters, values = SAME[name]()
    options = {"likelihood": likelihood, "size": (2**D,)}
    states = np.searchsorted(form.values, form.states)
    both = evaluate(
        pm.logp(form.dist(**options), form.states),
        pm.logp(other(*parameters, graph=GRAPH, n_states=2, **options), np.array(values)[states]),
    )
    np.testing.assert_allclose(*both, atol=1e-10)


def told(form, cell=None, rows=slice(None), columns=slice(None)):
    """Two rows of states of a field, in the first of which a cell of node c is another."""
    x = form.states[np.flatnonzero(form.p > 0)[[0, -1]]].astype(float if cell is not None else int)
    if cell is not None:
        x[0, 2] = cell
    return x[rows, columns]


def observe(form, x, **options):
    with pm.Model():
        form.declare(observed=x, **options)


def on_graph(form, graph):
    form.kind.dist(*form.parameters, graph=graph, **form.options)


REFUSED = {
    "a state beyond": (lambda f: observe(f, told(f, 7)), r"observed\[0, 2\] is 7"),
    "a state below": (lambda f: observe(f, told(f, -5)), r"observed\[0, 2\] is -5"),
    "between states": (lambda f: observe(f, told(f, 0.5)), r"observed\[0, 2\] is 0.5"),
    "nan": (lambda f: observe(f, told(f, np.nan)), "masked_invalid"),
    "infinite": (lambda f: observe(f, told(f, np.inf)), "is inf"),
    "fewer nodes": (lambda f: observe(f, told(f, columns=slice(3))), "last dimension must be the 5 nodes"),
    "no rows": (lambda f: observe(f, told(f, rows=slice(0))), "no rows"),
    "text": (lambda f: observe(f, np.array([list("abcde")])), "must be numeric"),
    "likelihood": (lambda f: f.dist(likelihood="mean"), "likelihood must be one of"),
    "sweeps": (lambda f: f.dist(n_sweeps=0), "n_sweeps must be a positive"),
    "shape": (lambda f: f.dist(shape=(2, 3)), "its last entry must be 5, the number of nodes"),
    "directed": (lambda f: on_graph(f, nx.DiGraph(EDGES.tolist())), "directed"),
    "multigraph": (lambda f: on_graph(f, nx.MultiGraph(EDGES.tolist())), "multigraph"),
    "self-loop": (lambda f: on_graph(f, nx.Graph([(0, 0)])), "self-loop"),
    "no nodes": (lambda f: on_graph(f, nx.Graph()), "no nodes"),
    "no graph": (lambda f: on_graph(f, np.eye(3)), "networkx.Graph"),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
@SOME_FORMS
def test_what_every_class_refuses(name, fault):
    call, message = REFUSED[fault]
    with pytest.raises((ValueError, TypeError), match=message):
        call(FORMS[name])
