"""Compiles functions with one old name each: exactly one warning, which shows the new name.

Also one with each guard that is dropped at once.

usage: check_warnings.py COMPILER FLAGS...
"""

import re
import subprocess
import sys
import tempfile

HEAD = """
#include "trireme/trireme.h"
using namespace trireme;
"""
FUNCTION = """
void f{}(const Value& x, const Value& i, nn::Step& step, const data::Dataset& d, nn::RnnResult& r,
       Program& program) {{
"""

# Code with an old name; the new name that the warning must show.
OLD = [
    ("select(x, x, x);", "where()"),
    ("top_k(x, i, 2);", "top_k_accuracy()"),
    ("models::normalise(x, {1}, {1});", "normalize()"),
    ("d.normalise({1}, {1});", "normalize()"),
    ("d.colour_jitter({});", "color_jitter()"),
    ("data::made_clicks();", "synthetic_clicks()"),
    ("step.memory({.width = 2});", "state()"),
    ("nn::MemoryOptions options;", "StateOptions"),
    ("r.memories[0];", "RnnResult::states"),
    ("r.memories.size();", "RnnResult::states"),
    ("nn::EmbeddingOptions o; o.rows = 3;", "num_embeddings"),
    ("nn::EmbeddingOptions o; o.width = 3;", "dim"),
    ("nn::embedding(i, {.num_embeddings = 3, .width = 3});", "dim"),
    ("nn::PoolOptions o; o.count_padding = true;", "count_include_pad"),
    ("nn::Pool3dOptions o; o.count_padding = true;", "count_include_pad"),
    ("nn::LearnedPositionsOptions o; o.most_steps = 3;", "max_steps"),
    ("models::TransformerEncoderOptions o; o.most_steps = 3;", "max_steps"),
    ("models::TaggerOptions o; o.most_distance = 3;", "max_distance"),
    ("RmsProp o; o.centred = true;", "centered"),
    ("Plateau o; o.least = 0.5;", "min_factor"),
    ("text::TokenOptions o; o.most = 3;", "max_tokens"),
    ("text::SkipGrams g; (void)g.centre;", "use center"),
    ("data::CsvOptions o; o.standardise = true;", "standardize"),
    ("RandomNormalAttrs o; o.deviation = 0.5;", "stddev"),
    ("AvgPoolAttrs o; o.count_padding = true;", "count_include_pad"),
    ("TrainerOptions o; o.threads = 2;", "session.threads"),
    ("TrainerOptions o; o.seed = 2;", "session.seed"),
    ("TrainerOptions o; o.precision = Precision::bf16;", "session.precision"),
    ("TrainerOptions o; o.plan_memory = false;", "session.plan_memory"),
    ("TrainerOptions o; o.fuse = false;", "session.fuse"),
    ("TrainerOptions o; o.interpreter = true;", "session.interpreter"),
    ("TrainerOptions o; o.host = HostFunctions{};", "session.host"),
    ('}\n#include "trireme.h"\nvoid g() {', "trireme/c.h"),
]


# Code that does nothing, because the guard is dropped at once; a word of the warning.
DROPPED = [
    ('program.scope("encoder");', "nodiscard"),
    ('program.shared_scope("encoder");', "nodiscard"),
    ("Session session(program); AveragedParameters(program, session);", "nodiscard"),
]


def warnings(command, code):
    """Compiles the code. Returns the texts of its warnings by line: {line: {place: text}}."""
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as file:
        file.write(code)
        file.flush()
        run = subprocess.run(command + ["-fsyntax-only", file.name], capture_output=True, text=True)
        name = file.name
    if run.returncode != 0:
        sys.exit(f"This does not compile:\n{run.stderr}")
    found = {}
    # A warning's text continues in notes. g++ repeats the warning of a data member at one place.
    for text in re.split(r"^(?=\S+:\d+:\d+: warning: )", run.stderr, flags=re.MULTILINE)[1:]:
        where = re.match(r"(\S+):(\d+):(\d+)", text)
        line = int(where[2]) if where[1] == name else 0
        found.setdefault(line, {}).setdefault(where[0], text)
    return found


def warnings_of_each(command, mistakes):
    """The warnings of each mistake. All that stand in a function of their own are one program."""
    code, lines, alone = HEAD, {}, []
    for mistake, _ in mistakes:
        if mistake.startswith("}"):
            alone.append(mistake)
            continue
        code += FUNCTION.format(len(lines))
        lines[mistake] = 1 + code.count("\n")
        code += mistake + "\n}\n"
    found = warnings(command, code)
    result = {mistake: list(found.pop(line, {}).values()) for mistake, line in lines.items()}
    if found:
        sys.exit(f"warnings elsewhere: {found}")
    for mistake in alone:
        texts = warnings(command, HEAD + FUNCTION.format(0) + mistake + "\n}\n")
        result[mistake] = [text for of_line in texts.values() for text in of_line.values()]
    return result


def main():
    command = sys.argv[1:] + ["-std=c++20", "-Wdeprecated-declarations"]
    wrong = 0
    found = warnings_of_each(command, OLD + DROPPED)
    for code, word in OLD + DROPPED:
        text = "".join(found[code])
        # clang does not print template arguments, where options have their new name.
        shown = word in text or "which its declaration shows" in text and "clang" in command[0]
        if len(found[code]) == 1 and shown:
            continue
        wrong += 1
        print(f"{code}\nexpected one warning with {word}, found {len(found[code])}:\n{text}")
    print(f"{len(OLD) + len(DROPPED) - wrong} of {len(OLD) + len(DROPPED)} mistakes have one warning")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
