"""Sizes are rounded up by the functions of base/rounding.h, and nowhere by hand."""

from __future__ import annotations

import re

import pytest
import sizes
import tree

HOME = "base/rounding.h"
NAME = r"[\w.:]+(?:->\w+|\(\))*"
BY_HAND = (
    # This pattern is (value + unit - 1) / unit * unit, and the next one has a constant: (value + 7)
    # / 8 * 8.
    re.compile(rf"\+\s*({NAME}) - 1\)\s*/\s*\1\s*\*\s*\1\b"),
    re.compile(r"\+\s*(?P<less>\d+)\)\s*/\s*(?P<unit>\d+)\s*\*\s*(?P=unit)\b"),
    # This pattern is (value + unit - 1) & ~(unit - 1), and the next one has a constant: (value + 7)
    # & ~size_t{7}.
    re.compile(rf"\+\s*({NAME}) - 1\)\s*&\s*~\s*\(\1 - 1\)"),
    re.compile(r"\+\s*(?P<less>\d+)\)\s*&\s*~\s*[\w:]*[{(]?(?P=less)\b"),
    # This pattern is a second definition of RoundUp, AlignUp or DivideUp.
    re.compile(r"\b\w+ (RoundUp|AlignUp|DivideUp)\([^()]*\) \{"),
)


def rounded_by_hand(text: str) -> list[str]:
    return [match[0] for form in BY_HAND for match in form.finditer(text)]


def test_sizes_are_rounded_up_in_one_place() -> None:
    found = {}
    for path in tree.code(".h", ".cc"):
        name = tree.relative(path)
        if not name.startswith(sizes.PRODUCT) or name == HOME:
            continue
        if lines := rounded_by_hand(path.read_text()):
            found[name] = lines
    assert not found, f"use {HOME} in: {found}"


@pytest.mark.parametrize(
    "text",
    [
        "bytes = (bytes + kPage - 1) / kPage * kPage;",
        "at = (at + one.alignment - 1) / one.alignment * one.alignment;",
        "at =\n  (at + one->unit - 1) /\n      one->unit * one->unit;",
        "bytes = (bytes + 15) & ~size_t{15};",
        "bytes = (sums + 255) / 256 * 256;",
        "start = (address + step - 1) & ~(step - 1);",
        "uint64_t RoundUp(uint64_t value, uint64_t unit) {",
    ],
)
def test_what_is_rounded_by_hand_is_found(text: str) -> None:
    assert rounded_by_hand(text)


@pytest.mark.parametrize(
    "text", ["RoundUp(bytes, kPage);", "end / kPage * kPage;", "(a + 1) / b;", "(value + 7) / 8;"]
)
def test_what_is_not_rounded_up_is_left_alone(text: str) -> None:
    assert not rounded_by_hand(text)
