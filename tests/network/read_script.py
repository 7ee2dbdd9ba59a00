"""Read stored runs in a process that knows neither tables nor models; see `test_stored_network.py`.

Each argument is a list in JSON: a folder with the run and rows to predict, and a group if there are several.
"""

import json
import sys
from pathlib import Path

import matplotlib
import pandas as pd
import xarray as xr

import pymc_mrf as pmrf

matplotlib.use("Agg")
for argument in sys.argv[1:]:
    folder, *group = json.loads(argument)
    out = Path(folder)
    net = pmrf.Network(xr.load_datatree(out / "run.nc"))
    net = net.group(*group) if group else net
    net.to_csv(out / "edges.csv")
    net.to_graphml(out / "edges.graphml", 0.0)
    net.plot().savefig(out / "edges.png")
    net.report(out / "report.html")
    net.check(n_draws=10, random_seed=1).to_csv(out / "check.csv")
    net.predict(pd.read_json(out / "rows.json")).to_netcdf(out / "predicted.nc")
