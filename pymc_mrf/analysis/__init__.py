"""Posterior in, answers out; nothing here samples."""

from typing import TYPE_CHECKING

from pymc_mrf._public_names import public_names

if TYPE_CHECKING:
    from pymc_mrf.analysis.agreement import precision_recall as precision_recall
    from pymc_mrf.analysis.calibration import prediction_calibration as prediction_calibration
    from pymc_mrf.analysis.centrality import node_measures as node_measures
    from pymc_mrf.analysis.conditional import conditional_log_likelihood as conditional_log_likelihood
    from pymc_mrf.analysis.cone_prior import prior_in_cone as prior_in_cone
    from pymc_mrf.analysis.edges import edge_density as edge_density
    from pymc_mrf.analysis.evidence import cluster_evidence as cluster_evidence
    from pymc_mrf.analysis.evidence import clustering_probabilities as clustering_probabilities
    from pymc_mrf.analysis.evidence import complexity_probabilities as complexity_probabilities
    from pymc_mrf.analysis.evidence import structure_probabilities as structure_probabilities
    from pymc_mrf.analysis.groups import variation_of_information as variation_of_information
    from pymc_mrf.analysis.groups import vi_difference as vi_difference
    from pymc_mrf.analysis.predictive import log_pseudo_likelihood as log_pseudo_likelihood
    from pymc_mrf.analysis.predictive_checks import edge_agreement as edge_agreement
    from pymc_mrf.analysis.predictive_checks import edge_correlation as edge_correlation
    from pymc_mrf.analysis.predictive_checks import run_lengths as run_lengths
    from pymc_mrf.analysis.units import original_units as original_units

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "analysis.agreement": "precision_recall",
        "analysis.calibration": "prediction_calibration",
        "analysis.centrality": "node_measures",
        "analysis.conditional": "conditional_log_likelihood",
        "analysis.cone_prior": "prior_in_cone",
        "analysis.edges": "edge_density",
        "analysis.evidence": "cluster_evidence clustering_probabilities complexity_probabilities "
        "structure_probabilities",
        "analysis.groups": "variation_of_information vi_difference",
        "analysis.predictive": "log_pseudo_likelihood",
        "analysis.predictive_checks": "edge_agreement edge_correlation run_lengths",
        "analysis.units": "original_units",
    },
)
