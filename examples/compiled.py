"""A gradient compiled once and called by an optimiser: what it reads from outside is read anew, or watched."""

import warnings

import numpy as np

import wengert as wg

rng = np.random.default_rng(0)
inputs, targets = rng.standard_normal((200, 3)), rng.standard_normal(200)


class Model:
    """A ridge regression with a loss of Huber's; its settings may change while it is fitted."""

    def __init__(self):
        self.penalty, self.width, self.robust = 0.1, 1.0, True

    def loss(self, w):
        residual = inputs @ w - targets
        if self.robust:
            small = np.abs(residual) < self.width
            each = np.where(small, 0.5 * residual**2, self.width * (np.abs(residual) - 0.5 * self.width))
        else:
            each = 0.5 * residual**2
        return np.mean(each) + self.penalty * np.sum(w * w)


model = Model()
plain = wg.value_and_grad(model.loss)
compiled = wg.compile(plain)


def descend(w, steps):
    for _ in range(steps):
        value, gradient = compiled(w)
        w = w - 0.5 * gradient
    return value, w


def agrees(w):
    return all(np.allclose(a, b, rtol=1e-12) for a, b in zip(compiled(w), plain(w), strict=True))


w = np.zeros(3)
for change in ("penalty = 0.1", "penalty = 1.0", "robust = False", "width = 2.0", "robust = True"):
    name, _, value = change.partition(" = ")
    setattr(model, name, {"True": True, "False": False}.get(value) if value[0] in "TF" else float(value))
    value, w = descend(w, 50)
    print(f"{change:15} loss {value:.6f}  as plain: {agrees(w)}  {compiled.explain().splitlines()[0]}")

print("reads", *[line.removeprefix("  reads ") for line in compiled.explain().splitlines() if "reads " in line][:4])

noisy = wg.compile(wg.grad(lambda x: np.sum(x * x) * np.random.default_rng().normal()))
with warnings.catch_warnings(record=True, action="always") as told:
    noisy(w)
print(str(told[0].message).rpartition(": ")[2])
