#!/usr/bin/env bash
# Instructions of one operation of the engine, counted by callgrind: JSON, one line an operation.
# usage: bench/instructions.sh [PROGRAM]
set -euo pipefail
program=${1:-build/release/bench-bin/instruction_count}
command -v valgrind >/dev/null || { echo "instructions.sh: valgrind is missing" >&2; exit 1; }

collected() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" 2>&1 |
    sed -n 's/^.*Collected : \([0-9]*\).*/\1/p'
}

per_round() {
  local operation=$1 nodes=$2 few=$3 many=$4 before after
  before=$(collected "$operation" "$nodes" "$few")
  after=$(collected "$operation" "$nodes" "$many")
  printf '{"operation":"%s","nodes":%d,"instructions":%d}\n' \
    "$operation" "$nodes" $(((after - before) / (many - few)))
}

for nodes in 1000 12500 100000; do
  per_round place "$nodes" 2000 12000
done
for nodes in 1000 12500 100000; do
  per_round gang512 "$nodes" 20 120
done
per_round gang4096 12500 10 40
per_round gang4096 100000 10 40
per_round place_by_mix 1213 1000 3000
per_round place_by_mix 12500 1000 3000
