"""`likelihood="adjusted-pseudo"`: what it takes, and where the parameters of a model may lie."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import ancestors

from pymc_mrf.distributions.entries import EntriesRV
from pymc_mrf.distributions.likelihood import OF_PSEUDO, Declared, Likelihood, possible
from pymc_mrf.distributions.remedies import advice, check_fixed, refusal
from pymc_mrf.likelihood.adjusted_pseudo.adjustment import Adjustment, AffineProblem, adjust
from pymc_mrf.likelihood.pseudo.likelihood import NO_LIKELIHOOD, of_rows
from pymc_mrf.likelihood.pseudo.log_pseudo_likelihood import LogPseudoLikelihood


@dataclass(frozen=True)
class AdjustedPseudo(Likelihood):
    """The pseudo-likelihood after an affine map of the parameters (Bouranis, Friel & Maire, 2017)."""

    name: ClassVar[str] = "adjusted-pseudo"
    invariant: ClassVar[str] = OF_PSEUDO
    no_probability: ClassVar[str] = (
        "adjusted log pseudo-likelihoods only, which are not to be compared with log probabilities"
    )
    not_comparable: ClassVar[tuple[str, str]] = NO_LIKELIHOOD
    is_recommended: ClassVar[bool] = False

    adjusted: Adjustment | None = None

    def prepare(self, field: Declared) -> "AdjustedPseudo":
        """Adjust the pseudo-likelihood to the data, for the parameters of the model."""
        op, parameters, (_, x, name) = field.op, field.parameters, field.data
        remedy, family, graph = advice(field, possible(field), "use"), op.family, op.graph
        refuse = partial(refusal, name, self)
        if x is None or np.ma.is_masked(x):
            raise refuse("needs observed data without missing cells", remedy)
        check_fixed(field.data, self)
        if family.edge_axes or family.has_blocks:
            several = "a table" if family.has_blocks else "one for each state"
            raise refuse(f"needs one number per edge, but {family.edge_parameter} has {several}", remedy)
        if family.has_own_scores:
            raise refuse("needs scores that all nodes share", f"give such scores, or {remedy}")
        if any(p.type.ndim > 1 + k for p, k in zip(parameters, (0, family.node_axes), strict=False)):
            raise refuse("needs parameters that all rows share, without dimensions of rows", remedy)
        evaluate = _evaluator(op.flat_natural(parameters), refuse, remedy)
        indices = family.encode(np.asarray(x).reshape(-1, graph.n_nodes), n_nodes=graph.n_nodes)
        try:
            problem = AffineProblem.spanned(indices, graph, family, evaluate)
        except np.linalg.LinAlgError as error:
            raise refuse("needs natural parameters of comparable sizes", "rescale them") from error
        if not problem.n_parameters:
            raise refuse(
                "has nothing to adjust, because the parameters depend on no free variable", remedy
            )
        return AdjustedPseudo(adjust(problem, name))

    def log_density(self, op: Any, indices: Any, parameters: Sequence, value: Any) -> Any:
        """Evaluate the pseudo-likelihood at the parameters that these are moved to."""
        assert self.adjusted is not None
        at = self.adjusted.moved(op.flat_natural(parameters), pt)
        tables = [pt.as_tensor(table) for table in self.adjusted.problem.tables_at(at)]
        return of_rows(LogPseudoLikelihood(op.graph), op, indices, tables)


def _evaluator(flat, refuse: Callable[[str, str], ValueError], remedy: str):
    """Make a function that evaluates a vector (m times) at random points of the model.

    Near the start and, as its scale says nothing of theirs, from the priors, in turn.
    """
    model = pm.modelcontext(None)
    (expression,) = model.replace_rvs_by_values([flat])
    reached = set(ancestors([expression]))
    parents = [rv for rv in model.free_RVs if model.rvs_to_values[rv] in reached]
    for rv in parents:
        if not rv.type.dtype.startswith("float") or isinstance(rv.owner.op, EntriesRV):
            raise refuse(f"is for continuous parameters that NUTS moves, and {rv.name} is none", remedy)
    changing = next((v for v in reached if isinstance(v, SharedVariable)), None)
    if changing is not None:
        raise refuse(f"must not depend on {changing.name}", "give an array in place of pm.Data")
    values = [model.rvs_to_values[rv] for rv in parents]
    function = pytensor.function(values, expression, mode="FAST_COMPILE")
    point, rng = model.initial_point(random_seed=0), np.random.default_rng(0)
    try:
        draw = pm.compile([], flat, random_seed=0, mode="FAST_COMPILE")
        draw()
    except NotImplementedError:  # no draws from pm.Flat and its like
        draw = None

    def evaluate(m: int) -> np.ndarray:
        points = [
            [point[v.name] + rng.standard_normal(point[v.name].shape) for v in values] for _ in range(m)
        ]
        found = np.array([function(*p) for p in points])
        if not np.isfinite(found).all():
            raise refuse("met parameters that are not finite at random values of the variables", remedy)
        if draw is None:
            return found
        drawn = np.array([draw() for _ in range(m)])
        both = np.stack([found, np.where(np.isfinite(drawn).all(axis=1)[:, None], drawn, found)], axis=1)
        return both.reshape(2 * m, -1)

    return evaluate
