"""Takes Markdown apart: prose, table cells, code, and the blocks that a tool fills in."""

import re

from source_text import Passage

FENCE = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
RULE = re.compile(r"\s*([-=*_])(\s*\1){2,}\s*$")
TABLE = re.compile(r"\s*\|")
MARK = re.compile(r"\s*<!--\s*(\w+):\s*(\S+)\s*-->\s*$")
LINK_TARGET = re.compile(r"\]\((?:[^()]|\([^()]*\))*\)|\]\[[^\]]*\]")
ABBREVIATIONS = ("e.g.", "i.e.", "cf.", "vs.", "approx.", "Fig.", "No.")
SENTENCE_END = re.compile(r"""[.!?][\0"')\]*_]*\s+(?=[\0"'(\[*_]*[A-Z0-9])""")
CODE_WORD = re.compile(r"(?<!\w)C\0(?=\0|\W|$)")


class Markdown:
    """The parts of one file.

    prose: passages of sentences (a paragraph, a heading, a list item, a table cell).
    generated: passages of blocks between `<!-- name: x -->` and `<!-- name: end -->`.
    code: (line, text) of every line of code.
    prose_lines: numbers of the lines of prose, without tables and generated blocks.
    """

    def __init__(self):
        self.prose = []
        self.generated = []
        self.code = []
        self.prose_lines = []


def generated_lines(lines):
    found = set()
    open_at = None
    for number, line in enumerate(lines, 1):
        mark = MARK.match(line)
        if not mark:
            continue
        if mark[2] == "end" and open_at:
            found.update(range(open_at, number + 1))
            open_at = None
        elif mark[2] != "end":
            open_at = number
    return found


def split_cells(line):
    """Yields the cells of a table's row; `|` inside a code span or after a backslash is text."""
    masked = re.sub(r"`[^`]*`", lambda m: "x" * len(m[0]), line)
    start = 0
    for match in re.finditer(r"(?<!\\)\||$", masked):
        cell = line[start:match.start()].strip()
        if cell and not re.fullmatch(r":?-+:?", cell):
            yield cell
        start = match.end()


def parse(text):
    parts = Markdown()
    lines = text.split("\n")
    made = generated_lines(lines)
    passage = None
    fence = None
    in_comment = in_list = after_blank = False
    for number, line in enumerate(lines, 1):
        where = parts.generated if number in made else parts.prose
        opened = FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence):
                fence = None
            else:
                parts.code.append((number, line))
            continue
        if opened:
            fence, passage = opened[1], None
            continue
        if in_comment or line.lstrip().startswith("<!--"):
            in_comment = "-->" not in line
            passage = None
            continue
        if not line.strip() or RULE.match(line):
            passage, after_blank = None, True
            continue
        if after_blank and not line.startswith((" ", "\t")) and not ITEM.match(line):
            in_list = False
        indented = line.startswith(("    ", "\t"))
        if indented and after_blank and not in_list and passage is None:
            parts.code.append((number, line))
            continue
        after_blank = False
        if TABLE.match(line):
            passage = None
            for cell in split_cells(line):
                single = Passage("cell")
                single.add(number, cell)
                where.append(single)
            continue
        if number not in made:
            parts.prose_lines.append(number)
        content = re.sub(r"^\s*(?:>\s?)+", "", line)
        item, heading = ITEM.match(content), HEADING.match(content)
        if item or heading or passage is None:
            passage = Passage("item" if item else "heading" if heading else "text")
            where.append(passage)
        in_list = in_list or bool(item)
        start = (item or heading).end() if item or heading else 0
        passage.add(number, content[start:].strip())
        if heading:
            passage = None
    return parts


def filler(text):
    return "\0" * len(text)


def plain(text):
    """`text` without markup but of the same length: \\0 replaces it, C\\0 begins a code span."""
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", lambda m: "C\0" + filler(m[0][2:]), text)
    text = LINK_TARGET.sub(lambda m: filler(m[0]), text)
    text = re.sub(r"<?https?://[^\s>]+>?", lambda m: "C\0" + filler(m[0][2:]), text)
    text = re.sub(r"</?[a-zA-Z][^>]*>", lambda m: filler(m[0]), text)
    return re.sub(r"!?\[|\*+|(?<!\w)_+|_+(?!\w)", lambda m: filler(m[0]), text)


def sentences(passage, code="C"):
    """Yields (line, words) of each sentence, without markup; `code` stands for code and URLs."""
    text = plain(passage.text)
    start = 0
    ends = [m.end() for m in SENTENCE_END.finditer(text)
            if not text[:m.start() + 1].endswith(ABBREVIATIONS)]
    for end in [*ends, len(text)]:
        words = [CODE_WORD.sub(code, w).replace("\0", "") for w in text[start:end].split()]
        words = [w for w in words if re.search(r"\w", w)]
        if words:
            yield passage.line_at(start), words
        start = end
