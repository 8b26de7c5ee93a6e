"""Names of autograd, JAX and PyTorch, and what they are called here."""

from __future__ import annotations

_NUMPY = "NumPy and SciPy are used as they are: import numpy as np"
_RULES = "wg.rrule gives a function a rule: its value, and a pullback"
_LOOPS = "Python's own if, for and while are traced as they are"
_COMPILE = "wg.compile(f) traces once and runs generated code; without it f runs as it is"
_PARALLEL = "wg.dask.value_and_grad(loss) sums gradients over chunks of data, on all cores"
_TREES = "containers need no registration: gradients mirror them, and wg.ravel makes one vector of them"
_TAPES = "print(wg.gradtape(f, x)) shows what is computed"
_STOP = "wg.stop_gradient(x) is a constant; outside of a derivative nothing is recorded"
_VECTOR = "wg.vjp(f, x) gives the value and the pullback"
_HVP = "wg.hvp(f, x, v) is the product of the Hessian with v"
_KEYS = "np.random is used as it is, without keys: rng = np.random.default_rng(0)"

INSTEAD = {
    **dict.fromkeys(("np", "numpy", "scipy", "sp"), _NUMPY),
    **dict.fromkeys(("jit", "njit", "pjit", "make_jit", "disable_jit"), _COMPILE),
    **dict.fromkeys(("pmap", "shard_map", "devices", "device_put"), _PARALLEL),
    **dict.fromkeys(("custom_vjp", "custom_jvp", "custom_gradient", "defvjp", "defjvp", "primitive"), _RULES),
    **dict.fromkeys(("lax", "cond", "scan", "fori_loop", "while_loop"), _LOOPS),
    **dict.fromkeys(("tree", "tree_map", "tree_util", "register_pytree_node", "flatten", "flatten_util"), _TREES),
    **dict.fromkeys(("make_jaxpr", "xla_computation", "eval_shape"), _TAPES),
    **dict.fromkeys(("no_grad", "detach", "inference_mode"), _STOP),
    **dict.fromkeys(("make_vjp", "vector_jacobian_product", "tensor_jacobian_product"), _VECTOR),
    **dict.fromkeys(("make_hvp", "hessian_vector_product", "hessian_tensor_product"), _HVP),
    **dict.fromkeys(("random", "PRNGKey", "key"), _KEYS),
    "make_jvp": "wg.jvp(f, (x,), (v,)) gives the value and its derivative along v",
    "make_ggnvp": "with y, J = wg.linearize(f, x) and wg.vjp(f, x)[1] products with JᵀJ are two calls",
    "egrad": "wg.elementwise_grad(f) is that of each element",
    "deriv": "wg.derivative(f) is that of a function of one number",
    "holomorphic_grad": "say wg.grad(f, holomorphic=True)",
    "multigrad": "say wg.grad(f, argnums=(0, 1))",
    "multigrad_dict": 'say wg.grad(f, argnums=("w", "b"))',
    "grad_and_aux": "say wg.grad(f, has_aux=True)",
    "value_and_gradient": "it is wg.value_and_grad(f)",
    "remat": "it is wg.checkpoint(f)",
    "nn": "write it with NumPy: np.maximum(x, 0)",
    "config": "there is nothing to set: numbers are float64 unless they are given as float32",
    "backward": "wg.grad(loss)(params) returns the gradient; nothing is kept in the parameters",
    "autograd": "wg.grad(f)(x) returns the gradient of a function",
    "test_util": "wg.check_grads(f, x) compares with differences",
}  # fmt: skip


def no_such_name(name: str) -> str:
    """Return the message for a name that wengert does not have."""
    said = INSTEAD.get(name)
    return f"module 'wengert' has no attribute {name!r}" + (f": {said}. See docs/coming-from." if said else "")
