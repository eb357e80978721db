#!/usr/bin/env bash
# The demonstration runs its story through, checks it and leaves nothing behind.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
unset ROTA_SOCKET
export XDG_RUNTIME_DIR=$TEST_DIR/run TMPDIR=$TEST_DIR/tmp ROTA_SOCKET=$TEST_DIR/unused.sock
mkdir -p "$XDG_RUNTIME_DIR" "$TMPDIR"

expect 0 rota demo --exit --simulate 2x4xh100
says "ok    job 1 was preempted once, for job 4"
says "ok    job 5 was backfilled"
says "ok    job 7 waited, then got all GPUs"
[[ $OUT != *WRONG* ]] || fail "a check of the story does not hold: $OUT"
[[ $OUT != *$'\033'* ]] || fail "colours without a terminal"
same "$(ls "$TMPDIR")" ""
