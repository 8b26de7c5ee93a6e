"""A context sees each call while the function runs: this one counts floating-point operations by line."""

import collections
import linecache

import numpy as np

import wengert as wg

CHEAP = {"getitem", "setitem", "reshape", "transpose", "copy", "zeros_like"}  # they move numbers


class Flops(wg.Context):
    """One operation for each number that a call makes; a product of matrices takes 2 n for each, a sum one each."""

    def __init__(self):
        self.calls = collections.Counter()
        self.flops = collections.Counter()

    def record_primitive(self, tape, v_f, *v_args, **v_kwargs):
        v = super().record_primitive(tape, v_f, *v_args, **v_kwargs)
        op = tape[v]
        self.calls[op.fn.__name__] += 1
        self.flops[op.site.line] += self.cost(op.fn.__name__, op)
        return v

    def cost(self, name, op):
        x = op.args[0].op.val if isinstance(op.args[0], wg.Variable) else op.args[0]
        if name in CHEAP:
            return 0
        if name == "matmul":
            return 2 * np.size(op.val) * x.shape[-1]
        return np.size(x) if name in ("sum", "mean", "max") else np.size(op.val)


def network(x, w, b, targets):
    hidden = np.tanh(x @ w + b)
    scale = np.sqrt(np.sum(hidden * hidden, axis=1))
    hidden /= scale[:, None]
    return np.mean((hidden - targets) ** 2)


rng = np.random.default_rng(0)
arguments = rng.normal(size=(32, 10)), rng.normal(size=(10, 4)), np.zeros(4), np.zeros((32, 4))
counting = Flops()
value, tape = wg.trace(network, *arguments, ctx=counting)
assert value == network(*arguments)  # counting changes nothing

print(f"{sum(counting.flops.values())} operations in {sum(counting.calls.values())} calls")
for line, flops in sorted(counting.flops.items()):
    print(f"{flops:6d}  {linecache.getline(__file__, line).strip()}")

gradient = Flops()
wg.trace(wg.grad(network, argnums=(1, 2)), *arguments, ctx=gradient)
print(f"\nwith the gradient {sum(gradient.flops.values())}, in {sum(gradient.calls.values())} calls")

print("\nThe tape, with what must be in memory at each line:")
print(tape.liveness())
