"""move_section.py CUBIN MOVED SECTION: writes a copy of the file in which the section begins past the end."""
import struct
import sys

cubin, moved, wanted = sys.argv[1:]
raw = bytearray(open(cubin, "rb").read())
headers, = struct.unpack_from("<Q", raw, 40)
size, count, names = struct.unpack_from("<HHH", raw, 58)
strings, = struct.unpack_from("<Q", raw, headers + names * size + 24)
for at in range(headers, headers + count * size, size):
    name = strings + struct.unpack_from("<I", raw, at)[0]
    if raw[name:raw.index(0, name)] == wanted.encode():
        struct.pack_into("<Q", raw, at + 24, len(raw) + 64)
        break
else:
    sys.exit("no such section")
open(moved, "wb").write(raw)
