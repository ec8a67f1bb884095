"""HTML for notebooks."""

import sys
from collections.abc import Sequence
from html import escape
from typing import Any

from trireme._core import Array, Program, Value

_NUMBER = "text-align: right"
_TEXT = "text-align: left"


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return shell is not None and hasattr(shell, "kernel")


def table(header: Sequence[str], rows: Sequence[Sequence[object]], caption: str = "") -> str:
    """An HTML table; numbers are on the right."""
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{escape(text)}</th>" for text in header)
    body = "".join("<tr>" + "".join(
        f'<td style="{_NUMBER if isinstance(cell, (int, float)) else _TEXT}">'
        f"{escape(_text(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.5g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def program_html(program: Program) -> str:
    """Inputs, parameters and outputs, and the text of the Program to unfold."""
    kinds = (("input", program.inputs), ("parameter", program.parameters),
             ("output", program.outputs))
    rows = [(kind, value.name.removeprefix("%"), value.dtype.name, list(value.shape))
            for kind, values in kinds for value in values]
    return (table(("", "name", "dtype", "shape"), rows, f"Program {program.name}") +
            f"<details><summary>text</summary><pre>{escape(str(program))}</pre></details>")


def value_html(value: Value) -> str:
    """The numbers of an Array; the type of another Value."""
    if isinstance(value, Array):
        return f"<pre>{escape(repr(value))}</pre>"
    return f"<code>{escape(repr(value))}</code>"


class Line:
    """One line of a notebook that is updated."""

    def __init__(self) -> None:
        self._shown: Any = None

    def show(self, text: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        show: Any = display  # some versions of IPython have no types
        data = {"text/plain": text}
        if self._shown is None:
            self._shown = show(data, raw=True, display_id=True)
        else:
            self._shown.update(data, raw=True)
