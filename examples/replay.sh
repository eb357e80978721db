#!/usr/bin/env bash
# 500 past jobs on four nodes of eight GPUs under three backfill rules, then on one pool of 32.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

rota replay "$here/../tests/data/philly-500.csv" --on 4x8 --order fifo \
  --backfill off,easy,conservative
rota replay "$here/../tests/data/philly-500.csv" --on flat:32 -o json >replay.json
grep '"wait_seconds"' replay.json
