"""A minimal ELF reader for the tests: the sections of a cubin."""
import struct


def sections(data):
    """Yields (name, bytes) of every section of a 64-bit little-endian ELF file; raises ValueError for other files."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    table, count, names_index = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
    names = data[headers[names_index][4] :]
    for name, kind, _, _, offset, size, *_ in headers:
        text = names[name : names.index(b"\0", name)].decode()
        no_bits = 8
        yield text, b"" if kind == no_bits else data[offset : offset + size]


def no_bits(data):
    """(name, size, alignment) of the sections without bytes in the file."""
    table, count, names_index = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
    names = data[headers[names_index][4] :]
    kind_no_bits = 8
    for name, kind, _, _, _, size, _, _, alignment, _ in headers:
        if kind == kind_no_bits:
            yield names[name : names.index(b"\0", name)].decode(), size, alignment


def code(data):
    """The code of a cubin: {kernel or function: bytes}."""
    return {name[len(".text.") :]: content for name, content in sections(data) if name.startswith(".text.")}


def attributes(section):
    """(format, identifier, payload) of each attribute of a .nv.info section."""
    at, sized = 0, 4
    while at < len(section):
        form, identifier, size = struct.unpack_from("<BBH", section, at)
        length = size if form == sized else 0
        yield form, identifier, section[at + 4 : at + 4 + length] if form == sized else section[at + 2 : at + 4]
        at += 4 + length


REGCOUNT = 0x2F  # symbol and number


def symbol_name(parts, number):
    """The name of a symbol, from its number and the sections by name."""
    strings = parts[".strtab"]
    start = struct.unpack_from("<I", parts[".symtab"], 24 * number)[0]
    return strings[start : strings.index(b"\0", start)].decode()


def registers(data):
    """The registers that the loader reserves for each function, from the attributes in .nv.info."""
    parts = dict(sections(data))
    counts = [struct.unpack("<II", value) for _, identifier, value in attributes(parts.get(".nv.info", b"")) if identifier == REGCOUNT]
    return {symbol_name(parts, symbol): count for symbol, count in counts}


KPARAM_INFO = 0x17

# The attributes that matter for the launch of a kernel.
LAUNCH_FACTS = {
    0x05: "MAX_THREADS", 0x10: "REQNTID", KPARAM_INFO: "KPARAM_INFO", 0x19: "CBANK_PARAM_SIZE", 0x1B: "MAXREG_COUNT", 0x2B: "WMMA_USED",
    0x3D: "CTA_PER_CLUSTER", 0x3E: "EXPLICIT_CLUSTER", 0x3F: "MAX_CLUSTER_RANK", 0x41: "RESERVED_SMEM_USED", 0x4C: "NUM_BARRIERS",
}


def launch_facts(data):
    """{kernel: {name: sorted payloads}} of those attributes, and of .nv.shared: its size and alignment."""
    facts = {}
    parts = dict(sections(data))

    def told(identifier, value):
        symbol = struct.unpack_from("<I", value)[0] if identifier == KPARAM_INFO else 0  # of a texture, sampler or surface
        return f"{symbol_name(parts, symbol)} {value[4:].hex()}" if symbol else value.hex()

    for name, content in parts.items():
        if name.startswith(".nv.info."):
            found = facts.setdefault(name[len(".nv.info.") :], {})
            for _, identifier, value in attributes(content):
                if identifier in LAUNCH_FACTS:
                    found.setdefault(LAUNCH_FACTS[identifier], []).append(told(identifier, value))
    for name, size, alignment in no_bits(data):
        if name.startswith(".nv.shared.") and (kernel := name[len(".nv.shared.") :]) in facts:
            facts[kernel]["shared"] = [f"{size:#x} {alignment:#x}"]
    return {kernel: {name: sorted(values) for name, values in found.items()} for kernel, found in facts.items()}
