"""A reader of the HTML that a tape is shown as, which fails on any element or attribute that is not the tape's."""

from __future__ import annotations

import html.parser


class Html(html.parser.HTMLParser):
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("div", "table", "tr", "td", "span", "details", "summary", "iframe")
        assert {name for name, _ in attrs} <= {"style", *(["title", "sandbox", "srcdoc"] if tag == "iframe" else [])}
