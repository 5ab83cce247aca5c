#!/usr/bin/env python3
"""directives.py BUILD/bin/orias: the attributes in a cubin for each directive that PTX has for kernels, compared with
ptxas'.

Each line of DIRECTIVES is a kernel with these directives, and optionally command-line options after a bar. The
attributes that depend only on the directives (all but IGNORED) must be those of ptxas, with their values. The first
column of the printed table is the directive, the second the attributes added to those of a kernel without directives.
Prints that it was skipped if there is no ptxas.
"""
import pathlib
import subprocess
import sys
import tempfile

import elf
import tools

DIRECTIVES = [
    "", ".maxntid 128", ".maxntid 16, 8", ".maxntid 8, 4, 2", ".reqntid 64", ".reqntid 8, 8, 2", ".maxntid 128 .minnctapersm 4",
    ".reqntid 256 .minnctapersm 2", ".maxnreg 40", ".maxnreg 32 .maxntid 64", ".explicitcluster", ".reqnctapercluster 2",
    ".reqnctapercluster 2, 2", ".explicitcluster .reqnctapercluster 4", ".maxclusterrank 8", ".reqntid 64 .reqnctapercluster 2 .blocksareclusters",
    " | --maxntid 96", ".maxntid 128 | --maxntid 96", ".maxntid 128 | --maxntid 96 --override-directive-values",
    ".reqntid 64 | --maxntid 96", ".reqntid 64 | --maxntid 96 --override-directive-values", " | --maxrregcount 24",
    ".maxnreg 40 | --maxrregcount 24 --override-directive-values",
]
PTX = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {directives}
{{
    .reg .b64 %a<3>;
    .reg .b32 %r<3>;
    ld.param.u64 %a1, [p];
    ld.param.u32 %r1, [n];
    st.global.u32 [%a1], %r1;
    ret;
}}
"""
# These depend on the code, the registers and the versions of the tools: EXIT_INSTR_OFFSETS, REGCOUNT, FRAME_SIZE,
# MIN_STACK_SIZE, MAX_STACK_SIZE, the version of the API.
IGNORED = {0x1C, 0x2F, 0x11, 0x12, 0x23, 0x37, 0x50}


def attributes(data):
    """{identifier: values} of the kernel."""
    parts = dict(elf.sections(data))
    found = {}
    for _, identifier, value in elf.attributes(parts[".nv.info.k"]):
        if identifier not in IGNORED:
            found.setdefault(identifier, []).append(value.hex())
    return {identifier: sorted(values) for identifier, values in found.items()}


def text(found):
    return " ".join(f"{identifier:02x}={','.join(values)}" for identifier, values in sorted(found.items())) or "-"


def differences(ours, theirs):
    """The differences in the attributes of two cubins."""
    mine, wanted = attributes(ours), attributes(theirs)
    return [f"{i:02x}: {mine.get(i)}, ptxas {wanted.get(i)}" for i in sorted(mine.keys() | wanted.keys()) if mine.get(i) != wanted.get(i)]


def main():
    orias, ptxas = sys.argv[1], tools.find("ptxas")
    if ptxas is None:
        print("skipped: there is no ptxas")
        return 0
    wrong, plain, last = 0, None, {}
    with tempfile.TemporaryDirectory() as scratch:
        for directives in DIRECTIVES:
            source = pathlib.Path(scratch) / "k.ptx"
            written, _, options = directives.partition("|")
            source.write_text(PTX.format(directives=written))
            made = {}
            for name, tool in (("ours", orias), ("theirs", ptxas)):
                path = pathlib.Path(scratch) / f"{name}.cubin"
                done = subprocess.run([tool, "-arch=sm_90", *options.split(), source, "-o", path], capture_output=True, text=True)
                made[name] = path.read_bytes() if done.returncode == 0 else None
                path.unlink(missing_ok=True)
            if made["ours"] is None or made["theirs"] is None:
                both = made["ours"] is None and made["theirs"] is None
                wrong += not both
                print(f"{directives:45} {'refused by both' if both else 'WRONG: refused by ' + ('us' if made['ours'] is None else 'ptxas')}")
                continue
            plain = plain or attributes(made["ours"])
            added = {i: v for i, v in attributes(made["ours"]).items() if plain.get(i) != v}
            found = differences(made["ours"], made["theirs"])
            wrong += bool(found)
            print(f"{directives or '(none)':45} {text(added)}{'  WRONG: ' + '; '.join(found) if found else ''}")
            last[directives] = made["ours"]
    # Verifies that the comparison detects a changed directive.
    assert differences(last[".reqntid 64"], last[".reqntid 8, 8, 2"]) and not differences(last[""], last[""])
    print(f"{len(DIRECTIVES)} lists of directives, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
