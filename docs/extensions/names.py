"""Code in a page that begins with a public name, such as `wg.vmap(f)`, is a link to what the reference says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform

BEGINS_WITH_A_NAME = re.compile(r"wg\.(\w+(?:\.\w+)*)")


class LinkedNames(SphinxTransform):
    default_priority = 700

    def apply(self, **_: Any) -> None:
        for code in list(self.document.findall(nodes.literal)):
            name = BEGINS_WITH_A_NAME.match(code.astext())
            is_apart = any(isinstance(node, (nodes.title, nodes.reference, pending_xref)) for node in around(code))
            if name and not is_apart:
                target = {"refdomain": "py", "reftype": "obj", "reftarget": f"wengert.{name[1]}"}
                link = pending_xref("", refdoc=self.env.docname, refwarn=False, **target)
                code.replace_self(link)
                link += code


def around(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield the nodes that contain a node, from the inside. The text of a Markdown link lies in an inline node."""
    while node.parent is not None:
        node = node.parent
        yield node


def setup(app: Any) -> dict[str, bool]:
    app.add_transform(LinkedNames)
    return {"parallel_read_safe": True}
