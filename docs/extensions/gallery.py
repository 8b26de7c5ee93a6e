"""The examples as pages: what each is, its code, and what it prints, which the tests compare with a run of it.

The directive `examples` shows those that it names as cards, with a picture of what they draw or print.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
PRINTED = "tests/house/tapes/examples"
ROWS, COLUMNS = 9, 46  # of a picture of what an example prints

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


class Example(NamedTuple):
    """An example: its name, what it says of itself in a sentence and in full, its first line, and its figure if any."""

    name: str
    sentence: str
    docstring: str
    first: int
    figure: str | None


def read(name: str) -> Example:
    text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree) or ""
    figure = re.search(r'savefig\("([\w.]+)"', text)
    return Example(name, docstring.partition("\n\n")[0], docstring, tree.body[1].lineno, figure and figure[1])


def title_of(name: str) -> str:
    words = [{"scipy": "SciPy", "dask": "Dask"}.get(word, word) for word in name.split("_")]
    return f"{words[0][0].upper()}{words[0][1:]} {' '.join(words[1:])}".rstrip()


def page_of(example: Example) -> str:
    """The page of an example, as reStructuredText."""
    title = title_of(example.name)
    page = PAGE.format(**example._asdict(), title=title, line="=" * len(title), printed=PRINTED)
    return page + (FIGURE.format(picture=example.figure, sentence=example.sentence) if example.figure else "")


def picture_of(printed: str) -> str:
    """The first lines that an example prints, as an SVG."""
    lines = [line[:COLUMNS].replace(" ", "\N{NO-BREAK SPACE}") for line in printed.splitlines() if line.strip()][:ROWS]
    rows = "".join(f'<text x="12" y="{26 + 18 * k}">{escape(line)}</text>' for k, line in enumerate(lines))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="360" height="190" font-family="monospace" font-size="12" '
        f'fill="#333"><rect width="360" height="190" fill="#f6f6f4"/>{rows}</svg>'
    )


def run(name: str, folder: Path) -> None:
    """Run an example in the folder, where it leaves what it draws."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("src", "rules"))}
    command = [sys.executable, ROOT / "examples" / f"{name}.py"]
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)


def write_pages(app: Any) -> None:
    """Write the page and the picture of each example where Sphinx looks for them."""
    folder = Path(app.srcdir) / "gallery"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for path in (ROOT / "examples").glob("*.py"):
        example = read(path.stem)
        (folder / f"{example.name}.rst").write_text(page_of(example), encoding="utf-8")
        if example.figure:
            run(example.name, folder)
        else:
            printed = (ROOT / PRINTED / f"{example.name}.txt").read_text(encoding="utf-8")
            (folder / f"{example.name}.svg").write_text(picture_of(printed), encoding="utf-8")


def card_of(example: Example) -> nodes.figure:
    """A picture of what an example draws or prints, its title and its sentence; the first two lead to its page."""
    image = nodes.image(uri=f"/gallery/{example.figure or example.name + '.svg'}", alt=f"Output of {example.name}.py")
    page = {"refdomain": "std", "reftype": "doc", "reftarget": f"/gallery/{example.name}", "refexplicit": False}
    title = pending_xref("", nodes.inline("", example.name), refwarn=True, **page)
    return nodes.figure(
        "",
        nodes.reference("", "", image, refuri=f"gallery/{example.name}.html"),
        nodes.caption("", "", title),
        nodes.legend("", nodes.paragraph("", example.sentence)),
        classes=["card"],
    )


class Examples(SphinxDirective):
    """Show the examples named in the lines below as cards."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        return [nodes.container("", *[card_of(read(name)) for name in self.content], classes=["gallery"])]


def link_pages(app: Any, docname: str, source: list[str]) -> None:
    """Let links to an example, and to the README, lead to their pages."""
    linked = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](/gallery/\1.rst)", source[0])
    source[0] = linked.replace("](../README.md", "](/index.md")


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("examples", Examples)
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_pages)
    return {"parallel_read_safe": True}
