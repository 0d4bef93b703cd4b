#!/usr/bin/env bash
# fuzz.sh FUZZER SNAPSHOT_TOOL FOLDER [SECONDS]: fuzzes the readers from small good files. What breaks
# them is left in FOLDER.
set -euo pipefail
fuzzer=$1 tool=$2 folder=$3 seconds=${4:-10}
mkdir -p "$folder/seeds" "$folder/corpus"
"$tool" seeds "$folder/seeds"
cd "$folder"
exec "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=16384 -print_final_stats=1 \
  corpus seeds
