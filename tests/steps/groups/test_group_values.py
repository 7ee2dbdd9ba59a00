"""Variables behind node parameters: the log density that moves with them."""

import numpy as np
import pymc as pm

from pymc_mrf.steps.groups.group_values import NodeVariables


def test_terms_that_depend_on_a_variable_through_a_transform():
    """A bound that moves takes with it what stands within it, and all that depends on that."""
    with pm.Model() as model:
        top = pm.HalfNormal("top")
        inner = pm.Uniform("inner", 0.0, top)
        pm.Normal("y", inner, 0.1, observed=0.3)
        pm.Normal("other")
    variables, point = NodeVariables([model.rvs_to_values[top]], [], model), model.initial_point()
    log_density = model.compile_logp()
    places = np.array([-0.5, 0.2, 1.0])
    found = [variables.evaluate(np.array([v]), point)[0] for v in places]
    expected = [log_density({**point, "top_log__": np.array(v)}) for v in places]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-10)
    h = 1e-4
    up, down = (log_density({**point, "top_log__": np.array(0.2 + d)}) for d in (h, -h))
    slope = variables.slope(np.array([0.2]), point, [])
    np.testing.assert_allclose(slope, [(up - down) / (2 * h)], rtol=1e-6)
