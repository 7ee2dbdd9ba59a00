"""Plots in the conventions of arviz-plots."""

from typing import TYPE_CHECKING

from pymc_mrf._public_names import public_names

if TYPE_CHECKING:
    from pymc_mrf.plots.edge_table import plot_edge_table as plot_edge_table
    from pymc_mrf.plots.evidence import plot_complexity as plot_complexity
    from pymc_mrf.plots.evidence import plot_evidence as plot_evidence
    from pymc_mrf.plots.evidence import plot_prior_sensitivity as plot_prior_sensitivity
    from pymc_mrf.plots.nodes import plot_nodes as plot_nodes
    from pymc_mrf.plots.ppc import plot_ppc_magnetisation as plot_ppc_magnetisation
    from pymc_mrf.plots.ppc_runs import plot_ppc_runs as plot_ppc_runs

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "plots.edge_table": "plot_edge_table",
        "plots.evidence": "plot_complexity plot_evidence plot_prior_sensitivity",
        "plots.nodes": "plot_nodes",
        "plots.ppc": "plot_ppc_magnetisation",
        "plots.ppc_runs": "plot_ppc_runs",
    },
)
