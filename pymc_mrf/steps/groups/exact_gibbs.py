"""`ExactGibbs`: grouped parameters of fields whose likelihood can be computed."""

from typing import Any, ClassVar

from pymc_mrf.distributions.likelihood import EXACT
from pymc_mrf.likelihood.exact.likelihood import Exact
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.groups.engine_gibbs import EngineGibbs


class ExactGibbs(EngineGibbs):
    """Grouped edge parameters of fields of small treewidth.

    Leaves invariant: the posterior, exactly, up to double precision, in which values of theta above
    1 - 2e-16 are one.

    A step has eight rounds, two while tuning. In each all labels are redrawn in turn, twice, from eq. (4) of
    Liu & Page (2013) with auxiliary values in place of its integral (`pymc_mrf.kernels.groups.group_labels`),
    the likelihood of each edge from its marginal on the junction tree (identity A1); then all group values by
    a Hamiltonian move given the labels. On forests without node terms likelihoods are in closed form, and
    one round is enough.

    Parameters
    ----------
    vars : list of variables
        A `DirichletProcess` that is the edge parameter of an observed `AgreementMRF`, `Ising`,
        `BoltzmannMachine`, `OrdinalMRF` or `Potts` (one coupling per edge), or of several of them; entries of
        it may be picked by constant indices. Node parameters may have any prior; other steps, such as NUTS,
        move them. Cells of the data may be missing; `TreeGibbs` draws them.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError
        If the variable feeds another kind of field or anything else, node parameters differ between rows, or
        the junction tree is too wide.

    Notes
    -----
    Sampler statistics: ``group_gibbs_n_groups``, ``group_gibbs_n_new`` (groups opened in the step) and
    ``group_gibbs_acceptance`` (acceptance probability of the move of the group values).

    References
    ----------
    Liu & Page (2013), eq. (4); Neal (2000), Algorithm 8; Neal (2011).
    """

    name = "exact_gibbs"
    invariant: ClassVar = {Exact: EXACT}
    default_for = Exact
    # a chain of PyMC's default length then converges on fields of some hundred edges
    n_rounds = 8
    n_tuning_rounds = 2

    def _make_engine(self, field: ObservedField, *arguments) -> Any:
        # a kernel takes views of one type: closed forms serve if all fields have them
        if all(_has_closed_form(other) for other in self._fields):
            self.n_rounds = self.n_tuning_rounds = 1
            return Exact.closed_groups(*arguments)
        return super()._make_engine(field, *arguments)


def _has_closed_form(field: ObservedField) -> bool:
    """Whether the edges of a field are independent."""
    import networkx as nx

    is_forest = field.family.measures_agreement and nx.is_forest(field.graph.to_networkx())
    return is_forest and field.lacks_node_terms
