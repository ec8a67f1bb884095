#!/usr/bin/env python3
"""Writes small inputs for the fuzz targets to start from, to corpus/NAME/seedN beside this
script."""

import gzip
import io
import json
import pathlib
import struct
import tarfile
import zipfile
import zlib


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def frame():  # the first byte says where it is cut, see frame.cc
    for cut, payload in ((0, b""), (50, b"payload"), (20, bytes(range(100)))):
        def header(checksum):
            return b"TRMF" + struct.pack("<4B4IQ4I", 1, 2, 0, 3, 4, 5, 6, 7, 8, 9, 10, checksum, len(payload))
        yield bytes([cut]) + header(crc32c(payload + header(0))) + payload


def job_messages():  # the first byte counts tasks, see job_messages.cc
    def text(value):
        return struct.pack("<I", len(value)) + value
    yield bytes([0]) + text(b"trainer_0")
    yield bytes([2]) + text(b"trainer_1") + struct.pack("<2q", 3, 1) + text(b"0 16") + struct.pack("<2q", 4, 2) + text(b"16 20")
    yield b"12 28"
    yield b"127.0.0.1:4000 127.0.0.1:4001\n7 1 20 18\ntrainer_0 trainer_1\n" + b"map"
    yield b'{"epoch": 2, "done": [[0, 3], [5, 6]], "failed": [], "updates": 4, "over": false, "declared": {"tables": {"0": "%00a"}, "dense": {}, "blocks": {}}}'
    yield b'{"generation": 3, "rollbacks": 1, "checkpoint": 7, "committed": 120}'
    yield b'{"checkpoint": 7, "committed": 120, "problem": "no%20space", "parts": []}'
    yield b'{"table": 3, "folder": "out-exports/a%2525b", "number": 4, "delta": true}'
    yield b'{"parts": [{"file": "00000004.a.00000.safetensors", "slots": [0, 16384], "whole": false, "rows": 5, "removed": 1, "bytes": 300, "crc32c": "0f1e2d3c"}]}'
# Requests with operation, flags, count, sequence and length in one byte each: parameter_server.cc.
def parameter_server():
    def ask(op, payload, flags=0, count=0, sequence=0):
        return bytes([op, flags, count, sequence, len(payload)]) + payload

    numbers = struct.pack("<dq", 0.1, 1)
    push = ask(6, numbers + struct.pack("<2I2Q4f", 0, 0, 5, 6, 1, 2, 3, 4), count=2, sequence=1)
    rows = ask(5, struct.pack("<2Q", 5, 6), flags=1, count=2)
    dense = ask(9, numbers + struct.pack("<2f", 1, 2), sequence=1) + ask(8, b"") + ask(14, b"")
    slots = ask(11, struct.pack("<4iQ", 0, 16384, -1, -1, 0)) + ask(17, struct.pack("<2i", 0, 16384)) + ask(18, b"")
    insert = ask(12, struct.pack("<2i4I", 0, 1, 1, 1, 0, 0) + struct.pack("<QIHBB3Q", 5, 1, 0, 0, 0, 7, 1, 3))
    yield b"\0" + rows + push + push + slots + insert
    yield b"\1" + push + dense + ask(10, bytes(16), sequence=1) + rows + slots
    yield b"\0" + ask(7, struct.pack("<Q2f", 5, 1, 0), count=1) + ask(13, struct.pack("<2i", 0, 1)) + ask(16, b"")
    name = struct.pack("<I", 1) + b"w"
    rule = bytes(1) + struct.pack("<7d", 0, 0, 0.9, 0.9, 1, 0, 0)
    yield b"\0" + ask(3, name + struct.pack("<i", 3) + rule + bytes(1) + struct.pack("<2dBQidQBB", 0, 0, 0, 7, 1, 1, 0, 0, 0))
    block = name + struct.pack("<2q", 1, 2) + rule + bytes(1)
    yield b"\0" + ask(15, block + struct.pack("<QQI2f", 2, 3, 0, 1, 2), count=1) + ask(4, block + struct.pack("<2f", 1, 2), count=2)


def idx():
    images = struct.pack(">BBBBIII", 0, 0, 8, 3, 2, 2, 2) + bytes(range(8))
    yield images
    yield gzip.compress(images, mtime=0)
    yield struct.pack(">BBBBI", 0, 0, 8, 1, 3) + bytes([1, 2, 3])
    yield struct.pack(">BBBBI2f", 0, 0, 13, 1, 2, 1.5, -2)
    yield struct.pack(">BBBBId", 0, 0, 14, 1, 1, 0.1)
    yield struct.pack(">BBBBIh", 0, 0, 11, 1, 1, -3)


def checkpoint():
    best = {"value": 0.25, "step": 30}
    state = {"program": {"name": "net", "xxh128": "00"}, "seed": 2**64 - 1,
             "data": {"examples": 100, "batch_size": 8}, "runs": 41, "steps": 41, "epoch": 3, "batch": 5,
             "fit": {"epochs": 3, "steps": 41},
             "sums": {"examples": 40, "values": {"loss": 0.1, "accuracy": None}},
             "best_checkpoint": best, "early_stopping": {"best": None, "waited": 2}}
    yield json.dumps(state).encode()
    state["early_stopping"]["best"] = best
    state["epoch"] = -1
    yield json.dumps(state, indent=2).encode()


def compiled_plan():
    image = {"name": "x", "dtype": "f32", "shape": ["batch", 3]}
    buffers = [{"name": "x", "kind": "feed", "dtype": "f32", "shape": ["batch", 3], "steps": [0, 0]},
               {"name": "w", "kind": "parameter", "dtype": "f32", "shape": [3], "steps": [0, 0]},
               {"name": "y", "kind": "arena", "dtype": "f32", "shape": ["3*batch"], "steps": [0, 1]},
               {"name": "rows", "kind": "arena", "dtype": "f32", "shape": ["batch", 3], "alias_of": 2},
               {"name": "out", "kind": "fetch", "dtype": "f32", "shape": ["batch", 3], "steps": [1, 1]}]
    steps = [{"name": "mul", "buffers": [0, 1, 2, -1], "reads": [0, 1], "writes": [2], "kernel": 0,
              "sizes": ["batch", "seed__"], "trip": ["3*batch", 8], "work": "3*batch + 1",
              "scratch": [[3, "4*batch"]]},
             {"name": "sort", "buffers": [3, 4], "reads": [3], "writes": [4],
              "library": {"kernel": "sort", "numbers": {"axis": [1]}, "texts": {"order": "rising"}}}]
    plan = {"symbols": ["batch"], "buffers": buffers, "kernels": [{"name": "mul", "symbol": "k_0"}],
            "steps": steps, "fetches": [4], "program_bytes": "24*batch"}
    model = {"format": "trireme compiled model", "version": 1, "name": "net", "target": "aarch64",
             "inputs": [image], "outputs": [dict(image, name="out")], "labels": ["a", "b"], "plan": plan}
    yield json.dumps(model).encode()
    steps.pop()
    yield json.dumps(dict(model, version=2)).encode()
    buffers[3]["alias_of"] = 3
    yield json.dumps(model, indent=1).encode()
    yield json.dumps(dict(model, inputs=[dict(image, name="go", dtype="boolean", shape=[])] + model["inputs"],
                          plan=plan_with_blocks())).encode()


def plan_with_blocks():  # out = x if go else -x
    def buffer(name, kind, dtype="f32", shape=("batch", 3), **more):
        return {"name": name, "kind": kind, "dtype": dtype, "shape": list(shape), **more}

    block = {"symbols": ["batch"], "buffers": [buffer("x", "feed"), buffer("y", "fetch")],
             "kernels": [{"name": "k", "symbol": "k_0"}], "fetches": [1], "program_bytes": 0,
             "steps": [{"name": "k", "buffers": [0, 1], "reads": [0], "writes": [1], "kernel": 0, "sizes": [],
                        "trip": ["batch", 1], "work": 1}]}
    control = {"kind": "cond", "extra": 1, "carried": 0, "sequences": 0, "reverse": False, "limit": 0, "length": 0,
               "argument_rows": [], "result_rows": [], "sizes": [],
               "blocks": [{"arguments": [0], "plan": block}] * 2}
    return {"symbols": ["batch"],
            "buffers": [buffer("go", "feed", "boolean", ()), buffer("x", "feed"), buffer("out", "fetch")],
            "kernels": [], "fetches": [2], "program_bytes": 0,
            "steps": [{"name": "cond", "buffers": [0, 1, 2], "reads": [0, 1], "writes": [2], "control": control}]}


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def etcd_messages():  # the first byte chooses the message, see etcd_messages.cc
    compare = field(1, 3) + field(2, 1) + field(3, b"a") + field(5, 0)
    put = field(2, field(1, b"a") + field(2, b"value") + field(3, 7))
    page = field(1, field(1, b"b/1\0") + field(2, b"b0") + field(3, 10))
    erase = field(3, field(1, b"b/") + field(2, b"b0"))
    yield b"\0" + field(1, compare) + field(2, put) + field(2, page) + field(3, erase)
    entry = field(1, b"a") + field(2, 3) + field(3, 5) + field(4, 2) + field(5, b"value") + field(6, 7)
    header = field(1, field(3, 12))
    yield b"\1" + header + field(2, 1) + field(3, page) + field(3, field(1, field(2, entry)))
    yield b"\2" + field(1, b"a") + field(2, b"b")
    yield b"\3" + field(1, 5) + field(2, -1)
    yield b"\4" + field(1, field(1, b"\0") + field(2, b"\0") + field(3, 4))
    yield b"\5" + header + field(3, 1) + field(11, field(1, 1) + field(2, entry)) + field(5, 9)


def checkpoint_part():  # an odd first byte: the checksums are put right by the target
    def part(info, *blocks):
        blocks = [(1, json.dumps(info).encode()), *blocks]
        text = b"\x89TPART\r\n" + struct.pack("<I", 1)
        for number, (kind, payload) in enumerate(blocks):
            text += struct.pack("<IIII", 0, kind, number, len(payload)) + payload
        return b"\1" + text

    table = {"kind": "delta", "checkpoint": 1, "server": "s", "table": "t", "layout": "width 1 sgd f32", "options": "",
             "row_bytes": 16, "slots": [0, 16384], "clock": 1}
    row = struct.pack("<IIQ", 14472, 1, 0) + bytes(16)
    yield part(table, (3, bytes(8)), (2, row), (5, struct.pack("<4Q", 1, 1, 0, 0)))
    yield part(dict(table, kind="full"), (2, row + row), (5, struct.pack("<4Q", 2, 0, 0, 0)))
    dense = {"kind": "dense", "checkpoint": 1, "server": "s",
             "dense": [{"name": "w%20", "dtype": "f32", "shape": [3, 1], "rows": [1, 3]},
                       {"name": "s", "dtype": "i64", "shape": [], "rows": [0, 1]}]}
    yield part(dense, (4, struct.pack("<QQ", 0, 0) + bytes(8)), (4, struct.pack("<QQ", 1, 0) + bytes(8)),
               (5, struct.pack("<4Q", 0, 0, 16, 0)))


def checkpoint_texts():  # the first byte chooses the text, see checkpoint_texts.cc
    part = {"kind": "full", "checkpoint": 2, "server": "s", "table": "t", "layout": "width 1 sgd f32", "options": "",
            "row_bytes": 16, "slots": [0, 16384], "clock": 1, "rows": 1, "removed": 0, "digest": "ff", "file": "a.part",
            "bytes": 100, "crc32c": "ff"}
    dense = {"kind": "dense", "checkpoint": 2, "server": "s",
             "dense": [{"name": "w", "dtype": "f32", "shape": [3, 1], "rows": [0, 3]}],
             "dense_bytes": 12, "digest": "1", "file": "b.part", "bytes": 100, "crc32c": "0"}
    manifest = {"format": "trireme distributed checkpoint", "version": 1, "id": 2, "delta": True, "base": 1,
                "previous": 1, "epoch": 0, "step": 7, "map_version": 1, "cut": "a%00b", "parts": [part, dense]}
    yield b"\0" + json.dumps(manifest).encode()
    yield b"\1" + json.dumps(dense).encode()
    file = {"file": "00000001.s.00000.safetensors", "slots": [0, 16384], "whole": True, "rows": 1, "removed": 0,
            "bytes": 9, "crc32c": "0"}
    exports = [{"number": 1, "delta": False, "note": "", "parts": [file]},
               {"number": 2, "delta": True, "note": "%FF", "parts": [dict(file, whole=False)]}]
    yield b"\2" + json.dumps({"format": "trireme export", "version": 1, "table": "t", "width": 2, "dtype": "f32",
                              "initializer": {"kind": "uniform", "low": -0.1, "high": 0.1}, "seed": 7,
                              "exports": exports}).encode()
    yield b"\3delta 10 11 4096 0f1e2d3c"


def csv():  # the first byte chooses options, see csv.cc
    yield b"\x01a,b,target\n1,2.5,3\n-4,5e2,6\n"
    yield b'\x0b"name","x"\r\n"with ""quotes""\nand a line",1\r\nplain,2\r\n'
    yield b"\x05x;y\n1;2\n\n3;4"
    yield b"\x01a,b\n1,\nnan,inf\n"
    yield b"\x31a,word,y\n1,cook,low\n?,?,high\n"


def annotations():  # the first byte chooses the form, see annotations.cc
    yield (b"\x00<annotation><size><width>10</width><height>8</height></size><object><name>cat</name>"
           b"<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>9</xmax><ymax>7.5</ymax></bndbox></object></annotation>")
    yield b"\x01I PRP - - (ARG0*)\ngo VB go go.01 (V*)\nto TO - - (ARG1*\nbed NN - - *)\n\nNo DT - -\n"
    yield b"\x02categories:\n- small\nconversations:\n- - Hi\n  - 'Hello'\n- [a, &b \"c\", *b]\n"
    yield b'\x03{"val": [["hi", "greet"], ["by", "leave"]]}'


def archive():
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
            for name, content in (("a/b.txt", b"text"), ("x" * 120, b"")):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        yield buffer.getvalue().rstrip(b"\0") + bytes(1024)
    for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", packing) as file:
            file.writestr(zipfile.ZipInfo("a/b.txt"), b"text text text text")
        yield buffer.getvalue()


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, color, row, extra=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    rows = (b"\0" + row) * height
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + extra
            + png_chunk(b"IDAT", zlib.compress(rows)) + png_chunk(b"IEND", b""))


def image():  # PNG; corpus/image has JPEG
    yield png(4, 3, 8, 0, bytes(4))
    yield png(4, 3, 8, 2, bytes(range(12)))
    yield png(4, 3, 8, 6, bytes(range(16)))
    yield png(4, 3, 16, 2, bytes(24))
    yield png(8, 2, 1, 3, b"\xa5", png_chunk(b"PLTE", b"\0\0\0\xff\x80\0"))
    yield png(2, 2, 8, 0, bytes(2), png_chunk(b"gAMA", struct.pack(">I", 45455)))
    exif = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, 6, 0, 0)
    yield png(2, 3, 8, 0, bytes(range(2)), png_chunk(b"eXIf", exif))


def libsvm():  # the first byte chooses options, see libsvm.cc
    yield b"\x031 0:1 7:2.5\n\n-1 3:1e1 2:-1 # comment\r\n"
    yield b"\x00 2.5 1099511627775:1\n3 4:5\n"


def image_pack():
    picture = (pathlib.Path(__file__).parent / "corpus/image/rgb.jpg").read_bytes()
    record = struct.pack("<BI", 3, len(picture)) + picture
    yield record
    yield record * 2
    yield struct.pack("<BI", 1, 0)


# levels - 1, rows, and for each level the number of splits and the splits: ragged.cc.
def ragged():
    yield bytes([0, 3, 4, 0, 2, 2, 3])
    yield bytes([1, 4, 3, 0, 2, 3, 4, 0, 1, 3, 4])
    yield bytes([2, 0, 1, 0, 1, 0, 1, 0])
    yield bytes([0, 3, 4, 0, 2, 1, 3])
    yield bytes([0, 2, 2, 0, 255])


# Ragged records, whose checksums the target corrects; corpus/records has others.
def records():
    header = b"column w i64 i64\nlevels 1\ncolumn y f32 f32\ncolumn t u8 u8 2\nlevels 2\n"
    examples = [struct.pack("<q2qf", 2, 7, 8, 1.5) + struct.pack("<3q", 2, 1, 0) + b"ab",
                struct.pack("<qfq", 0, -1, 0)]
    file = b"\x89TREC\r\n\x1a" + struct.pack("<IIq", 2, len(header), 0) + header
    places = []
    for example in examples:
        places.append(len(file))
        file += bytes(8) + example
    places.append(len(file))
    file += struct.pack("<3q", *places) + struct.pack("<QQQ", places[-1], len(examples), 0) + b"TRECEND\n"
    yield b"\x03" + file
    yield b"\x03" + file.replace(struct.pack("<3q", 2, 1, 0), struct.pack("<3q", 2, 1, -1))
    yield b"\x01" + file


def safetensors():
    def pack(header, data):
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    yield pack({}, b"")
    yield pack({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                "b": {"dtype": "BOOL", "shape": [1, 2], "data_offsets": [8, 10]},
                "__metadata__": {"format": "pt"}}, bytes(10))
    yield pack({"e": {"dtype": "I64", "shape": [0, 3], "data_offsets": [0, 0]}}, b"")


def wire(number, value):
    """A field of the wire format of Protocol Buffers: a text or bytes, a whole number or a
    float."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    if isinstance(value, float):
        return bytes([number << 3 | 5]) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data


def double_array():
    """The normal form of "a" is "b": units of a double array, and the text its value is the place
    of."""
    units = [255] * 512
    units[0] = 256 << 10
    units[256 ^ 97] = (256 ^ 97 ^ 1) << 10 | 1 << 8 | 97
    units[1] = 1 << 31
    units[254] = units[511] = 1
    return struct.pack("<I512I", 4 * len(units), *units) + b"b\0"


def subwords():
    def model(kind, normalizer, more=b""):
        pieces = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3), ("\u2581", -1.0, 1), ("a", -2.0, 1),
                  ("b", -2.5, 1), ("\u2581a", -3.0, 1)]
        return (b"".join(wire(1, wire(1, text) + wire(2, score) + wire(3, type)) for text, score, type in pieces)
                + wire(2, wire(3, kind) + wire(4, 7)) + wire(3, normalizer) + more)

    rules = wire(1, "user_defined") + wire(2, double_array())
    yield model(1, wire(1, "identity"))
    yield model(1, rules)
    yield model(2, rules, wire(4, wire(1, wire(1, "ab") + wire(2, "\u2581 b b"))))


def vocabulary():  # an odd first byte: the checksum is made to fit, see vocabulary.cc
    head = b"trireme vocabulary 1\ntokens 4\nunknown 0\nbegin 1\nend none\n"
    yield b"\x01" + head + "7\t<unk>\n0\t<s>\n5\tthe\n3\t\u00e9\\n\\t\\\\\n".encode()
    yield b"\x00" + head + b"7\t<unk>\n0\t<s>\n5\tthe\n3\ta\n" + b"0" * 32 + b"\n"


def saved_model():  # the first byte chooses the file, see saved_model.cc
    splits = {"name": "words.splits", "dtype": "i64", "shape": ["batch + 1"]}
    text = {"tokens": "words", "lower_case": False, "grams": 1, "most": 0, "distinct": False}
    words = {"name": "words", "dtype": "i64", "shape": ["words"], "text": text}
    output = {"name": "output", "dtype": "f32", "shape": ["batch", 2]}
    model = {"format": "trireme saved model", "version": 1, "name": "net", "inputs": [words, splits],
             "outputs": [output], "labels": ["a", "b"], "target": "label",
             "measured": {"loss": "cross_entropy"}, "samples": {}, "table": {}}
    yield b"\0" + json.dumps(model).encode()
    yield b"\0" + json.dumps(dict(model, inputs=[dict(words, text={"tokens": "subwords"}), splits])).encode()
    yield b"\0" + json.dumps(dict(model, outputs=[dict(output, name="../x", text=text)])).encode()
    image = {"channels": 3, "height": 2, "width": 2, "invert": True}
    yield b"\0" + json.dumps(dict(model, inputs=[dict(words, image=image), splits])).encode()
    golden = pathlib.Path(__file__).parent.parent / "golden/0.1.0"
    yield b"\1" + (golden / "model/program.txt").read_bytes()
    yield b"\2" + (golden / "model/weights.safetensors").read_bytes()
    yield b"\3" + (golden / "vocabulary.txt").read_bytes()
    yield b"\4trireme saved model 1\n"


def checksums():  # an odd first byte: the checksum is made to fit, see checksums.cc
    yield b"\1trireme test 1\n" + b"0" * 32 + b"  a\n"
    yield b"\1trireme test 2\n"
    yield b"\1trireme checkpoint 1\n" + b"f" * 32 + b"  ../a\n"
    yield b"\0trireme test 1\n" + b"0" * 32 + b"\n"


def job_json():  # an odd first byte: the encoding of a table, see job_json.cc
    yield b'\0{"loss": {"huber": {"delta": 0.5}}, "metrics": ["mae", {"f1": {"class": 1}}]}'
    yield b'\0{"tokens": "bytes", "next": true, "window": 5}'
    table = {"separator": ",", "header": True, "skip_lines": 0, "names": [], "named": False,
             "standardize": True, "missing": "constant", "missing_value": 1e300, "missing_word": "?",
             "skip_initial_space": False, "decimal": ".", "thousands": "", "target": "y", "classes": None,
             "columns": [{"name": "a", "kind": "integer"},
                         {"name": "b", "kind": "one_hot", "words": ["x", "z"]}]}
    yield b"\1" + json.dumps(table).encode()
    numbers = [{"name": "a", "kind": "number", "mean": 1.5, "deviation": 0.5}]
    yield b"\1" + json.dumps(dict(table, classes=["2", "3"], columns=numbers)).encode()


def set_option():
    yield b"train.epochs=2"
    yield b"model.layers=[{linear={units=4}}]"
    yield b"train.optimizer.adam.learning_rate=1e-3"
    yield b"data.text={tokens='bytes', window=3}"
    yield b"output.directory=a b"


def metrics_lines():
    yield b'{"event":"train","time":1.5,"step":5,"epoch":1,"loss":0.25}\n{"step":6}\n{"step'
    yield b'{"step":-1}\n{"step":18446744073709551615}\n[]\n\n'


def corpora():  # the first byte chooses, see corpora.cc
    yield b"\0a good film\tpos\nbad\tneg\textra\n"
    yield "\1go\tva !\r\n\r\nhi\t\u00e9t\u00e9\n".encode()
    yield b"\x0e\xef\xbb\xbfone two\t1\nthree\t2\n"


def tokens():  # the first byte chooses, see tokens.cc
    yield b"\0Don't go (3.14%)!"
    yield "\5\u00c4pfel \u4e2d\u6587 \u2764\ufe0f\u00a0x".encode()
    yield "\x4ae\u0301 \U0001f600".encode()
    yield b"\3\xff\xfe\0"


def c_tensors():  # see tensor_of in c_tensors.cc
    def tensor(dtype, shape, data, size=None):
        return (bytes([dtype, len(shape), *shape]) + struct.pack("<H", len(data) if size is None else size)
                + data + b"\1")

    rows = tensor(4, [2, 4], bytes(32))
    words = tensor(3, [3], bytes(24))
    splits = tensor(3, [3], struct.pack("<3q", 0, 1, 3))
    yield rows + words + splits + tensor(4, [2, 4], bytes(32)) + tensor(4, [2], bytes(8))
    yield rows + words + splits + tensor(4, [2, 4], bytes(31)) + tensor(4, [2], bytes(8))
    low = bytes([4, 2, 255]) + struct.pack("<q", -2**63) + bytes([4]) + struct.pack("<H", 0) + b"\1"
    yield low + words + splits


def main():
    corpus = pathlib.Path(__file__).parent / "corpus"
    for target in (annotations, archive, c_tensors, checkpoint, checkpoint_part, checkpoint_texts, checksums,
                   compiled_plan, corpora, csv, etcd_messages, frame, job_json, job_messages, idx, image, image_pack,
                   libsvm, metrics_lines, parameter_server, ragged, records, safetensors, saved_model, set_option,
                   subwords, tokens, vocabulary):
        folder = corpus / target.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(target()):
            (folder / f"seed{number}").write_bytes(seed)


main()
