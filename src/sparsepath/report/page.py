"""One self-contained HTML report: data, style and scripts in one file, without network access."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from sparsepath.system.json_files import plain

MARK = '<meta name="generator" content="sparsepath">'


def policy(*scripts: str) -> str:
    """A Content-Security-Policy that allows these scripts, styles, and no network at all."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    rules = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    rules += f"; script-src {allowed}" if scripts else ""
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">'


def page(summary: Mapping[str, Any], mark: str = MARK) -> str:
    """Return the report of a summary; text of the data is escaped here or set as text by the
    script.
    """
    here = files("sparsepath.report")
    style = (here / "page.css").read_text("utf-8")
    code = (here / "page.js").read_text("utf-8")
    body = (here / "page.html").read_text("utf-8")
    program = _embedded(_predictors(summary["programs"]))
    parts = {
        "{{policy}}": policy(program, code),
        "{{mark}}": mark,
        "{{title}}": escape(str(summary["title"])),
        "{{answer}}": "".join(f"<p>{escape(text)}</p>" for text in summary["answer"]),
        "{{about}}": "".join(f"<li>{escape(text)}</li>" for text in summary["about"]),
        "{{notes}}": "".join(f"<li>{escape(text)}</li>" for text in summary["notes"]),
        "{{style}}": style,
        "{{data}}": _embedded(json.dumps(plain(summary), allow_nan=False)),
        "{{program}}": program,
        "{{code}}": code,
    }
    # One pass over the template, so that no text of the data is ever taken for a place.
    return re.sub(r"\{\{\w+\}\}", lambda found: parts[found[0]], body)


def _predictors(programs: Mapping[str, Mapping[str, str]]) -> str:
    """Return a script with the predict function of every size."""
    own = {size: made["javascript"] for size, made in programs.items() if "javascript" in made}
    blocks = (f"{{\n{text}\npredictors[{size}] = predict;\n}}\n" for size, text in own.items())
    return "const predictors = {};\n" + "".join(blocks)


def _embedded(text: str) -> str:
    """Return JSON for a script element, escaped so that no text can end the element."""
    return re.sub(r"<(?=[!/]|script)", r"\\u003c", text, flags=re.IGNORECASE)
