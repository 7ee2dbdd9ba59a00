"""What tests look at inside of steps and engines, in one place."""


def engine_in(step):
    """The engine of likelihood of a step of edges."""
    return step._engine


def engines_of_groups(step):
    """The engines of likelihood of a step of groups, one for each field."""
    return step._engines


def terms_of(step):
    """Room for what a step of groups finds of one entry."""
    return step._terms


def fields_of(step):
    """The fields that a step reads."""
    return step._fields


def field_of(step):
    """The one field that a step draws."""
    return step._field


def blocks_of(step):
    """Entries that a step proposes at once."""
    return step._blocks


def evidence_of(step):
    """What the rest of a model says of a hidden field."""
    return step._evidence


def classes_of(step):
    """Parameters that a step has fitted for chains to start at."""
    return step._classes


def whole_of(engine):
    """Statistics of all rows, by the states that a view lists."""
    return engine._whole


def rates_of(engine):
    """How often edges are visited."""
    return engine._rates


def biases_of(engine):
    """Biases that the particles of an engine stand for."""
    return engine._b


def evaluate(step, point, values):
    """Log density of all but the field, and natural parameters, at proposed values."""
    return step._evaluate(point, values)


def uncorrected(step):
    """Let sweeps take proposals from the parabola as they are: a negative control."""
    engine = engine_in(step)
    sweep = engine.sweep
    engine.sweep = lambda *args, **told: sweep(*args, corrected=False, **told)
