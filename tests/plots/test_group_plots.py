import numpy as np
import pytest

from pymc_mrf.plots.groups import plot_co_clustering, plot_n_groups
from tests.analysis.posteriors import as_posterior, grouped_theta, noisy_theta


def test_heat_map_shows_groups_as_blocks(rng):
    truth = rng.permutation(np.repeat([0, 1, 2], [4, 5, 6]))
    pc = plot_co_clustering(as_posterior(noisy_theta(rng, truth, flip=0.0), edges=range(15)))
    shown = np.asarray(pc.get_viz("heatmap", "theta").get_array())
    blocks = np.kron(np.eye(3), np.ones((1, 1))).repeat([4, 5, 6], axis=0)
    np.testing.assert_array_equal(shown, blocks.repeat([4, 5, 6], axis=1))
    ticks = [text.get_text() for text in pc.get_target("theta", {}).get_yticklabels()]
    assert [truth[int(edge)] for edge in ticks] == sorted(truth)
    assert len(pc.get_viz("boundaries", "theta").get_segments()) == 4


def test_many_items_are_labelled_by_group(rng, tmp_path):
    truth = np.repeat([0, 1], 40)
    pc = plot_co_clustering(as_posterior(noisy_theta(rng, truth, flip=0.0)), "theta")
    ticks = [text.get_text() for text in pc.get_target("theta", {}).get_yticklabels()]
    assert [tick.split()[-1] for tick in ticks] == ["(40)", "(40)"]
    pc.savefig(tmp_path / "heat.png")  # it can be drawn


def test_visuals_are_switched_off_or_styled(rng):
    tree = as_posterior(grouped_theta(rng))
    pc = plot_co_clustering(
        tree,
        visuals={"boundaries": False, "colorbar": False, "heatmap": {"cmap": "cividis"}},
        figure_kwargs={"figsize": (3, 2)},
    )
    assert "boundaries" not in pc.viz.children
    assert pc.get_viz("heatmap", "theta").get_cmap().name == "cividis"
    assert pc.viz["figure"].item().get_size_inches().tolist() == [3, 2]
    assert len(pc.viz["figure"].item().axes) == 1


@pytest.mark.parametrize("backend", ["matplotlib", "none"])
def test_number_of_groups_per_chain(rng, backend):
    theta = grouped_theta(rng, n_chains=3)
    pc = plot_n_groups(as_posterior(theta), backend=backend)
    assert pc.viz["lines"]["theta"].dims == ("chain",)
    if backend == "matplotlib":
        x, y = pc.get_viz("lines", "theta", chain=1).get_data()
        counts = np.array([len(set(draw)) for draw in theta[1].tolist()])
        np.testing.assert_allclose(y, [(counts == k).mean() for k in x])
        assert sum(y) == pytest.approx(1.0)


def test_number_of_groups_of_one_chain(rng):
    pc = plot_n_groups(as_posterior(grouped_theta(rng, n_chains=1)), backend="matplotlib")
    assert not pc.viz["figure"].item().legends


def test_bad_input_is_named(rng):
    tree = as_posterior(grouped_theta(rng))
    with pytest.raises(ValueError, match="matplotlib only; backend must not be 'bokeh'"):
        plot_co_clustering(tree, backend="bokeh")
    with pytest.raises(ValueError, match="visuals has the key 'bars'"):
        plot_n_groups(tree, visuals={"bars": False})
    for plot in (plot_co_clustering, plot_n_groups):
        with pytest.raises(ValueError, match="no variable 'tau'"):
            plot(tree, "tau")
