"""What a likelihood is: one interface, one registry of all, and which of them "auto" takes.

A field asks its likelihood for its log density, steps ask it for engines, `diagnose` for checks, messages
whether it would serve. Nobody asks for its name. Each lies in a folder of `pymc_mrf.likelihood` and is found
by the name of its module, so that the layers below import none of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import pymc as pm

from pymc_mrf.checks import check_option
from pymc_mrf.distributions.arguments import NO_DATA, GivenData
from pymc_mrf.distributions.chain_record import SampleRecord
from pymc_mrf.distributions.foreign_routes import probability_or_nan

EXACT = "exact"
OF_SAMPLE = "exact under the Monte Carlo likelihood"
APPROXIMATE = "approximate"
OF_PSEUDO = "exact under the pseudo-likelihood"
"""How draws by the engines of a likelihood are related to the posterior, the nearest first."""

NEAREST_FIRST = EXACT, OF_SAMPLE, APPROXIMATE, OF_PSEUDO

AGAINST, NOTE, FOR = "against", "note", "for"


class DeclaredField(NamedTuple):
    """A field that is declared, or is one of a model.

    `op`: what it is; while it is declared, without a likelihood. `parameters`: those of the edges first.
    `data`: what is known of them where it is declared. `n_rows`: of the data, or of a hidden field; 0 if
    that is not known. `model`: in which it is or will be; None outside of a model. `is_fixed`: of a
    field of a model, whether it is observed, and its data do not change.
    """

    op: Any
    parameters: Sequence
    data: GivenData = NO_DATA
    n_rows: int = 0
    model: Any = None
    is_fixed: bool = False

    @property
    def rows_are_alike(self) -> bool:
        """Whether all rows have the same parameters, whose edges have one number or a block each."""
        n_rows = self.parameters[0].type.ndim - 1
        return all(all(p.type.broadcastable[:n_rows]) for p in self.parameters)


@dataclass(frozen=True)
class Likelihood:
    """Base of all likelihoods; each object is that of one field, and holds what was prepared for its data.

    A subclass has a `name`, `log_partition` or `log_density`, and engines where steps move edges or groups
    under it. The rest has defaults, of which `prepare`, `serves` and `unasked` are the next to look at.

    Attributes
    ----------
    name : str
        What users write.
    invariant : str
        What steps that ask its engines leave invariant.
    edges, groups : class or None
        What moves of edges ask, an `EdgeEngine`, and moves of groups of edges, a `GroupEngine`; None if none
        move under it.
    no_probability, no_probability_of_parts : str
        What it has in place of log probabilities of rows, and of rows with missing cells; "" if it has them.
    else_declare, else_complete : str
        How to get these; of rows with missing cells "" if in the same way.
    not_comparable : tuple of str
        Level of the `Finding` where models are compared by it, and what is wrong; "" if nothing is.
    is_recommended : bool
        Whether messages name it where it `serves`.
    is_intractable : bool
        Whether its log density lacks what depends on the parameters, which only steps of the package know.
    is_pseudo : bool
        Whether it is a product of conditionals that are none of a likelihood.
    uses_tree : bool
        Whether it is that of a junction tree.
    looks_at_couplings : bool
        Whether it is less near to the posterior where couplings are strong.
    serves_sums : bool
        Whether its engine of edges serves a vector that is a part of the parameters, those of several fields,
        or of rows.
    serves_blocks : bool
        Whether it serves edges with a block of parameters.
    weight : float
        Of each full conditional, if it is a product of them.
    example : str
        Options, as users give them.
    """

    name: ClassVar[str] = "any"
    invariant: ClassVar[str] = EXACT
    edges: ClassVar[Any] = None
    groups: ClassVar[Any] = None
    no_probability: ClassVar[str] = ""
    no_probability_of_parts: ClassVar[str] = ""
    else_declare: ClassVar[str] = 'declare the field with likelihood="exact"'
    else_complete: ClassVar[str] = ""
    not_comparable: ClassVar[tuple[str, str]] = NOTE, ""
    is_recommended: ClassVar[bool] = True
    is_intractable: ClassVar[bool] = False
    is_pseudo: ClassVar[bool] = False
    uses_tree: ClassVar[bool] = False
    looks_at_couplings: ClassVar[bool] = False
    serves_sums: ClassVar[bool] = True
    serves_blocks: ClassVar[bool] = True
    weight: ClassVar[float] = 1.0
    example: ClassVar[str] = ""

    @classmethod
    def serves(cls, field: DeclaredField) -> bool:
        """Whether a field may be declared with it, and the free variables behind it sampled."""
        return True

    @classmethod
    def unasked(cls, field: DeclaredField) -> "Likelihood | None":
        """Return it, prepared, if "auto" is to take it; None if not."""
        return None

    def prepare(self, field: DeclaredField) -> "Likelihood":
        """Return it as the field has it: with what is simulated or estimated once.

        Raises
        ------
        ValueError
            If the field cannot have it, with the remedy.
        """
        return self

    def is_like(self, other: "Likelihood") -> bool:
        """Whether one engine may serve fields of both, of which one may be a case of the other."""
        return isinstance(self, type(other)) or isinstance(other, type(self))

    def log_density(self, op: Any, indices: Any, parameters: Sequence, value: Any) -> Any:
        """Log density of each row of state indices (..., d), symbolic; `value` are the states themselves."""
        return op.log_potential(indices, parameters) - self.log_partition(op, parameters, value)

    def log_partition(self, op: Any, parameters: Sequence, value: Any) -> Any:
        """Log-partition function, up to a constant, of each row or of all; symbolic."""
        raise NotImplementedError

    def log_density_of_observed(self, field: Any, table: Any, mask: Any, joint: Any) -> Any:
        """Return `joint` (...), the log density of all cells; that of the observed ones, if asked for alone.

        `field` is a variable; `table` has NaN where cells are missing, as `mask` tells.
        """
        instead, remedy = self.no_probability or self.no_probability_of_parts, self.else_complete
        return probability_or_nan(joint, self.name, instead, table, remedy or self.else_declare)

    def as_probability(self, logp: Any, data: Any) -> Any:
        """`logp`; NaN for whoever asks for it alone, if it is no log probability."""
        return probability_or_nan(logp, self.name, self.no_probability, data, self.else_declare)

    def edge_engine(self, blocks: Sequence["Likelihood"], *arguments: Any, **options: Any) -> Any:
        """Make the engine of fields that are `blocks` of one; of each its likelihood, as this one."""
        return self.edges(*arguments, **self.of_edges(blocks), **options)

    def of_edges(self, blocks: Sequence[Any]) -> dict[str, Any]:
        return {}

    def group_engines(self, fields: list, arguments: list[tuple]) -> list:
        """Make the engine of groups of edges of each of some fields of `ObservedField`, this one's first."""
        each = zip(fields, arguments, strict=True)
        return [self.groups(*own, **field.likelihood.of_groups()) for field, own in each]

    def of_groups(self) -> dict[str, Any]:
        return {}

    def record(self) -> SampleRecord:
        """Begin the record of a chain."""
        return SampleRecord()

    def against_chain(self, name: str, fields: list, record: Any, n_particles: int = 0) -> list[str]:
        """Say what in the `record` of a chain speaks against it, each with its remedy.

        `name` is that of the edges, `fields` are of `ObservedField`, with likelihoods as this one.
        """
        return []

    def findings(self, rv: Any, node: Any, draws: Any) -> list:
        """Judge the field `rv` of an apply node by draws of a model, as `diagnose` does."""
        return []


class Entry(NamedTuple):
    """A likelihood in the registry.

    `name`: what users write; "" if there is nothing to choose. `kinds`: kinds of fields that have it,
    `FieldRV.kind`. `home`: its module in `pymc_mrf.likelihood`, and its class.
    """

    name: str
    kinds: tuple[str, ...]
    home: str

    @property
    def kind(self) -> type[Likelihood]:
        module, name = self.home.split(":")
        found: type[Likelihood] = getattr(import_module(f"pymc_mrf.likelihood.{module}"), name)
        return found


REGISTRY = (
    Entry("path", ("pairwise",), "path.likelihood:Path"),
    Entry("monte-carlo", ("pairwise",), "monte_carlo.likelihood:MonteCarlo"),
    Entry("exact", ("pairwise", "factors"), "exact.likelihood:Exact"),
    Entry("particles", ("pairwise", "factors"), "particles.likelihood:Particles"),
    Entry("pseudo", ("pairwise", "factors"), "pseudo.likelihood:Pseudo"),
    Entry("", ("series",), "conditional.likelihood:Conditional"),
    Entry("pseudo", ("series",), "conditional.likelihood:PseudoOfLinks"),
    Entry("exact", ("series",), "conditional.likelihood:ExactRows"),
    Entry("", ("gaussian",), "gaussian.likelihood:Normal"),
    Entry("exact", ("mixed",), "mixed.likelihood:ExactOfMixed"),
    Entry("monte-carlo", ("mixed",), "mixed.likelihood:MonteCarloOfMixed"),
    Entry("pseudo", ("mixed",), "mixed.likelihood:PseudoOfMixed"),
)
"""All likelihoods, in the order in which "auto" asks them."""


def registered(kind: str | None = None) -> list[type[Likelihood]]:
    """Return the likelihoods that a kind of fields may have, or all."""
    return [entry.kind for entry in REGISTRY if kind is None or kind in entry.kinds]


def likelihood_of(given: Any, field: DeclaredField) -> Likelihood:
    """Return the likelihood of a field that is declared, by what users gave: a name, "auto", or options.

    Raises a TypeError if it is a class of options and not an object of it. Raises a ValueError if fields
    of this kind do not have it, or this one cannot.
    """
    entries = [entry for entry in REGISTRY if field.op.kind in entry.kinds]
    if isinstance(given, type) and issubclass(given, Likelihood):
        name = f"pymc_mrf.{given.__name__}"
        raise TypeError(f"likelihood={name} is a class: call it, likelihood={name}({given.example})")
    if isinstance(given, str) and given == "auto":
        return next(found for entry in entries if (found := entry.kind.unasked(field)) is not None)
    if isinstance(given, Likelihood):
        takes = [entry.kind for entry in entries if issubclass(entry.kind, type(given))]
        if takes:
            options: dict[str, Any] = {own.name: getattr(given, own.name) for own in fields(given)}
            return takes[0](**options).prepare(field)
    check_option(given, "likelihood", ("auto", *(entry.name for entry in entries if entry.name)))
    [kind] = [entry.kind for entry in entries if entry.name == given]
    return kind().prepare(field)


def possible(
    field: DeclaredField, among: Callable[[type[Likelihood]], bool] = lambda kind: True
) -> list[type[Likelihood]]:
    """Likelihoods that messages recommend for a field, of some, the nearest to the posterior first."""
    model = field.model or pm.Model.get_context(error_if_none=False)
    known = registered(field.op.kind)
    left = [kind for kind in known if kind.is_recommended and among(kind)]
    left = [kind for kind in left if kind.serves(field._replace(model=model))]
    return sorted(left, key=lambda kind: NEAREST_FIRST.index(kind.invariant))


class Finding(NamedTuple):
    """One finding.

    Attributes
    ----------
    level : {"against", "note", "for"}
    subject : str
        A variable or a step.
    value : float or None
        The number that it rests on.
    text : str
    remedy : str
        Empty if none is needed.
    """

    level: str
    subject: str
    value: float | None
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}" + (f". Remedy: {self.remedy}" if self.remedy else "")
