"""A tape is a program that can be read, searched, changed, cut, and run or differentiated again."""

import operator

import numpy as np

import wengert as wg


def loss(x, labels):
    """The logistic loss as a textbook writes it: exp overflows."""
    return np.sum(np.log(1.0 + np.exp(x)) - labels * x)


x, labels = np.array([0.5, -2.0, 3.0]), np.array([1.0, 0.0, 1.0])
_, tape = wg.trace(loss, x, labels)
print("As traced:")
tape.show()
large = np.array([800.0, -2.0, 3.0])
with np.errstate(over="ignore"):
    print(f"at 800 it gives {tape(large, labels)}: where does the inf come from?")
    tape.play(large, labels, debug=True)

print("\nlog(1 + exp(z)) is logaddexp(0, z), which cannot overflow. Find it, and put that in its place:")
for v in tape.find(np.log):
    total = tape[v].args[0]
    one, power = tape[total].args
    if tape[total].fn is operator.add and one == 1.0 and tape[power].fn is np.exp:
        (z,) = tape[power].args
        tape.replace(v, wg.mkcall(np.logaddexp, 0.0, z))
        tape.delete(total, power)  # nothing reads them now; otherwise this would be refused
tape.show()
print(f"at 800 it gives {tape(large, labels)}, with the gradient {wg.grad(tape)(large, labels).round(4)}\n")

print("Fix the labels: the input becomes a constant. The gradient's tape, what depends on constants only done once:")
(fixed,) = tape.insert(tape.inputs[2], wg.Constant(labels))
tape.delete(tape.inputs[2], rebind_to=fixed)
derivative = wg.fold_constants(wg.gradtape(tape, x))
derivative.show()
print(derivative.to_source("gradient"))
