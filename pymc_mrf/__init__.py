"""Bayesian learning of Markov random fields in PyMC.

Declare a field as the likelihood of a PyMC model, or as a latent variable in it, put a prior on its edge
parameters (a `DirichletProcess` where they fall into unknown groups, any PyMC distribution otherwise), call
`pm.sample()` and read the result with ArviZ. Importing the package registers its step methods.
"""

from pymc_mrf import datasets
from pymc_mrf.analysis.conditional import conditional_log_likelihood, log_predictive
from pymc_mrf.analysis.edges import edge_density, edge_inclusion, median_graph, precision_recall
from pymc_mrf.analysis.groups import (
    co_clustering,
    group_labels,
    n_groups,
    point_grouping,
    variation_of_information,
    vi_difference,
)
from pymc_mrf.analysis.predictive import log_pseudo_likelihood
from pymc_mrf.distributions.dirichlet_process import DirichletProcess
from pymc_mrf.distributions.factor_graph_mrf import FactorGraphMRF
from pymc_mrf.distributions.mrf import AgreementMRF, BoltzmannMachine, Ising
from pymc_mrf.distributions.potts import Potts
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.estimation.bounds import edge_appearance_probabilities, tree_reweighted_bound
from pymc_mrf.estimation.chow_liu import chow_liu
from pymc_mrf.estimation.fit import fit
from pymc_mrf.estimation.neighborhood import neighborhood_selection
from pymc_mrf.fields.factor_graph import FactorGraphField
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders as graphs
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.lattice_partition import comb_partition, spiral_partition
from pymc_mrf.graph.structure import PairwiseGraph, coords
from pymc_mrf.graph.tree_partition import check_tree_partition, tree_partition
from pymc_mrf.plots.edges import plot_edges, plot_inclusion
from pymc_mrf.plots.groups import plot_co_clustering, plot_n_groups
from pymc_mrf.plots.network import plot_groups
from pymc_mrf.steps.assign import register
from pymc_mrf.steps.auxiliary_variable import AuxiliaryVariableMH
from pymc_mrf.steps.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.exact_gibbs import ExactGibbs
from pymc_mrf.steps.exchange import Exchange
from pymc_mrf.steps.particle_ratio_gibbs import ParticleRatioGibbs
from pymc_mrf.steps.stripped_beta import StrippedBetaGibbs
from pymc_mrf.steps.tree_gibbs import TreeGibbs

__version__ = "0.1.0"

__all__ = [
    "AgreementMRF",
    "AuxiliaryVariableMH",
    "BoltzmannMachine",
    "DirichletProcess",
    "EdgeGibbs",
    "ExactGibbs",
    "Exchange",
    "FactorGraph",
    "FactorGraphField",
    "FactorGraphMRF",
    "Ising",
    "PairwiseField",
    "PairwiseGraph",
    "ParticleRatioGibbs",
    "Potts",
    "SpikeAndSlab",
    "StrippedBetaGibbs",
    "TreeGibbs",
    "check_tree_partition",
    "chow_liu",
    "co_clustering",
    "comb_partition",
    "conditional_log_likelihood",
    "coords",
    "datasets",
    "edge_appearance_probabilities",
    "edge_density",
    "edge_inclusion",
    "fit",
    "graphs",
    "group_labels",
    "log_predictive",
    "log_pseudo_likelihood",
    "median_graph",
    "n_groups",
    "neighborhood_selection",
    "plot_co_clustering",
    "plot_edges",
    "plot_groups",
    "plot_inclusion",
    "plot_n_groups",
    "point_grouping",
    "precision_recall",
    "spiral_partition",
    "tree_partition",
    "tree_reweighted_bound",
    "variation_of_information",
    "vi_difference",
]

register()
