"""What mixed fields refuse: data, parameters and steps, each with a remedy."""

import re

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_mrf as pmrf
from tests.mixed_fields import BIAS, DIAGONAL, GRAPH, KINDS, SCALE, WEIGHT, model_of, rows

X = rows(30)
FRAME = pd.DataFrame(X, columns=KINDS.names)
P = len(WEIGHT)
BLOCKS = KINDS.block_sizes(GRAPH)
QUIET = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}


def declare(x=X, weight=WEIGHT, bias=BIAS, diagonal=DIAGONAL, mean=0.0, **options):
    with pm.Model():
        return pmrf.MixedMRF(
            "x", weight, bias, diagonal, mean, observed=x,
            **{"graph": GRAPH, "kinds": KINDS, "scale": SCALE, **options},
        )  # fmt: skip


def cell(i, value):
    x = X.copy()
    x[2, i] = value
    return x


def column(i, value):
    x = X.copy()
    x[:, i] = value
    return x


BAD_DATA = {
    "constant": (
        column(1, 3.0),
        "'age' is 3 in all rows, of which its precision would be infinite: leave",
    ),
    "infinite": (cell(3, np.inf), "x: observed has inf in row 2 of 'income', and 1 such cells: replace"),
    "infinite answer": (
        cell(0, np.inf),
        "x: observed is inf in row 2 of 'sex', which is ordinal with the",
    ),
    "state": (
        cell(2, 3),
        "is 3 in row 2 of 'party', which is nominal with the states 0 to 2; 1 such cells",
    ),
    "half": (cell(4, 0.5), "is 0.5 in row 2 of 'trust', which is ordinal with the states 0 to 3"),
    "text": (FRAME.assign(party="a"), "column 'party' holds text, such as 'a': make it categorical"),
    "dates": (FRAME.assign(age=pd.date_range("2020", periods=30)), "column 'age' holds dates, such as"),
    "truth": (
        FRAME.assign(age=FRAME.sex > 0),
        "column 'age' holds truth values: these are states",
    ),
    "categories": (
        FRAME.assign(age=pd.Categorical(["a", "b"] * 15)),
        "column 'age' holds categories",
    ),
    "no column": (FRAME.drop(columns="age"), "x: observed has no column 'age', which is a node"),
    "more columns": (
        FRAME.assign(other=1),
        "columns that are no nodes of the graph ('other'): drop them",
    ),
    "columns": (X[:, :4], "`observed` has shape (30, 4), but its last dimension must be the 5 nodes"),
    "no rows": (X[:0], "`observed` has no rows"),
    "words": (np.full((3, 5), "x"), "x: observed must be numeric"),
}


@pytest.mark.parametrize("name", list(BAD_DATA))
def test_bad_data(name):
    x, message = BAD_DATA[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        declare(x)


def test_columns_that_say_little():
    with pytest.warns(
        UserWarning, match="x: income is a multiple of age, up to a constant, in all complete rows"
    ):
        declare(column(3, 2 * X[:, 1] + 1))
    with pytest.warns(UserWarning, match="x never changes at sex: only the priors keep the parameters"):
        declare(column(0, 1))


BAD_PARAMETERS = {
    "weight": ({"weight": WEIGHT[:5]}, f"weight has length 5, but there are {P}: give one value per entry"),
    "not finite": ({"weight": np.nan}, "weight must be finite"),
    "of rows": ({"weight": np.zeros((30, P))}, "weight has 2 dimensions, but all rows of a mixed field"),
    "bias": ({"bias": np.zeros((5, 4))}, "bias has shape (5, 4), but there are 3 answers of up to 4 states"),
    "bias of nodes": ({"bias": np.zeros(3)}, "give shape (3, 4), (1, K) or (K,), as with dims=(\"answer\""),
    "diagonal": ({"diagonal": np.ones(5)}, "diagonal has length 5, but there are 2: give one value per mea"),
    "negative": ({"diagonal": [1.0, -1.0]}, "diagonal must be positive, one over a variance, but has the"),
    "mean": ({"mean": np.zeros(5)}, "mean has length 5, but there are 2: give one value per measurement"),
    "rows": ({"mean": np.zeros((7, 2))}, "x: mean has 7 rows, but `observed` has 30"),
    "scale": ({"scale": [1.0, -1.0]}, "scale must be positive numbers, but that of 'income' is -1"),
    "scales": ({"scale": np.ones(3)}, "scale has shape (3,), but there are 2 measurements: give one number"),
    "graph": ({"graph": pmrf.graphs.complete(5)}, "but the graph has the nodes 0, 1, 2, 3, 4: make it"),
    "likelihood": ({"likelihood": "path"}, "likelihood must be one of \"auto\", \"exact\""),
    "particles": ({"likelihood": "particles"}, "\"pseudo\", not 'particles'"),
    "sweeps": ({"n_sweeps": 0}, "n_sweeps must be a positive integer, not 0"),
    "columns": ({"columns": list("abcde")}, "observed is no table whose columns have names"),
    "weights": ({"weights": np.full(30, 1.5)}, "weights[0] is 1.5, but a weight is how many observations"),
    "minibatch": ({"total_size": 300}, "total_size=300 is for minibatches, which steps and estimates of f"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BAD_PARAMETERS))
def test_bad_parameters(name):
    options, message = BAD_PARAMETERS[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        declare(**options)


def test_what_is_missing():
    with pytest.raises(TypeError, match=r"diagonal is missing: give .* pm.Gamma\(\"diagonal\""):
        declare(diagonal=None)
    with pytest.raises(TypeError, match="MixedMRF 'x' needs graph="):
        declare(graph=None)
    with pytest.raises(
        TypeError, match=r"needs kinds=, what pymc_mrf.column_kinds\(table\) found, not None"
    ):
        declare(kinds=None)
    kinds = pmrf.fields.ColumnKinds(("a", "b"), ("continuous", "continuous"), (0, 0))
    measured = {"kinds": kinds, "graph": pmrf.graphs.complete(kinds.names)}
    with pytest.raises(ValueError, match="bias is that of answers, but all 2 columns hold measurements"):
        pmrf.MixedMRF.dist(0.0, 1.0, 1.0, **measured)
    with pytest.raises(ValueError, match="without answers must be one of \"auto\", not 'pseudo'"):
        pmrf.MixedMRF.dist(0.0, 0.0, 1.0, likelihood="pseudo", **measured)
    many = pmrf.fields.ColumnKinds(tuple(range(10)), ("nominal",) * 10, (4,) * 10)
    with pytest.raises(
        ValueError,
        match=r"1,048,576 states together, more than .*: use likelihood=\"pseudo\", which is n",
    ):
        pmrf.MixedMRF.dist(0.0, graph=pmrf.graphs.complete(10), kinds=many, likelihood="exact")
    options = {"graph": pmrf.graphs.complete(10), "kinds": many}
    x = np.random.default_rng(0).integers(4, size=(20, 10)).astype(float)
    with (
        pm.Model(),
        pytest.raises(ValueError, match=r'use likelihood="monte-carlo", or fewer answers'),
    ):
        pmrf.MixedMRF("x", 0.0, **options, observed=x, likelihood="exact")
    x[0, 0] = np.nan
    with (
        pm.Model(),
        pytest.raises(
            ValueError, match='use likelihood="pseudo", which is nearly right, or drop the rows'
        ),
    ):
        pmrf.MixedMRF("x", 0.0, **options, observed=x, likelihood="monte-carlo")


def test_a_dirichlet_process():
    with pm.Model():
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=P)
        with pytest.raises(
            ValueError, match="theta is a DirichletProcess: its samplers group parameters"
        ):
            pmrf.MixedMRF("x", theta, BIAS, DIAGONAL, graph=GRAPH, kinds=KINDS, observed=X)


def sparse(**options):
    return pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), **options)


BAD_WEIGHTS = {
    "no blocks": (
        lambda: sparse(shape=P),
        "w has no blocks, but the edges of x have tables of 1, 2, 1, 2, 2, ... parameters, which EdgeGibbs "
        "adds and removes as a whole: declare it with blocks=kinds.block_sizes(graph)",
    ),
    "wrong blocks": (
        lambda: sparse(blocks=[1] * P),
        "w has blocks of 1, 1, 1, 1, 1, ... entries, but the edges of x have tables",
    ),
    "product": (
        lambda: sparse(blocks=BLOCKS) * pm.Normal("v", 0, 1, shape=P),
        "x, not another expression of w; it may be a sum of which one term is w",
    ),
    "slab": (
        lambda: pmrf.SpikeAndSlab("w", 0.5, pm.Logistic.dist(0, 1), blocks=BLOCKS),
        "whose slab is pm.Normal, pm.StudentT, pm.Cauchy or pm.Laplace",
    ),
}


@pytest.mark.parametrize("name", list(BAD_WEIGHTS))
def test_weights_that_edge_gibbs_refuses(name):
    make, message = BAD_WEIGHTS[name]
    with pm.Model() as model:
        pmrf.MixedMRF("x", make(), BIAS, DIAGONAL, graph=GRAPH, kinds=KINDS, observed=X)
        with pytest.raises(ValueError, match=re.escape(message)):
            pmrf.steps.EdgeGibbs([model["w"]])


def test_other_steps():
    with pm.Model():
        w = sparse(blocks=BLOCKS)
        pmrf.MixedMRF("x", w, BIAS, DIAGONAL, graph=GRAPH, kinds=KINDS, observed=X)
        for step in (pmrf.papers.ReversibleJump, pmrf.papers.PersistentLangevin):
            with pytest.raises(
                ValueError, match=r"does not sample under .* of x; leave w to pm.sample\(\)"
            ):
                step([w])
        pmrf.MixedMRF("y", w[::-1], BIAS, DIAGONAL, graph=GRAPH, kinds=KINDS, observed=X)
        with pytest.raises(ValueError, match=r"those of y .* have edges or states of their own: give"):
            pmrf.steps.EdgeGibbs([w])
    with pm.Model():
        v = pm.Normal("v", 0, 1, shape=P)
        pmrf.MixedMRF("x", v, BIAS, DIAGONAL, graph=GRAPH, kinds=KINDS, observed=X)
        with pytest.raises(
            ValueError, match='Exchange samples the parameters of fields with likelihood="part'
        ):
            pmrf.steps.Exchange([v])


@pytest.mark.parametrize("observed", [{}, {"observed": np.full((3, 5), np.nan)}])
def test_a_field_without_data_is_not_sampled(observed):
    with pm.Model():
        shape = {} if observed else {"shape": (3, 5)}
        pmrf.MixedMRF("x", WEIGHT, BIAS, DIAGONAL, graph=GRAPH, kinds=KINDS, **shape, **observed)
        with pytest.raises(ValueError, match=r"x is a MixedMRF without data, .*: give it `observed`"):
            pm.sample(1, tune=1, chains=1, cores=1, **QUIET)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (cell(0, 7.0), "the data of x have the value 7 at 'sex', whose states are 0 to 1"),
        (
            cell(1, np.inf),
            "the data of x have the value inf at 'age', which is a measurement: pass finite",
        ),
        (cell(2, np.nan), "the data of x have the value nan at 'party'"),
        (X[:, :4], "the data of x have the shape (30, 4)"),
    ],
)
def test_set_data(x, message):
    with pm.Model():
        data, w = pm.Data("data", X), sparse(blocks=BLOCKS)
        pmrf.MixedMRF("x", w, BIAS, DIAGONAL, graph=GRAPH, kinds=KINDS, observed=data)
        pm.set_data({"data": x})
        with pytest.raises(ValueError, match=re.escape(message)):
            pmrf.steps.EdgeGibbs([w])


@pytest.mark.slow
def test_other_models_of_pymc():
    """`pm.do` takes the edges from the sampler; `pm.observe` gives a field its data."""
    with pm.do(model_of(X), {"w": np.zeros(P)}) as model:
        steps = pm.sampling.mcmc.assign_step_methods(model)[1]
    assert {v.name for v in steps.get(pmrf.steps.EdgeGibbs, [])} == set()
    with pm.Model() as model:
        pmrf.MixedMRF(
            "x", sparse(blocks=BLOCKS), BIAS, DIAGONAL, graph=GRAPH, kinds=KINDS, shape=X.shape
        )
    with pm.observe(model, {"x": X}) as model:
        w = model["w"]
        step = pmrf.steps.EdgeGibbs([w])
    point, _ = step.step({"w": np.zeros(P)})
    assert np.isfinite(point["w"]).all()


def test_measurements_without_spread_and_that_others_determine(rng):
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc")).assign(sex=[0, 1] * 20)
    empty, once = frame.assign(c=np.nan), frame.assign(c=frame.c.where(frame.index == 0))
    kinds = pmrf.column_kinds(frame, {"sex": "ordinal"})
    graph = pmrf.graphs.complete(kinds.names)

    def field(table):
        with pm.Model():
            diagonal = pm.Gamma("diagonal", 2, 1, shape=3)
            return pmrf.MixedMRF("x", 0.0, 0.0, diagonal, graph=graph, kinds=kinds, observed=table)

    for table, message in (
        (empty, "'c' has no values"), (once, "'c' has one value"), (frame[:1], "has one row, which"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            field(table)
        with pytest.raises(ValueError, match=message):
            pmrf.network_model(table, kind=kinds)
    total = frame.assign(c=(frame.a + frame.b).round(2))
    with pytest.warns(UserWarning, match="x: c is a sum of multiples of a and b, up to a constant"):
        pmrf.network_model(total, kind=kinds)
    pmrf.network_model(frame, kind=kinds)
