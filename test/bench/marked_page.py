"""A part of a Markdown page that a program writes: `<!-- NAME: begin -->`, its text, `<!-- NAME: end -->`."""


def replace(page, name, text):
    """Puts `text` between the two marks of the page (a pathlib.Path)."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, first, rest = page.read_text().partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise SystemExit(f"{page} has no marks '{begin}' and '{end}'")
    page.write_text(f"{before}{begin}{text}{end}{after}")
