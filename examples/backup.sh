#!/usr/bin/env bash
# A consistent copy of a running daemon's database, and a second daemon started from it.
# Needs ROTA_STATE, the running daemon's state folder.
set -euo pipefail

id=$(rota submit --parsable --gpus 1 --time 1m --job-name kept -- true)
rota wait "$id"

mkdir -p restored
rm -f restored/rota.db
sqlite3 "$ROTA_STATE/rota.db" "VACUUM INTO 'restored/rota.db'"

# Elsewhere, or later: a daemon with that folder knows the job.
export ROTA_SOCKET=$PWD/restored.sock
rota serve --background --simulate 2x4xh100 --state "$PWD/restored" --port off
rota history -o json | grep '"name": "kept"'
rota stop
