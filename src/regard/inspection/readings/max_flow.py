"""Maximum flow through a network, exactly, by Dinic's algorithm."""

_NOTHING = 1e-12  # what rounding may leave in a full pipe


class Network:
    """Pipes between numbered nodes, each with a capacity.

    >>> network = Network(4)
    >>> for start, end, capacity in [(0, 1, 2.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 3.0), (1, 2, 0.5)]:
    ...     network.add(start, end, capacity)
    >>> network.max_flow(0, 3)
    2.5
    """

    def __init__(self, num_nodes: int) -> None:
        self._pipes: list[list[int]] = [[] for _ in range(num_nodes)]
        self._ends: list[int] = []
        self._capacities: list[float] = []

    def add(self, start: int, end: int, capacity: float) -> None:
        """Lead a pipe from one node to another. Pipe number p ^ 1 is pipe p backward."""
        for node, other, width in ((start, end, capacity), (end, start, 0.0)):
            self._pipes[node].append(len(self._ends))
            self._ends.append(other)
            self._capacities.append(width)

    def max_flow(self, source: int, sink: int) -> float:
        r"""Give the most that can flow from `source` to `sink`.

        As long as a path with capacity is left, only shortest paths are filled, until each has a full pipe; then the
        shortest grow longer, which can happen as often as there are nodes.

        Reference: Dinic (1970), Soviet Mathematics Doklady 11, 1277–1280.
        """
        capacity, total = list(self._capacities), 0.0
        while (distances := self._distances(capacity, source, sink)) is not None:
            begun = [0] * len(self._pipes)
            while path := self._path(capacity, distances, begun, source, sink):
                least = min(capacity[pipe] for pipe in path)
                for pipe in path:
                    capacity[pipe] -= least
                    capacity[pipe ^ 1] += least
                total += least
        return total

    def _distances(self, capacity: list[float], source: int, sink: int) -> list[int] | None:
        """Count the pipes from the source to every node, where there is capacity; none: the sink cannot be reached."""
        distances = [-1] * len(self._pipes)
        distances[source] = 0
        reached = [source]
        for node in reached:
            for pipe in self._pipes[node]:
                end = self._ends[pipe]
                if distances[end] < 0 and capacity[pipe] > _NOTHING:
                    distances[end] = distances[node] + 1
                    reached.append(end)
        return distances if distances[sink] >= 0 else None

    def _path(self, capacity: list[float], distances: list[int], begun: list[int], source: int, sink: int) -> list[int]:
        """Find a shortest path with capacity, going on where the last search ended; `begun` counts pipes given up."""
        path: list[int] = []
        node = source
        while node != sink:
            pipes = self._pipes[node]
            while begun[node] < len(pipes):
                pipe = pipes[begun[node]]
                if capacity[pipe] > _NOTHING and distances[self._ends[pipe]] == distances[node] + 1:
                    path.append(pipe)
                    node = self._ends[pipe]
                    break
                begun[node] += 1
            else:
                if not path:
                    return []
                node = self._ends[path.pop() ^ 1]
                begun[node] += 1
        return path
