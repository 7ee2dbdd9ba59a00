"""What a sweep over trees asks of the messages of a block, whose numbers depend on the representation.

The messages are a namedtuple, of one chain with states `z` (d,) or of T chains side by side with states `z`
(d, T). They are kept by the position of their node in a `ForestArrays`, whose links are explained there.
"""

from pymc_mrf.kernels.by_type import by_type


@by_type
def begin(messages, p, i, row):
    """Set what is known of node i at position p to its own table; `row` is the first chain."""


@by_type
def absorb(messages, p, link, z, j):
    """Let the node at position p know the state in `z` of its neighbour j by `link`."""


@by_type
def send(messages, p, parent, link):
    """Let the node at position `parent` know what is known of its child at position p."""


@by_type
def draw(messages, p, link, z, j, i, rng):
    """Draw node i at position p given the state of its parent j by `link`, into `z`.

    A root has the link -1. What is known of the node may be lost.
    """
