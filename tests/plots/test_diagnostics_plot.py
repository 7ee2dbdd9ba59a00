import arviz as az
import numpy as np
import pytest

from pymc_mrf.plots.diagnostics import plot_diagnostics


@pytest.fixture
def tree(rng):
    statistics = {
        "exchange_accept": rng.random((2, 60)),
        "exchange_draws": np.full((2, 60), "gibbs"),
        "exchange_n_sweeps": np.full((2, 60), 20),
        "group_gibbs_n_groups": rng.integers(2, 5, (2, 60)),
        "conjugate_n_present": rng.integers(2, 5, (2, 60)),
        "auxiliary_mh_label_acceptance": np.full((2, 60), np.nan),
        "tree_gibbs_changed": rng.random((2, 60, 2)),
        "exchange_scale": np.full((2, 60), 0.3),
        "energy": rng.random((2, 60)),
    }
    return az.from_dict({"posterior": {"a": rng.random((2, 60))}, "sample_stats": statistics})


def test_a_plot_per_statistic_and_a_line_per_chain(tree, tmp_path):
    pc = plot_diagnostics(tree, backend="matplotlib")
    shown = list(pc.viz["lines"].data_vars)
    changed = ["tree_gibbs_changed[0]", "tree_gibbs_changed[1]"]
    assert shown == ["conjugate_n_present", "exchange_accept", *changed, "group_gibbs_n_groups"]
    values = tree.sample_stats["tree_gibbs_changed"].values
    line = pc.get_viz("lines", "tree_gibbs_changed[1]", chain=1)
    np.testing.assert_array_equal(line.get_ydata(), values[1, :, 1])
    middle = pc.get_viz("means", "exchange_accept", chain=0).get_ydata()[30]
    accept = tree.sample_stats["exchange_accept"].values
    assert middle == pytest.approx(accept[0, 28:32].mean())
    assert pc.get_target("group_gibbs_n_groups", {}).get_title() == "group sampler: number of groups"
    assert (
        pc.get_target("tree_gibbs_changed[1]", {}).get_title() == "TreeGibbs[1]: share of nodes changed"
    )
    assert len(pc.viz["figure"].item().legends) == 1
    pc.savefig(tmp_path / "stats.png")  # it can be drawn


def test_chosen_statistics_on_any_backend(tree):
    pc = plot_diagnostics(tree, var_names="exchange_accept", backend="none", visuals={"lines": False})
    assert list(pc.viz["means"].data_vars) == ["exchange_accept"]
    constant = plot_diagnostics(tree, var_names=["exchange_scale"], backend="none")
    assert list(constant.viz["means"].data_vars) == ["exchange_scale"]


def test_bad_input_is_named(tree):
    with pytest.raises(ValueError, match="var_names has 'energy'; the sample_stats group has"):
        plot_diagnostics(tree, var_names="energy")
    with pytest.raises(ValueError, match="the DataTree has no group 'warmup_sample_stats'"):
        plot_diagnostics(tree, group="warmup_sample_stats")
    with pytest.raises(ValueError, match="no statistics of steps of pymc_mrf"):
        plot_diagnostics(tree, group="posterior")
    with pytest.raises(ValueError, match="visuals has the key 'line'"):
        plot_diagnostics(tree, visuals={"line": False})
    with pytest.raises(TypeError, match=r"xarray\.DataTree"):
        plot_diagnostics(tree.sample_stats.to_dataset())
