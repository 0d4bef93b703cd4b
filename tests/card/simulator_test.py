"""The simulator answers as the vendor's library does, as far as a machine without a GPU can test
it."""

from __future__ import annotations

from conftest import functions, simulated, told
from vendor import Release

NOT_INITIALISED = 3
SYMBOL_NOT_FOUND = 1
VERSION_NOT_SUFFICIENT = 2


def first_versions() -> dict[str, int]:
    first: dict[str, int] = {}
    for name, _, version in functions():
        first[name] = min(version, first.get(name, version))
    return first


def test_look_ups_give_the_same(release: Release) -> None:
    answers = simulated("look_ups")
    first = first_versions()
    wrong = {}
    compared = 0
    for key, answer in told("look_ups", release).items():
        name, version, _ = key.rsplit(" ", 2)
        if int(version) > release.cuda:
            continue
        expected = list(answer)
        # The real driver does not know the name, because it is older. The simulated driver is newer
        # and knows it.
        if first.get(name, 0) > release.cuda and expected[1] == SYMBOL_NOT_FOUND:
            expected[1] = VERSION_NOT_SUFFICIENT
        compared += 1
        if answers[key][-len(expected) :] != expected:
            wrong[key] = (answers[key], answer)
    assert compared > 30000
    assert not wrong, list(wrong.items())[:20]


def test_results_have_the_same_names_and_texts(release: Release) -> None:
    answers = simulated("errors")
    known = {key: answer for key, answer in told("errors", release).items() if answer[0] == 0}
    assert len(known) > 70
    # A newer driver could give a result another name than an older driver. So far no result has
    # such a change.
    assert known == {key: answers[key] for key in known}


def test_results_that_nobody_knows_are_answered_alike(release: Release) -> None:
    answers = simulated("errors")
    for key, answer in told("errors", release).items():
        if answers[key][0] != 0:
            assert answers[key] == answer, key


def test_what_needs_cuinit_says_so_before_it_and_after_a_failed_one(release: Release) -> None:
    answers = simulated("uninitialised")
    asked = {
        symbol: answer
        for symbol, answer in told("uninitialised", release).items()
        if answer[0] == NOT_INITIALISED and symbol in answers
    }
    assert len(asked) > 300
    wrong = {
        symbol: (answers[symbol], answer)
        for symbol, answer in asked.items()
        # The answer is not compared if the vendor's library examines the arguments after cuInit has
        # failed: the arguments of this test are not valid.
        if answers[symbol] != [NOT_INITIALISED, NOT_INITIALISED]
    }
    assert not wrong, list(wrong.items())[:20]
