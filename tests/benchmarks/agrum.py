"""All edge marginals of one field by pyAgrum, timed; run as a script in a process of its own.

Usage: ``python agrum.py FIELD.npz ANSWER.npz REPEATS``. The field is given by `edges` (r, 2),
`edge_tables` (r, K, K) and `node_tables` (d, K), in logarithms. A process of its own, because creating a
pyAgrum field crashed now and then in a process that had loaded PyMC before.
"""

import sys
import time
from functools import partial

import numpy as np
import pyagrum as gum


def build(edges, edge_tables, node_tables):
    """Return the field as a pyAgrum MRF."""
    mrf = gum.MarkovRandomField()
    names = [f"x{i}" for i in range(len(node_tables))]
    n_states = node_tables.shape[1]
    for name in names:
        mrf.add(gum.LabelizedVariable(name, name, n_states))
    for name, log_table in zip(names, node_tables, strict=True):
        factor = mrf.addFactor([name])
        for a in range(n_states):
            factor[{name: a}] = float(np.exp(log_table[a]))
    for (u, v), log_table in zip(edges.tolist(), edge_tables, strict=True):
        factor = mrf.addFactor([names[u], names[v]])
        for a in range(n_states):
            for b in range(n_states):
                factor[{names[u]: a, names[v]: b}] = float(np.exp(log_table[a, b]))
    return mrf


def prepare(mrf, pairs):
    """Inference with every edge a joint target; not yet run."""
    inference = gum.ShaferShenoyMRFInference(mrf)
    for pair in pairs:
        inference.addJointTarget(set(pair))
    return inference


def run(inference, pairs):
    """All edge marginals."""
    inference.makeInference()
    return [inference.jointPosterior(set(pair)) for pair in pairs]


def timed(function) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main(source: str, target: str, repeats: int) -> None:
    """Measure and save."""
    with np.load(source) as field:
        edges, edge_tables, node_tables = (field[k] for k in ("edges", "edge_tables", "node_tables"))
    mrf = build(edges, edge_tables, node_tables)
    pairs = [(f"x{u}", f"x{v}") for u, v in edges.tolist()]
    states = range(node_tables.shape[1])

    answers = run(prepare(mrf, pairs), pairs)
    marginals = [
        [[answer[{u: a, v: b}] for b in states] for a in states]
        for answer, (u, v) in zip(answers, pairs, strict=True)
    ]
    fresh = []
    for inference in [prepare(mrf, pairs) for _ in range(repeats)]:
        fresh.append(timed(partial(run, inference, pairs)))

    created = [timed(lambda: run(prepare(mrf, pairs), pairs)) for _ in range(repeats)]

    inference = prepare(mrf, pairs)
    inference.addEvidence("x0", [1.0] * len(states))
    run(inference, pairs)
    changed = []
    for weight in np.linspace(0.2, 0.9, repeats).tolist():
        inference.chgEvidence("x0", [weight, *[1.0] * (len(states) - 1)])
        changed.append(timed(lambda: run(inference, pairs)))
    times = {"fresh": min(fresh), "created": min(created), "changed": min(changed)}
    np.savez(target, marginals=marginals, version=gum.__version__, **times)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
