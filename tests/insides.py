"""What tests look at inside of steps and engines, in one place."""


def engine_in(step):
    """The engine of likelihood of a step of edges."""
    return step._engine


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


def engines_of(step):
    """The engines of likelihood of a step of groups, one for each field."""
    return step._engines


def prior_of(step):
    """What reads the prior of edges, or of groups, at a point."""
    return step._prior


def coordinates_of(step, point):
    """Unconstrained parameters (n,) that `Exchange` moves."""
    return step._coordinates(point)


def log_ratio(step, *states):
    """Log ratio of acceptance of `Exchange` between two states of `evaluate`."""
    return step._log_ratio(*states)


def panels_of(engine):
    """Edges whose scores are known at once, a list that may be emptied."""
    return engine._panels


def norms_of(engine):
    """Norms (d,) of the weights at each node, which stretch trajectories."""
    return engine._norms


def is_measured(engine):
    """Which groups (K,) the particles were measured for."""
    return engine._moments[3]


def sweeps_of(sampler):
    """Number of sweeps in a draw, of a step or an engine."""
    return sampler._n_sweeps


def estimate_of(step):
    """The estimate that moves of `AuxiliaryVariableMH` are made around."""
    return step._estimate


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
