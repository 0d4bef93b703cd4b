"""Tests the recipes for continuous integration: their schemas, and their own steps, which are read
from the YAML and run in bash. Fake services receive the comments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import formats_python
import pytest
from built import ROOT, VRAMSTOW, run_program
from installation import CUDA_BEGINS

RECIPES = ROOT / "docs/recipes/ci"
MARK = "<!-- vramstow: what a change does to device memory -->"

TRAIN = (
    CUDA_BEGINS
    + """
for _ in range({blocks}):
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(16 << 20)) == 0
raise SystemExit({status})
"""
)
# Records the arguments of pip install; passes every other call to the real Python.
PYTHON = """#!/usr/bin/env bash
if [ "$1 $2 $3" = "-m pip install" ]; then echo "${@:4}" >>"$STAND_IN/pip.txt"; exit 0; fi
exec %s "$@"
"""
# Stores the comments of a pull request in a file, and checks the arguments of the calls.
GH = """#!%s
import json, os, re, sys
from pathlib import Path
words = sys.argv[1:]
assert words[0] == "api" and os.environ["GH_TOKEN"] == "a-token", words
file = Path(os.environ["STAND_IN"]) / "comments.json"
comments = json.loads(file.read_text())
if os.environ.get("GH_REFUSES"):
    sys.exit("HTTP 403: Resource not accessible by integration")
if "--jq" in words:
    assert words[1:3] == ["--paginate", "repos/some/where/issues/7/comments"]
    assert words[4] == '.[] | select(.body | startswith("<!-- vramstow:")) | .id'
    print(*[n for n, body in comments if body.startswith("<!-- vramstow:")], sep="\\n")
    sys.exit()
assert words[1:3] == ["--silent", "--method"] and words[5] == "-F"
field, _, source = words[6].partition("=@")
assert field == "body"
body = Path(source).read_text()
if words[3] == "POST":
    assert words[4] == "repos/some/where/issues/7/comments"
    comments.append([100 + len(comments), body])
else:
    assert words[3] == "PATCH"
    number = int(re.fullmatch(r"repos/some/where/issues/comments/(\\d+)", words[4])[1])
    comments = [[n, body if n == number else old] for n, old in comments]
file.write_text(json.dumps(comments))
"""


def read(recipe: Path) -> dict[str, Any]:
    code = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"
    told = run_program("/usr/bin/python3", "-c", code, stdin=recipe.open(), check=True, timeout=60)
    return json.loads(told.stdout)


class Change:
    """A clone of a repository with a change: three blocks instead of two."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tree = folder / "tree"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("VRAMSTOW", "REHEARSED", "GITHUB", "CI_"))
        }
        stand_in = folder / "stand-in"
        stand_in.mkdir()
        (stand_in / "comments.json").write_text('[[99, "Looks good."]]')
        for name, text in (("python", PYTHON), ("gh", GH)):
            (stand_in / name).write_text(text % sys.executable)
            (stand_in / name).chmod(0o755)
        self.environment |= {
            "PATH": f"{stand_in}:{VRAMSTOW.parent}:{os.environ['PATH']}",
            "STAND_IN": str(stand_in),
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }
        for who in ("AUTHOR", "COMMITTER"):
            self.environment |= {f"GIT_{who}_NAME": "A", f"GIT_{who}_EMAIL": "a@example.com"}
        self.git("init", "-q", "-b", "main", "upstream", cwd=folder)
        self.base = self.commit(folder / "upstream", blocks=2)
        self.git("clone", "-q", "upstream", "tree", cwd=folder)
        self.git("checkout", "-q", "-b", "change")
        (self.tree / ".vramstow").symlink_to(RECIPES)
        self.commit(self.tree, blocks=3)

    def git(self, *words: str, cwd: Path | None = None) -> str:
        return run_program(
            "git", *words, cwd=cwd or self.tree, env=self.environment, check=True, timeout=60
        ).stdout.strip()

    def commit(self, tree: Path, blocks: int, status: int = 0) -> str:
        (tree / "train.py").write_text(TRAIN.format(blocks=blocks, status=status))
        self.git("add", "-A", cwd=tree)
        self.git("commit", "-q", "-m", f"{blocks} blocks", cwd=tree)
        return self.git("rev-parse", "HEAD", cwd=tree)

    def bash(self, script: str, **more: str) -> subprocess.CompletedProcess[str]:
        return run_program(
            *("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script),
            cwd=self.tree,
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )

    def comments(self) -> list[str]:
        stored = json.loads((self.folder / "stand-in/comments.json").read_text())
        return [body for _, body in stored]


@pytest.fixture
def change(tmp_path: Path) -> Change:
    return Change(tmp_path)


@pytest.mark.parametrize(
    ("file", "schema"),
    [
        (RECIPES / "action.yml", "github-actions"),
        (RECIPES / "gitlab.yml", "gitlab-ci"),
        (ROOT / ".github/workflows/checks.yml", "github-workflows"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_they_are_as_their_schema_wants_them(file: Path, schema: str) -> None:
    python = formats_python.need("check_jsonschema")
    command = [python, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    checked = run_program(*command, file, timeout=120)
    assert checked.returncode == 0, checked.stdout + checked.stderr


class Action:
    """Executes action.yml as a runner does: expressions, steps, outputs."""

    def __init__(self, change: Change, event: str = "pull_request", **inputs: str) -> None:
        self.change = change
        self.recipe = read(RECIPES / "action.yml")
        self.known = {
            "github.event_name": event,
            "github.repository": "some/where",
            "github.token": "a-token",
            "github.event.pull_request.number": "7",
            "github.event.pull_request.base.sha": change.base,
        }
        for name, told in self.recipe["inputs"].items():
            if name not in inputs:
                assert "default" in told, f"{name} is required"
            self.known[f"inputs.{name}"] = self.expand(inputs.get(name, told.get("default")))
        assert set(inputs) <= set(self.recipe["inputs"])

    def expand(self, text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda found: self.known[found[1]], text)

    def run(self, **more: str) -> subprocess.CompletedProcess[str]:
        """Executes the steps until one fails; returns the last one."""
        folder = self.change.folder
        for step in self.recipe["runs"]["steps"]:
            if "if" in step:
                left, _, right = step["if"].partition(" == ")
                if self.known[left] != right.strip("'"):
                    continue
            assert step["shell"] == "bash" and "${{" not in step["run"]
            told = folder / "output.txt"
            told.write_text("")
            given = {name: self.expand(text) for name, text in step.get("env", {}).items()}
            places = {
                "GITHUB_OUTPUT": str(told),
                "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
                "GITHUB_ACTION_PATH": str(RECIPES),
                "RUNNER_TEMP": str(folder / "temporary"),
            }
            done = self.change.bash(step["run"], **given, **places, **more)
            for line in told.read_text().splitlines():
                name, _, value = line.partition("=")
                self.known[f"steps.{step['id']}.outputs.{name}"] = value
            if done.returncode != 0:
                break
        return done


def test_the_action_comments_once_and_then_renews_its_comment(change: Change) -> None:
    inputs = {"install": "a wheel.whl", "job": f"{sys.executable} train.py"}
    done = Action(change, **inputs).run()
    assert done.returncode == 0, done.stderr
    assert (change.folder / "stand-in/pip.txt").read_text() == "--quiet a wheel.whl\n"
    first, ours = change.comments()
    assert first == "Looks good."
    assert ours.startswith(f"{MARK}\n### Device memory: peak 32.0 MiB → 48.0 MiB (+50.0%)\n")
    assert (change.folder / "summary.md").read_text() == ours
    change.commit(change.tree, blocks=2)
    assert Action(change, **inputs).run().returncode == 0
    assert len(change.comments()) == 2
    assert "peak 32.0 MiB → 32.0 MiB (unchanged)" in change.comments()[1]
    # The working tree of the base was removed.
    assert change.git("worktree", "list").count("\n") == 0


def test_a_token_that_may_not_write_leaves_the_summary(change: Change) -> None:
    action = Action(change, install="x", job=f"{sys.executable} train.py")
    done = action.run(GH_REFUSES="1")
    assert done.returncode == 0 and len(change.comments()) == 1
    assert "+50.0%" in (change.folder / "summary.md").read_text()


def test_on_a_push_the_action_comments_nowhere(change: Change) -> None:
    inputs = {"install": "x", "job": f"{sys.executable} train.py", "base": change.base}
    assert Action(change, event="push", **inputs).run().returncode == 0
    assert len(change.comments()) == 1


def test_a_job_that_fails_fails_the_action_after_the_comment(change: Change) -> None:
    change.commit(change.tree, blocks=4, status=3)
    done = Action(change, install="x", job=f"{sys.executable} train.py").run()
    assert done.returncode == 3 and "vramstow" in done.stdout
    assert "peak 32.0 MiB → 64.0 MiB" in change.comments()[1]
    assert "**The job ends with status 3 on a simulated h200.**" in change.comments()[1]


def test_what_has_to_hold_fails_the_action(change: Change) -> None:
    inputs = {"install": "x", "job": f"{sys.executable} train.py"}
    held = {"assert": "peak_allocated <= 48MiB"}
    assert Action(change, **inputs, **held).run().returncode == 0
    assert "holds:\n\n    peak_allocated <= 48MiB" in change.comments()[1]
    broken = {"assert": "peak_allocated <= 40MiB"}
    assert Action(change, **inputs, **broken).run().returncode == 1
    assert "**What has to hold, does not:**" in change.comments()[1]


def test_a_job_that_the_base_does_not_have_is_told_alone(change: Change) -> None:
    (change.tree / "new.py").write_text(TRAIN.format(blocks=1, status=0))
    assert Action(change, install="x", job=f"{sys.executable} new.py").run().returncode == 0
    assert "At the base the job used no card (status 2)." in change.comments()[1]
    assert "16.0 MiB" in change.comments()[1] and str(change.folder) not in change.comments()[1]


def test_a_base_that_was_not_fetched_is_fetched(change: Change) -> None:
    """Uses a shallow clone, as runners make it."""
    change.base = change.commit(change.folder / "upstream", blocks=1)
    assert Action(change, install="x", job=f"{sys.executable} train.py").run().returncode == 0
    assert "peak 16.0 MiB → 48.0 MiB" in change.comments()[1]


@contextmanager
def notes_of_gitlab(notes: list[dict[str, Any]]) -> Iterator[str]:
    """Starts a service with the notes of one merge request; returns its address."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self, told: object) -> None:
            body = json.dumps(told).encode()
            right = self.headers["PRIVATE-TOKEN"] == "a-token"
            self.send_response(200 if right else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def text(self) -> str:
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            return parse_qs(sent)["body"][0]

        def do_GET(self) -> None:
            assert self.path == "/projects/5/merge_requests/7/notes?per_page=100"
            self.answer(notes)

        def do_POST(self) -> None:
            assert self.path == "/projects/5/merge_requests/7/notes"
            notes.append({"id": 100 + len(notes), "body": self.text()})
            self.answer(notes[-1])

        def do_PUT(self) -> None:
            [note] = [note for note in notes if self.path.endswith(f"/notes/{note['id']}")]
            note["body"] = self.text()
            self.answer(note)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def gitlab(change: Change, address: str, **more: str) -> tuple[int, str]:
    """Executes the template as GitLab's runner does: script in one shell, then after_script."""
    job = read(RECIPES / "gitlab.yml")[".vramstow"]
    given = {
        "CI_API_V4_URL": address,
        "CI_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": change.base,
        "REHEARSED_INSTALL": "a wheel.whl",
        "REHEARSED_JOB": f"{sys.executable} train.py",
        **more,
    }
    environment = job["variables"] | given
    done = change.bash("\n".join(job["before_script"] + job["script"]), **environment)
    after = change.bash("\n".join(job["after_script"]), **environment)
    assert after.returncode == 0, after.stderr
    for path in job["artifacts"]["paths"]:
        assert (change.tree / path).is_dir()
    return done.returncode, done.stdout


def test_gitlabs_template_comments_once_and_then_renews_its_comment(change: Change) -> None:
    notes = [{"id": 99, "body": "Looks good."}]
    with notes_of_gitlab(notes) as address:
        status, said = gitlab(change, address, REHEARSED_TOKEN="a-token")
        assert status == 0 and "+50.0%" in said
        assert len(notes) == 2
        assert notes[1]["body"].startswith(f"{MARK}\n### Device memory: peak 32.0 MiB → 48.0 MiB")
        change.commit(change.tree, blocks=5, status=4)
        status, _ = gitlab(change, address, REHEARSED_TOKEN="a-token")
        assert status == 4 and len(notes) == 2
        assert "peak 32.0 MiB → 80.0 MiB" in notes[1]["body"]
    assert notes[0]["body"] == "Looks good."


def test_without_a_token_gitlab_has_the_log(change: Change) -> None:
    notes: list[dict[str, Any]] = []
    with notes_of_gitlab(notes) as address:
        status, said = gitlab(change, address)
    assert status == 0 and "+50.0%" in said and notes == []


def test_the_script_says_what_it_needs(change: Change) -> None:
    for given, said in (
        ({}, "REHEARSED_JOB: is the job"),
        ({"REHEARSED_JOB": "true"}, "REHEARSED_BASE: is the commit"),
    ):
        done = change.bash(f"{RECIPES}/rehearse-change.sh out", **given)
        assert done.returncode != 0 and said in done.stderr
