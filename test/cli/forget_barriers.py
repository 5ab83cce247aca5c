"""forget_barriers.py CUBIN BROKEN: sets what EIATTR_NUM_BARRIERS says, 6 in one kernel, to 0."""
import sys

cubin, broken = sys.argv[1:]
BYTE_VALUE, NUM_BARRIERS = 2, 0x4C
raw = open(cubin, "rb").read()
six = bytes([BYTE_VALUE, NUM_BARRIERS, 6, 0])
assert raw.count(six) == 1
open(broken, "wb").write(raw.replace(six, bytes([BYTE_VALUE, NUM_BARRIERS, 0, 0])))
