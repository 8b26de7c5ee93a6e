"""A scikit-learn estimator for any loss that can be written down: nobody has to derive its gradient."""

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted, validate_data

import wengert as wg


def squares(residuals):
    return residuals**2


def lopsided(residuals):
    """Who gets worse than predicted counts nine times: the fit is the expectile of 0.9."""
    return np.where(residuals > 0, 0.9, 0.1) * residuals**2


class LossRegressor(RegressorMixin, BaseEstimator):
    """A linear model of the least sum of `loss(residuals)` and of `alpha` times the squared coefficients."""

    def __init__(self, loss=squares, alpha=0.0):
        self.loss, self.alpha = loss, alpha

    def fit(self, X, y):
        X, y = validate_data(self, X, y, y_numeric=True, dtype=float)

        def objective(w):
            return np.sum(self.loss(y - X @ w[1:] - w[0])) + self.alpha * np.sum(w[1:] ** 2)

        found = minimize(wg.value_and_grad(objective), np.zeros(X.shape[1] + 1), jac=True)
        self.intercept_, self.coef_, self.n_iter_ = found.x[0], found.x[1:], found.nit
        return self

    def predict(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=float) @ self.coef_ + self.intercept_


X, y = load_diabetes(return_X_y=True)  # Efron et al. (2004), "Least angle regression": 442 patients, a year later
assert np.allclose(LossRegressor(alpha=0.1).fit(X, y).coef_, Ridge(0.1).fit(X, y).coef_, atol=1e-3)
model, weights = LossRegressor(lopsided).fit(X, y), np.ones(len(y))
for _ in range(30):  # the same by weighted least squares, again and again: a way that only this loss has
    fitted = LinearRegression().fit(X, y, weights)
    weights = np.where(y > fitted.predict(X), 0.9, 0.1)
assert np.allclose(model.coef_, fitted.coef_, rtol=1e-3, atol=0.1)
print(f"{np.mean(y > model.predict(X)):.0%} of the patients get worse than their expectile")

scoring = make_scorer(lambda y, predicted: -np.mean(lopsided(y - predicted)))
for loss in (squares, lopsided):
    scores = cross_val_score(LossRegressor(loss), X, y, scoring=scoring)
    print(f"fitted by the sum of {loss.__name__}: on other patients the lopsided loss is {-scores.mean():.0f}")
check_estimator(LossRegressor(), on_skip=None)  # scikit-learn's own fifty: it raises where one fails
