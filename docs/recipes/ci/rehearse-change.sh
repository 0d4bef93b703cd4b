#!/usr/bin/env bash
# Rehearses a job twice on a simulated card, at the base of a change and at the change, and writes what
# moved as Markdown. The recipes beside this file for GitHub and GitLab call it; it runs by hand, too:
#
#   REHEARSED_JOB='python train.py --steps 5' REHEARSED_BASE=main rehearse-change.sh rehearsal
#
# In FOLDER: base/ and change/ (traces), base.log and change.log (what the job said), comment.md.
# Exit status: 0; that of the job at the change, if it failed; 1 if the assertion does not hold.
set -euo pipefail

: "${1:?names the folder to write}"
: "${REHEARSED_JOB:?is the job, as one line for a shell}"
: "${REHEARSED_BASE:?is the commit to compare with}"
card=${REHEARSED_CARD:-h200}       # vramstow run --simulate=help lists them
prepare=${REHEARSED_PREPARE:-:}    # one line for a shell, before the job, in both trees
assertion=${REHEARSED_ASSERT:-}    # 'peak_reserved <= 20GiB', see vramstow check
mkdir -p "$1"
folder=$(cd "$1" && pwd)
rm -rf "$folder/base" "$folder/change" "$folder/tree"

# rehearse NAME TREE: its traces and its log get this name.
rehearse() {
  mkdir "$folder/$1"
  (cd "$2" && bash -c "$prepare" &&
    vramstow run --simulate="$card" --trace-dir="$folder/$1" -- bash -c "$REHEARSED_JOB") \
    >"$folder/$1.log" 2>&1
}
has_traces() { compgen -G "$folder/$1/*.stow" >/dev/null; }
# Strangers read a comment, so what identifies the machine is left out.
quoted() { sed 's/^/    /'; }

status=0
rehearse change . || status=$?
git cat-file -e "$REHEARSED_BASE^{commit}" 2>/dev/null ||
  git fetch --quiet --no-tags --depth=1 origin "$REHEARSED_BASE"
git worktree prune
git worktree add --quiet --force --detach "$folder/tree" "$(git rev-parse --verify --quiet \
  "$REHEARSED_BASE^{commit}" || echo FETCH_HEAD)"
base_status=0
rehearse base "$folder/tree" || base_status=$?
git worktree remove --force "$folder/tree"

{
  echo '<!-- vramstow: what a change does to device memory -->'
  if has_traces base && has_traces change; then
    vramstow diff "$folder/base" "$folder/change" --to markdown
  elif has_traces change; then
    printf '### Device memory\n\nAt the base the job used no card (status %s). Here:\n\n' "$base_status"
    vramstow analyze --redact "$folder/change" | head -n 12 | quoted
  else
    printf '### Device memory\n\nThe job used no card.\n'
  fi
  if [ "$status" -ne 0 ]; then
    printf '\n**The job ends with status %s on a simulated %s.**\n\n' "$status" "$card"
    if has_traces change; then vramstow analyze --redact "$folder/change" | head -n 5 | quoted; fi
  fi
  if [ -n "$assertion" ] && has_traces change; then
    if held=$(vramstow check "$folder/change" --assert "$assertion" 2>&1); then
      printf '\nWhat has to hold, holds:\n\n%s\n' "$(quoted <<<"$assertion")"
    else
      printf '\n**What has to hold, does not:**\n\n%s\n' "$(quoted <<<"$held")"
      [ "$status" -ne 0 ] || status=1
    fi
  fi
  printf '\nRun on a simulated %s:\n\n%s\n' "$card" "$(quoted <<<"$REHEARSED_JOB")"
} >"$folder/comment.md"
exit "$status"
