"""NetworKit or igraph as a served peer: loads one .sg file, says "ready NAME VERSION", answers one line a request.

usage: served.py networkit|igraph FILE.sg THREADS
Request: "ALGORITHM SOURCE TRIALS"; answer: "ms T T T ..." (PageRank: per round) or "no REASON".
Exit code 3: the package is not installed here.
"""
import array
import sys
import time

ROUNDS = 20  # rounds that every PageRank engine is asked for


def read_sg(path):
    """GAP serialized graph: flag, arcs, vertices, offsets (i64), targets (i32), little-endian."""
    with open(path, "rb") as file:
        directed = file.read(1) != b"\0"
        arcs, vertices = array.array("q", file.read(16))
        offsets = array.array("q")
        offsets.fromfile(file, vertices + 1)
        targets = array.array("i")
        targets.fromfile(file, arcs)
    return directed, vertices, offsets, targets


def pairs(path):
    """The edges as two columns; an undirected edge once."""
    import numpy

    directed, vertices, offsets, targets = read_sg(path)
    source = numpy.repeat(numpy.arange(vertices, dtype=numpy.int64), numpy.diff(numpy.frombuffer(offsets, dtype=numpy.int64)))
    target = numpy.frombuffer(targets, dtype=numpy.int32).astype(numpy.int64)
    if not directed:
        once = source <= target
        source, target = source[once], target[once]
    return directed, vertices, source, target


class NetworKit:
    def __init__(self, path, threads):
        import networkit

        self.kit = networkit
        networkit.setNumberOfThreads(threads)
        directed, vertices, source, target = pairs(path)
        self.graph = networkit.GraphFromCoo((source, target), n=vertices, directed=directed)
        self.name = "networkit " + networkit.__version__

    def task(self, algorithm, source):
        kit, graph = self.kit, self.graph
        if algorithm == "bfs":
            return kit.distance.BFS(graph, source, storePaths=False), lambda run: 1
        if algorithm == "cc":
            kind = kit.components.WeaklyConnectedComponents if graph.isDirected() else kit.components.ParallelConnectedComponents
            return kind(graph), lambda run: 1
        if algorithm == "kcore":
            return kit.centrality.CoreDecomposition(graph), lambda run: 1
        if algorithm == "pagerank":
            run = kit.centrality.PageRank(graph, damp=0.85, tol=1e-300)
            run.maxIterations = ROUNDS
            return run, lambda done: max(1, done.numberOfIterations())
        return None, None

    def time_ms(self, algorithm, source):
        run, rounds = self.task(algorithm, source)
        if run is None:
            return None
        start = time.perf_counter()
        run.run()
        return (time.perf_counter() - start) * 1e3 / rounds(run)


class Igraph:
    """Serial: compared on one thread only. Its PageRank (PRPACK) has no rounds to compare."""

    def __init__(self, path, _threads):
        import igraph
        import numpy

        directed, vertices, source, target = pairs(path)
        self.graph = igraph.Graph(n=vertices, edges=numpy.stack([source, target], axis=1), directed=directed)
        self.name = "igraph " + igraph.__version__

    def time_ms(self, algorithm, source):
        tasks = {
            "bfs": lambda: self.graph.bfs(source),
            "cc": lambda: self.graph.connected_components(mode="weak"),
            "kcore": lambda: self.graph.coreness(),
        }
        if algorithm not in tasks:
            return None
        start = time.perf_counter()
        tasks[algorithm]()
        return (time.perf_counter() - start) * 1e3


def main():
    kind, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    try:
        engine = {"networkit": NetworKit, "igraph": Igraph}[kind](path, threads)
    except ImportError as missing:
        print("no", missing, flush=True)
        return 3
    print("ready", engine.name, flush=True)
    for line in sys.stdin:
        algorithm, source, trials = line.split()
        times = [engine.time_ms(algorithm, int(source)) for _ in range(int(trials))]
        if None in times:
            print("no", algorithm, "in", engine.name, flush=True)
        else:
            print("ms", *(f"{t:.4f}" for t in times), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
