"""Finds the comments and the string literals of source files."""

import bisect
import io
import re
import tokenize


class Passage:
    """Text that is read as one: the lines of a comment, adjacent string literals, a paragraph."""

    def __init__(self, kind=""):
        self.kind = kind  # in Markdown: text, heading, item or cell
        self.text = ""
        self._starts = []
        self._lines = []

    def add(self, line, text, separator=" "):
        """Appends `text`, which stands on line `line` of its file (counted from 1)."""
        if self.text:
            self.text += separator
        self._starts.append(len(self.text))
        self._lines.append(line)
        self.text += text

    def line_at(self, offset):
        """The line of the file that holds `text[offset]`."""
        return self._lines[max(0, bisect.bisect_right(self._starts, offset) - 1)]

    @property
    def last_line(self):
        return self._lines[-1]


class Source:
    """Comments and strings of one file, and the lines that hold a comment."""

    def __init__(self):
        self.passages = []
        self.comment_lines = set()
        self._comment = None
        self._string = None
        self._string_end = None

    def comment(self, line, text, full_line=True):
        """Adds a comment, which may have several lines; full lines in a row are one passage."""
        for number, part in enumerate(text.split("\n"), line):
            self.comment_lines.add(number)
            part = re.sub(r"^\s*(?:/\*+|//[/!]?<?|\*+/|\*(?=\s|$)|#+)?\s*|\s*(?:\*/)?\s*$", "", part)
            follows = self._comment and self._comment.last_line == number - 1
            if not part or not full_line:
                self._comment = None
            if part:
                if not (self._comment and follows):
                    self._comment = self._new()
                self._comment.add(number, part)

    def string(self, line, text, start, end, between):
        """Adds the string literal at [start, end); `between(a, b)` is the file's text."""
        joined = self._string and self._string_end is not None
        if not (joined and not between(self._string_end, start).strip()):
            self._string = self._new()
        for number, part in enumerate(text.split("\n"), line):
            if not part.strip():
                self._string = self._new()
            self._string.add(number, part, "" if number == line else " ")
        self._string_end = end

    def _new(self):
        passage = Passage()
        self.passages.append(passage)
        return passage


def unescape(text):
    return re.sub(r"\\(.)", lambda m: " " if m[1] in "nrt" else m[1], text, flags=re.S)


C_TOKEN = re.compile(r"""
    (?P<comment>//[^\n]* | /\*.*?(?:\*/|\Z))
  | (?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\((?P<raw>.*?)\)(?P=mark)"
  | "(?P<string>(?:\\.|[^"\\\n])*)"
  | '(?:\\.|[^'\\\n])+'
  | \d(?:'?[\w.])*
  | [A-Za-z_]\w*
""", re.X | re.S)

SHELL_TOKEN = re.compile(r"""
    (?P<comment>(?:(?<=[\s;(])|\A)\#[^\n]*)
  | <<-?[ ]?(?P<quote>['"]?)(?P<mark>[A-Za-z_]+)(?P=quote)(?P<rest>[^\n]*)\n(?P<raw>.*?)^\t*(?P=mark)$
  | '(?P<plain>[^']*)'
  | "(?P<string>(?:\\.|[^"\\])*)"
  | \\.
  | \$\{?\#
""", re.X | re.S | re.M)

CMAKE_TOKEN = re.compile(r"""
    (?P<comment>\#\[(?P<mark>=*)\[.*?\](?P=mark)\] | \#[^\n]*)
  | \[(?P<open>=*)\[(?P<raw>.*?)\](?P=open)\]
  | "(?P<string>(?:\\.|[^"\\])*)"
  | \\.
""", re.X | re.S)

TOML_TOKEN = re.compile(r"""
    (?P<comment>\#[^\n]*)
  | '''(?P<raw>.*?)'''
  | '(?P<plain>[^'\n]*)'
  | \"{3}(?P<long>(?:\\.|[^\\])*?)\"{3}
  | "(?P<string>(?:\\.|[^"\\\n])*)"
""", re.X | re.S)

COMMENT_TOKEN = re.compile(r"""(?P<comment>(?:(?<=\s)|\A)\#[^\n]*) | "(?:\\.|[^"\\\n])*" """, re.X)


def read_tokens(text, token):
    source = Source()
    line, at = 1, 0
    for match in token.finditer(text):
        groups = match.groupdict()
        line += text.count("\n", at, match.start())
        at = match.start()
        kind = next((k for k in ("comment", "raw", "plain", "long", "string")
                     if groups.get(k) is not None), None)
        if kind is None:
            continue
        begin = match.start(kind)
        first = line + text.count("\n", at, begin)
        if kind == "comment":
            alone = not text[text.rfind("\n", 0, begin) + 1:begin].strip()
            source.comment(first, groups[kind], alone)
            continue
        content = groups[kind]
        if kind in ("string", "long"):
            content = unescape(content)
        source.string(first, content, match.start(), match.end(), lambda a, b: text[a:b])
    return source


def read_python(text):
    source = Source()
    lines = text.split("\n")
    depth, statement_start = 0, True
    previous_end = None
    names = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    layout = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT:
            source.comment(row, token.string, not lines[row - 1][:column].strip())
        elif token.type in names:
            content = re.sub(r"""^[A-Za-z]*('''|\"{3}|'|")(.*)\1$""", r"\2", token.string,
                             flags=re.S)
            if statement_start and depth == 0:  # a docstring
                source.comment(row, content)
            else:
                joined = previous_end is not None
                source.string(row, unescape(content), 0, 0, lambda a, b, j=joined: "" if j else "x")
                previous_end = token.end
                statement_start = False
                continue
        if token.type not in layout:
            statement_start = False
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.string, 0)
        elif depth == 0 and token.type != tokenize.COMMENT:
            statement_start = True
        if token.type != tokenize.NL:
            previous_end = None
    return source


def language(path, text):
    """Which language a file is written in, or None for one without comments that we can find."""
    name = path.rsplit("/", 1)[-1]
    if name == "CMakeLists.txt":
        return "cmake"
    if name == "Makefile":
        return "comments"
    extension = name.rsplit(".", 1)[-1] if "." in name[1:] else ""
    known = {"cc": "c", "h": "c", "c": "c", "py": "python", "sh": "shell", "cmake": "cmake",
             "toml": "toml", "md": "markdown", "yaml": "comments", "yml": "comments"}
    if extension in known:
        return known[extension]
    return "shell" if re.match(r"#!.*sh\b", text) else None


def read(kind, text):
    """The Source of a file of that language. Raises SyntaxError for Python that is none."""
    if kind == "python":
        try:
            return read_python(text)
        except (tokenize.TokenError, IndentationError) as error:
            raise SyntaxError(str(error)) from error
    token = {"c": C_TOKEN, "shell": SHELL_TOKEN, "cmake": CMAKE_TOKEN, "toml": TOML_TOKEN,
             "comments": COMMENT_TOKEN}[kind]
    return read_tokens(text, token)
