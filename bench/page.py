# SPDX-License-Identifier: Apache-2.0
"""One page with all pictures and claims."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any, Mapping, Sequence

STYLE = """
body { font-family: sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; }
td, th { padding: 0.3em 0.8em; border-bottom: 1px solid #ddd; text-align: left; }
.holds { color: #1b7837; } .short { color: #b2182b; font-weight: bold; } img { max-width: 100%; }
"""


def write(folder: Path, names: Sequence[str], failures: Mapping[str, str]) -> Path:
    """Writes index.html from the JSON files of `names` in `folder`; returns its path.

    `failures` says of the others why they could not be measured.
    """
    results = [json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names]
    claims = "".join(_claim(result["name"], claim) for result in results for claim in result["claims"])
    figures = "".join(_figure(result) for result in results)
    failed = "".join(_failure(name, reason) for name, reason in failures.items())
    measured_on = results[0]["machine"] if results else {}
    machine = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in measured_on.items())
    page = (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>nearfetch: benchmarks</title>"
        f"<style>{STYLE}</style></head><body><h1>nearfetch: benchmarks</h1><p>{html.escape(machine)}</p>"
        f"<h2>Figures to reach</h2><table><tr><th>benchmark<th>what<th>to reach<th>measured<th>"
        f"<th>remark</tr>{claims}</table>{failed}{figures}</body></html>\n"
    )
    path = folder / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


def _claim(name: str, claim: dict[str, Any]) -> str:
    verdict = "holds" if claim["holds"] else "short"
    cells = [name, claim["text"], claim["target"], claim["measured"], verdict, claim["detail"]]
    texts = [html.escape(str(cell)) for cell in cells]
    texts[4] = f"<span class='{verdict}'>{verdict}</span>"
    return "<tr>" + "".join(f"<td>{text}</td>" for text in texts) + "</tr>"


def _failure(name: str, reason: str) -> str:
    heading = f"<h2>{html.escape(name)}: <span class='short'>could not be measured</span></h2>"
    return f"{heading}<pre>{html.escape(reason)}</pre>"


def _figure(result: dict[str, Any]) -> str:
    name = html.escape(result["name"])
    quick = " (quick: not a measurement)" if result["parameters"].get("quick") else ""
    return (
        f"<h2>{name}{quick}</h2><img src='{name}.png' alt='{name}'>"
        f"<p>commit {html.escape(result['commit'])}; <code>./nf bench {name}</code>; "
        f"<a href='{name}.json'>data</a></p>"
    )
