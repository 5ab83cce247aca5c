"""The report on measured files: docs/zoo.md."""
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
import compare  # noqa: E402

HALVES = ("measured only", "tuned on")
# Figure, its meaning, whether each kernel or each file has one.
FIGURES = (
    ("executed", "warp instructions executed", "kernel"), ("cycles", "estimated cycles", "kernel"),
    ("full_cycles", "estimated cycles, full machine", "kernel"),
    ("instructions", "instructions", "kernel"), ("registers", "registers", "kernel"), ("spill_bytes", "bytes of spills", "file"),
    ("cpu_seconds", "processor time", "file"), ("kilobytes", "peak memory", "file"),
)
CYCLES = ("cycles", "full_cycles")
LIMITS = (1.1, 1.5)
WORST = 10
HEAD = """# The zoo: PTX of other compilers and projects, compared with ptxas

`test/zoo/run` compares orias with ptxas 13.0 and writes this page; `test/zoo/README.md` describes how the PTX is made. Ratios are orias to
ptxas: lower is better. Each file is in one of two halves, by a hash of its name: *tuned on*, whose kernels may be studied, and
*measured only*. Use the second for conclusions.

Instructions and registers are counted in the cubins, for kernels and functions that both have. Executed instructions and estimated cycles
(`tools/emulator/README.md`) come from runs with made-up arguments: *estimated cycles* are for a single launch, limited by latency, and
*full machine* are cycles per block on a fully occupied SM, limited by throughput and occupancy. Processor time is one run of each
assembler.
"""


def name_of(row):
    """suite/file; the names of files whose suites share a folder already contain the folder of the suite."""
    return row["file"] if row["file"].startswith(row["suite"] + "/") else f"{row['suite']}/{row['file']}"


def short(name):
    """Shortens mangled names, which may be very long."""
    return name if len(name) <= 48 else name[:47] + "…"


def is_crash(row):
    return any(reason.startswith(("(signal", "(status")) for reason in row.get("reasons", {}))


def faults(row):
    """The errors of a file, as lines, except for files that ptxas also refuses."""
    found = []
    if row.get("reasons") and (row.get("ptxas_accepts") or is_crash(row)):
        found += [f"refused: {reason}" for reason in row["reasons"]]
    found += [f"nvdisasm refuses {word}" for word in row.get("refused_words", [])[:1]]
    found += row.get("listing_differences", [])[:1] + row.get("fact_differences", [])[:1]
    found += [f"{r['kernel']} leaves other memory: {r['said']}" for r in row["results"] if r["verdict"] == "differs"]
    return found


def kernels_of(row):
    """Each kernel of a file with its figures, those of compare.py and those of runs together."""
    runs = {result["kernel"]: result["figures"] for result in row["results"]}
    for name, figures in row["kernels"].items():
        yield {"name": f"{name_of(row)} {short(name)}", "half": row["half"], **figures, **runs.get(name, {})}


def with_figures(rows, unit):
    if unit == "kernel":
        return [kernel for row in rows for kernel in kernels_of(row)]
    return [{**row, "name": name_of(row)} for row in rows]


def table(head, lines):
    rule = ["---"] + ["--:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in [head, rule, *lines]) + "\n"


def acceptance(suites):
    lines, totals = [], collections.Counter()
    columns = ("files", "ptxas takes", "of these we", "crashes", "time-outs", "words", "nvdisasm differs", "facts differ", "kernels", "ran",
               "memory agrees", "explained", "differs")
    for suite, rows in suites.items():
        count = collections.Counter()
        for row in rows:
            verdicts = collections.Counter(result["verdict"] for result in row["results"])
            idle = verdicts["stops"] + verdicts["not assembled"] + verdicts["not understood"]
            count.update({
                "files": 1, "ptxas takes": int(row.get("ptxas_accepts", 0)), "of these we": int(bool(row.get("ptxas_accepts") and row["assemble"])),
                "crashes": int(is_crash(row)), "time-outs": int("(out of time)" in row.get("reasons", {})), "words": row.get("words", 0),
                "nvdisasm differs": len(row.get("refused_words", [])) + len(row.get("listing_differences", [])),
                "facts differ": len(row.get("fact_differences", [])), "kernels": len(row["results"]),
                "ran": sum(verdicts.values()) - idle, "memory agrees": verdicts["agrees"] + verdicts["writes nothing"],
                "differs": verdicts["differs"],
                "explained": sum(verdicts.values()) - idle - verdicts["agrees"] - verdicts["writes nothing"] - verdicts["differs"]})
        totals.update(count)
        lines.append([suite] + [count[column] for column in columns])
    lines.append(["all"] + [totals[column] for column in columns])
    return table(("suite", *columns), lines)


def ratios(suites, half):
    """Geometric means, and in brackets the ratio of the sums."""
    def cell(rows, figure, unit):
        found = compare.ratios_of(with_figures(rows, unit), figure)
        return f"{found['mean']:.2f} ({found['total']:.2f}; {found['count']})" if found else ""

    def line(name, rows):
        chosen = [row for row in rows if row["half"] == half]
        return [name] + [cell(chosen, figure, unit) for figure, _, unit in FIGURES]

    everything = [row for rows in suites.values() for row in rows]
    return table(["suite"] + [what for _, what, _ in FIGURES], [line(name, rows) for name, rows in suites.items()] + [line("all", everything)])


def limits(suites):
    """The number of kernels that are far behind, by each estimate, and the number whose warps are resident."""
    kernels = with_figures([row for rows in suites.values() for row in rows], "kernel")

    def share(found, total):
        return f"{found} of {total} ({100 * found / total:.1f}%)" if total else ""

    def line(half):
        cells = []
        for figure in CYCLES:
            found = [k[figure] / k["ptxas_" + figure] for k in kernels if k["half"] == half and k.get(figure) and k.get("ptxas_" + figure)]
            cells += [share(sum(ratio > limit for ratio in found), len(found)) for limit in LIMITS]
        warps = [k["resident_warps"] >= k["ptxas_resident_warps"] for k in kernels
                 if k["half"] == half and k.get("resident_warps") and k.get("ptxas_resident_warps")]
        return [half, *cells, share(sum(warps), len(warps))]

    names = {figure: what for figure, what, _ in FIGURES}
    head = ["half"] + [f"{names[figure]}: worse than {limit}" for figure in CYCLES for limit in LIMITS]
    return table([*head, "at least as many resident warps as ptxas"], [line(half) for half in HALVES])


def spills(suites):
    """Files that spill where ptxas does not, and vice versa, because ratios cannot show it."""
    everything = [row for rows in suites.values() for row in rows if row["assemble"] and row.get("ptxas_accepts")]
    ours = [row for row in everything if row["spill_bytes"] > 0 == row["ptxas_spill_bytes"]]
    theirs = [row for row in everything if row["ptxas_spill_bytes"] > 0 == row["spill_bytes"]]
    names = ", ".join(f"{name_of(row)} ({row['spill_bytes']} bytes)" for row in
                      sorted(ours, key=lambda row: -row["spill_bytes"])[:WORST] if row["half"] == "tuned on")
    return f"{len(ours)} files spill only with orias, {len(theirs)} only with ptxas." + (f" The first: {names}.\n" if names else "\n")


def worst(suites):
    everything = [row for rows in suites.values() for row in rows]
    text = ""
    for figure, what, unit in FIGURES:
        found = [item for item in with_figures(everything, unit) if item.get(figure) and item.get("ptxas_" + figure)]
        found.sort(key=lambda item: (-item[figure] / item["ptxas_" + figure], item["name"]))
        hidden = [f"{item[figure] / item['ptxas_' + figure]:.2f}" for item in found if item["half"] == "measured only"][:WORST]
        shown = [item for item in found if item["half"] == "tuned on"][:WORST]
        if not found:
            continue
        text += f"\n### {what[0].upper()}{what[1:]}\n\n"
        text += table((f"the worst {unit}s to tune on", "ours", "ptxas", "ratio"),
                      [(item["name"], f"{item[figure]:g}", f"{item['ptxas_' + figure]:g}", f"{item[figure] / item['ptxas_' + figure]:.2f}")
                       for item in shown])
        text += f"\nThe worst ratios of the other half: {', '.join(hidden) or 'none'}.\n"
    return text


def render(suites, others):
    everything = [row for rows in suites.values() for row in rows]
    lines = [f"* `{name_of(row)}`: {fault}" for row in everything for fault in faults(row)]
    text = HEAD + f"\n## Accepted files and results\n\n{acceptance(suites)}"
    if others:
        text += f"\n{others} files are for chips that orias does not know.\n"
    text += """
*Ran*: the cubin of ptxas completed with made-up arguments (`test/peers/real_kernels.py`). *Explained*: the results differ, but they also
differ from the PTX interpreter, or it reports a race, or from the code of ptxas at -O0.
"""
    text += "\n## Failures\n\n" + ("\n".join(lines) + "\n" if lines else "None.\n")
    for half in HALVES:
        text += f"\n## Ratios to ptxas: {half}\n\nGeometric means of the ratios; in parentheses the ratio of the totals, and the number of kernels or files with both values.\n\n{ratios(suites, half)}"
    text += f"\n## Much slower kernels, and occupancy\n\n{limits(suites)}"
    text += f"\n## Spills\n\n{spills(suites)}\n## The worst\n{worst(suites)}"
    return text
