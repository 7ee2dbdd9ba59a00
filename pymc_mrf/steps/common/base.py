"""What all steps share: refusals, default starts, the life of a chain, statistics, warnings at its end."""

import logging
import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, ClassVar

import numpy as np
import pymc as pm
from pymc.stats.convergence import SamplerWarning, WarningType
from pymc.step_methods import STEP_METHODS
from pymc.step_methods.compound import BlockedStep, Competence, CompoundStep, StepMethodState
from pymc.step_methods.state import DataClassState
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from rich.progress import TextColumn
from rich.table import Column

from pymc_mrf.distributions.chain_record import ChainCount, Remembering
from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.parents import field_node, moved_with
from pymc_mrf.steps.common.expressions import HeldData, compiled_once, start_of
from pymc_mrf.steps.common.statistics import Declared, Statistics
from pymc_mrf.threads import one_thread

NUMBER = re.compile(r"(?<!\w)\d[\d.]*")  # no part of a name

GIVEN_DRAWS = "exact given exact auxiliary draws"
"""How the draws of a step are related to the posterior, beside what `Likelihood.invariant` may be."""

SLOW = 0.05
"""Seconds of processor time from which on it is told, before sampling, how long a step takes."""


class ChainWarning(SamplerWarning):
    """Messages of one chain, of which those count that no other chain of the run has logged.

    PyMC logs the messages of every chain in the main process, whichever samples the chain, at their level.
    Messages are the same if nothing but numbers in them differ.

    Parameters
    ----------
    messages : list of str
    """

    _logged: ClassVar[set[str]] = set()

    def __init__(self, messages: list[str]) -> None:
        self._messages, self._level = messages, ""
        super().__init__(WarningType.BAD_PARAMS, "\n".join(messages), "warn")

    @classmethod
    def begin_run(cls) -> None:
        """Forget what chains of other runs have said."""
        cls._logged.clear()

    @property
    def level(self) -> str:
        """Level of logging: "warn", or "debug" if other chains said it all; found out when asked for."""
        if not self._level:
            new = [text for text in self._messages if NUMBER.sub("#", text) not in self._logged]
            self._logged.update(NUMBER.sub("#", text) for text in new)
            self.message, self._level = "\n".join(new or self._messages), "warn" if new else "debug"
        return self._level

    @level.setter
    def level(self, value: str) -> None:
        pass  # what `SamplerWarning` is made with


class MRFStep(Remembering, BlockedStep):
    """Base of all steps.

    A subclass declares its `statistics` and supplies `_update`. Its `__init__` calls this one first and
    `_warm_up` last. What else changes while a chain runs is named in `remembers`, and `_forget` resets it.

    Attributes
    ----------
    vars : list of TensorVariable
        Value variables that the step moves.
    tune : bool
        Whether the chain is tuning.
    started : bool
        Whether the chain has begun.
    count : ChainCount
    seconds : float
        Processor time of a step at the start, once it is made.
    """

    seconds: float = 0.0
    default_blocked = True
    _state_class: type[DataClassState] = StepMethodState  # what PyMC remembers of every step
    remembers: ClassVar[tuple[str, ...]] = ("tune", "started", "count")

    title: ClassVar[str]
    """What users know the step by; its class by default."""
    prefix: ClassVar[str] = ""
    """How names of its statistics begin. No other step may have it, or PyMC takes the statistics for one."""
    statistics: Statistics = ()
    """Its own; those of its base classes are inherited."""
    declared: ClassVar[dict[str, Declared]] = {}
    """All its statistics, by their names in the results."""
    stats_dtypes: list[dict[str, Any]]
    stats_dtypes_shapes: dict[str, Any]
    invariant: ClassVar[dict[type[Likelihood], str]] = {}
    """What it leaves invariant, by the likelihood of the field; `Likelihood` if that makes no difference."""
    serves: ClassVar[tuple[type[Likelihood], ...]] = ()
    """Which kinds of likelihood it serves: those for which it says what is invariant."""
    approximation: ClassVar[str] = ""
    """How far its draws are from the posterior whatever the statistics say; nothing if they need not be."""
    changes_edges: ClassVar[bool | None] = None
    """Whether it adds and removes edges, or moves the values of given edges only; None if neither."""
    kinds: ClassVar[tuple[type, ...]] = ()
    """Ops of the variables of which `pm.sample` may give it some, of missing cells that of their field; none
    if the step is made on request."""
    takes_along: ClassVar[tuple[type, ...]] = ()
    """Ops of those with which it moves variables behind the nodes of their fields."""

    def __init_subclass__(cls, **kwargs) -> None:
        """Tell PyMC of the statistics."""
        super().__init_subclass__(**kwargs)
        cls.serves = tuple(cls.invariant)
        if "prefix" in cls.__dict__:
            cls.title = cls.__dict__.get("title", cls.__name__)
        own = cls.__dict__.get("statistics", ())
        new = {f"{cls.prefix}_{s.name}": Declared(cls.title, cls.prefix, s) for s in own}
        cls.declared = {**cls.declared, **new}
        cls.stats_dtypes_shapes = {name: (s.statistic.dtype, []) for name, s in cls.declared.items()}
        # of the type that PyMC's own steps declare; PyMC leaves it out of the results
        cls.stats_dtypes_shapes["warning"] = (SamplerWarning, None)

    def __new__(cls, vars, *args, **kwargs):
        """Refuse variables and models that PyMC would refuse with fewer words; make the step, or several."""
        check_step_arguments(cls.__name__, vars, kwargs.get("model"))
        model = pm.modelcontext(kwargs.get("model"))
        values = get_value_vars_from_user_vars(vars, model)
        with compiled_once(model):
            several = cls._make_several(values, model, args, kwargs)
        if several is None:
            return super().__new__(cls, values, *args, **kwargs)
        if isinstance(several, CompoundStep):
            seconds = [step.seconds for step in several.methods if isinstance(step, MRFStep)]
            if max(seconds, default=SLOW) < SLOW < sum(seconds):
                what = f"{len(seconds)} steps of {cls.__name__}, one for each vector, take"
                _tell_of_time(what, sum(seconds))
        return several

    @classmethod
    def claims(cls, var) -> bool:
        """Whether `pm.sample` gives a variable of the `kinds`, or one to take along, to the step."""
        return True

    @classmethod
    def competence(cls, var, has_grad):
        is_of_kind = isinstance((field_node(var) or var.owner).op, cls.kinds)
        is_candidate = is_of_kind or not moved_with(var).isdisjoint(cls.takes_along)
        return Competence.IDEAL if is_candidate and cls.claims(var) else Competence.INCOMPATIBLE

    @classmethod
    def _make_several(
        cls, values: list, model: pm.Model, args: tuple, kwargs: dict
    ) -> BlockedStep | CompoundStep | None:
        """Make the steps for variables that one step cannot serve; None if it can."""
        return None

    def __init__(
        self,
        vars,
        *,
        model: pm.Model | None = None,
        initial_point: dict[str, np.ndarray] | None = None,
        compile_kwargs: dict[str, Any] | None = None,
        rng=None,
        blocked: bool = True,
    ) -> None:
        self._model = model = pm.modelcontext(model)
        self._compile_kwargs = compile_kwargs or {}
        self.vars = get_value_vars_from_user_vars(vars, model)
        self._rvs = [model.values_to_rvs[value] for value in self.vars]
        self.rng = get_random_generator(rng)
        self._held: list[HeldData] = []
        default = start_of(model)
        self._point = initial_point or default
        self._default_start = {
            (name := model.rvs_to_values[rv].name): default[name]
            for rv in model.free_RVs
            if model.rvs_to_initial_values[rv] is None
        }

    def _only_variable(self) -> tuple[Any, Any]:
        """Random variable, and its value variable, of a step that moves one only.

        Raises
        ------
        ValueError
            If there are several.
        """
        if len(self.vars) != 1:
            step = type(self).__name__
            names = [rv.name for rv in self._rvs]
            raise ValueError(
                f"{step} takes one variable, but got {', '.join(names)}: make one {step} for each of them, "
                f"as in step=[{', '.join(f'{step}([{name}])' for name in names)}]"
            )
        return self._rvs[0], self.vars[0]

    def _starts_at_default(self, point: dict[str, np.ndarray], names: Sequence[str]) -> bool:
        """Whether these variables are where PyMC starts them; any other start is the user's."""
        start = self._default_start
        return all(name in start and np.array_equal(point[name], start[name]) for name in names)

    def _warm_up(self) -> None:
        """Take two steps that are thrown away: everything compiles before chains fork; a slow one is told."""
        self._forget()
        state = self.rng.bit_generator.state
        point, _ = self.step(self._point)
        start = process_time()
        self.step(point)
        taken = process_time() - start
        self.rng.bit_generator.state = state
        self._forget()
        self.seconds = taken
        if taken > SLOW:
            names = ", ".join(rv.name for rv in self._rvs)
            _tell_of_time(f"a step of {type(self).__name__} for {names} takes", taken)

    def _forget(self) -> None:
        self.tune, self.started = True, False
        self.count = ChainCount()

    def setup_chain(self, rng, tune: int, draws: int) -> None:
        """Forget the previous chain; refuse data set since the step was made."""
        for data in self._held:
            data.check_unchanged()
        super().setup_chain(rng, tune, draws)
        self._forget()
        self.tune, self.count = tune > 0, ChainCount(tune, draws)

    def step(self, point):
        """Move the variables of this step."""
        with one_thread():  # PyMC does not limit them where chains that follow each other could fork
            new, stats, moved = self._update(point)
        ends = self.count.add(self.tune, moved)
        messages = self._warn_at_end() if ends else []
        stats["warning"] = ChainWarning(messages) if messages else None
        return new, [stats]

    @abstractmethod
    def _update(
        self, point: dict[str, np.ndarray]
    ) -> tuple[dict[str, np.ndarray], dict[str, Any], bool]:
        """Move the variables: the new point, the statistics, and whether anything moved."""

    def _warn_at_end(self) -> list[str]:
        """Say what speaks against the chain that ends here, each with its remedy."""
        return []

    @classmethod
    def _progressbar_config(cls, n_chains=1):
        ChainWarning.begin_run()  # PyMC calls this at the start of a run, in the main process, shown or not
        shown = {name: s.statistic for name, s in cls.declared.items() if s.statistic.column}
        columns = [
            TextColumn(
                f"{{task.fields[{name}]{':0.2f' if s.dtype is np.float64 else ''}}}",
                table_column=Column(s.column, ratio=1),
            )
            for name, s in shown.items()
        ]
        return columns, {name: [s.dtype(0)] * n_chains for name, s in shown.items()}

    @classmethod
    def _make_progressbar_update_functions(cls):
        names = [name for name, s in cls.declared.items() if s.statistic.column]

        def update(stats):
            return {name: stats[name] for name in names}

        return (update,)


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


def hand_back(
    claimant: type,
    others: list,
    model: pm.Model,
    kwargs: dict,
    own: Callable[[], BlockedStep] | None,
    *,
    has_grad: bool = False,
) -> BlockedStep | CompoundStep:
    """Make the claimant's own step, and PyMC's for variables that it claimed by mistake.

    Step assignment sees one variable at a time, without its model, and a frozen model has lost the tags that
    tell what a variable feeds. Steps therefore claim more than they can serve, find out which when they are
    made, and hand the others back.

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


def _tell_of_time(what: str, seconds: float) -> None:
    """Tell, as PyMC tells what it does, how long slow steps take."""
    logging.getLogger("pymc").info(
        f"{what} some {seconds:.2g} seconds of processor time at the start, which makes "
        f"{1000 * seconds / 60:.0f} minutes for 1,000 draws of a chain"
    )
