"""Growing one induced tree inside a graph: Rivasseau (2005), sec. 5.2.4 to 5.2.6, and a variant.

A tree grows from a start vertex. Vertices are white (not met), gray (one neighbour in the tree:
candidates, in a priority queue), red (in the tree) or black (out of reach of this tree: two
neighbours in it would close a cycle, or the vertex was refused). What is left when the queue is
empty is for the next trees, so that a vertex is better refused if taking it would cut a few
vertices off from the rest. `PocketGrowth` searches the surroundings for pockets of up to `pocket_size`
vertices, and can move candidates forward as their neighbours turn black; `TreeGrowth` leaves open how that is
seen, and the order of the queue. Those of the thesis are in ``examples/rivasseau_2005/paper_partition.py``.

Not implemented: backtracking of more than one vertex.
"""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

WHITE, GRAY, RED, BLACK = range(4)

MAX_WAYS_OUT = 12
"""A vertex with more neighbours left is taken to be in no pocket: its surroundings are not searched."""


class TreeGrowth(ABC):
    """One tree after another in a shrinking graph; `adjacency` is changed by whoever removes vertices.

    `adjacency`: neighbours of each vertex. Kept by reference. `rank`: random permutation of the
    vertices: breaks ties, or orders the queue if it is random. `order` {"priority", "random"}.
    `backtrack`: refuse vertices that would cut others off.

    Attributes: `white`: between two trees: the vertices that are left.
    """

    def __init__(
        self, adjacency: list[set[int]], rank: Sequence[int], *, order: str, backtrack: bool
    ) -> None:
        n = len(adjacency)
        self.adjacency = adjacency
        self.rank = rank
        self.random = order == "random"
        self.backtrack = backtrack
        self.color = [WHITE] * n
        self.white = set(range(n))
        self.black: set[int] = set()
        self.available = [len(near) for near in adjacency]
        self.seen: set[int] = set()
        self._by_degree: list[tuple[int, int, int]] = []

    def grow_from_lowest(self, changed: Iterable[int]) -> list[int]:
        """Grow from a vertex of lowest degree, that of `changed` being new; empty if no vertex is left."""
        queue, adjacency, rank = self._by_degree, self.adjacency, self.rank
        for v in changed:
            heapq.heappush(queue, (len(adjacency[v]), rank[v], v))
        while queue:
            degree, _, v = heapq.heappop(queue)
            if v in self.white and degree == len(adjacency[v]):
                return self.grow(v)
        return []

    def grow(self, start: int) -> list[int]:
        """Vertices of a maximal tree from `start`, in the order in which they were added."""
        color, white, adjacency = self.color, self.white, self.adjacency
        self.seen = {start}
        self.black = set()
        color[start] = GRAY
        white.discard(start)
        queue: list[tuple] = [(start,)]
        tree: list[int] = []
        while queue:
            u = heapq.heappop(queue)[-1]
            if color[u] != GRAY:  # black, or red since it moved forward in the queue
                continue
            fresh: set[int] = set()
            if self._add(u):
                tree.append(u)
                fresh = adjacency[u] & white
                white -= fresh
                self.seen |= fresh
            else:
                self._refuse(u)
            moved = () if self.random else self.moved_forward()
            for v, key in moved:
                heapq.heappush(queue, (*key, self.rank[v], v))
            for v in fresh:
                key = () if self.random else self._key(v, len(tree))
                heapq.heappush(queue, (*key, self.rank[v], v))
        return tree

    def finish(self, removed: set[int]) -> None:
        """Forget the colours, after the caller took `removed` out of `adjacency`."""
        for v in self.seen:
            self._reset(v)
        self.white |= self.seen
        self.white -= removed

    def _reset(self, v: int) -> None:
        self.color[v] = WHITE
        self.available[v] = len(self.adjacency[v])

    @abstractmethod
    def _key(self, v: int, step: int) -> tuple:
        """Place in the queue of `v`, which turned gray at `step`: smallest first."""

    def moved_forward(self) -> Iterable[tuple[int, tuple]]:
        """Candidates whose place in the queue has changed since the last call, and their new places."""
        return ()

    @abstractmethod
    def _add(self, u: int) -> bool:
        """Colour `u` red and its neighbours by rules 6 to 9, or change nothing and return False."""

    def _refuse(self, u: int) -> None:
        self.color[u] = BLACK
        self.black.add(u)


class PocketGrowth(TreeGrowth):
    """Vertices with few open neighbours first; no small pockets.

    A vertex is refused if the rest of the graph would fall apart around it, one part being a pocket
    of at most `pocket_size` vertices that this tree cannot reach. Here ``available[v]`` counts the
    neighbours that are not in the tree.

    `updated`: order of the queue. False: by the number of white and gray neighbours when a vertex was
    met, first met, first served. True: by this number less the number of black neighbours, kept up to
    date, last met, first served. The former is best on sparse graphs without backtracking, else mostly
    the latter. `pocket_size`: bounds the search, hence the cost, of one vertex.
    """

    def __init__(
        self,
        adjacency: list[set[int]],
        rank: Sequence[int],
        *,
        order: str,
        backtrack: bool,
        updated: bool = False,
        pocket_size: int = 100,
    ) -> None:
        super().__init__(adjacency, rank, order=order, backtrack=backtrack)
        self.updated = updated
        self.pocket_size = pocket_size
        self.places: dict[int, tuple[int, int, int]] = {}
        self.darkened: list[int] = []

    def grow(self, start: int) -> list[int]:
        """Vertices of a maximal tree from `start`, but for those refused."""
        self.places = {}
        self.darkened = []
        return super().grow(start)

    def _key(self, v: int, step: int) -> tuple:
        near = self.adjacency[v]
        n_black = len(near & self.black)
        if not self.updated:
            return self.available[v] - n_black, len(near), step
        place = self.available[v] - 2 * n_black, len(near), -step
        self.places[v] = place
        return place

    def moved_forward(self) -> list[tuple[int, tuple]]:
        """Neighbours of what turned black: the new members of the tree have no other gray ones."""
        if not self.updated:
            return []
        n_darkened: dict[int, int] = {}
        candidates = self.places.keys()
        for x in self.darkened:
            self.places.pop(x, None)
        for x in self.darkened:
            for v in self.adjacency[x] & candidates:
                n_darkened[v] = n_darkened.get(v, 0) + 1
        self.darkened = []
        moved: list[tuple[int, tuple]] = []
        for v, n in n_darkened.items():
            cost, degree, met = self.places[v]
            self.places[v] = cost - 2 * n, degree, met
            moved.append((v, self.places[v]))
        return moved

    def _add(self, u: int) -> bool:
        color = self.color
        color[u] = RED
        if self.backtrack and self._cuts_pocket_off(u):
            color[u] = GRAY
            return False
        self.places.pop(u, None)
        for v in self.adjacency[u]:
            if color[v] == RED:
                continue
            self.available[v] -= 1
            if color[v] == WHITE:
                color[v] = GRAY
            elif color[v] == GRAY:
                color[v] = BLACK
                self.black.add(v)
                self.darkened.append(v)
        return True

    def _refuse(self, u: int) -> None:
        super()._refuse(u)
        self.darkened.append(u)

    def _cuts_pocket_off(self, u: int) -> bool:
        color, available, size = self.color, self.available, self.pocket_size
        most = min(size, MAX_WAYS_OUT)
        large: set[int] = set()
        for t in self.adjacency[u]:
            # white neighbours can follow u into the tree
            if color[t] in (RED, WHITE) or available[t] > most or t in large:
                continue
            region = {t}
            stack = [t]
            while stack and len(region) <= size:
                x = stack.pop()
                if available[x] > most:
                    break
                near = {y for y in self.adjacency[x] if color[y] != RED} - region
                if not large.isdisjoint(near):
                    break
                region |= near
                stack += near
            else:
                if len(region) <= size:
                    # a pocket, unless it holds all that u touches: then nothing falls apart
                    return any(color[y] != RED and y not in region for y in self.adjacency[u])
            large |= region
        return False
