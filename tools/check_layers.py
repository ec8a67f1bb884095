#!/usr/bin/env python3
"""Checks the rules of the house: who may include whom, and what every folder and file owes.

    tools/check_layers.py [--root DIR]

Prints one line per breach, `file:line: what (the rule)`, and exits 1 if there is any. The tables
below are the rules; docs/explanation/architecture.md explains them.
"""

import argparse
import os
import re
import sys

# What a room (a folder of src/) may include besides itself and base. Test files see more: rooms of
# their own floor and below, for oracles that are independent of the room's own code.
ROOMS = {
    "base": [],
    "ir": [],
    "kernel_ir": [],
    "plan": [],
    "device": [],
    "data": [],
    "ops": ["ir", "kernel_ir"],
    "transforms": ["ir"],
    "codegen": ["kernel_ir"],
    "kernels": ["device"],
    "nn": ["ir"],
    "compiler": ["ir", "kernel_ir", "ops", "transforms", "codegen", "plan"],
    "runtime": ["plan", "device", "kernels"],
    "inference": ["plan", "device", "kernels", "runtime"],
    "session": ["ir", "kernel_ir", "plan", "device", "data", "ops", "transforms", "codegen",
                "kernels", "nn", "compiler", "runtime", "inference"],
    "distributed": ["session", "data", "nn", "runtime", "transforms", "ir"],
    "onnx": ["session", "nn", "ir"],
}

FLOORS = [
    ["base"],
    ["ir", "plan", "data", "kernel_ir", "device"],
    ["transforms", "nn", "ops", "codegen", "kernels"],
    ["compiler", "runtime"],
    ["inference"],
    ["session"],
    ["distributed", "onnx"],
]

# Folders of a room, lowest first: a folder includes itself and lower ones.
FOLDER_ORDER = {"session": ["run", "immediate", "metrics", "model", "compress", "train", "job"]}

# Rooms that are no part of the library: most of what they can is in no public header, so their
# measuring programs include them.
APART = ["distributed", "onnx"]

# Which room a public header belongs to: that room implements it, the rooms above may include it.
PUBLIC_HEADERS = {
    "attribute": "base", "crash": "base", "augment": "data", "box_metrics": "data", "deprecated": "base", "dtype": "base", "error": "base", "export": "base", "host": "base", "ragged": "base", "shape": "base", "source_location": "base", "tensor": "base",
    "program": "ir", "ops": "ir",
    "gradients": "transforms",
    "attention": "nn", "compression": "nn", "convolution": "nn", "fft": "nn", "functions": "nn", "indexing": "nn", "linalg": "nn", "numeric": "nn", "shorthand": "nn", "loss": "nn", "models": "nn", "nn": "nn",
    "optimizer": "nn", "rnn": "nn", "sequence": "nn", "control": "nn", "recurrent": "nn",
    "structured": "nn", "decoding": "nn",
    "c": "inference", "data": "data", "image": "data", "known_data": "data", "readers": "data", "sequence_metrics": "data", "text": "data",
    "text_data": "data",
    "inference": "inference",
    "array": "session", "callback": "session", "checkpoint": "session", "compile": "session", "inspect": "session", "job": "session", "lbfgs": "session", "metrics": "session", "packing": "session", "precision": "session", "pruning": "session", "quantize": "session", "saved_model": "session", "session": "session", "state": "session", "teacher": "session",
    "tensorboard": "session", "trainer": "session", "trireme": "session",
    "distributed": "distributed", "exported_table": "distributed",
    "onnx": "onnx",
}

# Rooms whose code asks traits of ops instead of their names. A file that rewrites certain ops, or
# builds them, declares their names in a comment that starts with NAMES_OPS.
NAMELESS_ROOMS = ["ir", "transforms", "compiler", "runtime"]
OP_LIST = "src/ops/CMakeLists.txt"
NAMES_OPS = "// Names these ops:"

# The interface for C.
C_HEADER = "trireme/c.h"

# Third-party headers, each with the only places that may name it. A place is a folder.
TESTS = "(tests)"
THIRD_PARTY = [
    (r"llvm/|llvm-c/", ["src/codegen/llvm"]),
    (r"(oneapi/)?dnnl", ["src/kernels"]),
    (r"cblas\.h|lapacke?\.h|omp\.h", ["src/kernels"]),
    (r"toml\+\+/|toml\.hpp", ["src/session"]),
    (r"png\.h|turbojpeg\.h|zlib\.h|zstd\.h|archive(_entry)?\.h|pugixml\.hpp|sentencepiece_", ["src/data"]),
    (r"yaml-cpp/", ["src/data", "src/distributed/launch"]),
    (r"protozero/", ["src/data", "src/session/train", "src/distributed/coordination", "src/onnx"]),
    (r"openssl/", ["src/distributed/placement"]),
    (r"nlohmann/", ["src/base", "src/ir", "src/data", "src/plan", "src/inference", "src/session", "src/distributed", "apps"]),
    (r"CLI/", ["apps"]),
    (r"fmt/", ["src", "apps"]),
    (r"nanobind/|Python\.h", ["python"]),
    (r"xxhash\.h", ["src/base"]),
    (r"kissfft/", ["src/kernels"]),
    (r"grpc(pp|\+\+)?/", ["src/distributed/coordination", "src/distributed/transport"]),
    (r"absl/", ["src/distributed/transport"]),
    (r"gloo/", ["src/distributed/collectives", "benchmarks"]),
    (r"httplib\.h", ["src/distributed/monitor"]),
    (r"mpi\.h", ["benchmarks"]),
    (r"rocksdb/", ["src/distributed/table"]),
    (r"g(test|mock)/|rapidcheck", [TESTS]),
]
SYSTEM_HEADER = re.compile(
    r"[a-z_0-9]+$|c(type|puid)\.h|(std[a-z]+|string|errno|math|time|limits|locale|signal)\.h|"
    r"(unistd|fcntl|spawn|dlfcn|pthread|sched|elf|link|poll|glob|ifaddrs|term(ios)?|dirent)\.h|"
    r"(sys|linux|asm|arpa|net|netinet)/|[a-z]*mmintrin\.h|immintrin\.h|(malloc|execinfo)\.h")

THREAD_HEADER = re.compile(r"thread|mutex|shared_mutex|atomic|condition_variable|future|device/device\.h")

CODE = (".cc", ".h", ".c", ".py", ".sh", ".cmake")
LONG, TOO_LONG = 600, 700
FOLDERS = ["include", "src", "apps", "python", "examples", "benchmarks", "tests", "tools", "cmake",
           ".ci", "acceptance"]
# Compiled only in a checkout of that commit, with its headers.
OLD_COMMIT = "tests/faults/at_802a32a/"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")


def floor_of(room):
    return next(i for i, rooms in enumerate(FLOORS) if room in rooms)


def is_test(path):
    name = os.path.basename(path)
    return (path.startswith("tests/") or "/testing/" in path
            or re.search(r"_test\.(cc|py)$", name) is not None
            or name.startswith("test_"))


def room_of(path):
    """The room a file belongs to, "" for one outside the rooms."""
    parts = path.split("/")
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if path.startswith("include/trireme/"):
        return PUBLIC_HEADERS.get(os.path.splitext(parts[-1])[0], "")
    return ""


def read_tree(root):
    """{path: lines} of every code file of ours."""
    files = {}
    for top in FOLDERS:
        for folder, names, found in os.walk(os.path.join(root, top)):
            names[:] = sorted(n for n in names if n not in ("build", "__pycache__", "corpus"))
            for name in sorted(found):
                if name.endswith(CODE) or name == "CMakeLists.txt":
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8", errors="replace") as f:
                        files[os.path.relpath(path, root)] = f.read().splitlines()
    return files


def may_include_room(path, target, folder=""):
    """None if the file may include headers of room `target`, else the rule it would break."""
    apart = path.startswith("benchmarks/") or path.startswith(f"apps/trireme_{target}/")
    if path.startswith("tests/") or (apart and target in APART):
        return None
    if path.startswith("python/") and (target, folder) == ("nn", "nn/catalog"):
        return None
    room = room_of(path)
    if room == "":
        return f"{path.split('/')[0]} uses the public headers only"
    if target in (room, "base"):
        return None
    if room not in ROOMS:
        return f"room {room} is not in the table of tools/check_layers.py"
    if is_test(path):
        if floor_of(target) <= floor_of(room):
            return None
        return f"tests of {room} may include rooms of its floor and below"
    if target in ROOMS[room]:
        return None
    allowed = ", ".join(["base"] + ROOMS[room]) if room != "base" else "nothing"
    return f"{room} may include {allowed}"


def check_own_include(path, target, files):
    """A quoted include: the rule it breaks, or None."""
    if target == C_HEADER:
        return check_c_header(path)
    beside = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if target.startswith("trireme/"):
        return check_public_include(path, target)
    room = target.split("/")[0]
    if room in ROOMS and "src/" + target in files:
        if path.startswith("include/"):
            return "public headers include public headers only"
        return may_include_room(path, room, os.path.dirname(target)) or may_include_folder(path, target)
    if path.startswith("python/") and target == "made/conversions.h":  # of tools/bindings
        return None
    if beside in files and not path.startswith(("src/", "include/")):
        return None
    if not path.startswith(("src/", "include/")) and "/" in target:
        return None if any(f.endswith("/" + target) for f in files) else "no such file"
    return "no such file: includes are written from src/, as \"room/file.h\""


def check_c_header(path):
    """The interface for C stands apart from the C++ headers: who may include it."""
    if path.startswith(("src/inference/", "examples/", "tests/")) or path == "include/trireme.h":
        return None
    return "the C interface is made in src/inference; C++ code uses trireme/inference.h"


def check_public_include(path, target):
    name = os.path.splitext(os.path.basename(target))[0]
    room = PUBLIC_HEADERS.get(name)
    if room is None:
        return f"public header {target} has no room in the table of tools/check_layers.py"
    if not path.startswith(("src/", "include/")):
        return None
    if path.startswith("include/"):
        own = room_of(path)
        if own and floor_of(room) > floor_of(own):
            return f"it belongs to {own}, below {room}"
        return None
    return may_include_room(path, room)


def check_angle_include(path, target):
    """An include in angle brackets: the rule it breaks, or None."""
    if target == C_HEADER:
        return check_c_header(path)
    if target.startswith("trireme/"):
        return check_public_include(path, target)
    for pattern, places in THIRD_PARTY:
        if not re.match(pattern, target):
            continue
        if path.startswith("include/"):
            return "no third-party header in a public header"
        if path.startswith("src/") and target.startswith("fmt/") and path.endswith(".h"):
            return "fmt only in .cc files"
        if is_test(path) or any(path.startswith(p + "/") for p in places):
            return None
        return f"only {' and '.join(places)} may name it"
    if SYSTEM_HEADER.match(target):
        return None
    return "not a system header, and not in the third-party table of tools/check_layers.py"


def check_includes(files):
    for path, lines in files.items():
        if not path.endswith((".cc", ".h", ".c")) or path.startswith(OLD_COMMIT):
            continue
        if path.startswith("include/trireme/") and room_of(path) == "":
            yield f"{path}:1: belongs to no room (add it to PUBLIC_HEADERS in tools/check_layers.py)"
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            kind, target = match.groups()
            rule = (check_own_include(path, target, files) if kind == '"'
                    else check_angle_include(path, target))
            if rule:
                yield f"{path}:{number}: includes {target} ({rule})"


def may_include_folder(path, target):
    """None if the file may include `target` of its own room, else the rule it would break."""
    room, parts = room_of(path), path.split("/")
    order = FOLDER_ORDER.get(room, [])
    if not target.startswith(room + "/") or is_test(path) or parts[2] not in order:
        return None
    folder = target.split("/")[1]
    if folder in order and order.index(folder) <= order.index(parts[2]):
        return None
    return f"{room}/{parts[2]} may include {', '.join(order[:order.index(parts[2]) + 1])}"


def check_test_helpers(files):
    """Helpers of tests have one place: the folder testing of their room."""
    for path in files:
        if path.startswith("src/") and path.endswith("_test.h"):
            yield f"{path}:1: helpers of tests belong in a folder testing"


def included_files(path, files):
    """The files of ours that a file includes."""
    for line in files[path]:
        match = INCLUDE.match(line)
        if match:
            for candidate in ("src/" + match.group(2), "include/" + match.group(2)):
                if candidate in files:
                    yield candidate


def check_circles(files):
    """Headers that include each other in a circle; each circle is reported once."""
    state = {}

    def visit(path, trail):
        state[path] = "open"
        for target in included_files(path, files):
            if state.get(target) == "open":
                ring = trail[trail.index(target):] + [target]
                yield f"{path}:1: circle of includes: {' -> '.join(ring)}"
            elif target not in state:
                yield from visit(target, trail + [target])
        state[path] = "done"

    for path in sorted(files):
        if path.endswith(".h") and path not in state:
            yield from visit(path, [path])


def check_folders(root):
    for folder, names, found in os.walk(os.path.join(root, "src")):
        names.sort()
        path = os.path.relpath(folder, root)
        if path != "src" and any(n.endswith((".cc", ".h")) for n in found):
            if "README.md" not in found:
                yield f"{path}:1: no README.md (every folder of src/ describes its content)"
        if path.count("/") == 1 and path.split("/")[1] not in ROOMS:
            yield f"{path}:1: a room that is not in the table of tools/check_layers.py"


def check_threads(root, files):
    """Rooms whose code runs on threads say so, that ThreadSanitizer runs their tests."""
    told = set()
    for path, lines in files.items():
        room = room_of(path)
        if room in told or not path.startswith("src/") or is_test(path):
            continue
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match or not THREAD_HEADER.fullmatch(match.group(2)):
                continue
            with open(os.path.join(root, "src", room, "CMakeLists.txt"), encoding="utf-8") as file:
                if not re.search(r"trireme_room\([^)]*\bTHREADS\b", file.read()):
                    yield (f"{path}:{number}: includes {match.group(2)}, but src/{room}/CMakeLists.txt "
                           "does not say THREADS")
            told.add(room)
            break


def op_names(files):
    """The names in TRIREME_OPS of src/ops/CMakeLists.txt."""
    text = "\n".join(files.get(OP_LIST, []))
    found = re.search(r"set\(TRIREME_OPS\s([^)]*)\)", text)
    return set(found.group(1).split()) if found else set()


def declared_ops(lines):
    """The op names after NAMES_OPS, and in the comment lines that continue it."""
    names, inside = set(), False
    for line in lines:
        if line.startswith(NAMES_OPS):
            inside, line = True, line[len(NAMES_OPS):]
        elif not (inside and line.startswith("// ")):
            inside = False
            continue
        names.update(re.findall(r"\w+", line))
    return names


def check_op_names(files):
    """Op names in rooms that must ask for traits: only those that the file declares."""
    ops = op_names(files)
    for path, lines in files.items():
        if room_of(path) not in NAMELESS_ROOMS or not path.startswith("src/") or is_test(path):
            continue
        declared, used = declared_ops(lines), set()
        for number, line in enumerate(lines, 1):
            if INCLUDE.match(line):
                continue
            for name in re.findall(r'"(\w+)"', line.split("//")[0]):
                if name not in ops:
                    continue
                used.add(name)
                if name not in declared:
                    yield (f"{path}:{number}: names the op {name} (ask for a trait, or declare the "
                           f"file with `{NAMES_OPS} {name}`)")
        for name in sorted(declared - used):
            yield f"{path}:1: declares that it names the op {name}, but does not"


def check_files(files):
    for path, lines in files.items():
        if len(lines) > TOO_LONG:
            yield f"{path}:{TOO_LONG + 1}: {len(lines)} lines (at most {TOO_LONG}; find the seam)"
        for number, line in enumerate(lines, 1):
            if UNFINISHED.search(line):
                yield f"{path}:{number}: {UNFINISHED.search(line).group()} (finish it or file it)"


def check(root):
    files = read_tree(root)
    breaches = [*check_includes(files), *check_circles(files), *check_folders(root),
                *check_threads(root, files), *check_op_names(files), *check_files(files),
                *check_test_helpers(files)]
    return files, breaches


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=here)
    files, breaches = check(parser.parse_args().root)
    for line in breaches:
        print(line)
    for path, lines in files.items():
        if LONG < len(lines) <= TOO_LONG:
            print(f"note: {path} has {len(lines)} lines, over the {LONG} we aim for")
    if breaches:
        print(f"layers: {len(breaches)} breaches")
        return 1
    print(f"layers: {len(files)} files ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
