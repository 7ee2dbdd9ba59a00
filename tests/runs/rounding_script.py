"""Draw by each kind of step, and print digests of the draws: `test_rounding` runs it in new processes.

Arguments: how processes are started, how many chains at a time, and names of models; or "cluster" and those.
"""

import hashlib
import sys
from contextlib import ExitStack

import numpy as np
import pymc as pm

import pymc_mrf as pmrf

GRAPH = pmrf.graphs.grid(4, 4)
DATA = np.random.default_rng(0).integers(0, 2, (50, 16))


def normal():
    weight, bias = pm.Normal("weight", 0, 0.5, shape=24), pm.Normal("bias", 0, 0.5, shape=16)
    mu, sd = bias + weight[:16] * pm.math.exp(weight[8:]), pm.HalfNormal("sd", 1)
    pm.Normal("y", mu, sd, observed=np.random.default_rng(0).normal(size=(50, 16)))


def nuts():
    weight, bias = pm.Normal("weight", 0, 0.5, shape=24), pm.Normal("bias", 0, 0.5, shape=16)
    pmrf.BoltzmannMachine("x", weight, bias, graph=GRAPH, observed=DATA)


def edges():
    weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 1), shape=24)
    pmrf.BoltzmannMachine("x", weight, pm.Normal("bias", 0, 1, shape=16), graph=GRAPH, observed=DATA)


def groups():
    coupling = pmrf.DirichletProcess("coupling", 1.0, pm.Normal.dist(0, 0.5), shape=24)
    pmrf.Ising("x", coupling, graph=GRAPH, observed=2 * DATA - 1)


def hidden():
    level, sd = pm.Normal("level", [0.0, 1.0], 1.0), pm.HalfNormal("sd", 1.0)
    x = pmrf.Potts("x", 0.5, graph=GRAPH, n_states=2, likelihood="particles")
    pm.Normal("y", level[x], sd, observed=np.random.default_rng(1).normal(size=16))


def exchange():
    coupling = pm.Normal("coupling", 0, 0.5)
    pmrf.Ising("x", coupling, graph=GRAPH, observed=2 * DATA - 1, likelihood="particles")


def main(where, *names):
    with ExitStack() as stack:
        how = {"mp_ctx": where, "cores": 1}
        if where == "cluster":
            from distributed import Client, LocalCluster

            cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
            how = {"client": stack.enter_context(Client(stack.enter_context(cluster)))}
        elif names[0].isdigit():
            how["cores"], names = int(names[0]), names[1:]
        for name in names:
            with pm.Model():
                globals()[name]()
                idata = pmrf.sample(
                    100,
                    tune=100,
                    chains=2,
                    random_seed=3,
                    progressbar=False,
                    quiet=True,
                    compute_convergence_checks=False,
                    **how,
                )
            posterior, digest = idata.posterior.to_dataset(), hashlib.sha256()
            for variable in sorted(posterior.data_vars):
                digest.update(posterior[variable].values.tobytes())
            print(name, digest.hexdigest()[:10])


if __name__ == "__main__":
    main(*sys.argv[1:])
