"""Parameters with axes of edges, nodes and states: their shapes, and axes of length 1 that stand for all."""

import pytensor.tensor as pt

COORDS = "pymc_mrf.coords(graph)"


def by_node_and_state(parameter, d: int, q: int, label: str, axes: list):
    """Symbolic node parameters (..., d, q) from that, (..., 1, q), (q,) or a scalar.

    `axes` are the names of its axes, if it has some.
    """
    if parameter.type.ndim == 0:
        return pt.full((d, q), parameter)
    check_form(parameter.type.shape[-2:], [(d, q), (1, q), (q,)], label)
    if parameter.type.ndim == 1:
        if d == q and not any(axes):
            raise ValueError(
                f"{label} of shape ({q},) is ambiguous, because there are as many nodes as entries for each: "
                f"give {label}[None] for the same at all nodes, or shape ({d}, {q})"
            )
        parameter = parameter[None]
    return with_units(with_states(parameter, 1, q), 2, d)


def by_unit(parameter, length: int, label: str, unit: str, remedy: str = "", *, coords: str = COORDS):
    """Symbolic parameter (..., length) of the edges or nodes from that, (..., 1) or a scalar.

    Errors name the coordinates by `coords`, and may have a further `remedy`.
    """
    if parameter.type.ndim == 0:
        return pt.full((length,), parameter)
    known = parameter.type.shape[-1]
    if known not in (None, 1, length):
        raise ValueError(
            f"{label} has length {known}, but there are {length}: give one value per {unit} in graph order "
            f'(dims="{unit}" with coords={coords}), or a scalar{remedy}'
        )
    return with_units(parameter, 1, length)


def by_blocks(parameter, sizes, label: str):
    """Symbolic parameters (..., P) of edges that have blocks of these `sizes` (r,), one after the other.

    From parameters of that shape, or (r, W) if all blocks have W parameters.
    """
    P, shape = int(sizes.sum()), parameter.type.shape
    is_even = len(set(sizes.tolist())) == 1
    if len(shape) == 2 and is_even and shape == (len(sizes), sizes[0]):
        return parameter.reshape((P,))
    if len(shape) == 0 or shape[-1] not in (None, P):
        rows = f", or ({len(sizes)}, {sizes[0]})" if is_even else ""
        raise ValueError(
            f"{label} has shape {shape} but edges have {P} parameters, (K_u - 1) (K_v - 1) each, one edge "
            f"after the other: give shape ({P},){rows}"
        )
    return with_units(parameter, 1, P)


def check_form(shape, forms: list, label: str) -> None:
    """Refuse a static shape, None where unknown, that fits none of `forms`."""
    for form in forms:
        if len(form) == len(shape) and all(n in (None, m) for n, m in zip(shape, form, strict=True)):
            return
    options = " or ".join(str(form) for form in forms)
    raise ValueError(
        f"{label} has shape {tuple(shape)}, but must have shape {options} here: edges or nodes in graph "
        "order, then states"
    )


def with_states(parameter, n_axes: int, K: int):
    """Make sure, at run time where needed, that the last axes have length K."""
    if all(n == K for n in parameter.type.shape[-n_axes:]):
        return parameter
    return pt.specify_shape(parameter, (*[None] * (parameter.type.ndim - n_axes), *[K] * n_axes))


def with_units(parameter, n_core: int, n_units: int):
    """Repeat a parameter along its axis of edges or nodes, the first of the core, if it has length 1."""
    axis = parameter.type.ndim - n_core
    known = parameter.type.shape[axis]
    if known == n_units:
        return parameter
    if known == 1:
        shape = parameter.shape
        return pt.alloc(parameter, *shape[:axis], n_units, *shape[axis + 1 :])
    return pt.specify_shape(parameter, [n_units if k == axis else None for k in range(axis + n_core)])
