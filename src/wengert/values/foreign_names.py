"""Names of autograd, JAX and PyTorch, and what to use instead of them here."""

from __future__ import annotations

_NUMPY = "use NumPy and SciPy directly: import numpy as np"
_RULES = "wg.rrule gives a function a rule: its value, and a pullback"
_LOOPS = "Python's own if, for and while are traced"
_COMPILE = "wg.compile(f) traces f once and then runs generated code; without it f runs uncompiled"
_PARALLEL = "wg.dask.value_and_grad(loss) sums gradients over chunks of data, on all cores"
_TREES = "wg.tree_map(f, tree) applies f to leaves, wg.ravel makes a vector; containers need no registration"
_TAPES = "print(wg.gradtape(f, x)) shows the recorded operations"
_STOP = "wg.stop_gradient(x) makes x a constant; outside of a derivative nothing is recorded"
_VECTOR = "wg.vjp(f, x) returns the value and the pullback"
_HVP = "wg.hvp(f, x, v) returns the product of the Hessian with v"
_KEYS = "use np.random directly, without keys: rng = np.random.default_rng(0)"

INSTEAD = {
    **dict.fromkeys(("np", "numpy", "scipy", "sp"), _NUMPY),
    **dict.fromkeys(("jit", "njit", "pjit", "make_jit", "disable_jit"), _COMPILE),
    **dict.fromkeys(("pmap", "shard_map", "devices", "device_put"), _PARALLEL),
    **dict.fromkeys(("custom_vjp", "custom_jvp", "custom_gradient", "defvjp", "defjvp", "primitive"), _RULES),
    **dict.fromkeys(("lax", "cond", "scan", "fori_loop", "while_loop"), _LOOPS),
    **dict.fromkeys(("tree", "tree_util", "register_pytree_node", "flatten", "flatten_util"), _TREES),
    **dict.fromkeys(("make_jaxpr", "xla_computation", "eval_shape"), _TAPES),
    **dict.fromkeys(("no_grad", "detach", "inference_mode"), _STOP),
    **dict.fromkeys(("make_vjp", "vector_jacobian_product", "tensor_jacobian_product"), _VECTOR),
    **dict.fromkeys(("make_hvp", "hessian_vector_product", "hessian_tensor_product"), _HVP),
    **dict.fromkeys(("random", "PRNGKey", "key"), _KEYS),
    "make_jvp": "wg.jvp(f, (x,), (v,)) returns the value and its derivative along v",
    "make_ggnvp": "for a product with JᵀJ, call J from y, J = wg.linearize(f, x), then wg.vjp(f, x)[1]",
    "egrad": "use wg.elementwise_grad(f)",
    "deriv": "use wg.derivative(f), the derivative of a function of one number",
    "holomorphic_grad": "use wg.grad(f, holomorphic=True)",
    "multigrad": "use wg.grad(f, argnums=(0, 1))",
    "multigrad_dict": 'use wg.grad(f, argnums=("w", "b"))',
    "grad_and_aux": "use wg.grad(f, has_aux=True)",
    "value_and_gradient": "use wg.value_and_grad(f)",
    "remat": "use wg.checkpoint(f)",
    "nn": "write it with NumPy: np.maximum(x, 0)",
    "config": "nothing needs to be set: numbers are float64 unless you pass float32",
    "backward": "wg.grad(loss)(params) returns the gradient; the parameters store none",
    "autograd": "wg.grad(f)(x) returns the gradient of a function",
    "test_util": "wg.check_grads(f, x) compares gradients with finite differences",
}  # fmt: skip


def no_such_name(name: str, module: str) -> str:
    """Return the message for a name that a module of wengert does not have."""
    instead = INSTEAD.get(name)
    return f"module {module!r} has no attribute {name!r}" + (f": {instead}. See docs/coming-from." if instead else "")
