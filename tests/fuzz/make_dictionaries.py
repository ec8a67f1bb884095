#!/usr/bin/env python3
"""Writes the words of each text format, FOLDER/NAME.dict, for libFuzzer to put together.

    tests/fuzz/make_dictionaries.py FOLDER

The words are the string literals of the sources that read the format, so they never go out of date.
tools/fuzz.sh runs this.
"""

import glob
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
JSON = ["{", "}", "[", "]", '":', ",", "null", "true", "false", "-1", "1e300", "18446744073709551615",
        "9223372036854775808", '\\"', "\\u0000"]
NUMBERS = ["0", "-1", "2147483648", "9223372036854775807", "-9223372036854775808", "1e39", "nan", "inf"]
TEXT = ["\n", "\r\n", "\t", "\xef\xbb\xbf", "\xc2\xa0", "\xff"]
LINES = ["\n"] + NUMBERS

# name: sources of the format, other words
FORMATS = {
    "annotations": (["src/data/voc.cc", "src/data/text/roles.cc", "src/data/text/dialogue.cc"],
                    ["<", "</", ">", "(ARG0*", "*)", "*", "- - ", "&a ", "*a", "-"] + JSON + LINES),
    "checkpoint": (["src/session/train/checkpoint.cc"], JSON),
    "checkpoint_texts": (["src/distributed/checkpoint/*.cc", "src/distributed/checkpoint/part_json.h"], JSON + ["%00"]),
    "checksums": (["src/base/checked_folder.*"], ["trireme test 1\n", "  a\n"] + LINES),
    "compiled_plan": (["src/inference/model_file.cc", "src/plan/*.cc"], JSON + ["batch", "2*batch + 1"]),
    "corpora": ([], TEXT + [" ", ".", "'"]),
    "csv": ([], [",", ";", '"', '""', "?", "target", "word", "name"] + TEXT + NUMBERS),
    "job": (["src/session/job/*.h", "src/session/job/*.cc", "src/nn/catalog/*"],
            ["[", "]", "[[", "{", "}", " = ", '"', "'''", "#"] + LINES),
    "job_json": (["src/session/job/*.h", "src/data/table_encoding.cc"], JSON),
    "job_messages": (["src/distributed/control/*.cc", "src/distributed/control/*.h"], JSON + LINES),
    "libsvm": ([], [":", "qid:", "#", " "] + LINES),
    "metrics_lines": (["src/session/train/run_folder.cc"], JSON + ["\n"]),
    "program_text": (["src/ops/*.cc", "src/ir/parse*.cc", "src/ir/print*.cc"],
                     ["%", "$", "batch", "f32[", "i64[", "shape[", "= ", "}\n", "{"] + LINES),
    "records": (["src/data/records_header.cc", "src/data/records.h"], ["f32", "i64", "u8", "%20"] + LINES),
    "safetensors": (["src/base/safetensors.cc"], JSON),
    "saved_model": (["src/session/model/*.cc", "src/session/model/*.h", "src/data/text/vocabulary_file.cc"],
                    JSON + LINES + ["../", "words", "words.splits"]),
    "set_option": (["src/session/job/*.h", "src/session/job/settings.cc"], ["=", ".", "[", "{", "}", '"'] + NUMBERS),
    "tokens": ([], TEXT + [" ", ".", "'", "\xe2\x80\x99", "3.14", "\xcc\x81", "\xef\xb8\x8f"]),
    "vocabulary": (["src/data/text/vocabulary_file.cc"], ["\t", "\\n", "\\\\", "none"] + LINES),
}
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
OP = re.compile(r"^src/ops/(\w+)\.cc$")


def words_of(pattern):
    """Yields string literals without blanks, which are keys and names, and the names of ops."""
    for path in sorted(glob.glob(str(ROOT / pattern))):
        relative = str(pathlib.Path(path).relative_to(ROOT))
        if "_test." in relative:
            continue
        if OP.match(relative):
            yield OP.match(relative).group(1)
        for line in pathlib.Path(path).read_text().splitlines():
            if line.startswith("#include"):
                continue
            for word in LITERAL.findall(line):
                if re.fullmatch(r"[A-Za-z_][\w.-]{0,30}", word):
                    yield word


def entry(word):
    """Returns a line of libFuzzer's format: every byte that is not a plain character as \\xNN."""
    data = word.encode("latin-1", errors="replace")
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\x{b:02x}" for b in data) + '"\n'


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (sources, more) in FORMATS.items():
        words = dict.fromkeys(more)
        for pattern in sources:
            words.update(dict.fromkeys(words_of(pattern)))
        (folder / f"{name}.dict").write_text("".join(entry(word) for word in words if word))


main()
