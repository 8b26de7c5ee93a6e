# PYTHON_ARGCOMPLETE_OK
"""The command line: `wengert`, also called by `python -m wengert`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from wengert import __version__
from wengert.api.checks import check_grads
from wengert.api.explain import explain_call
from wengert.api.memory_profile import memory
from wengert.api.missing import find_missing_rules
from wengert.api.profiling import profile
from wengert.api.tape_page import show
from wengert.api.taping import gradtape, trace
from wengert.errors import ArgumentError, IntegerInputError, WengertError
from wengert.tape.tape import Tape
from wengert.tools.cli_values import UsageError, arguments, by_position, find_callable
from wengert.values.trees import leaves

MODULE = "python -m wengert"
VERSION = f"wengert {__version__}, Python {sys.version.split()[0]}, NumPy {np.__version__}"
_RENAMED_COMMANDS = {"missing": "missing-rules", "policy": "explain"}
MODES = {"rev": "gradients", "fwd": "tangents"}
EPILOG = """\
name a function as module:function or path/to/file.py:function (the file is run), then give its arguments:
  1.5  '[1.0, 2.0]'  '{"w": [1.0]}'    Python literals; a list of numbers is an array
  scale=2.0                            a keyword argument
  data.npz                             its arrays as keyword arguments; arr_0, arr_1, … are positional
  data.npz:w  x=data.npz:w             one of its arrays

exit codes: 0 success; 1 the check failed, a derivative is missing, or the function raised; 2 wrong usage;
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
  python -m wengert missing-rules numpy:fft.fft '[1.0, 2.0]'
  python -m wengert explain np.fft.fft list.append
"""


def run_script() -> int:
    """Run the `wengert` script: the current folder is on the path, as with `python -m`."""
    if not sys.flags.safe_path:
        sys.path.insert(0, str(Path.cwd()))
    return main(program="wengert")


def main(words: list[str] | None = None, program: str = MODULE) -> int:
    """Run a command; return its exit code, or exit with 2 if the command line is not valid.

    `program` is the name of the command line in messages.
    """
    parser = _parser(program)
    with contextlib.suppress(ImportError):
        importlib.import_module("argcomplete").autocomplete(parser)
    words = _with_new_name(sys.argv[1:] if words is None else words)
    options, more = parser.parse_known_args([_with_space(word) for word in words])
    if strange := [word for word in more if word.startswith("-") or not hasattr(options, "values")]:
        parser.error(f"{' '.join(strange)}: there is no such option. See {parser.prog} {options.command} --help")
    if more:  # arguments after options
        options.values += more
    try:
        code: int = options.run(options)
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
        return _report_error(error)


def _with_new_name(words: list[str]) -> list[str]:
    """Replace the old name of a command, and say so on standard error."""
    old = words[0] if words else ""
    if old not in _RENAMED_COMMANDS:
        return words
    print(f"{old} is now called {_RENAMED_COMMANDS[old]}. wengert 0.2 removes the old name.", file=sys.stderr)
    return [_RENAMED_COMMANDS[old], *words[1:]]


def _with_space(word: str) -> str:
    """Return a word with a space in front if it is a negative number, which would look like an option."""
    try:
        return f" {word}" if word.startswith("-") and complex(word) is not None else word
    except ValueError:
        return word


def _report_error(error: Exception) -> int:
    """Print an error: one of wengert with its message, another one with the traceback of the user's code."""
    if isinstance(error, WengertError):
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2 if isinstance(error, ArgumentError | IntegerInputError) else 1
    report = traceback.TracebackException.from_exception(error)
    ours = str(Path(__file__).parent)
    report.stack = traceback.StackSummary.from_list(
        [frame for frame in report.stack if not frame.filename.startswith((ours, "<frozen "))]
    )
    print(*report.format(), sep="", end="", file=sys.stderr)
    return 1


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        program,
        description="Trace, differentiate, check or measure a function at given arguments.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION, help="print the versions and exit")
    commands = parser.add_subparsers(required=True, metavar="command", dest="command")
    ops = _function_command(commands, "trace", _run_trace, "print the operations of a call, one a line")
    source = _function_command(commands, "source", _run_source, "print the derivative as plain NumPy source")
    time = _function_command(commands, "profile", _run_measure, "list where a gradient spends time and bytes")
    _add_file_option(time, "--html", "also write the table to this file, as an HTML page")
    _add_file_option(time, "--speedscope", "also write the times to this file, as JSON for https://www.speedscope.app")
    peak = _function_command(commands, "memory", _run_measure, "list what holds memory at the peak of a gradient")
    _add_file_option(peak, "--html", "also write the table to this file, as an HTML page")
    time.set_defaults(measure=profile)
    peak.set_defaults(measure=memory)
    check = _function_command(commands, "check", _run_check, "compare the derivatives with finite differences")
    check.add_argument("--order", type=int, default=1, help="2 checks second derivatives too, and so on")
    check.add_argument("--mode", action="append", choices=[*MODES], help="gradients or tangents; repeat for both")
    check.add_argument("--rtol", type=float, help="relative tolerance; the default is 6.1e-06 for float64 (eps^(1/3))")
    check.add_argument("--atol", type=float, help="absolute tolerance; the default is 1.5e-08 for float64 (eps^(1/2))")
    check.add_argument("--verbose", action="store_true", help="also print the relative error of each argument")
    check.add_argument("--quiet", action="store_true", help="show no progress")
    words = "list the calls without a rule, with a rule to paste for each"
    _function_command(commands, "missing-rules", _run_missing_rules, words)
    explain = _add_command(commands, "explain", _run_explain, "explain how traced code treats a call")
    explain.add_argument(
        "names", nargs="+", metavar="name", help="a callable, such as np.fft.fft, list.append or model.py:loss"
    )
    view = _function_command(commands, "view", _run_view, "write the tape as an HTML page and open it")
    _add_tape_choice(ops, "value")
    _add_tape_choice(source, "gradient")
    _add_tape_choice(view, "gradient")
    _add_file_option(view, "--out", "write the page to this file, and do not open it")
    for command in (ops, source, time, peak, check, view):
        command.add_argument(
            "--wrt",
            action="append",
            metavar="NAME",
            help="differentiate with respect to this argument; repeat for more",
        )
    for documented in (parser, *commands.choices.values()):
        documented.epilog = EPILOG.replace(MODULE, program)
    return parser


def _add_command(commands: Any, name: str, run: Any, words: str) -> argparse.ArgumentParser:
    about = f"{words[0].upper()}{words[1:]}."
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=words, description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.set_defaults(run=run)
    return command


def _function_command(commands: Any, name: str, run: Any, words: str) -> argparse.ArgumentParser:
    """Add a command on a function and its arguments."""
    command = _add_command(commands, name, run, words)
    command.add_argument("function", help="module:function or path/to/file.py:function")
    command.add_argument(
        "values", nargs="*", metavar="argument", help="a literal, name=literal, or file.npz: see below"
    )
    command.add_argument(
        "--arg",
        dest="late",
        action="append",
        default=[],
        metavar="ARGUMENT",
        help="one more argument; for a value that begins with a dash: --arg=-(1+2j)",
    )
    return command


def _add_tape_choice(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument(
        "--of",
        choices=["value", "gradient"],
        default=default,
        help=f"record the function (value) or its gradient; the default is {default}",
    )


def _add_file_option(command: argparse.ArgumentParser, option: str, words: str) -> None:
    """Add an option that names a file to write."""
    command.add_argument(option, metavar="FILE", type=_file_to_write, help=words)


def _file_to_write(word: str) -> str:
    if not Path(word).absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {Path(word).parent}")
    return word


def _parse_call(options: argparse.Namespace) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    f = find_callable(options.function)
    return (f, *arguments(f, [*options.values, *options.late]))


def _parse_differentiable_call(options: argparse.Namespace) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    called = _parse_call(options)
    if not called[1] and not called[2]:
        raise UsageError(f"{options.function} got no arguments: there is nothing to differentiate by")
    return called


def _argnums(options: argparse.Namespace) -> tuple[str, ...] | None:
    return options.wrt and tuple(options.wrt)


def _is_gradient(options: argparse.Namespace) -> bool:
    return options.of == "gradient" or options.wrt is not None


def _make_tape(options: argparse.Namespace) -> Tape:
    if _is_gradient(options):
        f, args, kwargs = _parse_differentiable_call(options)
        return gradtape(f, *args, argnums=_argnums(options), **kwargs)
    f, args, kwargs = _parse_call(options)
    return trace(f, *args, **kwargs)[1]


def _run_trace(options: argparse.Namespace) -> int:
    _make_tape(options).show()
    return 0


def _run_source(options: argparse.Namespace) -> int:
    name = options.function.rpartition(":")[2].rpartition(".")[2]
    print(_make_tape(options).to_source(f"d{name}" if _is_gradient(options) else name), end="")
    return 0


def _run_measure(options: argparse.Namespace) -> int:
    f, args, kwargs = _parse_differentiable_call(options)
    found = options.measure(f, *args, argnums=_argnums(options), **kwargs)
    found.show()
    for form in ("html", "speedscope"):
        if file := getattr(options, form, None):
            print(getattr(found, form)(file))
    return 0


def _run_check(options: argparse.Namespace) -> int:
    f, args = by_position(*_parse_differentiable_call(options), options.wrt)
    modes = tuple(options.mode or ["rev"])
    tolerances: dict[str, Any] = {"rtol": options.rtol, "atol": options.atol}
    worst = check_grads(f, *args, order=options.order, modes=modes, quiet=options.quiet, **tolerances)
    checked = " and ".join(MODES[mode] for mode in dict.fromkeys(modes))
    order = f" up to order {options.order}" if options.order > 1 else ""
    error = f"largest relative error {worst:.1e}" if worst else "no error is larger than atol"
    print(f"OK: {checked}{order} agree with finite differences ({error}; {_criteria(args, **tolerances)})")
    for path, measured in worst.errors.items() if options.verbose else ():
        print(f"  {path}: relative error {measured:.1e}")
    return 0


def _criteria(args: tuple[Any, ...], rtol: float | None, atol: float | None) -> str:
    """Describe the tolerances of `check_grads`, by default powers of each dtype's eps, and the numbers checked."""
    numbers = [np.asarray(leaf) for _, leaf in leaves(args)]
    precisions = sorted({float(np.finfo(array.dtype).eps) for array in numbers})

    def text(tolerance: float | None, power: float) -> str:
        default = [eps**power for eps in precisions]
        return " or ".join([f"{amount:.2g}" for amount in (default if tolerance is None else [tolerance])])

    count = sum([array.size for array in numbers])
    return f"rtol {text(rtol, 1 / 3)}, atol {text(atol, 1 / 2)}, {count} number{'s' * (count != 1)} checked"


def _run_missing_rules(options: argparse.Namespace) -> int:
    f, args, kwargs = _parse_call(options)
    found = find_missing_rules(f, *args, **kwargs)
    found.show() if found or found.constant or found.stopped else print(found)
    return int(bool(found) or found.stopped is not None)


def _run_explain(options: argparse.Namespace) -> int:
    print("\n\n".join([str(explain_call(find_callable(name))._replace(name=name)) for name in options.names]))
    return 0


def _run_view(options: argparse.Namespace) -> int:
    print(show(_make_tape(options), options.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
