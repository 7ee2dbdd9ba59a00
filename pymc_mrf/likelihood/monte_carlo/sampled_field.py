"""What a field keeps of its Monte Carlo likelihood: a sample at its reference, the same in every process."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.monte_carlo.reference import Reference
from pymc_mrf.likelihood.monte_carlo.reference_search import Search
from pymc_mrf.threads import one_thread


@dataclass(frozen=True, eq=False)
class SampledField:
    """A field's likelihood by a sample at its reference, which is found and drawn when this is made.

    Equal if data, graph, family and options are: then the sample is the same, too, and in one process there
    is only one.

    Attributes
    ----------
    digest : str
        Of all that the sample follows from.
    reference : Reference
    """

    digest: str
    reference: Reference

    @classmethod
    def of(
        cls,
        x: np.ndarray,
        missing: np.ndarray,
        graph: PairwiseGraph,
        family: Family,
        seed: int,
        tolerance: float,
        announce: Callable[[], None] = lambda: None,
    ) -> "SampledField":
        """Find the reference of a field.

        Parameters
        ----------
        x : (n, d) int8 array
            State indices, plausible ones in missing cells.
        missing : (n, d) bool array
            These cells, of which likelier states are drawn on the way.
        graph : PairwiseGraph
        family : Family
        seed : int
        tolerance : float
            As `reference_search.TOLERANCE`.
        announce : callable, optional
            Called before the field is simulated, unless its sample is known.

        Raises
        ------
        NoReferenceError
            If there is none.
        """
        known = hashlib.sha256(repr((x.shape, graph, family, seed, tolerance)).encode())
        known.update(np.ascontiguousarray(x).tobytes() + np.packbits(missing).tobytes())
        digest = known.hexdigest()
        reference = _known.get(digest)
        if reference is None:
            announce()
            rng = np.random.default_rng([int(digest[:15], 16), seed])
            with one_thread():
                reference = Search(x, missing, graph, family, rng).find(tolerance)
            _known[digest] = reference
        return cls(digest, reference)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SampledField) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"SampledField({self.digest[:16]})"


_known: WeakValueDictionary[str, Reference] = WeakValueDictionary()
"""References that something in this process holds, by their digests."""
