"""Where all steps get to from one seed."""

import numpy as np

from tests.steps.cases import CASES, model_of, values_of

NAMES = {case.step: name for name, case in reversed(CASES.items())}.values()  # one for each step


def last_points(names):
    """Values of the variables of steps after some draws, before and after the end of tuning."""
    found = {}
    for name in names:
        case = CASES[name]
        step, point = case.build(model_of(name)), case.point(model_of(name))
        step.setup_chain(np.random.default_rng(1), 10, 10)
        for i in range(20):
            if i == 10:
                step.stop_tuning()
            point, _ = step.step(point)
        found[name] = [point[value] for value in values_of(step)]
    return found
