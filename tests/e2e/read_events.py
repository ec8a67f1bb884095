"""Reads TensorBoard event files from the format's description alone: records with masked CRC-32C,
protobuf wire format, and the field numbers of event.proto and summary.proto.

    read_events.py FILE...      prints "step<TAB>tag<TAB>value" for every scalar, then
    "start<TAB>step"

Exits 1 at the first record that breaks the format.
"""

import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length, length_crc = struct.unpack_from("<QI", data, at)
        assert masked(data[at:at + 8]) == length_crc, "the length's checksum"
        at += 12
        event = data[at:at + length]
        assert len(event) == length, "truncated"
        assert struct.unpack_from("<I", data, at + length)[0] == masked(event), "the checksum"
        at += length + 4
        yield event


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            assert kind == 5, "a wire type that is not used"
            value, at = data[at:at + 4], at + 4
        yield number, value


def main(paths):
    for path in paths:
        with open(path, "rb") as file:
            data = file.read()
        for index, event in enumerate(records(data)):
            found = dict(fields(event))
            assert struct.unpack("<d", found[1])[0] > 1.6e9, "wall_time"
            if index == 0:
                assert found[3] == b"brain.Event:2", "the first record is the version"
                continue
            step = found[2]
            if 7 in found:
                assert dict(fields(found[7])) == {1: 1}
                print(f"start\t{step}")
                continue
            for number, value in fields(found[5]):
                assert number == 1
                scalar = dict(fields(value))
                print(f"{step}\t{scalar[1].decode()}\t{struct.unpack('<f', scalar[2])[0]:.9g}")


if __name__ == "__main__":
    main(sys.argv[1:])
