"""PyPortfolioOpt: objectives, returns, risk."""

import numpy as np
import pandas as pd
from case import case
from pypfopt import expected_returns, objective_functions

W = np.array([0.3, 0.5, 0.2])
S = np.array([[0.04, 0.01, 0.0], [0.01, 0.09, 0.02], [0.0, 0.02, 0.06]])


@case(W)
def variance(w):
    return objective_functions.portfolio_variance(w, S)


@case(W)
def sharpe(w):
    return objective_functions.sharpe_ratio(w, np.array([0.1, 0.2, 0.15]), S, risk_free_rate=0.02)


@case(np.array([[10.0, 20], [11, 19], [12, 21], [11.5, 22]]))
def mean_returns(prices):
    return expected_returns.mean_historical_return(pd.DataFrame(prices)).to_numpy()
