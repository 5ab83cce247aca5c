"""The little of ELF that the tests need: the sections of a cubin."""
import struct


def sections(data):
    """Yields (name, bytes) of every section of a 64-bit little-endian ELF file; raises ValueError if it is none."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    table, count, names_index = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
    names = data[headers[names_index][4] :]
    for name, kind, _, _, offset, size, *_ in headers:
        text = names[name : names.index(b"\0", name)].decode()
        no_bits = 8
        yield text, b"" if kind == no_bits else data[offset : offset + size]


def code(data):
    """The code of a cubin: {kernel or function: bytes}."""
    return {name[len(".text.") :]: content for name, content in sections(data) if name.startswith(".text.")}


REGCOUNT = 0x2F04  # EIATTR_REGCOUNT with the format of a sized value: symbol and number


def registers(data):
    """The registers that the loader reserves for each function, from the attributes in .nv.info."""
    parts = dict(sections(data))
    symbols, strings = parts[".symtab"], parts[".strtab"]

    def name(symbol):
        start = struct.unpack_from("<I", symbols, 24 * symbol)[0]
        return strings[start : strings.index(b"\0", start)].decode()

    attributes, found, at = parts.get(".nv.info", b""), {}, 0
    while at < len(attributes):
        kind, size = struct.unpack_from("<HH", attributes, at)
        if kind == REGCOUNT:
            symbol, count = struct.unpack_from("<II", attributes, at + 4)
            found[name(symbol)] = count
        at += 4 + (size if kind & 0xFF == 4 else 0)
    return found
