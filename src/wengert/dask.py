"""`wg.dask`: derivatives of sums over chunks of data, each computed on the worker that has its chunk.

Sums are reproducible: the order of additions depends on the number of chunks alone, so that a call that is repeated, on
other workers or after a restart, returns the same bits. `descend` keeps its steps in a file, and resumes from it.
"""

from __future__ import annotations

import operator
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, Concatenate, Literal, TypeVar, overload

import numpy as np

from wengert.api import gradient as plain
from wengert.api.data_chunks import chunk_arguments, load_dask, whole_argument
from wengert.api.derivative_products import hvp as plain_hvp
from wengert.api.trees import places_in, tree_leaves
from wengert.compiling.compile import compile
from wengert.errors import ArgumentError, NonFiniteError
from wengert.hooks.solver_callbacks import is_traced
from wengert.optim import Optimiser
from wengert.rulebook.pickling import pack, unpacked
from wengert.values.argnums import Argnums, Part, check_argnums, places_of
from wengert.values.callables import callable_name
from wengert.values.transformed import transforms
from wengert.values.trees import leaves, rebuild, shallow_copy, walk

__all__ = ["descend", "hvp", "packed", "value_and_grad"]

X = TypeVar("X")
R = TypeVar("R")

FAN_IN = 8
"""The number of gradients that one task adds; a worker holds so many at a time, and their sum."""


@overload
def value_and_grad(
    loss: Callable[Concatenate[X, ...], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False, *,
    compiled: bool = False, exact: bool = False, blocks: bool = False, retries: int = 0, progress: bool = False,
) -> Callable[Concatenate[X, ...], tuple[R, X]]: ...  # fmt: skip
@overload
def value_and_grad(
    loss: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *,
    compiled: bool = False, exact: bool = False, blocks: bool = False, retries: int = 0, progress: bool = False,
) -> Callable[..., tuple[Any, Any]]: ...  # fmt: skip
def value_and_grad(
    loss: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *,
    compiled: bool = False, exact: bool = False, blocks: bool = False, retries: int = 0, progress: bool = False,
) -> Any:  # fmt: skip
    """Return the function that computes `(Σ loss(params, chunk), ∂/∂params)`, summed over chunks of data, with Dask.

    For a loss of several arguments pass several collections of equal numbers of chunks:
    `value_and_grad(loss)(params, x, y)`. One task for each chunk computes its value and gradient; a tree of tasks adds
    them, always in the same order, and only the sum comes back. The tasks run on Dask's current scheduler: on a cluster
    while a `distributed.Client` is open, else on threads.

    Parameters:
        loss (callable): The loss of one chunk: `loss(params, chunk)`.
        argnums (int | str | tuple): The parameters, as for `wg.value_and_grad`. Each task gets these arguments whole;
            all other arguments are chunks.
        has_aux (bool): The loss returns `(y, aux)`; the result is `((Σ y, [aux, …]), ∂/∂params)`, with one aux for each
            chunk, in their order.
        compiled (bool): Trace and compile the gradient once in each process, as `wg.compile` does, instead of tracing
            it for each chunk.
        exact (bool): With `compiled`: compute nothing in another order than the loss, as `wg.compile` does, so that no
            bit depends on which process traced which chunk, if the arrays are in C order.
        blocks (bool): Also take arrays that are cut along several axes: the loss is a sum over blocks. Without it, the
            loss gets whole rows.
        retries (int): How often a cluster runs a failed task again.
        progress (bool): Show Dask's progress bar.
    Returns:
        callable: A function of `(params, chunks)` that returns the value and the gradient, of the structure, shapes and
            dtypes of `params`. The chunks are a dask array cut along its first axis, an xarray object cut along one
            dimension, a dask bag, whose partitions are lists, or a list of delayed values, futures, or plain chunks.
    Raises:
        ImportError: Dask is not installed.
        ArgumentError: The chunks do not fit together; else the errors of `wg.value_and_grad`.
    See Also:
        hvp, descend, packed, compile

    Examples:
        >>> import dask.array as da
        >>> x = da.arange(6.0, chunks=2)
        >>> wg.dask.value_and_grad(lambda a, x: np.sum((a * x - 1) ** 2))(0.5, x)
        (np.float64(4.75), 25.0)
        >>> wg.dask.value_and_grad(lambda a, x: (np.sum(a * x), len(x)), has_aux=True)(0.5, x)
        ((np.float64(7.5), [2, 2, 2]), 15.0)
    """
    check_argnums(value_and_grad, argnums)
    options: Any = {"compiled": compiled, "exact": exact, "blocks": blocks, "retries": retries, "progress": progress}
    gradient = plain.value_and_grad(loss, argnums=argnums, has_aux=has_aux)
    summed = _Sum(f"wg.dask.value_and_grad({callable_name(loss)})", gradient, argnums, has_aux, **options)

    @transforms(value_and_grad, loss, argnums=argnums, has_aux=has_aux, **options)
    def value_and_gradient(*args: Any, **named: Any) -> Any:
        return summed(args, named)

    return value_and_gradient


def hvp(
    loss: Callable[..., Any], *, compiled: bool = False, exact: bool = False, blocks: bool = False, retries: int = 0,
    progress: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """Return the function that computes `Σ H v`, the Hessian of `Σ loss(params, chunk)` by a vector, with Dask.

    Pass it to SciPy: `minimize(value_and_grad(loss), x0, args=chunks, jac=True, hessp=hvp(loss), method="trust-ncg")`.

    Parameters:
        loss (callable): The loss of one chunk: `loss(params, chunk)`.
        compiled (bool): Compile the product once in each process, as for `value_and_grad`.
        exact (bool): Compute nothing in another order than the loss, as for `value_and_grad`.
        blocks (bool): Also take arrays that are cut along several axes, as for `value_and_grad`.
        retries (int): How often a cluster runs a failed task again.
        progress (bool): Show Dask's progress bar.
    Returns:
        callable: A function of `(params, v, chunks)`, where v has the structure and shapes of `params`, as its result.
    Raises:
        ImportError: Dask is not installed.
        ArgumentError: The chunks do not fit together, or v does not fit the parameters; else the errors of `wg.hvp`.
    See Also:
        value_and_grad

    Examples:
        >>> import dask.array as da
        >>> x = da.arange(4.0, chunks=2)
        >>> wg.dask.hvp(lambda p, x: np.sum(p**3) * np.sum(x))(np.array([1.0, 2.0]), np.array([1.0, 10.0]), x)
        array([ 36., 720.])
    """
    options: Any = {"compiled": compiled, "exact": exact, "blocks": blocks, "retries": retries, "progress": progress}
    summed = _Sum(f"wg.dask.hvp({callable_name(loss)})", plain_hvp(loss), (0, 1), False, **options)

    @transforms(hvp, loss, **options)
    def product(*args: Any, **named: Any) -> Any:
        return summed(args, named)

    return product


class _Sum:
    """A function, called `name` in messages, whose results are added over chunks; each gets the `argnums` whole."""

    def __init__(
        self, name: str, f: Callable[..., Any], argnums: Argnums, has_aux: bool, compiled: bool, exact: bool,
        blocks: bool, retries: int, progress: bool,
    ) -> None:  # fmt: skip
        self.name, self.argnums, self.has_aux, self.blocks = name, argnums, has_aux, blocks
        self.f = compile(f, exact=exact) if compiled else f
        self.retries, self.progress = retries, progress

    def __call__(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if named:
            raise ArgumentError(
                f"pass chunks by position, not by name: {', '.join(named)}. Bind an argument that all chunks share to "
                "the loss: functools.partial(loss, name=...)."
            )
        if is_traced(args):
            raise ArgumentError(
                f"{self.name} cannot be differentiated or traced. Call it outside of other derivatives."
            )
        dask = load_dask()
        parts = self._parts(dask, args)
        summands, aux = ([part[0] for part in parts], [part[1] for part in parts]) if self.has_aux else (parts, [])
        total = _sum_as_tree(summands, dask.delayed(add_gradients, pure=False))
        found, *aux = self._computed(dask, [total, *aux])
        return ((found[0], aux), found[1]) if self.has_aux else found

    def _parts(self, dask: Any, args: tuple[Any, ...]) -> list[Any]:
        """Return the delayed results of all chunks."""
        places, _ = places_of(self.f, args, {}, self.argnums)
        positions = {place.argument if isinstance(place, Part) else place for place in places}
        whole = {k: dask.delayed(whole_argument(args, k), traverse=False) for k in range(len(args)) if k in positions}
        cut = chunk_arguments([value for k, value in enumerate(args) if k not in whole], self.blocks)
        f = dask.delayed(Packed(self.f) if _uses_processes(dask) else self.f, traverse=False)
        task, parts = dask.delayed(summand_of_chunk, pure=False), []
        for k, each in enumerate(cut):
            chunk = iter(each)
            parts.append(task(f, k, self.has_aux, *[whole[i] if i in whole else next(chunk) for i in range(len(args))]))
        return parts

    def _computed(self, dask: Any, results: list[Any]) -> Sequence[Any]:
        """Compute delayed results, with Dask's own progress bar if that is asked for."""
        client = getattr(dask.base.get_scheduler(), "__self__", None) if self.progress else None
        if client is not None:
            futures = client.compute(results, retries=self.retries)
            import_module("distributed").progress(futures, notebook=False)
            return client.gather(futures)
        with import_module("dask.diagnostics").ProgressBar() if self.progress else nullcontext():
            return dask.compute(*results, retries=self.retries)


class Packed:
    """A function as bytes for other processes, each of which unpacks it once."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.__name__ = callable_name(f)
        try:
            self.code = pack(f)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise ArgumentError(
                f"{self.__name__} reads an object that cannot be pickled for other processes: {error}. Create that "
                "object inside the function."
            ) from error

    def __repr__(self) -> str:
        return f"<wg.dask.packed {self.__name__}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return unpacked(self.code)(*args, **kwargs)


def packed(f: Callable[..., Any]) -> Packed:
    """Pack a function `f`, such as `wg.grad(loss)` or `wg.compile(wg.grad(loss))`, for other processes.

    It carries everything that f reads now and that cannot be imported there, as cloudpickle does, and the rules that
    were declared here. A process that receives it twice has one function, and compiles it once.

    Parameters:
        f (callable): The function.
    Returns:
        Packed: A function to call like f; any pickle takes it: `client.map(packed(f), xs)` of Dask, a pool of
            processes, joblib.
    Raises:
        ImportError: Dask is not installed.
        ArgumentError: f reads an object that cannot be pickled.
    See Also:
        value_and_grad, compile

    Examples:
        >>> import pickle
        >>> f = wg.dask.packed(wg.grad(lambda x: x**2))
        >>> pickle.loads(pickle.dumps(f))(3.0)
        6.0
    """
    load_dask()
    return Packed(f)


def _uses_processes(dask: Any) -> bool:
    """Whether Dask's current scheduler runs tasks in other processes."""
    return dask.base.get_scheduler() not in (None, dask.threaded.get, dask.local.get_sync)


def summand_of_chunk(f: Callable[..., Any], k: int, has_aux: bool, *args: Any) -> Any:
    """Compute what chunk k adds to the sum, with `has_aux` in a pair with its aux: the body of a Dask task."""
    args = tuple([list(value) if isinstance(value, Iterator) else value for value in args])
    try:
        result = f(*[rebuild(value, _of_one_layout, _of_one_layout) for value in args])
    except Exception as error:
        error.add_note(f"The loss failed at chunk {k}, counted from 0.")
        raise
    return ((result[0][0], result[1]), result[0][1]) if has_aux else result


def _of_one_layout(value: Any, _: Any = None) -> Any:
    """Return a read-only array with the memory layout of one that was sent.

    Other tasks read the same array. BLAS rounds differently for strided and unaligned arrays, so that without a fixed
    layout the last bits would depend on which worker computed a chunk, and which received it.
    """
    if isinstance(value, np.ndarray):
        value = value.view() if value.flags.aligned and value.flags.forc else value.astype(value.dtype, order="C")
        value.flags.writeable = False
    return value


def _sum_as_tree(parts: list[Any], add: Callable[..., Any]) -> Any:
    """Return the sum of delayed parts, added in an order that depends only on their number."""
    while len(parts) > 1:
        parts = [add(parts[k : k + FAN_IN]) for k in range(0, len(parts), FAN_IN)]
    return parts[0]


def add_gradients(structures: list[Any]) -> Any:
    """Add structures that are alike, number by number."""
    summands = zip(*[[leaf for _, leaf in leaves(structure)] for structure in structures], strict=True)
    return walk(structures[0], "", {}, at_leaf=lambda *_: _add_in_place(next(summands)), hold=shallow_copy)


def _add_in_place(parts: tuple[Any, ...]) -> Any:
    """Add numbers or arrays in place, so that arrays without axes stay arrays."""
    first, *others = parts
    return reduce(operator.iadd, others, first.copy() if isinstance(first, np.ndarray) else first)


def descend(
    objective: Callable[[X, int], tuple[Any, X]],
    params: X,
    optimiser: Optimiser,
    steps: int,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 1,
    callback: Callable[[int, Any, X], Any] | None = None,
) -> X:
    """Take steps of an optimiser, and resume them from a file: x ← the parameters after `steps` updates.

    Step t, counted from 0, computes `(f(x), g) = objective(x, t)` and `x, state = optimiser.update(g, state, x)`. If
    the process dies, run the program again: it resumes from the file, and ends with the same bits as without the
    interruption, if the objective depends on x and t alone. The file is a pickle of `(t, x, state)`, replaced in one
    operation, so that a crash leaves the old one or the new one. Load only files that you wrote.

    Parameters:
        objective (callable): It returns value and gradient, as `lambda p, t: value_and_grad(loss)(p, chunks)`.
        params (tree): The parameters at the start, used if there is no file yet.
        optimiser (Optimiser): One of `wg.optim`, or another pair of `init` and `update`.
        steps (int): The number of steps in all, including those before an interruption.
        checkpoint (str | PathLike): The file. Use one for each run. Without it, nothing is stored.
        every (int): Write the file after so many steps, and after the last.
        callback (callable): Called after each step as `callback(t, value, params)`, with f(x) before the step and x
            after it.
    Returns:
        tree: The parameters after all steps.
    Raises:
        NonFiniteError: The value or the gradient has a NaN or an infinity. The file then has finite parameters.
        ArgumentError: The file is of other parameters, by structure, shape or dtype, of another optimiser, or of more
            steps.
    See Also:
        value_and_grad, hvp

    Examples:
        >>> gradient = wg.value_and_grad(lambda x: (x - 3.0) ** 2)
        >>> wg.dask.descend(lambda x, t: gradient(x), 1.0, wg.optim.sgd(0.25), steps=3)
        2.75
    """
    if every < 1:
        raise ArgumentError(f"every must be at least 1, not {every}: it is the number of steps between checkpoints.")
    done, state = 0, optimiser.init(params)
    file = None if checkpoint is None else Path(checkpoint)
    if file is not None:
        if not file.exists():
            _write_checkpoint(file, (done, params, state))
        done, params, state = _read_checkpoint(file, params, state, steps)
    for step in range(done, steps):
        value, gradient = objective(params, step)
        if not all([np.all(np.isfinite(number)) for number in (value, *tree_leaves(gradient))]):
            raise NonFiniteError(
                f"step {step}: the objective returned a value or gradient with a NaN or an infinity. Lower the "
                "learning rate, or find the operation by wg.debug_nans()."
            )
        params, state = optimiser.update(gradient, state, params)
        if file is not None and ((step + 1) % every == 0 or step + 1 == steps):
            _write_checkpoint(file, (step + 1, params, state))
        if callback is not None:
            callback(step, value, params)
    return params


def _write_checkpoint(file: Path, content: Any) -> None:
    """Replace a file in one operation, once the new content is on the disk."""
    new = file.with_name(f"{file.name}.new")
    with new.open("wb") as stream:
        pickle.dump(content, stream)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(file)


def _read_checkpoint(file: Path, params: Any, state: dict[str, Any], steps: int) -> tuple[int, Any, dict[str, Any]]:
    """Read the steps done, the parameters and the state. Errors: ArgumentError if they belong to another run."""
    done, stored, kept = pickle.loads(file.read_bytes())
    if _layout(stored) != _layout(params):
        what = "parameters of another structure, shape or dtype"
    elif kept.keys() != state.keys():
        what = "the state of another optimiser"
    elif done > steps:
        what = f"{done} steps, more than steps={steps}"
    else:
        return done, stored, kept
    raise ArgumentError(f"{file} has {what}. Remove it to start anew, or pass another file for this run.")


def _layout(tree: Any) -> list[Any]:
    return [(path, np.shape(leaf), np.asarray(leaf).dtype) for path, leaf in places_in(tree)]
