"""Several programs use one simulated GPU in turns: every byte stays right, and nobody hangs."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from built import run_vramstow
from sharers import CARD, PATIENCE, SMALL_CARD, Share, Sharer, tables

ASKS_FOR_ROOM = Path(__file__).parent / "programs/asks_for_room.py"
ASKS_FIRST = Path(__file__).parent / "programs/asks_first.py"
LATE_TASK = Path(__file__).parent / "programs/late_task.py"
ONE_ON_TWO_GPUS = Path(__file__).parent / "programs/shares_both.py"
TWO_GPUS = Path(__file__).parent / "programs/shares_two.py"
LONG = os.environ.get("VRAMSTOW_LONG")
KILLS = 500 if LONG else 8


def ctl(folder: Path, sharer: Sharer, *request: str, check: bool = False) -> str:
    """Returns the answer of the program's own process."""
    where = ("--json", "--control-dir", folder / "control")
    ran = run_vramstow("ctl", *where, sharer.child, *request, check=check)
    return ran.stdout + ran.stderr


def test_three_programs_that_do_not_fit_together_all_end_with_every_byte_right(
    share: Share, tmp_path: Path
) -> None:
    lasting = share(300, 100000, 0)
    lasting.wait_for_rounds(1)
    sharers = [share(300, 6, seed) for seed in (1, 2)]
    for sharer in sharers:
        assert sharer.end() == 0, sharer.said()
        assert "all bytes right" in sharer.said()
        assert sharer.waited_for_a_turn()
    lasting.wait_for_rounds(lasting.rounds() + 1)
    lasting.send(signal.SIGUSR1)
    assert lasting.end() == 0, lasting.said()
    # The GPU has room for one of them and 196 MiB of another one.
    assert sum(sharer.shared()["out_bytes"] for sharer in (lasting, *sharers)) > 200 << 20
    assert tables(tmp_path) == []


def test_while_all_fit_nobody_moves_and_nobody_waits(share: Share) -> None:
    sharers = [share(200, 6, seed) for seed in range(2)]
    for sharer in sharers:
        assert sharer.end() == 0, sharer.said()
        shared = sharer.shared()
        # The time in which a request waits for its answer counts, even if there is room.
        del shared["waited_ns"]
        assert set(shared.values()) == {0}
        assert "no process had to wait for its turn on the GPU" in sharer.said()


def test_what_no_turn_can_serve_fails_at_once(share: Share) -> None:
    other = share(300, 1000, 1, 0.2)
    other.wait_for_rounds(1)
    began = time.monotonic()
    too_large = share(700, 1, 2)
    assert too_large.end() == 4, too_large.said()
    assert time.monotonic() - began < PATIENCE / 2
    assert other.process.poll() is None


def test_a_program_that_begins_on_a_full_gpu_gets_its_context(share: Share) -> None:
    lasting = share(108, 100000, 1, card=SMALL_CARD)  # of 128 MiB; a context takes 16 MiB
    lasting.wait_for_rounds(1)
    late = [share(75, 3, seed, card=SMALL_CARD) for seed in (2, 3)]
    for sharer in late:
        assert sharer.end() == 0, sharer.said()
        assert sharer.waited_for_a_turn()
    lasting.wait_for_rounds(lasting.rounds() + 1)


@pytest.mark.parametrize("flags", [("--share=off", "--pool=on"), ()], ids=["alone", "stuck"])
def test_a_context_that_no_turn_can_serve_fails(share: Share, flags: tuple[str, ...]) -> None:
    """The program that fills the GPU does not share it, or its memory cannot move."""
    stuck = ",fail=cuMemHostAlloc:1+,fail=cuMemAllocHost:1+" if not flags else ""
    lasting = share(108, 100000, 1, card=SMALL_CARD + stuck, flags=flags)
    lasting.wait_for_rounds(1)
    late = share(75, 3, 2, card=SMALL_CARD)
    assert late.end() == 4, late.said()
    assert lasting.process.poll() is None, lasting.said()
    assert "wrong bytes" not in lasting.said()


def test_a_program_that_is_killed_while_it_waits_for_a_context_stops_nobody(share: Share) -> None:
    lasting = share(108, 100000, 1, card=SMALL_CARD)
    lasting.wait_for_rounds(1)
    lasting.send(signal.SIGSTOP)  # so it cannot make room
    late = share(75, 3, 2, card=SMALL_CARD)
    time.sleep(1.5)
    assert late.process.poll() is None, late.said()
    late.kill()
    lasting.send(signal.SIGCONT)
    lasting.wait_for_rounds(lasting.rounds() + 1)
    another = share(75, 3, 3, card=SMALL_CARD)
    assert another.end() == 0, another.said()


def told(asking: Sharer) -> list[int]:
    """Returns how much free memory, in MiB, the driver reported to the program each time."""
    assert asking.end() == 0, asking.said()
    return [int(text) for text in re.findall(r"free (\d+) of 512", asking.said())]


def test_a_program_is_told_what_it_can_have_in_its_turn(share: Share) -> None:
    other = share(300, 100000, 1, 0.1)
    other.wait_for_rounds(2)
    before, after = told(share(400, program=ASKS_FOR_ROOM))
    # Two contexts of 16 MiB and the reserve of 8 MiB cannot be had.
    assert 440 <= before <= 472
    # The other program frees and requests memory meanwhile.
    assert 0 <= after <= 72 + 32
    other.wait_for_rounds(other.rounds() + 1)


def test_a_program_is_told_what_is_free_now_if_it_wants(share: Share) -> None:
    other = share(300, 100000, 1, 0.1)
    other.wait_for_rounds(2)
    before, _ = told(share(4, program=ASKS_FOR_ROOM, more=",tells=free"))
    # The other program frees up to a quarter of its memory for a moment.
    assert 172 <= before <= 260


def test_an_idle_program_gives_its_memory_and_gets_it_back(share: Share) -> None:
    idle = share(300, 2, 1, PATIENCE)
    idle.wait_for_rounds(1)
    busy = share(300, 10, 2)
    assert busy.end() == 0, busy.said()
    idle.send(signal.SIGUSR2)
    idle.wait_for_rounds(2)
    idle.send(signal.SIGUSR2)  # it sleeps after its last round, too
    assert idle.end() == 0, idle.said()
    shared = idle.shared()
    assert 0 < shared["in_bytes"] <= shared["out_bytes"]
    assert shared["out_ns"] > 0 and shared["in_ns"] > 0


def test_a_program_that_asks_for_memory_first_keeps_its_turn(share: Share) -> None:
    rounds = 4
    asking = share(48, 24, rounds, 1.5, card=SMALL_CARD, program=ASKS_FIRST)
    asking.wait_for_rounds(1)
    other = share(75, 100000, 2, card=SMALL_CARD)
    assert asking.end() == 0, asking.said()
    assert other.process.poll() is None, other.said()
    # A program that loses its turn before it uses it has several turns in each round.
    assert asking.shared()["turns"] <= 2 * rounds


def test_programs_that_are_killed_and_stopped_at_any_moment_do_not_stop_the_others(
    share: Share, tmp_path: Path
) -> None:
    chance = random.Random(int(os.environ.get("VRAMSTOW_SEED", 1)))
    lasting = share(75, 100000, 0, card=SMALL_CARD)
    for kill in range(KILLS):
        victim = share(75, 100000, kill + 1, card=SMALL_CARD)
        if chance.random() < 0.7:  # the others are killed while they start
            victim.wait_for_rounds(1)
        time.sleep(chance.uniform(0, 0.6))
        if chance.random() < 0.4:
            stopped = chance.choice([lasting, victim])
            stopped.send(signal.SIGSTOP)
            time.sleep(chance.uniform(0, 0.5))
            if stopped is not victim or chance.random() < 0.5:  # a stopped program is killed, too
                stopped.send(signal.SIGCONT)
        victim.send(signal.SIGKILL)
        os.kill(victim.process.pid, signal.SIGCONT)
        assert victim.end() == -signal.SIGKILL
        assert "wrong bytes" not in victim.said()
        lasting.wait_for_rounds(lasting.rounds() + 1)
    lasting.send(signal.SIGKILL)
    lasting.end()
    assert "wrong bytes" not in lasting.said()
    last = share(75, 1, 7, card=SMALL_CARD)
    assert last.end() == 0, last.said()
    assert tables(tmp_path) == []


def test_exchanges_leave_no_host_memory_behind(share: Share) -> None:
    sharers = [share(75, 100000, seed, card=SMALL_CARD) for seed in range(2)]

    def least_of(rounds: int) -> list[int]:
        """Returns the least host memory of each program while it makes so many rounds."""
        least = [sys.maxsize] * len(sharers)
        ends = [sharer.rounds() + rounds for sharer in sharers]
        while any(sharer.rounds() < end for sharer, end in zip(sharers, ends, strict=True)):
            least = [min(few, one.resident_mib()) for few, one in zip(least, sharers, strict=True)]
            time.sleep(0.01)
        return least

    for sharer in sharers:
        sharer.wait_for_rounds(10)
    first = least_of(20)
    for sharer in sharers:
        sharer.wait_for_rounds(sharer.rounds() + (500 if LONG else 30))
    last = least_of(20)
    # Page-locked memory is kept for the next exchange, up to all 75 MiB of a program. Without that,
    # some thirty exchanges would leave ten times as much.
    assert all(end <= begin + 100 for begin, end in zip(first, last, strict=True)), (first, last)


def test_a_stopped_program_is_waited_for_and_shown(share: Share, tmp_path: Path) -> None:
    stopped = share(300, 8, 1)
    stopped.wait_for_rounds(1)
    stopped.send(signal.SIGSTOP)
    waiting = share(300, 2, 2)
    time.sleep(2)
    assert waiting.process.poll() is None
    stopped.send(signal.SIGCONT)
    assert waiting.end() == 0, waiting.said()
    assert stopped.end() == 0, stopped.said()


def away_bytes(folder: Path, sharer: Sharer, monkeypatch: pytest.MonkeyPatch) -> int:
    """Returns how much memory of the program is on the host."""
    link = folder / f"vramstow-share-{os.geteuid()}"
    if not link.exists():
        link.symlink_to(folder / "tables")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    rows = json.loads(run_vramstow("top", "--json", check=True).stdout)["sharing"]
    return sum(row["away_bytes"] for row in rows if row["pid"] == sharer.child)


def test_a_stopped_program_whose_memory_is_away_stops_nobody(
    share: Share, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = share(300, 100000, 1)
    others = [share(300, 100000, seed) for seed in (2, 3)]
    for sharer in (stopped, *others):
        sharer.wait_for_rounds(1)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if away_bytes(tmp_path, stopped, monkeypatch) > 250 << 20:
            stopped.send(signal.SIGSTOP)
            if away_bytes(tmp_path, stopped, monkeypatch) > 250 << 20:
                break
            stopped.send(signal.SIGCONT)
        time.sleep(0.02)
    assert time.monotonic() < end
    for _ in range(3):
        for other in others:
            other.wait_for_rounds(other.rounds() + 1)
    assert away_bytes(tmp_path, stopped, monkeypatch) > 250 << 20
    stopped.send(signal.SIGCONT)
    stopped.wait_for_rounds(stopped.rounds() + 1)


def test_a_task_that_follows_its_launch_late_waits_for_its_memory(share: Share) -> None:
    late = share(300, program=LATE_TASK)
    other = share(300, 100000, 2)
    other.wait_for_rounds(2)
    late.send(signal.SIGUSR2)
    assert late.end() == 0, late.said()
    assert late.shared()["out_bytes"] > 0


def test_jobs_on_two_gpus_have_both_or_none(share: Share, tmp_path: Path) -> None:
    alone = share(260, 100000, 9, card=f"{CARD},count=2")
    alone.wait_for_rounds(1)
    pairs = [share(260, 2, seed, card=f"{CARD},count=2", program=TWO_GPUS) for seed in range(2)]
    for pair in pairs:
        assert pair.end() == 0, pair.said()
    alone.send(signal.SIGUSR1)
    assert alone.end() == 0, alone.said()
    assert all(sharer.said().count("all bytes right") == 2 for sharer in pairs)
    assert all(sharer.waited_for_a_turn() for sharer in pairs)
    assert tables(tmp_path) == []


def rows_of(folder: Path, sharer: Sharer) -> list[dict[str, int]]:
    """Returns what sharing did to the program so far, for each GPU that it uses."""
    return json.loads(ctl(folder, sharer, "stats", check=True))["share"]


def test_a_process_on_two_gpus_shares_both(share: Share, tmp_path: Path) -> None:
    card = f"{CARD},count=2"
    both = [share(260, 100000, seed, card=card, program=ONE_ON_TWO_GPUS) for seed in range(2)]
    for sharer in both:
        sharer.wait_for_rounds(1)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        rows = rows_of(tmp_path, both[0])
        if len(rows) == 2 and all(row["in_bytes"] > 0 for row in rows):
            break
        time.sleep(0.1)
    assert [row["device"] for row in rows] == [0, 1]
    assert all(0 < row["in_bytes"] <= row["out_bytes"] for row in rows)
    pair = share(260, 2, 7, card=card, program=TWO_GPUS)
    assert pair.end() == 0, pair.said()
    assert "all bytes right" in pair.said()
    for sharer in both:
        # Each of them would have ended at its first wrong byte.
        sharer.wait_for_rounds(sharer.rounds() + 1)
        sharer.send(signal.SIGUSR1)
        assert sharer.end() == 0, sharer.said()
    assert tables(tmp_path) == []


def test_stats_and_metrics_have_each_gpu_of_a_process(share: Share, tmp_path: Path) -> None:
    file = tmp_path / "both.prom"
    card = f"{CARD},count=2"
    both = share(
        50, 100000, 1, card=card, flags=(f"--metrics={file},every=1s",), program=ONE_ON_TWO_GPUS
    )
    both.wait_for_rounds(1)
    rows = rows_of(tmp_path, both)
    assert [row["device"] for row in rows] == [0, 1]
    end = time.monotonic() + PATIENCE
    while "vramstow_share_turns_total" not in samples(file) and time.monotonic() < end:
        time.sleep(0.1)
    for device in (0, 1):
        assert f'vramstow_share_turns_total{{device="{device}"' in file.read_text()
    ctl(tmp_path, both, "share", "--pause", check=True)
    rows = rows_of(tmp_path, both)
    assert [row["state"] for row in rows] == ["paused", "paused"]


def test_top_shows_whose_turn_it_is(
    share: Share, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharers = [share(300, 1000, seed) for seed in range(2)]
    (tmp_path / "vramstow-share-0").symlink_to(tmp_path / "tables")
    for sharer in sharers:
        sharer.wait_for_rounds(1)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    if os.geteuid() != 0:
        (tmp_path / f"vramstow-share-{os.geteuid()}").symlink_to(tmp_path / "tables")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        shown = json.loads(run_vramstow("top", "--json", check=True).stdout)["sharing"]
        assert {row["pid"] for row in shown} == {sharer.child for sharer in sharers}
        states = {row["state"] for row in shown}
        # At other moments nobody waits, because a program computes on the host between its rounds.
        if "turn" in states and states & {"waits", "parked"}:
            break
    assert "turn" in states and states & {"waits", "parked"}, shown
    assert sum(row["away_bytes"] for row in shown) > 0
    text = run_vramstow("top", "--once", check=True).stdout
    assert "SHARING" in text and "waited" in text


def samples(file: Path) -> dict[str, float]:
    """Returns the samples of a file of metrics by name, with the label `state` if there is one."""
    found = re.findall(r'^(\w+)\{.*?(,state="\w+")?\} (\S+)$', file.read_text(), re.MULTILINE)
    return {name + state: float(value) for name, state, value in found}


def test_metrics_and_ctl_have_the_turns_of_a_process(share: Share, tmp_path: Path) -> None:
    file = tmp_path / "one.prom"
    one = share(300, 100000, 1, flags=(f"--metrics={file},every=1s",))
    other = share(300, 100000, 2)
    for sharer in (one, other):
        sharer.wait_for_rounds(2)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = samples(file)
        if found.get("vramstow_share_turns_total", 0) > 1 and found.get(
            "vramstow_share_in_bytes_total", 0
        ):
            break
        time.sleep(0.1)
    assert found["vramstow_share_turns_total"] > 1
    assert found["vramstow_share_waited_seconds_total"] > 0
    assert found["vramstow_share_out_bytes_total"] >= found["vramstow_share_in_bytes_total"] > 0
    states = {name: value for name, value in found.items() if "share_state" in name}
    assert sorted(states.values()) == [0.0] * (len(states) - 1) + [1.0] and len(states) >= 5
    [state] = [name for name, value in states.items() if value == 1]
    assert any(word in state for word in ("turn", "waits", "parked"))
    [told] = rows_of(tmp_path, one)
    assert told["turns"] >= found["vramstow_share_turns_total"]
    assert told["out_bytes"] >= found["vramstow_share_out_bytes_total"]
    assert told["state"] in ("turn", "waits", "parked")


def state_of(folder: Path, sharer: Sharer) -> str:
    [row] = rows_of(folder, sharer)
    return row["state"]


def test_a_paused_program_gives_its_memory_until_it_is_resumed(
    share: Share, tmp_path: Path
) -> None:
    paused = share(300, 12, 1)
    paused.wait_for_rounds(1)
    assert json.loads(ctl(tmp_path, paused, "share", "--pause", check=True)) == {"paused": True}
    rounds = paused.rounds()
    other = share(300, 5, 2)
    assert other.end() == 0, other.said()
    # It may have printed one more round, whose work had ended before.
    assert paused.rounds() <= rounds + 1
    assert state_of(tmp_path, paused) == "paused"
    # The traces of running processes say where their tables are.
    rows = json.loads(run_vramstow("top", "--json", check=True).stdout)["sharing"]
    [row] = [row for row in rows if row["pid"] == paused.child]
    assert row["state"] == "paused" and row["away_bytes"] > 0
    assert "paused" in run_vramstow("top", "--once", check=True).stdout
    assert paused.process.poll() is None
    assert json.loads(ctl(tmp_path, paused, "share", "--resume", check=True)) == {"paused": False}
    assert paused.end() == 0, paused.said()
    assert paused.rounds() == 12 and "all bytes right" in paused.said()
    assert paused.shared()["out_bytes"] > 0


def test_groups_and_sizes_of_simulated_gpus_have_turns_of_their_own(share: Share) -> None:
    """Two programs do not fit, and wait for each other; the others have GPUs of their own."""
    sharers = [share(75, 20, seed, card=SMALL_CARD) for seed in range(2)]
    alone = [
        share(75, 20, 2, card=f"{SMALL_CARD},share=other{os.getpid()}"),
        share(75, 20, 3, card="h100,memory=256MiB,context=16MiB"),
    ]
    for sharer in (*sharers, *alone):
        assert sharer.end() == 0, sharer.said()
        assert "all bytes right" in sharer.said()
    assert sum(sharer.shared()["out_bytes"] for sharer in sharers) > 0
    assert [sharer.shared()["out_bytes"] for sharer in alone] == [0, 0]


def test_a_paused_program_ends_without_being_resumed(share: Share, tmp_path: Path) -> None:
    """It sleeps after its only round, so that it ends before it submits more work."""
    paused = share(300, 1, 1, 10 * PATIENCE)
    paused.wait_for_rounds(1)
    ctl(tmp_path, paused, "share", "--pause", check=True)
    other = share(300, 3, 2)
    assert other.end() == 0, other.said()
    os.kill(paused.child, signal.SIGUSR1)
    assert paused.end() == 0, paused.said()
    assert paused.shared()["out_bytes"] == paused.shared()["in_bytes"] > 0
    assert tables(tmp_path) == []


def test_a_process_that_does_not_share_is_not_paused(share: Share, tmp_path: Path) -> None:
    alone = share(50, 100000, 1, flags=("--share=off", "--pool=on"))
    alone.wait_for_rounds(1)
    assert "does not share its GPU" in ctl(tmp_path, alone, "share", "--pause")
    assert "share" not in json.loads(ctl(tmp_path, alone, "stats", check=True))


def test_a_wrong_setting_is_refused_in_one_sentence() -> None:
    for wrong in ("weight=0", "weight=1000", "priority=high", "tells=all", "sometimes"):
        said = run_vramstow("run", f"--share={wrong}", "--", "true")
        assert said.returncode == 2
        assert "write off or on, perhaps with ,weight=N" in said.stderr
