"""The examples as pages: what each is, its code, and what it prints, which the tests compare with a run of it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PRINTED = "tests/house/tapes/examples"

PAGE = """\
{title}
{line}

{docstring}

.. literalinclude:: /../examples/{name}.py
   :lines: {first}-

It prints:

.. literalinclude:: /../{printed}/{name}.txt
   :language: text
"""

FIGURE = """
And draws:

.. image:: {picture}
   :alt: {sentence}
"""

CONTENTS = """\
Examples
========

Each is one file in ``examples/``, to be run as it stands: ``python examples/quickstart.py``. A test runs them, and
compares what they print with what is shown here.

{lines}

And, as ``wg.show`` writes it, `a gradient beside the code that it is of <../shown.html>`_.

.. toctree::
   :hidden:

{pages}
"""


def title_of(name: str) -> str:
    words = [{"scipy": "SciPy", "dask": "Dask"}.get(word, word) for word in name.split("_")]
    return f"{words[0][0].upper()}{words[0][1:]} {' '.join(words[1:])}".rstrip()


def page_of(example: Path, folder: Path) -> tuple[str, str]:
    """(first sentence, page) of an example, as reStructuredText; what it draws goes into the folder."""
    text = example.read_text(encoding="utf-8")
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree) or ""
    title, sentence = title_of(example.stem), docstring.partition("\n\n")[0]
    fields = {"name": example.stem, "title": title, "line": "=" * len(title), "docstring": docstring}
    page = PAGE.format(**fields, first=tree.body[1].lineno, printed=PRINTED)
    if picture := re.search(r'savefig\("([\w.]+)"', text):
        run(example, folder)
        page += FIGURE.format(picture=picture[1], sentence=sentence)
    return sentence, page


def run(example: Path, folder: Path) -> None:
    """Run an example in the folder, where it leaves what it draws."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("src", "rules"))}
    subprocess.run([sys.executable, example], cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)


def write_pages(app: Any) -> None:
    """Write the page of each example, and their contents, where Sphinx looks for pages."""
    folder = Path(app.srcdir) / "gallery"
    folder.mkdir(exist_ok=True)
    examples = sorted((ROOT / "examples").glob("*.py"), key=lambda path: (path.stem != "quickstart", path.stem))
    for old in folder.iterdir():
        old.unlink()
    pages = {example.stem: page_of(example, folder) for example in examples}
    for name, (_, page) in pages.items():
        (folder / f"{name}.rst").write_text(page, encoding="utf-8")
    lines = "\n".join(f"- :doc:`{name}`: {sentence}" for name, (sentence, _) in pages.items())
    contents = CONTENTS.format(lines=lines, pages="\n".join(f"   {name}" for name in pages))
    (folder / "index.rst").write_text(contents, encoding="utf-8")


def link_pages(app: Any, docname: str, source: list[str]) -> None:
    """Let links to an example, and to the README, lead to their pages."""
    linked = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](/gallery/\1.rst)", source[0])
    source[0] = linked.replace("](../README.md", "](/index.md")


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_pages)
    return {"parallel_read_safe": True}
