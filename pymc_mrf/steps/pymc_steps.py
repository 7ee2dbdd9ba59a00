"""What steps have in common with each other, and with PyMC's own.

Variables that a step of this package claimed by mistake go back to PyMC's own steps. Step assignment sees one
variable at a time, without its model, and a frozen model has lost the tags that tell what a variable feeds.
Steps therefore claim more variables than they can serve, find out which ones in `__new__`, and hand the
others back.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
from pymc.step_methods import STEP_METHODS
from pymc.step_methods.compound import BlockedStep, CompoundStep
from pymc.util import get_value_vars_from_user_vars


def check_step_arguments(step: str, vars: Any, model: Any) -> None:
    """Refuse what PyMC would refuse without naming the step and the remedy.

    Parameters
    ----------
    step : str
        Name of the step class.
    vars : variable or sequence of variables
        As the user gave them.
    model : pymc.Model or None
        None stands for the model on the context stack.

    Raises
    ------
    TypeError
        If there is no model, or a variable is given by its name.
    ValueError
        If there is no variable, or one is observed or of another model.
    """
    try:
        model = pm.modelcontext(model)
    except TypeError as error:
        raise TypeError(
            f"{step} belongs to a model: make it inside `with model:`, or pass it `model=` as well as "
            "pm.sample"
        ) from error
    if not isinstance(model, pm.Model):
        raise TypeError(f"{step}: model must be a pymc.Model, not {model!r}")
    listed = vars if isinstance(vars, list | tuple | set) else [vars]
    if not listed:
        raise ValueError(f"{step}: vars is empty; pass the variables that it is to sample")
    known = {*model.free_RVs, *model.value_vars}
    for var in listed:
        if isinstance(var, str):
            raise TypeError(
                f"{step}: vars holds the name {var!r}; pass the variable, as in model[{var!r}]"
            )
        if var in model.observed_RVs:
            raise ValueError(f"{step} samples free variables, but {var.name} is observed: leave it out")
        if var not in known:
            name = getattr(var, "name", None) or repr(var)
            raise ValueError(
                f"{step}: {name} is no free variable of the model; pass those of the same model, as in "
                "model[name]"
            )


def one_variable(step: str, vars: Any, model: pm.Model) -> Any:
    """Value variable of the only entry of `vars`.

    Raises
    ------
    ValueError
        If there are several.
    """
    values = get_value_vars_from_user_vars(vars, model)
    if len(values) != 1:
        names = [model.values_to_rvs[value].name for value in values]
        raise ValueError(
            f"{step} takes one variable, but got {', '.join(names)}: make one {step} for each of them, as in "
            f"step=[{', '.join(f'{step}([{name}])' for name in names)}]"
        )
    return values[0]


def warm_up(step: BlockedStep, point: dict[str, np.ndarray]) -> None:
    """Take a step that is thrown away, so that everything compiles before chains fork."""
    state = step.rng.bit_generator.state
    step.step(point)
    step.rng.bit_generator.state = state


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
