"""Bayesian learning of Markov random fields in PyMC.

Declare a field as the likelihood of a PyMC model, or as a latent variable in it, put a prior on its edge
parameters (a `DirichletProcess` where they fall into unknown groups, any PyMC distribution otherwise), call
`pm.sample()` and read the result with ArviZ. Names are loaded
when they are first used; the first field or prior that is made registers the step methods.

Directed graphs other than those in time, learning the graph of a `DirichletProcess`, and computing on GPUs
are not implemented.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from pymc_mrf._public_names import public_names
from pymc_mrf.distributions import _numba

if TYPE_CHECKING:
    from pymc_mrf import analysis as analysis
    from pymc_mrf import datasets as datasets
    from pymc_mrf import estimation as estimation
    from pymc_mrf import fields as fields
    from pymc_mrf import graphs as graphs
    from pymc_mrf import papers as papers
    from pymc_mrf import plots as plots
    from pymc_mrf import steps as steps
    from pymc_mrf.analysis.centrality import summarize_nodes as summarize_nodes
    from pymc_mrf.analysis.diagnose import diagnose as diagnose
    from pymc_mrf.analysis.edge_summary import summarize_edges as summarize_edges
    from pymc_mrf.analysis.edges import median_graph as median_graph
    from pymc_mrf.analysis.forecast import forecast as forecast
    from pymc_mrf.analysis.group_differences import compare_networks as compare_networks
    from pymc_mrf.analysis.group_differences import summarize_differences as summarize_differences
    from pymc_mrf.analysis.groups import co_clustering as co_clustering
    from pymc_mrf.analysis.groups import group_labels as group_labels
    from pymc_mrf.analysis.groups import n_groups as n_groups
    from pymc_mrf.analysis.groups import point_grouping as point_grouping
    from pymc_mrf.analysis.latent_marginals import LatentMarginals as LatentMarginals
    from pymc_mrf.analysis.network_at import network_at as network_at
    from pymc_mrf.analysis.partial_correlations import partial_correlations as partial_correlations
    from pymc_mrf.analysis.plan_summary import summarize_plan as summarize_plan
    from pymc_mrf.analysis.prediction import predict_nodes as predict_nodes
    from pymc_mrf.analysis.prediction import score_predictions as score_predictions
    from pymc_mrf.analysis.prior_sensitivity import prior_sensitivity as prior_sensitivity
    from pymc_mrf.distributions.dirichlet_process import DirichletProcess as DirichletProcess
    from pymc_mrf.distributions.edge_communities import EdgeCommunities as EdgeCommunities
    from pymc_mrf.distributions.edge_communities import same_community as same_community
    from pymc_mrf.distributions.factor_graph_mrf import FactorGraphMRF as FactorGraphMRF
    from pymc_mrf.distributions.gaussian import GaussianMRF as GaussianMRF
    from pymc_mrf.distributions.group_weights import group_weights as group_weights
    from pymc_mrf.distributions.kinetic import KineticMRF as KineticMRF
    from pymc_mrf.distributions.mixed import MixedMRF as MixedMRF
    from pymc_mrf.distributions.mrf import AgreementMRF as AgreementMRF
    from pymc_mrf.distributions.mrf import BoltzmannMachine as BoltzmannMachine
    from pymc_mrf.distributions.mrf import Ising as Ising
    from pymc_mrf.distributions.multistate import NominalMRF as NominalMRF
    from pymc_mrf.distributions.multistate import OrdinalMRF as OrdinalMRF
    from pymc_mrf.distributions.multistate import Potts as Potts
    from pymc_mrf.distributions.network_model import network_model as network_model
    from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab as SpikeAndSlab
    from pymc_mrf.fields.column_reader import column_kinds as column_kinds
    from pymc_mrf.fields.pairwise import PairwiseField as PairwiseField
    from pymc_mrf.fields.recoding import recode_states as recode_states
    from pymc_mrf.graph.coordinates import coords as coords
    from pymc_mrf.graph.lagged import LaggedGraph as LaggedGraph
    from pymc_mrf.graph.structure import PairwiseGraph as PairwiseGraph
    from pymc_mrf.likelihood.monte_carlo.likelihood import MonteCarlo as MonteCarlo
    from pymc_mrf.likelihood.pseudo.likelihood import Pseudo as Pseudo
    from pymc_mrf.network.network import Network as Network
    from pymc_mrf.plots.calibration import plot_calibration as plot_calibration
    from pymc_mrf.plots.diagnostics import plot_diagnostics as plot_diagnostics
    from pymc_mrf.plots.edges import plot_edges as plot_edges
    from pymc_mrf.plots.groups import plot_co_clustering as plot_co_clustering
    from pymc_mrf.plots.groups import plot_groups as plot_groups
    from pymc_mrf.plots.groups import plot_n_groups as plot_n_groups
    from pymc_mrf.plots.inclusion import plot_inclusion as plot_inclusion
    from pymc_mrf.plots.latent_field import plot_latent_field as plot_latent_field
    from pymc_mrf.plots.plan import plot_plan as plot_plan
    from pymc_mrf.plots.ppc import plot_ppc_edges as plot_ppc_edges
    from pymc_mrf.runs.planning import plan_study as plan_study
    from pymc_mrf.runs.replicates import replicate as replicate
    from pymc_mrf.runs.sample import read_store as read_store
    from pymc_mrf.runs.sample import run_progress as run_progress
    from pymc_mrf.runs.sample import sample as sample

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "analysis.centrality": "summarize_nodes",
        "analysis.diagnose": "diagnose",
        "analysis.edge_summary": "summarize_edges",
        "analysis.edges": "median_graph",
        "analysis.forecast": "forecast",
        "analysis.group_differences": "compare_networks summarize_differences",
        "analysis.groups": "co_clustering group_labels n_groups point_grouping",
        "analysis.latent_marginals": "LatentMarginals",
        "analysis.network_at": "network_at",
        "analysis.partial_correlations": "partial_correlations",
        "analysis.plan_summary": "summarize_plan",
        "analysis.prediction": "predict_nodes score_predictions",
        "analysis.prior_sensitivity": "prior_sensitivity",
        "distributions.dirichlet_process": "DirichletProcess",
        "distributions.edge_communities": "EdgeCommunities same_community",
        "distributions.factor_graph_mrf": "FactorGraphMRF",
        "distributions.gaussian": "GaussianMRF",
        "distributions.group_weights": "group_weights",
        "distributions.kinetic": "KineticMRF",
        "distributions.mixed": "MixedMRF",
        "distributions.mrf": "AgreementMRF BoltzmannMachine Ising",
        "distributions.network_model": "network_model",
        "distributions.multistate": "NominalMRF OrdinalMRF Potts",
        "distributions.spike_and_slab": "SpikeAndSlab",
        "fields.column_reader": "column_kinds",
        "fields.pairwise": "PairwiseField",
        "fields.recoding": "recode_states",
        "graph.coordinates": "coords",
        "graph.lagged": "LaggedGraph",
        "graph.structure": "PairwiseGraph",
        "likelihood.monte_carlo.likelihood": "MonteCarlo",
        "likelihood.pseudo.likelihood": "Pseudo",
        "network.network": "Network",
        "plots.calibration": "plot_calibration",
        "plots.diagnostics": "plot_diagnostics",
        "plots.edges": "plot_edges",
        "plots.groups": "plot_co_clustering plot_groups plot_n_groups",
        "plots.inclusion": "plot_inclusion",
        "plots.latent_field": "plot_latent_field",
        "plots.plan": "plot_plan",
        "plots.ppc": "plot_ppc_edges",
        "runs.planning": "plan_study",
        "runs.replicates": "replicate",
        "runs.sample": "read_store run_progress sample",
    },
    modules="analysis datasets estimation fields graphs papers plots steps",
)


def _register() -> None:
    import_module("pymc_mrf.steps.assign").register()
    import_module("pymc_mrf.distributions.labelled_starts").register_start_check()


_numba.on_first_use.append(_register)
