"""The Senate data: counts of Liu & Page (2013, sec. 5), names, and the graph that is shipped."""

import importlib.util
from importlib import resources
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.datasets import load_senate109
from pymc_mrf.estimation.point_estimates import fit

SCRIPT = Path(__file__).parents[2] / "examples" / "liu_page_2013" / "senate_graph.py"


@pytest.mark.parametrize(("session", "n"), [(1, 292), (2, 222), (None, 514)])
def test_contested_votes(session, n):
    senate = load_senate109(session=session)
    assert senate.x.shape == (n, 99)
    assert senate.x.dtype == np.int64
    assert set(np.unique(senate.x)) == {0, 1}
    in_favour = senate.x.sum(axis=1)
    assert in_favour.min() >= 10
    assert in_favour.max() <= 90
    assert len(senate.date) == len(senate.session) == len(senate.number) == n
    years = senate.date.astype("datetime64[Y]").astype(int) + 1970
    np.testing.assert_array_equal(years, 2004 + senate.session)
    assert f"{n} contested votes" in repr(senate)


def test_senators():
    senate = load_senate109()
    assert len(set(senate.names)) == 99
    assert {"Obama (D-IL)", "McCain (R-AZ)", "Jeffords (I-VT)", "Nelson (D-NE)"} <= set(senate.names)
    assert not any(name.startswith(("Corzine", "Menendez")) for name in senate.names)
    assert [np.sum(senate.party == party) for party in "DRI"] == [43, 55, 1]
    assert all(
        name.endswith(f"({party}-{state})")
        for name, party, state in zip(senate.names, senate.party, senate.state, strict=True)
    )
    # Alito's confirmation, roll call 2 of 2006: Obama against, McCain in favour
    vote = np.flatnonzero((senate.session == 2) & (senate.number == 2))[0]
    assert senate.x[vote, senate.names.index("Obama (D-IL)")] == 0
    assert senate.x[vote, senate.names.index("McCain (R-AZ)")] == 1
    assert senate.x[vote].sum() == 58


def test_graph_has_a_finite_estimate_in_either_session():
    for session in (1, 2):
        senate = load_senate109(session)
        assert tuple(senate.graph.nodes) == senate.names
        assert senate.graph.number_of_edges() == 279
        column = {name: i for i, name in enumerate(senate.names)}
        for u, v in senate.graph.edges:
            assert 0 < np.mean(senate.x[:, column[u]] == senate.x[:, column[v]]) < 1


@pytest.mark.parametrize("session", [0, 3, "1", True])
def test_other_sessions_are_refused(session):
    with pytest.raises(ValueError, match="session must be 1"):
        load_senate109(session)


@pytest.mark.slow
def test_free_fit_converges():
    senate = load_senate109(1)
    estimate = fit(senate.x, senate.graph, random_seed=0)
    assert estimate.converged
    assert estimate.moment_gap < 0.02


@pytest.mark.slow
@pytest.mark.compiled
def test_shipped_graph_is_what_the_script_makes(tmp_path):
    spec = importlib.util.spec_from_file_location("senate_graph", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    graph = script.make_graph()
    script.write_graph(graph, tmp_path / "graph.csv")
    shipped = resources.files("pymc_mrf.datasets").joinpath("senate109_graph.csv")
    assert (tmp_path / "graph.csv").read_text() == shipped.read_text()
    loaded = load_senate109().graph
    assert nx.utils.edges_equal(graph.edges, loaded.edges)
