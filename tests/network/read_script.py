"""Read a stored run in a process that knows neither its table nor its model; see `test_stored_network.py`."""

import sys
from pathlib import Path

import matplotlib
import pandas as pd
import xarray as xr

import pymc_mrf as pmrf

matplotlib.use("Agg")
run, rows, out = map(Path, sys.argv[1:4])
net = pmrf.Network(xr.load_datatree(run))
net = net.group(sys.argv[4]) if len(sys.argv) > 4 else net
net.to_csv(out / "edges.csv")
net.to_graphml(out / "edges.graphml", 0.0)
net.plot().savefig(out / "edges.png")
net.report(out / "report.html")
net.check(n_draws=10, random_seed=1).to_csv(out / "check.csv")
net.predict(pd.read_json(rows)).to_netcdf(out / "predicted.nc")
