"""Posterior in, answers out; nothing here samples."""

from typing import TYPE_CHECKING

from pymc_mrf._public_names import public_names

if TYPE_CHECKING:
    from pymc_mrf.analysis.conditional import conditional_log_likelihood as conditional_log_likelihood
    from pymc_mrf.analysis.conditional import log_predictive as log_predictive
    from pymc_mrf.analysis.conditional import log_pseudo_likelihood as log_pseudo_likelihood
    from pymc_mrf.analysis.cone_prior import prior_in_cone as prior_in_cone
    from pymc_mrf.analysis.edge_tables import edge_strength as edge_strength
    from pymc_mrf.analysis.edges import edge_inclusion as edge_inclusion
    from pymc_mrf.analysis.evidence import cluster_evidence as cluster_evidence
    from pymc_mrf.analysis.evidence import clustering_probabilities as clustering_probabilities
    from pymc_mrf.analysis.evidence import complexity_probabilities as complexity_probabilities
    from pymc_mrf.analysis.evidence import structure_probabilities as structure_probabilities
    from pymc_mrf.analysis.groups import variation_of_information as variation_of_information
    from pymc_mrf.analysis.predictive_checks import predictive_check as predictive_check
    from pymc_mrf.analysis.units import original_units as original_units

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "analysis.conditional": "conditional_log_likelihood log_predictive log_pseudo_likelihood",
        "analysis.cone_prior": "prior_in_cone",
        "analysis.edge_tables": "edge_strength",
        "analysis.edges": "edge_inclusion",
        "analysis.evidence": "cluster_evidence clustering_probabilities complexity_probabilities "
        "structure_probabilities",
        "analysis.groups": "variation_of_information",
        "analysis.predictive_checks": "predictive_check",
        "analysis.units": "original_units",
    },
)
