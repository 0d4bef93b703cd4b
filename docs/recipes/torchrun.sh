#!/usr/bin/env bash
# One machine, several ranks: torchrun under vramstow, one trace for each rank, all of them compared.
# Usage: torchrun.sh RANKS SCRIPT [ARGUMENTS…]
#   VRAMSTOW_SIMULATE=h200,count=2   rehearse it on as many simulated cards
#   RUNS=folder                      where the traces go; default: runs
set -euo pipefail

ranks=$1
shift
# A folder for each run, so that its ranks are compared with one another and with nobody else.
traces="${RUNS:-runs}/$(date +%Y%m%d-%H%M%S)-$$"
mkdir -p "$traces"

# vramstow stands outside: torchrun and all of its workers inherit the preload.
status=0
vramstow run --stacks=sites --trace-dir "$traces" -- \
  python -m torch.distributed.run --standalone --nproc-per-node "$ranks" "$@" || status=$?

vramstow analyze "$traces"
exit "$status"
