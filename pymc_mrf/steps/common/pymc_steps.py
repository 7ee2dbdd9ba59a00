"""Variables that a step of this package claimed by mistake go back to PyMC's own steps.

Step assignment sees one
variable at a time, without its model, and a frozen model has lost the tags that tell what a variable feeds.
Steps therefore claim more variables than they can serve, find out which ones when they are made, and hand the
others back.
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
from pymc.step_methods import STEP_METHODS
from pymc.step_methods.compound import BlockedStep, CompoundStep


def hand_back(
    claimant: type,
    others: list,
    model: pm.Model,
    kwargs: dict,
    own: Callable[[], BlockedStep] | None,
    *,
    has_grad: bool = False,
) -> BlockedStep | CompoundStep:
    """Make the claimant's own step, and PyMC's steps for the other variables.

    Parameters
    ----------
    claimant : type
        Step class that claimed the variables.
    others : list of TensorVariable
        Value variables that it cannot serve.
    model : pymc.Model
    kwargs : dict
        What PyMC passed to the claimant; the other steps get what concerns all steps.
    own : callable or None
        Makes the claimant's own step, if any variables are left for it.
    has_grad : bool
        Whether the density has gradients in `others`.
    """
    common = {key: kwargs.get(key) for key in ("model", "initial_point", "compile_kwargs")}
    steps = [own()] if own is not None else []
    steps += [
        step(theirs, **common) for step, theirs in _without(claimant, others, model, has_grad).items()
    ]
    return steps[0] if len(steps) == 1 else CompoundStep(steps)


def _without(claimant: type, values: list, model: pm.Model, has_grad: bool) -> dict:
    """Find what PyMC would give the variables to if `claimant` did not exist."""
    chosen: dict[type, list] = {}
    others = [step for step in STEP_METHODS if step is not claimant]
    for value in values:
        rv = model.values_to_rvs[value]
        best = others[int(np.argmax([step._competence(rv, has_grad)[0] for step in others]))]
        chosen.setdefault(best, []).append(value)
    return chosen
