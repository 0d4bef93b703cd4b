"""Writes docs/techniques.md from facts: the same facts give the same page, byte for byte."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from facts import Facts, card, command, flags_of
from technique import GROUPS, Technique

_TEMPLATE = Path(__file__).with_name("page.md")
_NONE = "-"
_FIGURE = r"\d (→|GB|MB)|\d%"
# Advice that does not concern the peak that a technique changes.
_BESIDE = {"cache_at_end", "fragmentation", "cache_allocations", "larger_batch"}
_COLUMNS = 140  # no line of the page is wider
_LEAST = 20  # columns; narrower last cells are not wrapped
_HEADER = (
    "| technique | allocated | reserved | in the pool | used | host | calls | published |",
    "|---" * 8 + "|",
)


def _mib(value: int | None) -> str:
    return _NONE if value is None else f"{value / 2**20:,.0f}"


def _count(value: int | None) -> str:
    return _NONE if value is None else f"{value:,}"


def _pair(before: object, after: object) -> str:
    return str(before) if before == after else f"{before} → {after}"


def _sizes(before: Facts, after: Facts, key: str) -> str:
    return _pair(_mib(before.get(key)), _mib(after.get(key)))


def _died(facts: Facts) -> str:
    return "dies" if facts["died"] else "done"


def _row(technique: Technique, facts: Facts | None) -> str:
    claim = technique.claim if re.search(_FIGURE, technique.claim) else "no figure"
    name = f"[{technique.name}](#{technique.name})"
    if facts is None:
        return f"| {name} | not measured | | | | | | {claim} |"
    if "failed" in facts:
        return f"| {name} | **failed**: {facts['failed']} | | | | | | {claim} |"
    if "left_out" in facts:
        return f"| {name} | left out | | | | | | {claim} |"
    before, after = facts["variants"]["before"], facts["variants"]["after"]
    allocated = _sizes(before, after, "allocated_bytes")
    if before["died"] or after["died"]:
        allocated += f" ({_died(before)} → {_died(after)})"
    cells = [
        name,
        allocated,
        _sizes(before, after, "reserved_bytes"),
        _sizes(before, after, "pool_reserved_bytes"),
        _sizes(before, after, "device_used_bytes"),
        _sizes(before, after, "host_bytes"),
        _pair(*(_count(one.get("device_allocations")) for one in (before, after))),
        claim,
    ]
    return f"| {' | '.join(cells)} |"


def _difference(before: Facts, after: Facts) -> str:
    """Returns the category whose share of the peak changed most."""
    names = sorted({*before.get("categories", {}), *after.get("categories", {})})
    changes = [
        (name, before["categories"].get(name, 0), after["categories"].get(name, 0))
        for name in names
    ]
    changes = [one for one in changes if abs(one[1] - one[2]) >= 1 << 20]
    changes.sort(key=lambda one: -abs(one[1] - one[2]))
    told = [f"{name.replace('_', ' ')} {_mib(a)} → {_mib(b)} MiB" for name, a, b in changes[:3]]
    if not told:
        return "At the peak no category differs by a MiB or more."
    return f"At the peak: {', '.join(told)}."


Place = tuple[str, str]  # a line and an operator


def _places(technique: Technique, facts: Facts) -> tuple[dict[Place, int], dict[str, int]]:
    """Returns the bytes at the peak by source line and operator, and by operator only.

    The technique's own script counts as one line, because its variants do the same on different
    lines.
    """
    own = f"{technique.name}.py"
    places: dict[Place, int] = {}
    operators: dict[str, int] = {}
    for operation, lines in facts.get("sites", {}).items():
        operators[operation] = sum(lines.values())
        for site, size in lines.items():
            place = (own if site.startswith(f"{own}:") else site, operation)
            places[place] = places.get(place, 0) + size
    return places, operators


def _site(technique: Technique, before: Facts, after: Facts) -> str:
    """Returns the line whose share of the peak fell most, unless another line took over its
    allocations."""
    if before.get("allocated_bytes", 0) - after.get("allocated_bytes", 0) < 1 << 20:
        return ""
    old, old_operators = _places(technique, before)
    new, new_operators = _places(technique, after)

    def fell(place: Place) -> int:
        operator = old_operators[place[1]] - new_operators.get(place[1], 0)
        return min(old[place] - new.get(place, 0), operator)

    place = max(old, key=fell, default=None)
    if place is None or fell(place) < 1 << 20:
        return ""
    by = f" (`{place[1]}`)" if place[1].startswith("aten::") else ""
    sizes = f"{_mib(old[place])} → {_mib(new.get(place, 0))} MiB"
    return f"The source line with the largest decrease: `{place[0]}`{by}, {sizes}."


def _quote(which: str, advice: Facts) -> str:
    said = f"The analysis of `{which}` says: “{advice['evidence']}”"
    return f"{said} It advises: “{advice['action']}”"


def _advice(before: Facts, after: Facts) -> str:
    """Returns the advice on `before` whose bytes fell most in `after`, or else the advice on
    `after`."""
    old = {one["id"]: one for one in before.get("advice", []) if one["id"] not in _BESIDE}
    new = {one["id"]: one for one in after.get("advice", []) if one["id"] not in _BESIDE}
    gone = {key: one["bytes"] - new.get(key, {"bytes": 0})["bytes"] for key, one in old.items()}
    best = max(gone, key=gone.__getitem__, default="")
    if gone.get(best, 0) >= 1 << 20:
        return _quote("before", old[best])
    if before["died"] and old:
        return _quote("before", next(iter(old.values())))
    added = [one for key, one in new.items() if key not in old]
    if added:
        return _quote("after", added[0])
    if not old:
        return ""  # the GPU has room, so no memory has to be saved
    return "None of its advice on `before` became smaller."


def sentence(technique: Technique, variants: dict[str, Facts]) -> str:
    """Returns a sentence with the analyzer's findings, from the facts of both variants."""
    before, after = variants["before"], variants["after"]
    parts = [_advice(before, after)]
    if not before["died"] and before.get("categories") and after.get("categories"):
        parts = [_difference(before, after), _site(technique, before, after), *parts]
    if after.get("offloaded_bytes"):
        parts = [f"`after` moved {_mib(after['offloaded_bytes'])} MiB to the host."]
    if findings := " ".join(filter(None, parts)):
        return findings
    if "advice" not in before or "advice" not in after:
        return (
            "This technique was not analysed, because on a real GPU only PyTorch's own allocator "
            "was measured."
        )
    return "It advises no saving, because the GPU has free memory."


def _figures(technique: Technique, facts: Facts) -> list[str]:
    lines = [
        "| variant | allocated | reserved | in the pool | used "
        "| host | pinned | between steps | calls |",
        "|---" * 9 + "|",
    ]
    for name in technique.variants:
        one = facts["variants"][name]
        keys = ("allocated_bytes", "reserved_bytes", "pool_reserved_bytes", "device_used_bytes")
        more = ("host_bytes", "pinned_bytes", "between_steps_bytes")
        sizes = [_mib(one.get(key)) for key in (*keys, *more)]
        name = f"{name}, dies" if one["died"] else name
        lines.append(f"| {name} | {' | '.join(sizes)} | {_count(one.get('device_allocations'))} |")
    return lines


def _ranks(technique: Technique, variants: dict[str, Facts]) -> str:
    """Returns a table of the ranks of each variant, with one trace for each rank."""
    told = []
    for name in technique.variants:
        peaks = enumerate(variants[name].get("ranks_allocated_bytes", []))
        told.append(f"{name}: " + ", ".join(f"rank {rank} {_mib(peak)}" for rank, peak in peaks))
    return f"*The ranks*, allocated in MiB: {'; '.join(told)}."


def _section(technique: Technique, facts: Facts | None, simulate: str) -> list[str]:
    spec = card(technique, simulate)
    shown = f" --simulate={spec}" if spec else ""
    lines = [f"### {technique.name}", "", f"{technique.title}.", ""]
    lines += [f"*Published*: {technique.claim}", ""]
    for variant in technique.variants:
        start = " ".join(command(technique, variant))
        flags = " ".join(flags_of(technique, variant, simulate))
        lines.append(f"    vramstow run{shown} {flags} -- {start}")
    lines.append("")
    if facts is None:
        lines += ["Not measured yet.", ""]
    elif "failed" in facts:
        lines += [f"The last run failed: {facts['failed']}", ""]
    elif "left_out" in facts:
        lines += [facts["left_out"], ""]
    else:
        lines += [*_figures(technique, facts), ""]
        if technique.ranks > 1 and "ranks_allocated_bytes" in facts["variants"]["before"]:
            lines += [_ranks(technique, facts["variants"]), ""]
        lines += [f"*The analyzer*: {sentence(technique, facts['variants'])}", ""]
    if technique.note:
        lines += [f"*Why*: {technique.note}", ""]
    return [*lines, f"*To do*: {technique.do}", ""]


def _row_lines(line: str) -> list[str]:
    """Returns a row of a table as lines; a long last cell continues in the lines below."""
    if len(line) <= _COLUMNS:
        return [line]
    cells = line[2:-2].split(" | ")
    which = len(cells) - 1
    if _COLUMNS - (len(line) - len(cells[which])) < _LEAST:
        # A cell without a space, for example a link, cannot be wrapped.
        which = max(range(len(cells)), key=lambda i: (" " in cells[i], len(cells[i])))
    left = _COLUMNS - (len(line) - len(cells[which]))
    start, *rest = _wrapped(cells[which], max(left, 1))
    before, after = "| " * which, " |" * (len(cells) - 1 - which)
    cells[which] = start
    return [f"| {' | '.join(cells)} |", *(f"{before}| {text} |{after}" for text in rest)]


def _wrapped(text: str, columns: int) -> list[str]:
    """Returns the text in lines; code in backquotes is not broken."""
    glued = re.sub("`[^`]*`", lambda code: code.group().replace(" ", "\0"), text)
    lines = textwrap.wrap(glued, columns, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def _narrow(line: str) -> list[str]:
    """Returns the line as several lines that are narrow enough."""
    if line.startswith("| "):
        return _row_lines(line)
    if not line.startswith("    "):
        return _wrapped(line, _COLUMNS) if len(line) > _COLUMNS else [line]
    if len(line) <= _COLUMNS:
        return [line]
    first, *rest = _wrapped(line.strip(), _COLUMNS - len("        ") - len(" \\"))
    lines = [f"    {first}", *(f"        {text}" for text in rest)]
    return [*(f"{text} \\" for text in lines[:-1]), lines[-1]]


def render(techniques: list[Technique], facts: Facts) -> str:
    """Returns the page. `facts` is the content of facts.json."""
    where = (
        f"Run on a simulated {facts['simulate']}."
        if facts["simulate"]
        else f"Measured on {facts['device']}."
    )
    tables: list[str] = []
    sections: list[str] = []
    for group in GROUPS:
        members = [technique for technique in techniques if technique.group == group]
        if not members:
            continue
        tables += ["", f"**{group.capitalize()}**", "", *_HEADER]
        tables += [_row(one, facts["techniques"].get(one.name)) for one in members]
        sections += ["", f"## {group.capitalize()}", ""]
        for one in members:
            sections += _section(one, facts["techniques"].get(one.name), facts["simulate"])
        sections.pop()
    page = _TEMPLATE.read_text().format(
        where=where, tables="\n".join(tables), sections="\n".join(sections)
    )
    return "".join(f"{text}\n" for line in page.splitlines() for text in _narrow(line))
