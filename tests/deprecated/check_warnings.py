"""Compiles a program with each old name: exactly one warning, which shows the new name.

Also one with each guard that is dropped at once.

usage: check_warnings.py COMPILER FLAGS...
"""

import subprocess
import sys
import tempfile

HEAD = """
#include "trireme/trireme.h"
using namespace trireme;
void f(const Value& x, const Value& i, nn::Step& step, const data::Dataset& d, nn::RnnResult& r,
       Program& program) {
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
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as file:
        file.write(HEAD + code + "\n}\n")
        file.flush()
        run = subprocess.run(command + ["-fsyntax-only", file.name], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"This does not compile: {code}\n{run.stderr}")
    # g++ repeats the warning of a data member at the same place.
    return {line for line in run.stderr.splitlines() if "warning: " in line}, run.stderr


def main():
    command = sys.argv[1:] + ["-std=c++20", "-Wdeprecated-declarations"]
    if warnings(command, "")[0]:
        sys.exit("the public headers alone have warnings")
    wrong = 0
    for code, new_name in OLD:
        found, text = warnings(command, code)
        # clang does not print template arguments, where options have their new name.
        shown = new_name in text or "which its declaration shows" in text and "clang" in command[0]
        if len(found) == 1 and shown:
            continue
        wrong += 1
        print(f"{code}\nexpected one warning with {new_name}, found {len(found)}:\n{text}")
    for code, word in DROPPED:
        found, text = warnings(command, code)
        if len(found) != 1 or word not in text:
            wrong += 1
            print(f"{code}\nexpected one warning with {word}, found {len(found)}:\n{text}")
    print(f"{len(OLD) + len(DROPPED) - wrong} of {len(OLD) + len(DROPPED)} mistakes have one warning")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
