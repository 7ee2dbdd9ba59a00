"""The scripts run at tiny size; conversions, test sets and curves do what they say."""

import numpy as np
import pytest

import pymc_mrf as pmrf
from examples.chen_welling_2012 import (
    experiment,
    inference,
    make_digits,
    mnist,
    scale,
    simulated,
    truths,
)
from tests.analysis.posteriors import as_posterior
from tests.reference.enumeration import log_potentials
from tests.statistics import Z

WORDS = {
    "block": "the same against F1 (fig. 9): best at the upper right",
    "block_precision_recall": "its threshold 1/2",
    "block_weights": "edges that some model has, by their true absolute weight",
    "lattice": "the same against F1 (fig. 9): best at the upper right",
    "lattice_precision_recall": "its threshold 1/2",
    "lattice_weights": "edges that some model has, by their true absolute weight",
    "figure2": "autocorrelation",
    "figure3": "weight, where present",
    "figure4": "approximate",
    "figure10": "CLL per test case",
    "figure11": "data",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "options", "report", "names"),
    [
        (
            simulated,
            ["--replicates", "1", "--sizes", "50"],
            "block",
            ["block", "block_precision_recall", "block_weights"],
        ),
        (
            simulated,
            ["--model", "lattice", "--side", "3", "--replicates", "2", "--sizes", "100"],
            "lattice",
            ["lattice", "lattice_precision_recall", "lattice_weights"],
        ),
        (inference, [], "inference", ["figure2", "figure3", "figure4"]),
        (mnist, ["--sizes", "60"], "mnist", ["figure10", "figure11"]),
        (scale, ["--side", "3", "--sizes", "40"], "scale", []),
    ],
    ids=["block", "lattice", "inference", "mnist", "scale"],
)
def test_script_writes_report_and_figures(
    script, options, report, names, tmp_path, figures, monkeypatch
):
    monkeypatch.setattr(mnist, "SHAPE", (4, 9))  # the upper pixels only
    monkeypatch.setattr(mnist, "P0", [0.03])
    monkeypatch.setattr(simulated, "P0", {"block": [0.03, 0.6], "lattice": [0.03, 0.5]})
    monkeypatch.setattr(inference, "P0", [0.3])
    monkeypatch.setattr(inference, "PER_ROW", (5, 10))
    script.main(["--draws", "20", *options, "--output", str(tmp_path)])
    text = (tmp_path / "_results" / f"chen_welling_{report}.md").read_text(encoding="utf-8")
    assert "nan" not in text
    assert set(figures) == {f"chen_welling_2012_{name}.png" for name in names}
    for name in names:
        assert f"chen_welling_2012_{name}.png" in text
        assert WORDS[name] in figures[f"chen_welling_2012_{name}.png"]


@pytest.mark.parametrize("draw", [truths.block_truth, lambda rng: truths.lattice_truth(3, rng)])
def test_boltzmann_machine_is_the_ising_model(draw, rng):
    """Energies differ by a constant only."""
    truth = draw(rng)
    d = truth.graph.n_nodes
    y = rng.integers(2, size=(50, d))
    tables = np.zeros((truth.candidates.n_edges, 2, 2)), np.zeros((d, 2))
    tables[0][:, 1, 1], tables[1][:, 1] = truth.weight, truth.bias
    boltzmann = log_potentials(y, truth.candidates.edges, *tables)
    coupling = truth.weight / 4.0
    field = truth.bias / 2.0
    for end in truth.candidates.edges.T:
        field = field + np.bincount(end, coupling, minlength=d)
    s = 2 * y - 1
    u, v = truth.candidates.edges.T
    ising = (s[:, u] * s[:, v]) @ coupling + s @ field
    assert np.ptp(boltzmann - ising) < 1e-10
    # the fields of the Ising model are small, as sec. 6.1 has them
    assert np.abs(field).max() < 6 * truths.FIELD_SD
    assert np.count_nonzero(truth.weight) == truth.graph.n_edges


def test_block_truth_is_as_in_the_paper(rng):
    truth = truths.block_truth(rng)
    assert truth.graph.n_edges == 20
    assert truth.candidates.n_edges == 66
    u, v = truth.candidates.edges.T
    assert np.all(truth.weight[u // 4 == v // 4] >= 0)
    x = truth.sample(4000, rng)
    strongest = np.argmax(truth.weight)
    assert np.corrcoef(x[:, u[strongest]], x[:, v[strongest]])[0, 1] > 0.1


def test_whole_test_set_is_the_likelihood(rng):
    truth = truths.lattice_truth(3, rng)
    x = truth.sample(20, rng)
    rows = ((np.arange(2**9)[:, None] >> np.arange(9)) & 1).astype(int)
    tables = np.zeros((truth.candidates.n_edges, 2, 2)), np.zeros((9, 2))
    tables[0][:, 1, 1], tables[1][:, 1] = truth.weight, truth.bias
    log_z = np.logaddexp.reduce(log_potentials(rows, truth.candidates.edges, *tables))
    expected = (log_potentials(x, truth.candidates.edges, *tables) - log_z).mean()
    whole = experiment.TestSet.whole(x)
    assert whole.score(truth.candidates, truth.weight, truth.bias) == pytest.approx(expected, abs=1e-9)
    # one 3 x 3 patch is the whole lattice; relative to the truth, the truth scores 0
    patches = experiment.TestSet.patches(x, (3, 3), 4, rng).relative_to(truth)
    assert patches.reference == pytest.approx(expected, abs=1e-9)
    assert patches.score(truth.candidates, truth.weight, truth.bias) == pytest.approx(0.0, abs=1e-12)


def test_patches_are_squares_and_share_the_rows(rng):
    x = np.zeros((50, 108), dtype=int)
    test = experiment.TestSet.patches(x, (12, 9), 7, rng)
    assert sorted(np.concatenate([rows for _, rows in test.groups])) == list(range(50))
    for nodes, _ in test.groups:
        row, column = np.divmod(nodes, 9)
        assert len(set(nodes)) == 9
        assert np.ptp(row) == np.ptp(column) == 2


def test_structure_and_curves():
    graph = pmrf.graphs.complete(3)
    truth = truths.Truth(graph, graph, np.array([1.0, 0.0, -2.0]), np.zeros(3))
    assert experiment.structure(np.array([0.5, 0.1, 0.0]), truth) == (0.5, 0.5, 0.5)
    scores = [
        experiment.Score("MLE", 100, replicate, k, False, 0.1 * k, -k - replicate, 1.0, 1.0, 1.0, 0.0)
        for replicate in (0, 2)
        for k in (1, 2)
    ]
    (density, _), (cll, sd) = experiment.curve(scores, "MLE", 100, "density", "cll")
    np.testing.assert_allclose(density, [0.1, 0.2])
    np.testing.assert_allclose(cll, [-2.0, -3.0])
    np.testing.assert_allclose(sd, [1.0, 1.0])


def test_stand_in_is_what_its_script_makes():
    pytest.importorskip("sklearn")
    x, _ = make_digits.make()
    np.testing.assert_array_equal(mnist.load(mnist.STAND_IN), x)
    assert x.shape == (1797, 108)
    assert not (x == x[0]).all(axis=0).any()


def test_autocorrelation_of_an_autoregression(rng):
    x = np.zeros(20_000)
    for t, noise in enumerate(rng.standard_normal(len(x) - 1)):
        x[t + 1] = 0.8 * x[t] + noise
    found = inference.autocorrelation(x, 5)
    k = np.arange(5)
    # Bartlett's standard errors, 0 at lag 0; the bias is about (1 + 3 * 0.8) / len(x)
    squares = (1 + 0.8**2) * (1 - 0.8 ** (2 * k)) / (1 - 0.8**2) - 2 * k * 0.8 ** (2 * k)
    assert np.all(np.abs(found - 0.8**k) < Z * np.sqrt(squares / len(x)) + 1e-3)


@pytest.mark.parametrize(
    ("script", "options", "message"),
    [
        (simulated, ["--sizes", "200", "100"], "--sizes must be increasing"),
        (simulated, ["--replicates", "-1"], "--replicates must be at least 1"),
        (simulated, ["--draws", "5"], "--draws must be at least 20, not 5"),
        (mnist, ["--data", "nowhere.npz"], "nowhere.npz does not exist"),
        (mnist, ["--sizes", "1750"], "leave 100 of 1797 rows for tests"),
        (scale, ["--side", "2"], "--side must be at least 3, not 2"),
        (scale, ["--sizes", "5"], "--sizes must be between 10 and 1797"),
    ],
)
def test_bad_options_are_refused(script, options, message, tmp_path):
    with pytest.raises(SystemExit, match=message):
        script.main([*options, "--output", str(tmp_path)])


def test_files_of_another_form_are_refused(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, y=np.zeros(3))
    with pytest.raises(SystemExit, match="must hold `x`"):
        mnist.load(path)


def test_bayes_pm_of_constant_draws_is_the_draw(rng):
    graph = pmrf.graphs.complete(4)
    weight, bias = rng.normal(size=6), rng.normal(size=4)
    weight[2] = 0.0
    values = np.tile(weight, (1, 8, 1))
    idata = as_posterior(values, weight=values)
    draws = experiment.Draws(
        np.tile(weight, (8, 1)), np.tile(bias, (8, 1)), np.full(8, 0.5), idata, graph, rng.random(4), 0.0
    )
    found = draws.posterior_mean()
    np.testing.assert_allclose(found[0], weight)
    np.testing.assert_allclose(found[1], bias)
    assert draws.density == pytest.approx(5 / 6)


def test_bayes_pm_hands_the_weight_of_rare_edges_to_the_biases():
    graph = pmrf.graphs.complete(2)
    weight = np.array([[2.0], [0.0], [0.0], [0.0]])
    bias = np.array([[-1.0, -0.5], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    idata = as_posterior(weight[None], weight=weight[None])
    means = np.array([0.25, 0.5])
    draws = experiment.Draws(weight, bias, np.full(4, 0.5), idata, graph, means, 0.0)
    # in the draw with the edge, -1 + 2 * 0.5 = 0 and -0.5 + 2 * 0.25 = 0: nothing is left for the biases
    found = draws.posterior_mean()
    np.testing.assert_allclose(found[0], [0.0])
    np.testing.assert_allclose(found[1], [0.0, 0.0], atol=1e-12)
