"""The log-partition function along a coupling: against junction trees, at its ends, on disk."""

from dataclasses import replace

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_mrf.fields.families import potts
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.likelihood.path import coupling_path, saved_paths
from pymc_mrf.likelihood.path.coupling_path import FROZEN, TARGET, CouplingPath, simulate_path
from tests.statistics import Z

FRUSTRATED = as_graph(PairwiseGraph(range(5), [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]))


def ones(graph):
    return np.ones(graph.n_edges)


def uneven(graph):
    """Weights of mean square 1 from near 0 to 3."""
    weights = np.random.default_rng(2).exponential(size=graph.n_edges)
    return weights / np.sqrt(np.mean(weights**2))


def light(graph):
    """Few heavy edges, and others that are 300 times as light."""
    weights = np.where(np.random.default_rng(0).random(graph.n_edges) < 0.03, 1.0, 0.003)
    return weights / np.sqrt(np.mean(weights**2))


def exact(graph, weights, n_states, t):
    """A, and the mean of S."""
    tables = potts(n_states).edge_tables(t * weights)
    field = PairwiseField(graph, tables, np.zeros((graph.n_nodes, n_states)))
    return field.log_partition(), np.trace(weights @ field.marginals("exact").edges.swapaxes(0, 1))


@pytest.mark.parametrize(
    ("graph", "weigh", "n_states", "n_rows", "couplings"),
    [
        (builders.grid(12, 12), ones, 2, 1, (-2.0, -0.9, 0.3, 0.8, 0.9, 1.1, 4.0)),
        (builders.grid(5, 8), ones, 3, 16, (0.2, 0.6, 0.9, 1.1, 2.0, 4.0)),
        (FRUSTRATED, ones, 2, 1, (-5.0, -1.0, 0.5, 3.0)),
        (builders.grid(3, 4), ones, 3, 1, (-7.0, -2.0, -0.5, 0.5)),
        (builders.grid(8, 8), uneven, 2, 1, (-2.0, -0.9, 0.3, 0.9, 1.5, 4.0, 12.0)),
        (builders.grid(4, 5), uneven, 3, 16, (-2.0, -0.5, 0.2, 1.1, 2.0, 9.0)),
        (builders.grid(8, 8), light, 2, 1, (0.3, 3.0, 28.0, 80.0)),
    ],
    ids=["12 x 12", "Potts 5 x 8", "frustrated", "negative Potts", "weights", "Potts, weights", "light"],
)
@pytest.mark.ordinary("12 x 12", "frustrated", "negative Potts", "weights", "light")
def test_path_is_within_its_error_of_the_junction_tree(graph, weigh, n_states, n_rows, couplings):
    weights = weigh(graph)
    path = simulate_path(graph, weights, n_states, n_rows, min(couplings) < 0)
    assert path.is_signed == (min(couplings) < 0)
    spreads = np.sqrt(np.maximum(path.variances, FROZEN / n_rows) / n_rows)
    assert (path.errors <= TARGET * spreads).all()
    if weigh is ones:
        assert path.least == (1.0 if graph is FRUSTRATED else 0.0)
    errors = np.interp(couplings, path.knots, path.errors_at_knots)
    for t, error in zip(couplings, errors, strict=True):
        A, mean = exact(graph, weights, n_states, t)
        assert abs(path.log_partition(t) - A) <= Z * error + 0.01, (t, path.log_partition(t), A, error)

        # what moves a posterior: the slope, in posterior standard deviations of n rows
        slope = (path.log_partition(t + 1e-3) - path.log_partition(t - 1e-3)) / 2e-3
        to_sd = np.sqrt(n_rows / max(np.interp(t, path.knots, path.variances), FROZEN / n_rows))
        missed = to_sd * abs(slope - mean)
        assert missed < Z * max(to_sd * path.error(t), 0.02), (t, missed, to_sd * path.error(t))


def test_means_that_are_off_are_found():
    """Control: the tolerances above are those of the simulation, not more."""
    graph = builders.grid(12, 12)
    path = simulate_path(graph, ones(graph), 2, 1, False)
    wrong = replace(path, means=path.means + 0.2 * np.sqrt(path.variances))
    coarse = replace(
        path,
        gaps=path.gaps[:3],
        **{k: getattr(path, k)[::6] for k in ("knots", "means", "variances", "errors")},
    )
    end = path.knots[-1]
    for other in (wrong, coarse):
        error = abs(other.log_partition(end) - exact(graph, ones(graph), 2, end)[0])
        assert error > Z * path.errors_at_knots[-1], error
    even, weights = (
        simulate_path(builders.grid(4, 5), np.ones(31), 2, 1, False),
        uneven(builders.grid(4, 5)),
    )
    error = abs(even.log_partition(0.9) - exact(builders.grid(4, 5), weights, 2, 0.9)[0])
    assert error > Z * even.errors_at_knots.max()


def test_path_is_convex_and_freezes():
    graph = builders.grid(12, 12)
    path = simulate_path(graph, ones(graph), 2, 1, False)
    assert np.array_equal(path.knots, simulate_path(graph, ones(graph), 2, 1, False).knots)
    t = np.linspace(0.0, 12.0, 400)
    A = np.array([path.log_partition(s) for s in t])
    slopes = np.diff(A) / np.diff(t)
    assert (np.diff(slopes) > -1e-9).all()
    assert slopes[-1] == pytest.approx(graph.n_edges)
    assert A[0] == pytest.approx(144 * np.log(2.0))
    assert path.error(12.0) < 1e-3 < path.error(0.8)
    # two ground states; the independent anchor at the other end
    assert A[-1] - 12.0 * graph.n_edges == pytest.approx(np.log(2.0), abs=Z * path.errors_at_knots[-1])


def test_slope_at_and_beyond_the_ends():
    """The symbolic gradient there is that of either side; errors grow where nothing was simulated."""
    path = simulate_path(builders.grid(4, 4), np.ones(24), 2, 1, False)
    t = pt.scalar("t")
    slope = pytensor.function([t], pt.grad(path.log_partition(t, pt), t), mode="FAST_COMPILE")
    for at in (path.knots[0], 0.3, path.knots[-1], path.knots[-1] + 1.0, path.knots[0] - 0.5):
        sides = [path.log_partition(at + h) - path.log_partition(at - h) for h in (1e-4, 2e-4)]
        assert slope(at) == pytest.approx((4 * sides[0] - sides[1] / 2) / 6e-4, abs=1e-3)
    tables = potts(2).edge_tables(np.full(24, -1.0))
    field = PairwiseField(builders.grid(4, 4), tables, np.zeros((16, 2)))
    missed = abs(slope(-1.0) - np.trace(field.marginals("exact").edges.sum(axis=0)))
    assert path.error(0.3) < 0.2 * missed < missed < 2.0 * path.error(-1.0)


def test_interpolation_of_exact_means():
    """Of a tree, whose edges are independent: A is known, and errors are those that are told."""
    r, K, knots = 5, 3, np.linspace(-2.0, 4.0, 25)
    p = np.exp(knots) / (K - 1 + np.exp(knots))
    of_knots = r * p, r * p * (1.0 - p), np.full(25, 0.1), np.full(24, 0.02)
    path = CouplingPath(np.log(K) + r * np.log(K), np.ones(r), knots, *of_knots, least=0.0)
    for t in (-3.0, -1.3, 0.0, 0.61, 4.0, 7.0):
        A = np.log(K) + r * np.log(K - 1 + np.exp(t))
        assert path.log_partition(t) == pytest.approx(A, abs=5e-3)
    # of independent errors by the trapezoidal rule, and of gaps that add up
    k, half = 16, 0.125
    simulated = half * 0.1 * np.sqrt(2 * 1**2 + 7 * 2**2)
    assert knots[k] == 2.0 and path.errors_at_knots[k] == pytest.approx(np.hypot(simulated, 2.0 * 0.02))
    assert path.errors_at_knots[8] == 0.0  # A(0) is a count


def test_chains_that_have_not_met_are_an_error():
    arm = coupling_path.Clusters(builders.grid(2, 2), np.ones(4), 2, 1)
    rng = np.random.default_rng(0)
    apart = rng.normal([0.0, 10.0], size=(400, 2))
    assert arm.error(apart) == pytest.approx(5.0, abs=0.3)
    assert arm.error(rng.normal(size=(400, 2))) < 0.2


def test_paths_are_read_back(tmp_path, monkeypatch):
    graph, said, even = builders.grid(2, 3), [], np.ones(7)
    weights = np.arange(1.0, 8.0)
    folder = tmp_path / "paths"
    first = saved_paths.saved_path(graph, even, 2, 3, False, folder, said.append)
    assert [file.name for file in said] == [file.name for file in folder.iterdir()]
    labels = list("fedcba")
    same = PairwiseGraph(labels, [(labels[v], labels[u]) for u, v in graph.edges[::-1]])
    with monkeypatch.context() as patch:
        patch.setattr(saved_paths, "simulate_path", None)
        for n_rows, other in ((3, graph), (4, graph), (4, same)):
            again = saved_paths.saved_path(other, even, 2, n_rows, False, folder, said.append)
            assert np.array_equal(again.at_knots, first.at_knots)
        for arguments in (
            (graph, even, 2, 5, False),
            (graph, even, 3, 4, False),
            (graph, even, 2, 4, True),
            (graph, weights, 2, 4, False),
        ):
            with pytest.raises(TypeError):  # what is not there would be simulated
                saved_paths.saved_path(*arguments, folder, said.append)
    said[0].write_bytes(said[0].read_bytes()[:100])  # cut off
    again = saved_paths.saved_path(graph, even, 2, 4, False, folder, said.append)
    assert np.array_equal(again.at_knots, first.at_knots)
    (tmp_path / "file").touch()
    again = saved_paths.saved_path(graph, even, 2, 4, False, tmp_path / "file", said.append)
    assert np.array_equal(again.at_knots, first.at_knots)
    assert len(list(folder.iterdir())) == 1


def test_weights_belong_to_edges_in_whatever_order(tmp_path, monkeypatch):
    graph, labels, weights = builders.grid(2, 3), list("fedcba"), np.arange(1.0, 8.0)
    first = saved_paths.saved_path(graph, weights, 2, 1, False, tmp_path, str)
    monkeypatch.setattr(saved_paths, "simulate_path", None)
    same = PairwiseGraph(labels, [(labels[v], labels[u]) for u, v in graph.edges[::-1]])
    again = saved_paths.saved_path(same, weights[::-1], 2, 1, False, tmp_path, str)
    assert np.array_equal(again.at_knots, first.at_knots)
    with pytest.raises(TypeError):
        saved_paths.saved_path(same, weights, 2, 1, False, tmp_path, str)
