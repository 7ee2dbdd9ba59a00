"""What tests change or look at inside of steps of edges, in one place."""


def engine_of(step):
    """The engine of likelihood of a step of edges."""
    return step._engine


def uncorrected(step):
    """Let sweeps take proposals from the parabola as they are: a negative control."""
    engine = engine_of(step)
    sweep = engine.sweep
    engine.sweep = lambda *args, **told: sweep(*args, corrected=False, **told)
