"""A small network trained with minibatches and Adam, stopped at a checkpoint and resumed with the same bits.

The images are noisy glyphs. `python examples/training.py digits` trains on scikit-learn's handwritten digits instead.
"""

import sys
import tempfile

import numpy as np
from rich.console import Console
from rich.progress import track

import wengert as wg

EPOCHS, BATCH, TEST = 20, 32, 357
rng = np.random.default_rng(0)
if "digits" in sys.argv:
    from sklearn.datasets import load_digits  # Alpaydin & Kaynak (1998)

    images, labels = load_digits(return_X_y=True)
else:
    rows = np.array([*map(int, "75557262277174771717557117471774757711117575775717")])  # five for each digit
    images, labels = rng.normal(0.0, 5.0, (1797, 8, 8)), rng.integers(10, size=1797)
    images[:, 1:6, 2:5] += 16 * (rows[:, None] >> [2, 1, 0] & 1).reshape(10, 5, 3)[labels]
images = images.reshape(-1, 64) / 16


def scores(params, images):
    return np.tanh(images @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def loss(params, images, labels):  # minus the mean log-probability of the labels
    z = scores(params, images)
    return np.mean(np.logaddexp.reduce(z, axis=1) - z[np.arange(len(labels)), labels])


def train(params, state, epochs):
    curve = []
    for epoch in track(epochs, "training", console=Console(stderr=True)):
        for batch in np.random.default_rng(epoch).permutation(np.arange(TEST, len(images))).reshape(-1, BATCH):
            value, gradient = wg.value_and_grad(loss)(params, images[batch], labels[batch])
            params, state = optimiser.update(gradient, state, params)
            curve.append(value)
    return params, state, curve


params = {"w1": rng.normal(0.0, 0.1, (64, 32)), "b1": np.zeros(32), "w2": np.zeros((32, 10)), "b2": np.zeros(10)}
optimiser = wg.optim.adam(wg.optim.cosine(0.01, EPOCHS * (len(images) - TEST) / BATCH))
params, state, curve = train(params, optimiser.init(params), range(EPOCHS // 2))
with tempfile.TemporaryDirectory() as folder:
    np.savez(f"{folder}/checkpoint.npz", training=wg.ravel((params, state))[0])
    with np.load(f"{folder}/checkpoint.npz") as file:
        resumed = wg.ravel((params, state))[1](file["training"])
runs = [train(*start, range(EPOCHS // 2, EPOCHS)) for start in ((params, state), resumed)]
for epoch, value in enumerate(np.mean(np.reshape(curve + runs[0][2], (EPOCHS, -1)), axis=1)):
    print(f"epoch {epoch:2}  loss {value:.3f}  {'█' * round(25 * value)}")
right = np.argmax(scores(runs[0][0], images[:TEST]), axis=1) == labels[:TEST]
print(f"{np.mean(right):.0%} of the other {TEST} images are recognised.")
print("The resumed run has the same bits:", np.array_equal(*[wg.ravel(run[:2])[0] for run in runs]))
