"""Tables as arguments: gradients by pandas' frames, xarray's arrays and masked ones have their labels and masks."""

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import wengert as wg

data = Path(__file__).parent / "data"
geyser = pd.read_csv(data / "faithful.csv", dtype=float)  # columns of whole numbers would stay in gradients as they are


def squares(line, table):
    return ((table["waiting"] - line["start"] - line["slope"] * table["eruptions"]) ** 2).sum()


line = pd.Series({"start": 0.0, "slope": 0.0})
gradient = wg.grad(squares)(line, geyser)  # a Series, by the same names
line -= np.linalg.solve(wg.hessian(squares, as_matrix=True)(line, geyser), gradient)
print(line.round(3).to_dict())
assert np.allclose(line[["slope", "start"]], np.polyfit(geyser["eruptions"], geyser["waiting"], 1))


def slope(table):
    """The minutes of waiting after a minute of eruption: covariance over variance."""
    return table.cov().loc["eruptions", "waiting"] / table["eruptions"].var()


influence = wg.grad(slope)(geyser)  # a DataFrame: what the slope would be more, were a number more
apart = geyser["eruptions"] - geyser["eruptions"].mean()
assert np.allclose(influence["waiting"], apart / (apart**2).sum())
print(influence.assign(both=influence.abs().sum(axis=1)).nlargest(3, "both").round(4))
pelts = xr.Dataset(pd.read_csv(data / "lynx_hare.csv", index_col="year")).to_dataarray("animal")


def lag(pelts):
    """How the logarithms of the lynx go with those of the hares a year before."""
    hares, lynx = [np.log(pelts.sel(animal=animal)).values for animal in ("hare", "lynx")]
    return np.corrcoef(hares[:-1], lynx[1:])[0, 1]


change = wg.grad(lag)(pelts)  # a DataArray, by animal and year
wg.check_grads(lag, pelts)
print(f"{lag(pelts):.3f} would change most by the hares of", int(abs(change.sel(animal="hare")).idxmax()))

lynx = np.ma.masked_greater(pelts.sel(animal="lynx").to_numpy(), 50.0)  # two years are not believed
gradient = wg.grad(lambda a: np.ma.log(a).mean())(lynx)
print("years left out", pelts["year"].to_numpy()[gradient.mask])
assert np.allclose(gradient.compressed(), 1 / lynx.compressed() / lynx.count())


def squared_errors(line, table):
    return np.sum((table["waiting"].to_numpy() - line[0] - line[1] * table["eruptions"].to_numpy()) ** 2)


compiled = wg.compile(wg.grad(squared_errors), strict=True)  # columns are constants, and compared at each call
print("by compiled code:", *[compiled(line.to_numpy(), table).round(1) + 0.0 for table in (geyser, geyser + 5.0)])
