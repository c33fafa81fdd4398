"""One self-contained HTML page: data, style and drawing code in one file, and no network."""

import json
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

MARK = '<meta name="generator" content="sparsepath">'


def page(summary: Mapping[str, Any], mark: str = MARK) -> str:
    """The page of a summary. Text of the data is escaped here or set as text by the page's code."""
    here = files("sparsepath.report")
    style = (here / "page.css").read_text("utf-8")
    code = (here / "page.js").read_text("utf-8")
    body = (here / "page.html").read_text("utf-8")
    parts = {
        "{{mark}}": mark,
        "{{title}}": escape(str(summary["title"])),
        "{{answer}}": "".join(f"<p>{escape(text)}</p>" for text in summary["answer"]),
        "{{about}}": "".join(f"<li>{escape(text)}</li>" for text in summary["about"]),
        "{{notes}}": "".join(f"<li>{escape(text)}</li>" for text in summary["notes"]),
        "{{style}}": style,
        "{{data}}": _embedded(json.dumps(summary, allow_nan=False)),
        "{{program}}": _embedded(summary["programs"].get("javascript", "const predict = null;")),
        "{{code}}": code,
    }
    # One pass over the template, so that no text of the data is ever taken for a place.
    return re.sub(r"\{\{\w+\}\}", lambda found: parts[found[0]], body)


def _embedded(text: str) -> str:
    """For a script element, which nothing in the text may end; strings take the escapes."""
    return re.sub(r"<(?=[!/]|script)", r"\\u003c", text, flags=re.IGNORECASE)
