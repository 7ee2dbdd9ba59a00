"""Tables on which packages are compared, simulated from known fields or from the package, and written for R.

Run from the root of the repository: python -m examples.peers.tables FOLDER
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm

import pymc_mrf as pmrf

ANSWERS = {"gaussian6": 0, "gaussian15": 0, "one_answer": 1, "three_answers": 3, "anes96": 5}
"""Number of answers of each table; they are its first columns, and all others are measurements."""

SIMULATED = Path(__file__).parent.parent.parent / "tests" / "data" / "peers"


def measured(d: int, n: int, seed: int) -> pd.DataFrame:
    """Simulate measurements of a field in which each node has about two edges of either sign."""
    rng = np.random.default_rng([seed, d, n])
    u, v = np.triu_indices(d, 1)
    K = np.zeros((d, d))
    exists = rng.random(len(u)) < 2.0 / (d - 1)
    K[u, v] = np.where(exists, rng.uniform(0.1, 0.4, len(u)) * rng.choice([-1, 1], len(u)), 0.0)
    K += K.T
    K += np.diag(0.5 + np.abs(K).sum(axis=0))
    x = rng.multivariate_normal(np.zeros(d), np.linalg.inv(K), size=n)
    return pd.DataFrame((x - x.mean(axis=0)) / x.std(axis=0), columns=[f"y{i}" for i in range(d)])


def mixed(cards: list[int], c: int, n: int, seed: int) -> pd.DataFrame:
    """Simulate answers with an order, of `cards` states, and c measurements."""
    rng = np.random.default_rng([seed, len(cards), c, n])
    names = [f"x{i}" for i in range(len(cards))] + [f"y{i}" for i in range(c)]
    kinds = pmrf.fields.ColumnKinds(
        tuple(names), ("ordinal",) * len(cards) + ("continuous",) * c, (*cards, *[0] * c)
    )
    graph = pmrf.graphs.complete(names)
    exists = rng.random(graph.n_edges) < 0.4
    size = rng.uniform(0.1, 0.35, graph.n_edges) * rng.choice([-1, 1], graph.n_edges)
    rows = pmrf.MixedMRF.dist(
        np.where(exists, size, 0.0),
        np.zeros((len(cards), max(cards))),
        np.full(c, 1.3),
        np.zeros(c),
        graph=graph,
        kinds=kinds,
        shape=(n, len(names)),
    )
    table = pd.DataFrame(pm.draw(rows, random_seed=rng), columns=names)
    return standardised(table, len(cards))


def standardised(table: pd.DataFrame, a: int) -> pd.DataFrame:
    """Make whole numbers of the first a columns, and standard scores of the others."""
    table = table.copy()
    numbers = table.iloc[:, a:]
    numbers = (numbers - numbers.mean()) / numbers.std(ddof=0)
    return pd.concat([table.iloc[:, :a].astype(int), numbers], axis=1)


def anes96() -> pd.DataFrame:
    """Voters, as in docs/mixed.md, but for the unordered answers.

    Who leans to neither party stands between both, and the vote has two states.
    """
    voters = pmrf.datasets.load_anes96()
    answers = pmrf.recode_states(voters.x[:, :3], [0, 0, 1, 2, 3, 4, 4])
    table = pd.DataFrame(answers, columns=["self", "Clinton", "Dole"])
    table["party"] = np.repeat([0, 1, 2], [3, 1, 3])[voters.x[:, 3]]
    table["vote"] = pd.Categorical(voters.vote).codes
    table["education"], table["age"], table["income"] = voters.x[:, 4], voters.age, voters.income
    table["population"], table["news"] = np.log(voters.population + 0.1), voters.tv_news
    return standardised(table, 5)


def simulated() -> dict[str, pd.DataFrame]:
    """Simulate all tables that are kept in tests/data/peers, with five decimal places."""
    tables = {
        "gaussian6": measured(6, 300, 1),
        "gaussian15": measured(15, 300, 1),
        "one_answer": mixed([4], 5, 400, 1),
        "three_answers": mixed([2, 3, 4], 3, 400, 1),
    }
    return {name: table.round(5) for name, table in tables.items()}


def load(name: str) -> pd.DataFrame:
    """Load a table by its name."""
    return anes96() if name == "anes96" else pd.read_csv(SIMULATED / f"{name}.csv")


def main(argv: list[str] | None = None) -> None:
    """Write all tables as CSV files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(argv).folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in (simulated() | {"anes96": anes96()}).items():
        table.to_csv(folder / f"{name}.csv", index=False)


if __name__ == "__main__":
    main()
