"""What all fields share as PyMC distributions: options, checks of observed data, registration."""

import logging
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete, _support_point
from pytensor.compile.sharedvalue import SharedVariable

from pymc_mrf.checks import numeric_array, whole_number
from pymc_mrf.distributions.mrf_rv import FieldRV
from pymc_mrf.distributions.parents import field_node, tag_parents
from pymc_mrf.graph.junction_tree import AUTO_CELLS, check_tractable, is_cheap

logger = logging.getLogger("pymc_mrf")

LIKELIHOODS = ("auto", "exact", "pseudo", "particles")


def observed_values(observed: Any, n_variables: int, what: str, first_state: int, name: str):
    """Return observed values as an array, with `first_state` where they are masked.

    `what` tells what the last dimension must be, for the message.
    """
    if isinstance(observed, SharedVariable):
        observed = observed.get_value()
    elif isinstance(observed, pt.TensorVariable):
        observed = observed.eval()
    mask = np.ma.getmaskarray(observed) if isinstance(observed, np.ma.MaskedArray) else None
    data = np.ma.getdata(observed) if mask is not None else observed
    values = numeric_array(data, f"{name}: observed")
    if values.ndim == 0 or values.shape[-1] != n_variables:
        raise ValueError(
            f"{name}: `observed` has shape {values.shape}, but its last dimension must be {what}"
        )
    if values.size == 0:
        raise ValueError(f"{name}: `observed` has no rows; at least one observation is needed")
    return values if mask is None else np.where(mask, first_state, values)


def without_nan(observed: Any, first_state: int):
    """Make integers of floats with masked NaN, which PyMC would cast with a warning, and of objects."""
    if type(observed) is np.ndarray and observed.dtype == object:
        return numeric_array(observed, "observed")
    if not isinstance(observed, np.ma.MaskedArray) or observed.dtype.kind != "f":
        return observed
    mask = np.ma.getmaskarray(observed)
    return np.ma.masked_array(np.where(mask, first_state, observed.data).astype(np.int64), mask=mask)


def latent_if_all_missing(observed: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return `observed` and further arguments; None and its shape if every cell of it is masked.

    Nothing is observed then: the variable is a latent one. (PyMC cannot split a single row of masked
    cells only.)
    """
    if not isinstance(observed, np.ma.MaskedArray) or not np.ma.getmaskarray(observed).all():
        return observed, options
    return None, {"shape": observed.shape, **options}


def check_shape(shape: Any, n_variables: int, what: str) -> None:
    """Refuse a shape without entries, or whose last one is a number other than that of the variables."""
    lengths = list(shape) if isinstance(shape, tuple | list) else [shape]
    if not lengths or (isinstance(lengths[-1], int | np.integer) and lengths[-1] != n_variables):
        raise ValueError(
            f"shape={shape!r} does not fit: its last entry must be {n_variables}, the number of {what}"
        )


def chosen_likelihood(likelihood: str, n_sweeps: int, tree) -> str:
    """Check the options of a field and return its likelihood, not "auto"; `tree` makes the junction tree."""
    if likelihood not in LIKELIHOODS:
        options = ", ".join(f'"{option}"' for option in LIKELIHOODS)
        raise ValueError(f"likelihood must be one of {options}, not {likelihood!r}")
    whole_number(n_sweeps, "n_sweeps", 1)
    if likelihood == "exact":
        check_tractable(
            tree(), remedy='use likelihood="particles" or "pseudo" instead, or a sparser graph'
        )
    if likelihood != "auto":
        return likelihood
    if is_cheap(tree()):
        return "exact"
    logger.info(
        'likelihood="auto" is "particles" here: the junction tree has width %d and more than the %d table '
        "cells up to which it is used unasked; continuous parameters are sampled by Exchange",
        tree().width,
        AUTO_CELLS,
    )
    return "particles"


class Field(Discrete):
    """Core of all fields; not used directly."""

    def __new__(cls, name, *args, **kwargs):
        """Register the field with the model on the context stack, and tag its parents."""
        rv = super().__new__(cls, name, *args, **kwargs)
        model = pm.modelcontext(None)
        registered = model[f"{name}_observed"] if f"{name}_observed" in model.named_vars else rv
        tag_parents(field_node(registered), model)
        return rv


@_support_point.register(FieldRV)
def _field_support_point(op, rv, rng, size, *parameters):
    """All variables in their first state, in as many rows as the size or the parameters ask for."""
    first = op.decode(np.zeros(op.n_variables, dtype=np.int64))
    return pt.broadcast_to(pt.constant(first), op._infer_shape(size, parameters))
