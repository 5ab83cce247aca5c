"""shorten_stall.py LISTING.json CUBIN BROKEN MNEMONIC: sets every stall from the first MNEMONIC up to the next branch or EXIT to 1."""
import json
import sys

listing, cubin, broken, mnemonic = sys.argv[1:]
raw = open(cubin, "rb").read()
STALL_SHIFT = 105 - 64  # in the upper half of the word
started = False
for row in json.load(open(listing))[0]["code"]:
    started |= row["text"].startswith(mnemonic)
    if not started:
        continue
    if "BRA" in row["text"] or "EXIT" in row["text"]:
        break
    word = int(row["word"], 16)
    old = word.to_bytes(16, "little")
    high = (word >> 64) & ~(0xF << STALL_SHIFT) | 1 << STALL_SHIFT
    new = (high << 64 | word & (1 << 64) - 1).to_bytes(16, "little")
    assert raw.count(old) == 1
    raw = raw.replace(old, new)
assert started
open(broken, "wb").write(raw)
