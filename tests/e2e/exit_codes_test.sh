#!/usr/bin/env bash
# Exit codes of run and wait, signals, Ctrl-C, limits, refusals.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
start_daemon 4xh100

expect 0 rota run -G 1 -- true
expect 1 rota run -G 1 -- false
expect 7 rota run -G 0 -- sh -c 'echo out; echo err >&2; exit 7'
same "$OUT" "out"
[[ $ERR == *err ]] || fail "the error output is not there: $ERR"
same "$(ls)" ""
expect 137 rota run -G 1 -- sh -c 'kill -KILL $$'
expect 143 rota run -G 1 -- sh -c 'kill -TERM $$'
expect 124 rota run -G 1 -t 1s --grace 1s -- sleep 30
complains "timeout: its time limit of 1s"

# A command that cannot start says why, wherever one looks.
expect 127 rota run -G 1 -- no-such-program-here
complains "failed: exit code 127 (cannot run 'no-such-program-here': No such file or directory)"
expect 127 rota wait @
says "failed: exit code 127 (cannot run 'no-such-program-here': No such file or directory)"
expect 0 rota why @
says "It failed: exit code 127 (cannot run 'no-such-program-here': No such file or directory)."
expect 0 rota show @
says "cannot run 'no-such-program-here'"
expect 0 rota logs @
complains "cannot run 'no-such-program-here'"
touch not-a-program
expect 126 rota run -G 1 -- ./not-a-program
complains "cannot run './not-a-program': Permission denied"
expect 126 rota run -G 1 -D /no/such/folder -- true
complains "cannot enter the folder /no/such/folder: No such file or directory"

# What the job reads and writes.
expect 0 rota run -G 2 --env COLOUR=red -- sh -c 'echo $COLOUR $ROTA_JOB_ID $CUDA_VISIBLE_DEVICES'
[[ $OUT =~ ^red\ [0-9]+\ [0-9],[0-9]$ ]] || fail "unexpected output '$OUT'"
expect 0 rota run -G 1 -D / -- pwd
same "$OUT" "/"
expect 0 rota run -G 1 -- printf 'no line end'
same "$OUT" "no line end"

# wait returns the first failure, in the order given.
expect 0 rota submit --parsable --wrap 'exit 3'
first=$OUT
expect 0 rota submit --parsable --wrap 'exit 0'
expect 3 rota wait "$OUT" "$first"
expect 3 rota wait "$first"
expect 4 rota submit --wait --wrap 'exit 4'
expect 0 rota submit -W --wrap 'exit 0'

# Ctrl-C ends the job; run and wait give the same code.
"$ROTA_BIN" run -G 1 -- sleep 60 >/dev/null 2>"$TEST_DIR/run.err" &
runner=$!
for _ in $(seq 100); do [ -n "$(rota ls --state running -o name)" ] && break; sleep 0.1; done
id=$(rota ls --state running -o name)
kill -INT $runner
code=0
wait $runner || code=$?
same "$code" 143
same "$(field "$id" state)" cancelled
expect 143 rota wait "$id"
says "job $id cancelled: SIGTERM"

# No such object; refusals; wrong use.
expect 3 rota show 9999
expect 3 rota why 9999
expect 3 rota cancel 9999
expect 3 rota logs 9999
expect 3 rota wait 9999
expect 3 rota drain nowhere
expect 4 rota submit -G 64 -- true
complains "4"
expect 4 rota submit -G b200:1 -- true
expect 0 rota submit --hold-infeasible --parsable -G 64 -- true
expect 0 rota why "$OUT"
expect 3 rota submit --queue nowhere -- true
expect 3 rota submit --on nowhere -- true
complains "--on: there is no pool or node 'nowhere'; pools: none; nodes: sim1"
expect 3 rota ls --queue nowhere
expect 3 rota ls --array 9999
expect 3 rota history --array 9999
expect 0 rota submit --parsable -H -G 1 -- true
held=$OUT
expect 3 rota update "$held" --queue nowhere
expect 4 rota update "$held" --gpus 64
complains "can never run it"
same "$(field "$held" gpus)" 1.0
expect 0 rota submit --dry-run -G 1 -- true
says "would start now"
says "Nothing was submitted"
