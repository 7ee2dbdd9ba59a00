"""Bayesian learning of Markov random fields in PyMC.

Declare a field as the likelihood of a PyMC model, or as a latent variable in it, put a prior on its edge
parameters (a `DirichletProcess` where they fall into unknown groups, any PyMC distribution otherwise), call
`pm.sample()` and read the result with ArviZ. Names are loaded
when they are first used; the first field or prior that is made registers the step methods.

Directed graphs other than those in time, learning the graph of a `DirichletProcess`, and computing on GPUs
are not implemented.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pymc_mrf.distributions import _numba

if TYPE_CHECKING:
    from pymc_mrf import datasets
    from pymc_mrf.analysis.calibration import prediction_calibration
    from pymc_mrf.analysis.conditional import conditional_log_likelihood, log_predictive
    from pymc_mrf.analysis.diagnose import diagnose
    from pymc_mrf.analysis.edge_summary import summarize_edges
    from pymc_mrf.analysis.edge_tables import edge_strength, edge_table
    from pymc_mrf.analysis.edges import edge_density, edge_inclusion, median_graph
    from pymc_mrf.analysis.evidence import (
        cluster_evidence,
        clustering_probabilities,
        complexity_probabilities,
        edge_evidence,
        structure_probabilities,
    )
    from pymc_mrf.analysis.forecast import forecast
    from pymc_mrf.analysis.group_differences import compare_networks, summarize_differences
    from pymc_mrf.analysis.groups import (
        co_clustering,
        group_labels,
        n_groups,
        point_grouping,
        variation_of_information,
        vi_difference,
    )
    from pymc_mrf.analysis.latent_marginals import LatentMarginals
    from pymc_mrf.analysis.network_at import network_at
    from pymc_mrf.analysis.node_measures import node_measures, summarize_nodes
    from pymc_mrf.analysis.original_units import original_units
    from pymc_mrf.analysis.partial_correlations import partial_correlations
    from pymc_mrf.analysis.plan_summary import summarize_plan
    from pymc_mrf.analysis.precision_recall import precision_recall
    from pymc_mrf.analysis.prediction import predict_nodes, predictability, score_predictions
    from pymc_mrf.analysis.predictive import log_pseudo_likelihood
    from pymc_mrf.analysis.predictive_checks import edge_agreement, edge_correlation, run_lengths
    from pymc_mrf.analysis.prior_in_cone import prior_in_cone
    from pymc_mrf.analysis.prior_sensitivity import prior_sensitivity
    from pymc_mrf.distributions.dirichlet_process import DirichletProcess
    from pymc_mrf.distributions.edge_communities import EdgeCommunities, same_community
    from pymc_mrf.distributions.factor_graph_mrf import FactorGraphMRF
    from pymc_mrf.distributions.gaussian import GaussianMRF
    from pymc_mrf.distributions.group_weights import group_weights
    from pymc_mrf.distributions.kinetic import KineticMRF
    from pymc_mrf.distributions.mixed import MixedMRF
    from pymc_mrf.distributions.mrf import AgreementMRF, BoltzmannMachine, Ising
    from pymc_mrf.distributions.network_model import network_model
    from pymc_mrf.distributions.nominal import NominalMRF, table_sizes
    from pymc_mrf.distributions.ordinal import OrdinalMRF
    from pymc_mrf.distributions.potts import Potts
    from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
    from pymc_mrf.estimation.bounds import edge_appearance_probabilities, tree_reweighted_bound
    from pymc_mrf.estimation.chow_liu import chow_liu
    from pymc_mrf.estimation.elasso import elasso
    from pymc_mrf.estimation.fit import fit
    from pymc_mrf.estimation.l1_pseudo_likelihood import l1_pseudo_likelihood
    from pymc_mrf.estimation.neighborhood import neighborhood_selection
    from pymc_mrf.fields.column_kinds import ColumnKinds
    from pymc_mrf.fields.column_reader import column_kinds
    from pymc_mrf.fields.factor_graph import FactorGraphField
    from pymc_mrf.fields.pairwise import PairwiseField
    from pymc_mrf.fields.recoding import recode_states
    from pymc_mrf.fields.tables import prepare
    from pymc_mrf.graph import builders as graphs
    from pymc_mrf.graph.coordinates import coords
    from pymc_mrf.graph.factor_graph import FactorGraph
    from pymc_mrf.graph.lagged import LaggedGraph
    from pymc_mrf.graph.lattice_partition import comb_partition, spiral_partition
    from pymc_mrf.graph.structure import PairwiseGraph
    from pymc_mrf.graph.tree_partition import check_tree_partition, tree_partition
    from pymc_mrf.likelihood.monte_carlo.likelihood import MonteCarlo
    from pymc_mrf.likelihood.pseudo.likelihood import Pseudo
    from pymc_mrf.network.network import Network
    from pymc_mrf.papers.auxiliary_variable import AuxiliaryVariableMH
    from pymc_mrf.papers.persistent_langevin import PersistentLangevin
    from pymc_mrf.papers.reversible_jump import ReversibleJump
    from pymc_mrf.papers.stripped_beta import StrippedBetaGibbs
    from pymc_mrf.plots.calibration import plot_calibration
    from pymc_mrf.plots.diagnostics import plot_diagnostics
    from pymc_mrf.plots.edge_table import plot_edge_table
    from pymc_mrf.plots.edges import plot_edges
    from pymc_mrf.plots.evidence import (
        plot_complexity,
        plot_evidence,
        plot_prior_sensitivity,
    )
    from pymc_mrf.plots.groups import plot_co_clustering, plot_groups, plot_n_groups
    from pymc_mrf.plots.inclusion import plot_inclusion
    from pymc_mrf.plots.latent_field import plot_latent_field
    from pymc_mrf.plots.nodes import plot_nodes
    from pymc_mrf.plots.plan import plot_plan
    from pymc_mrf.plots.ppc import plot_ppc_edges, plot_ppc_magnetisation
    from pymc_mrf.plots.ppc_runs import plot_ppc_runs
    from pymc_mrf.runs.planning import plan_study
    from pymc_mrf.runs.replicates import replicate
    from pymc_mrf.runs.sample import read_store, run_progress, sample
    from pymc_mrf.steps.auxiliary.exchange import Exchange
    from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
    from pymc_mrf.steps.groups.conditional_gibbs import ConditionalGibbs
    from pymc_mrf.steps.groups.exact_gibbs import ExactGibbs
    from pymc_mrf.steps.groups.monte_carlo_gibbs import MonteCarloGibbs
    from pymc_mrf.steps.groups.particle_ratio_gibbs import ParticleRatioGibbs
    from pymc_mrf.steps.groups.pseudo_gibbs import PseudoGibbs
    from pymc_mrf.steps.hyper.community_gibbs import CommunityGibbs
    from pymc_mrf.steps.hyper.conjugate_concentration import ConjugateConcentration
    from pymc_mrf.steps.hyper.conjugate_hyperparameters import ConjugateHyperparameters
    from pymc_mrf.steps.hyper.conjugate_means import ConjugateMeans
    from pymc_mrf.steps.latent.gaussian_gibbs import GaussianGibbs
    from pymc_mrf.steps.latent.mixed_gibbs import MixedGibbs
    from pymc_mrf.steps.latent.series_gibbs import SeriesGibbs
    from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs

__version__ = "0.1.0"

__all__ = [
    "AgreementMRF",
    "AuxiliaryVariableMH",
    "BoltzmannMachine",
    "ColumnKinds",
    "CommunityGibbs",
    "ConditionalGibbs",
    "ConjugateConcentration",
    "ConjugateHyperparameters",
    "ConjugateMeans",
    "DirichletProcess",
    "EdgeCommunities",
    "EdgeGibbs",
    "ExactGibbs",
    "Exchange",
    "FactorGraph",
    "FactorGraphField",
    "FactorGraphMRF",
    "GaussianGibbs",
    "GaussianMRF",
    "Ising",
    "KineticMRF",
    "LaggedGraph",
    "LatentMarginals",
    "MixedGibbs",
    "MixedMRF",
    "MonteCarlo",
    "MonteCarloGibbs",
    "Network",
    "NominalMRF",
    "OrdinalMRF",
    "PairwiseField",
    "PairwiseGraph",
    "ParticleRatioGibbs",
    "PersistentLangevin",
    "Potts",
    "Pseudo",
    "PseudoGibbs",
    "ReversibleJump",
    "SeriesGibbs",
    "SpikeAndSlab",
    "StrippedBetaGibbs",
    "TreeGibbs",
    "check_tree_partition",
    "chow_liu",
    "cluster_evidence",
    "clustering_probabilities",
    "co_clustering",
    "column_kinds",
    "comb_partition",
    "compare_networks",
    "complexity_probabilities",
    "conditional_log_likelihood",
    "coords",
    "datasets",
    "diagnose",
    "edge_agreement",
    "edge_appearance_probabilities",
    "edge_correlation",
    "edge_density",
    "edge_evidence",
    "edge_inclusion",
    "edge_strength",
    "edge_table",
    "elasso",
    "fit",
    "forecast",
    "graphs",
    "group_labels",
    "group_weights",
    "l1_pseudo_likelihood",
    "log_predictive",
    "log_pseudo_likelihood",
    "median_graph",
    "n_groups",
    "neighborhood_selection",
    "network_at",
    "network_model",
    "node_measures",
    "original_units",
    "partial_correlations",
    "plan_study",
    "plot_calibration",
    "plot_co_clustering",
    "plot_complexity",
    "plot_diagnostics",
    "plot_edge_table",
    "plot_edges",
    "plot_evidence",
    "plot_groups",
    "plot_inclusion",
    "plot_latent_field",
    "plot_n_groups",
    "plot_nodes",
    "plot_plan",
    "plot_ppc_edges",
    "plot_ppc_magnetisation",
    "plot_ppc_runs",
    "plot_prior_sensitivity",
    "point_grouping",
    "precision_recall",
    "predict_nodes",
    "predictability",
    "prediction_calibration",
    "prepare",
    "prior_in_cone",
    "prior_sensitivity",
    "read_store",
    "recode_states",
    "replicate",
    "run_lengths",
    "run_progress",
    "same_community",
    "sample",
    "score_predictions",
    "spiral_partition",
    "structure_probabilities",
    "summarize_differences",
    "summarize_edges",
    "summarize_nodes",
    "summarize_plan",
    "table_sizes",
    "tree_partition",
    "tree_reweighted_bound",
    "variation_of_information",
    "vi_difference",
]

_MODULES = {"datasets": "pymc_mrf.datasets", "graphs": "pymc_mrf.graph.builders"}
_HOMES = {
    "AgreementMRF": "pymc_mrf.distributions.mrf",
    "AuxiliaryVariableMH": "pymc_mrf.papers.auxiliary_variable",
    "BoltzmannMachine": "pymc_mrf.distributions.mrf",
    "CommunityGibbs": "pymc_mrf.steps.hyper.community_gibbs",
    "ConditionalGibbs": "pymc_mrf.steps.groups.conditional_gibbs",
    "ConjugateConcentration": "pymc_mrf.steps.hyper.conjugate_concentration",
    "ConjugateHyperparameters": "pymc_mrf.steps.hyper.conjugate_hyperparameters",
    "ConjugateMeans": "pymc_mrf.steps.hyper.conjugate_means",
    "DirichletProcess": "pymc_mrf.distributions.dirichlet_process",
    "EdgeCommunities": "pymc_mrf.distributions.edge_communities",
    "EdgeGibbs": "pymc_mrf.steps.edges.edge_gibbs",
    "ExactGibbs": "pymc_mrf.steps.groups.exact_gibbs",
    "Exchange": "pymc_mrf.steps.auxiliary.exchange",
    "FactorGraph": "pymc_mrf.graph.factor_graph",
    "FactorGraphField": "pymc_mrf.fields.factor_graph",
    "FactorGraphMRF": "pymc_mrf.distributions.factor_graph_mrf",
    "GaussianGibbs": "pymc_mrf.steps.latent.gaussian_gibbs",
    "MixedGibbs": "pymc_mrf.steps.latent.mixed_gibbs",
    "GaussianMRF": "pymc_mrf.distributions.gaussian",
    "MixedMRF": "pymc_mrf.distributions.mixed",
    "ColumnKinds": "pymc_mrf.fields.column_kinds",
    "column_kinds": "pymc_mrf.fields.column_reader",
    "Ising": "pymc_mrf.distributions.mrf",
    "KineticMRF": "pymc_mrf.distributions.kinetic",
    "LatentMarginals": "pymc_mrf.analysis.latent_marginals",
    "MonteCarlo": "pymc_mrf.likelihood.monte_carlo.likelihood",
    "MonteCarloGibbs": "pymc_mrf.steps.groups.monte_carlo_gibbs",
    "Network": "pymc_mrf.network.network",
    "NominalMRF": "pymc_mrf.distributions.nominal",
    "OrdinalMRF": "pymc_mrf.distributions.ordinal",
    "PairwiseField": "pymc_mrf.fields.pairwise",
    "LaggedGraph": "pymc_mrf.graph.lagged",
    "PairwiseGraph": "pymc_mrf.graph.structure",
    "ParticleRatioGibbs": "pymc_mrf.steps.groups.particle_ratio_gibbs",
    "PersistentLangevin": "pymc_mrf.papers.persistent_langevin",
    "Potts": "pymc_mrf.distributions.potts",
    "Pseudo": "pymc_mrf.likelihood.pseudo.likelihood",
    "PseudoGibbs": "pymc_mrf.steps.groups.pseudo_gibbs",
    "ReversibleJump": "pymc_mrf.papers.reversible_jump",
    "SeriesGibbs": "pymc_mrf.steps.latent.series_gibbs",
    "SpikeAndSlab": "pymc_mrf.distributions.spike_and_slab",
    "StrippedBetaGibbs": "pymc_mrf.papers.stripped_beta",
    "TreeGibbs": "pymc_mrf.steps.latent.tree_gibbs",
    "check_tree_partition": "pymc_mrf.graph.tree_partition",
    "chow_liu": "pymc_mrf.estimation.chow_liu",
    "cluster_evidence": "pymc_mrf.analysis.evidence",
    "clustering_probabilities": "pymc_mrf.analysis.evidence",
    "co_clustering": "pymc_mrf.analysis.groups",
    "comb_partition": "pymc_mrf.graph.lattice_partition",
    "compare_networks": "pymc_mrf.analysis.group_differences",
    "complexity_probabilities": "pymc_mrf.analysis.evidence",
    "conditional_log_likelihood": "pymc_mrf.analysis.conditional",
    "coords": "pymc_mrf.graph.coordinates",
    "diagnose": "pymc_mrf.analysis.diagnose",
    "edge_agreement": "pymc_mrf.analysis.predictive_checks",
    "edge_appearance_probabilities": "pymc_mrf.estimation.bounds",
    "edge_correlation": "pymc_mrf.analysis.predictive_checks",
    "edge_density": "pymc_mrf.analysis.edges",
    "edge_evidence": "pymc_mrf.analysis.evidence",
    "edge_inclusion": "pymc_mrf.analysis.edges",
    "edge_strength": "pymc_mrf.analysis.edge_tables",
    "edge_table": "pymc_mrf.analysis.edge_tables",
    "elasso": "pymc_mrf.estimation.elasso",
    "fit": "pymc_mrf.estimation.fit",
    "forecast": "pymc_mrf.analysis.forecast",
    "group_labels": "pymc_mrf.analysis.groups",
    "group_weights": "pymc_mrf.distributions.group_weights",
    "l1_pseudo_likelihood": "pymc_mrf.estimation.l1_pseudo_likelihood",
    "log_predictive": "pymc_mrf.analysis.conditional",
    "log_pseudo_likelihood": "pymc_mrf.analysis.predictive",
    "median_graph": "pymc_mrf.analysis.edges",
    "n_groups": "pymc_mrf.analysis.groups",
    "neighborhood_selection": "pymc_mrf.estimation.neighborhood",
    "network_at": "pymc_mrf.analysis.network_at",
    "network_model": "pymc_mrf.distributions.network_model",
    "node_measures": "pymc_mrf.analysis.node_measures",
    "original_units": "pymc_mrf.analysis.original_units",
    "partial_correlations": "pymc_mrf.analysis.partial_correlations",
    "plan_study": "pymc_mrf.runs.planning",
    "plot_calibration": "pymc_mrf.plots.calibration",
    "plot_co_clustering": "pymc_mrf.plots.groups",
    "plot_complexity": "pymc_mrf.plots.evidence",
    "plot_diagnostics": "pymc_mrf.plots.diagnostics",
    "plot_edge_table": "pymc_mrf.plots.edge_table",
    "plot_edges": "pymc_mrf.plots.edges",
    "plot_evidence": "pymc_mrf.plots.evidence",
    "plot_groups": "pymc_mrf.plots.groups",
    "plot_inclusion": "pymc_mrf.plots.inclusion",
    "plot_latent_field": "pymc_mrf.plots.latent_field",
    "plot_n_groups": "pymc_mrf.plots.groups",
    "plot_nodes": "pymc_mrf.plots.nodes",
    "plot_plan": "pymc_mrf.plots.plan",
    "plot_ppc_edges": "pymc_mrf.plots.ppc",
    "plot_ppc_magnetisation": "pymc_mrf.plots.ppc",
    "plot_ppc_runs": "pymc_mrf.plots.ppc_runs",
    "plot_prior_sensitivity": "pymc_mrf.plots.evidence",
    "point_grouping": "pymc_mrf.analysis.groups",
    "precision_recall": "pymc_mrf.analysis.precision_recall",
    "predict_nodes": "pymc_mrf.analysis.prediction",
    "predictability": "pymc_mrf.analysis.prediction",
    "prediction_calibration": "pymc_mrf.analysis.calibration",
    "prepare": "pymc_mrf.fields.tables",
    "prior_in_cone": "pymc_mrf.analysis.prior_in_cone",
    "prior_sensitivity": "pymc_mrf.analysis.prior_sensitivity",
    "read_store": "pymc_mrf.runs.sample",
    "recode_states": "pymc_mrf.fields.recoding",
    "replicate": "pymc_mrf.runs.replicates",
    "run_lengths": "pymc_mrf.analysis.predictive_checks",
    "run_progress": "pymc_mrf.runs.sample",
    "same_community": "pymc_mrf.distributions.edge_communities",
    "sample": "pymc_mrf.runs.sample",
    "score_predictions": "pymc_mrf.analysis.prediction",
    "spiral_partition": "pymc_mrf.graph.lattice_partition",
    "structure_probabilities": "pymc_mrf.analysis.evidence",
    "summarize_differences": "pymc_mrf.analysis.group_differences",
    "summarize_edges": "pymc_mrf.analysis.edge_summary",
    "summarize_nodes": "pymc_mrf.analysis.node_measures",
    "summarize_plan": "pymc_mrf.analysis.plan_summary",
    "table_sizes": "pymc_mrf.distributions.nominal",
    "tree_partition": "pymc_mrf.graph.tree_partition",
    "tree_reweighted_bound": "pymc_mrf.estimation.bounds",
    "variation_of_information": "pymc_mrf.analysis.groups",
    "vi_difference": "pymc_mrf.analysis.groups",
}


def __getattr__(name: str) -> Any:
    """Load a public name."""
    if name in _MODULES:
        value: Any = import_module(_MODULES[name])
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def _register() -> None:
    import_module("pymc_mrf.steps.assign").register()
    import_module("pymc_mrf.distributions.labelled_starts").register()


_numba.on_first_use.append(_register)
