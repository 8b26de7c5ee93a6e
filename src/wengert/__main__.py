# PYTHON_ARGCOMPLETE_OK
"""`python -m wengert`: what the package can be asked from the command line."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from wengert.api.checks import check_grads
from wengert.api.explain import policy
from wengert.api.memory_profile import memory
from wengert.api.missing import missing
from wengert.api.profiling import profile
from wengert.api.tape_page import show
from wengert.api.taping import gradtape, trace
from wengert.errors import ArgumentError, IntegerInputError, WengertError
from wengert.tape.tape import Tape
from wengert.tools.cli_values import UsageError, arguments, by_position, find_callable

EPILOG = """\
a function is module:function or path/to/file.py:function; the file is run. What follows are its arguments:
  1.5  '[1.0, 2.0]'  '{"w": [1.0]}'    Python literals; a list of numbers is an array
  scale=2.0                            by name
  data.npz                             its arrays, by name; those called arr_0, arr_1, … by position
  data.npz:w  x=data.npz:w             one of its arrays

exit codes: 0 right; 1 the check failed, a derivative is missing, or the function raised; 2 wrong usage;
130 interrupted

examples, with a file model.py:

  import numpy as np

  def loss(w, x, scale=1.0):
      return scale * np.sum(np.tanh(w * x) ** 2)

  python -m wengert trace model.py:loss 0.5 '[1.0, 2.0]'
  python -m wengert source model.py:loss 0.5 '[1.0, 2.0]' scale=3.0
  python -m wengert check model.py:loss 0.5 '[1.0, 2.0]' --order 2 --mode rev --mode fwd
  python -m wengert profile model.py:loss data.npz --html profile.html --speedscope profile.json
  python -m wengert memory model.py:loss data.npz --wrt w
  python -m wengert view model.py:loss data.npz --out tape.html
  python -m wengert missing numpy:fft.fft '[1.0, 2.0]'
  python -m wengert policy np.fft.fft list.append
"""


def main(words: list[str] | None = None) -> int:
    """Run a command; returns its exit code, or exits with 2 where it cannot be understood."""
    parser = _parser()
    with contextlib.suppress(ImportError):
        importlib.import_module("argcomplete").autocomplete(parser)
    given, more = parser.parse_known_args([_shielded(word) for word in (sys.argv[1:] if words is None else words)])
    if strange := [word for word in more if word.startswith("-") or not hasattr(given, "values")]:
        parser.error(f"{' '.join(strange)}: no such option. See: {parser.prog} {given.command} --help")
    if more:  # arguments behind options
        given.values += more
    try:
        code: int = given.run(given)
        sys.stdout.flush()
        return code
    except UsageError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    except BrokenPipeError:  # `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt as error:
        print("", *getattr(error, "__notes__", ["interrupted"]), sep="\n", file=sys.stderr)
        return 130
    except Exception as error:
        return _failed(error)


def _shielded(word: str) -> str:
    """A word, so that a negative number does not look like an option."""
    try:
        return f" {word}" if word.startswith("-") and complex(word) is not None else word
    except ValueError:
        return word


def _failed(error: Exception) -> int:
    """Say what went wrong: an error of wengert in its words, another one with where in the user's code it was."""
    if isinstance(error, WengertError):
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2 if isinstance(error, ArgumentError | IntegerInputError) else 1
    told = traceback.TracebackException.from_exception(error)
    ours = str(Path(__file__).parent)
    told.stack = traceback.StackSummary.from_list(
        [frame for frame in told.stack if not frame.filename.startswith((ours, "<frozen "))]
    )
    print(*told.format(), sep="", end="", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m wengert",
        description="Ask wengert about a function, at some arguments.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="command", dest="command")
    traced = _call(commands, "trace", _trace, "print the operations of a call, one a line")
    written = _call(commands, "source", _source, "print the derivative as plain NumPy source")
    profiled = _call(commands, "profile", _measure, "which lines take the time and bytes of a gradient")
    _into(profiled, "--html", "write it as a page, too")
    _into(profiled, "--speedscope", "write it as JSON for https://www.speedscope.app, too")
    held = _call(commands, "memory", _measure, "what a gradient holds at its peak, and which lines made it")
    _into(held, "--html", "write it as a page, too")
    profiled.set_defaults(measure=profile)
    held.set_defaults(measure=memory)
    checked = _call(commands, "check", _check, "compare the derivatives with differences")
    checked.add_argument("--order", type=int, default=1, help="2 checks second derivatives too, and so on")
    checked.add_argument("--mode", action="append", choices=["rev", "fwd"], help="gradients, or tangents; may be both")
    checked.add_argument("--rtol", type=float, help="relative tolerance, by default eps^(1/3)")
    checked.add_argument("--atol", type=float, help="absolute tolerance, by default eps^(1/2)")
    checked.add_argument("--quiet", action="store_true", help="show no progress")
    _call(commands, "missing", _missing, "list the calls that have no rule, with one to paste for each")
    told = _command(commands, "policy", _policy, "what becomes of a call in traced code, and why")
    told.add_argument(
        "names", nargs="+", metavar="name", help="a callable, as np.fft.fft, list.append or model.py:loss"
    )
    viewed = _call(commands, "view", _view, "write the tape as an HTML page, beside the source, and open it")
    _of_a_tape(traced, "value")
    _of_a_tape(written, "gradient")
    _of_a_tape(viewed, "gradient")
    _into(viewed, "--out", "write it to this file, and open nothing")
    for command in (traced, written, profiled, held, checked, viewed):
        command.add_argument(
            "--wrt", action="append", metavar="NAME", help="differentiate by this argument; again for one more"
        )
    return parser


def _command(commands: Any, name: str, run: Any, words: str) -> argparse.ArgumentParser:
    about = f"{words[0].upper()}{words[1:]}."
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=words, description=about, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.set_defaults(run=run)
    return command


def _call(commands: Any, name: str, run: Any, words: str) -> argparse.ArgumentParser:
    """A command about a function and its arguments."""
    command = _command(commands, name, run, words)
    command.add_argument("function", help="module:function or path/to/file.py:function")
    command.add_argument("values", nargs="*", metavar="argument", help="a literal, name=literal, or file.npz")
    command.add_argument(
        "--arg", dest="late", action="append", default=[], metavar="ARGUMENT", help="one more of these"
    )
    return command


def _of_a_tape(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument(
        "--of",
        choices=["value", "gradient"],
        default=default,
        help=f"the function, or its gradient; by default the {default}",
    )


def _into(command: argparse.ArgumentParser, option: str, words: str) -> None:
    """An option that names a file to be written."""
    command.add_argument(option, metavar="FILE", type=_file, help=words)


def _file(word: str) -> str:
    if not Path(word).absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {Path(word).parent}")
    return word


def _called(given: argparse.Namespace) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    f = find_callable(given.function)
    return (f, *arguments(f, [*given.values, *given.late]))


def _differentiated(given: argparse.Namespace) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    called = _called(given)
    if not called[1] and not called[2]:
        raise UsageError(f"{given.function} is given no arguments: there is nothing to differentiate by")
    return called


def _wanted(given: argparse.Namespace) -> tuple[str, ...] | None:
    return given.wrt and tuple(given.wrt)


def _is_gradient(given: argparse.Namespace) -> bool:
    return given.of == "gradient" or given.wrt is not None


def _tape(given: argparse.Namespace) -> Tape:
    if _is_gradient(given):
        f, args, kwargs = _differentiated(given)
        return gradtape(f, *args, argnums=_wanted(given), **kwargs)
    f, args, kwargs = _called(given)
    return trace(f, *args, **kwargs)[1]


def _trace(given: argparse.Namespace) -> int:
    _tape(given).show()
    return 0


def _source(given: argparse.Namespace) -> int:
    name = given.function.rpartition(":")[2].rpartition(".")[2]
    print(_tape(given).to_source(f"d{name}" if _is_gradient(given) else name), end="")
    return 0


def _measure(given: argparse.Namespace) -> int:
    f, args, kwargs = _differentiated(given)
    found = given.measure(f, *args, argnums=_wanted(given), **kwargs)
    found.show()
    for form in ("html", "speedscope"):
        if file := getattr(given, form, None):
            print(getattr(found, form)(file))
    return 0


def _check(given: argparse.Namespace) -> int:
    f, args = by_position(*_differentiated(given), given.wrt)
    modes = tuple(given.mode or ["rev"])
    options: dict[str, Any] = {"rtol": given.rtol, "atol": given.atol, "quiet": given.quiet}
    worst = check_grads(f, *args, order=given.order, modes=modes, **options)
    how = f"the largest relative error is {worst:.1e}" if worst else "no error is larger than the absolute tolerance"
    print(f"{given.function}: its derivatives agree with differences; {how}")
    return 0


def _missing(given: argparse.Namespace) -> int:
    f, args, kwargs = _called(given)
    found = missing(f, *args, **kwargs)
    found.show() if found or found.constant or found.stopped else print(found)
    return int(bool(found) or found.stopped is not None)


def _policy(given: argparse.Namespace) -> int:
    print("\n\n".join([str(policy(find_callable(name))._replace(name=name)) for name in given.names]))
    return 0


def _view(given: argparse.Namespace) -> int:
    print(show(_tape(given), given.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
