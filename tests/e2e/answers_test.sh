#!/usr/bin/env bash
# What commands answer while jobs wait, run and end: in words that say enough, and once.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
start_daemon 2x4xh100

# --- run that waits says so at once, without a terminal too ---------------------------------------
expect 0 rota submit --parsable -N 2 -G 4 --time 10m --min-runtime all -- sleep 600
holder=$OUT
wait_state "$holder" running
"$ROTA_BIN" run --gpus 1 -- echo hello >run.out 2>run.err &
runner=$!
for _ in $(seq 100); do grep -q waits run.err && break; sleep 0.1; done
grep -q "job 2 waits for its turn. Needs 1 GPU, but none is free" run.err || fail "$(cat run.err)"
grep -q "Expected start: 20" run.err || fail "no estimate: $(cat run.err)"
same "$(grep -c waits run.err)" 1

# --- a waiting job --------------------------------------------------------------------------------
expect 0 rota why 2
says "Needs 1 GPU, but none is free"
same "$(grep -c 'Needs 1 GPU' <<<"$OUT")" 1
same "$(grep -c 'Expected start' <<<"$OUT")" 1
[[ $OUT != *"Expected to start"* ]] || fail "the expected start stands twice: $OUT"
expect 0 rota logs 2
complains "job 2 has not started yet; see \`rota why 2\`"
expect 0 rota why 2 "$holder"
says "Job 2: Needs 1 GPU"
says "Job $holder: It is running on sim1:0-3 sim2:0-3 since 20"
says "it is never preempted; its time limit of 10m ends it at 20"
expect 0 rota show 2 -o json
[[ $OUT != *'"started"'* && $OUT != *'"array_index"'* ]] || fail "what is unknown is there: $OUT"
[[ $OUT != *': ""'* ]] || fail "an empty text stands for nothing: $OUT"
expect 0 rota submit --dry-run --json --gpus 1 -- true
[[ $OUT != *'"id"'* && $OUT != *'"state"'* ]] || fail "a preview has no id and no state: $OUT"
expect 0 rota cancel @
says "job 2 is cancelled"
code=0
wait $runner || code=$?
same "$code" 1
grep -q "rota: job 2 cancelled" run.err || fail "$(cat run.err)"
expect 0 rota logs 2
complains "job 2 wrote nothing: it never started, cancelled"

# --- other people's output is denied, and not called silent ---------------------------------------
if [ "$(id -u)" = 0 ] && runuser -u nobody -- test -x "$ROTA_BIN" 2>/dev/null; then
  chmod 711 "$TEST_DIR"
  for follow in "" -f; do
    expect 6 runuser -u nobody -- "$ROTA_BIN" logs $follow "$holder"
    complains "job $holder belongs to root; only its owner or an administrator may do this"
  done
fi

# --- arrays ---------------------------------------------------------------------------------------
expect 0 rota submit --parsable --array 1-6 --gpus 1 --time 1m -- true
array=$OUT
expect 0 rota why "$array"
says "Array $array: 6 jobs"
says "6 pending ($array.1, $array.2, $array.3, $array.4, ..., $array.6): Needs 1 GPU"
expect 0 rota why "$array" -o json
same "$(grep -c '"summary"' <<<"$OUT")" 6
expect 0 rota update "$array" --priority 3
says "6 jobs of array $array are updated"
expect 0 rota hold @
says "6 jobs of array $array are on hold (6 pending)"
expect 0 rota release "$array.2"
says "job $array.2 is released"
expect 0 rota cancel "$array"
says "6 jobs of array $array are cancelled"
expect 0 rota logs "$array"
complains "this is job $array.1 of array $array"
expect 0 rota redo "$array"
says "$array again: 6 jobs"
expect 0 rota events --job "$array"
says "job $array.6"
expect 0 rota cancel @
expect 1 rota hold "$array" -o wide
same "$OUT" ""
[[ $ERR != *"No job waits"* ]] || fail "a failed hold speaks of other jobs: $ERR"

# --- nodes, queues, names -------------------------------------------------------------------------
expect 0 rota drain sim2 --reason "new fan"
says "node sim2 is draining (new fan), 1 job on it"
expect 0 rota drain sim2
says "(new fan)"
expect 0 rota undrain sim2
expect 0 rota queue set vision
expect 0 rota submit --parsable --queue vision -G 1 --hold -- true
held=$OUT
expect 1 rota queue set small --parent vision
complains "queue vision has jobs"
expect 0 rota cancel "$held"
expect 0 rota queue set small --parent vision
complains "queue vision takes no jobs itself from now on; they go to small"
expect 2 rota submit --queue vision -- true
complains "queue vision has children (small)"
printf '#!/bin/sh\n#SBATCH -G 1\n#SBATCH -p gpu\ntrue\n' >train.sh
expect 3 rota submit train.sh
complains "train.sh:3:9: there is no pool or node 'gpu'; pools: none; nodes: sim1, sim2"
expect 4 rota submit -G a100:1 -- true
complains "no node has a GPU of model a100; there are: h100"
expect 4 rota submit --mig 1g.10gb -- true
complains "no GPU here is cut into MIG instances"
printf '#!/bin/sh\nexit 3\n' >train.sh
expect 0 rota submit --parsable -G 0 train.sh
id=$OUT
expect 3 rota wait "$id"
says "job $id failed: exit code 3"
same "$(field "$id" command)" train.sh
expect 0 rota events --job "$id"
says "job $id (train.sh) failed: exit code 3"
expect 0 rota why "$id"
says "It failed: exit code 3."

# --- a gang's other output ------------------------------------------------------------------------
expect 0 rota run -N 2 -G 0 --time 1m -- sh -c 'echo rank $ROTA_NODE_RANK'
same "$OUT" "rank 0"
complains "this is the output of rank 0; of the others: rota logs --rank 1"
expect 0 rota logs --rank 1 @
same "$OUT" "rank 1"

# --- requeue --------------------------------------------------------------------------------------
expect 0 rota submit --parsable -G 0 --begin now -- true
again=$OUT
expect 0 rota wait "$again"
submitted=$(field "$again" submitted)
expect 0 rota requeue "$again"
says "job $again is requeued"
expect 0 rota wait "$again"
same "$(field "$again" submitted)" "$submitted"

# --- history --------------------------------------------------------------------------------------
expect 0 rota history --limit 2 -o name
same "$OUT" "$(printf '%s\n' "$((again - 1))" "$again")"
complains "The latest 2 are shown; more: --limit N"
expect 0 rota history --all -o name
same "$ERR" ""
expect 0 rota history --since yesterday --state failed -o name
same "$OUT" "$id"

expect 0 rota history --limit 1 -o name
complains "The latest one is shown; more: --limit N"
expect 0 rota history --since 2200-01-01
complains "No job that has ended matches."

expect 2 rota queue set vision --quota 9000000
complains "rota: --quota: must be between 0 and 1000000"

# --- a member by each of its names ----------------------------------------------------------------
expect 0 rota submit --parsable --array 1-3 -G 0 --hold -- sh -c 'echo $ROTA_ARRAY_TASK_ID'
array=$OUT
second=$((array + 2))
expect 0 rota show "$second" -o name
same "$OUT" "$array.2"
expect 0 rota why "$second"
[[ $OUT != *Array* ]] || fail "a member's number means its array: $OUT"
expect 0 rota release "$second"
says "job $array.2 is released"
expect 0 rota wait "$second"
says "job $array.2 done"
expect 0 rota logs "$second"
same "$OUT" 2
same "$ERR" ""
expect 0 rota redo "$second"
says "submitted job $((array + 4)).2, $array.2 again"
expect 0 rota wait @
expect 0 rota logs @
same "$OUT" 2
expect 0 rota redo "$array.2"
expect 0 rota wait @
expect 0 rota ls --array @ --all -o name
same "$(wc -l <<<"$OUT")" 1
expect 0 rota redo "$array"
says "$array again: 3 jobs"
expect 0 rota wait @
expect 1 rota cancel @
complains "all 3 jobs of array $((array + 8)) have ended (3 done); to run it again: rota redo"
expect 1 rota update @ --priority 3
complains "all 3 jobs of array $((array + 8)) have ended"
expect 0 rota cancel "$array"
expect 0 rota submit --parsable -G 0 --param lr=.1,.2,.3 --name-template 'lr{lr}-{index}' \
  --output 'lr-%a.out' -- sh -c 'echo $lr {index}'
sweep=$OUT
expect 0 rota wait "$sweep"
expect 0 rota redo "$sweep.2"
expect 0 rota wait @
expect 0 rota logs @
same "$OUT" ".2 2"
same "$(field @ name)" lr.2-2
same "$(cat lr-1.out)" ".1 1"

# --- releases, dry runs, refusals -----------------------------------------------------------------
expect 0 rota submit --parsable -G 0 -- sleep 600
runs=$OUT
wait_state "$runs" running
expect 0 rota release "$runs"
same "$OUT" "job $runs was not held"
expect 0 rota cancel "$runs"
expect 0 rota submit --dry-run -G 0 --array 1-6 -- true
says "an array of 6 jobs; of the first one:"
expect 0 rota submit --dry-run -G 0 --param a=1,2 -- true
says "a sweep of 2 jobs; of the first one:"
expect 3 rota submit --wait -G 0 --wrap 'exit 3'
failed=$(rota history --limit 1 -o name 2>/dev/null)
for way in "" --dry-run; do
  expect 4 rota submit $way -G 0 --afterok "$failed" -- true
  [[ "$OUT$ERR" == *"can never be met: job $failed has not succeeded (failed, exit code 3)"* ]] ||
    fail "$OUT$ERR"
  [[ "$OUT$ERR" != *"rota nodes"* ]] || fail "$OUT$ERR"
  expect 4 rota submit $way -G 1 --gpu-mem 200G -- true
  [[ "$OUT$ERR" == *"no GPU here has 200GiB of memory; the most is 80GiB"* ]] || fail "$OUT$ERR"
done
expect 4 rota submit -N 2 --min-tasks 1 -- true
complains "--min-tasks: this back-end cannot add tasks"
expect 4 rota submit --min-runtime 30000d -- true
complains "rota: --min-runtime: the policy allows"
expect 2 rota submit --grace 2h -- true
complains "rota: --grace: the grace between signal and kill is at most 10m"

# --- times on the local clock ---------------------------------------------------------------------
expect 0 env TZ=XYZ-2 "$ROTA_BIN" submit -G 0 --begin 2200-12-24T09:00 -- true
says ", not before 2200-12-24T07:00:00Z (in "
expect 0 env TZ=XYZ-2 "$ROTA_BIN" update @ --begin 2200-12-24T09:30
says ", not before 2200-12-24T07:30:00Z (in "
expect 0 env TZ=XYZ+3 "$ROTA_BIN" submit --dry-run -G 0 --deadline 2200-12-24T09:00 -- true
says ", deadline 2200-12-24T12:00:00Z (in "
expect 0 rota cancel @

# --- errors in the same file; run keeps nothing of what went well ---------------------------------
expect 0 rota submit --parsable -G 0 -- sh -c 'echo out; echo err >&2'
expect 0 rota wait @
expect 0 rota logs --err @
complains "writes errors to the same file as its output"
files() { find "$XDG_STATE_HOME/rota/run-output" -type f | wc -l; }
before=$(files)
expect 0 rota run -G 0 -- echo hello
same "$(files)" "$before"
expect 3 rota logs @
complains "was shown by \`rota run\`, which keeps no copy"
expect 7 rota run -G 0 -- sh -c 'echo hello; exit 7'
same "$(files)" "$((before + 2))"
expect 0 rota logs @
same "$OUT" hello

# --- documents that follow each other -------------------------------------------------------------
(timeout 5 "$ROTA_BIN" ls --watch -o json || true) >watch.txt
[ "$(wc -l <watch.txt)" -ge 2 ] || fail "too few documents: $(cat watch.txt)"
same "$(grep -vc '^{"jobs":.*}$' watch.txt || true)" 0
(timeout 3 "$ROTA_BIN" nodes --watch -o yaml || true) >watch.txt
same "$(head -2 watch.txt)" "$(printf -- '---\nnodes:')"
same "$(grep -c '^--- ' watch.txt || true)" 0

# --- lost output ----------------------------------------------------------------------------------
for command in 'history --all -o csv' 'ls --all' 'submit --parsable -G 0 -- true'; do
  code=0
  rota $command >/dev/full 2>"$TEST_DIR/err" || code=$?
  same "$code" 1
  grep -q "the output cannot be written" "$TEST_DIR/err" || fail "$(cat "$TEST_DIR/err")"
done

# --- quarantine -----------------------------------------------------------------------------------
curl -sf --unix-socket "$ROTA_SOCKET" -X POST -H 'Content-Type: application/json' -d '{}' \
  http://rota/api/v1/nodes/sim1:quarantine >/dev/null || fail "no quarantine"
expect 0 rota nodes
says quarantined
expect 0 rota undrain sim1
says "node sim1 is up"

# --- watching into a pipe, health -----------------------------------------------------------------
(timeout 5 "$ROTA_BIN" ls --watch || true) >watch.txt
[ "$(grep -c '^--- 20' watch.txt)" -ge 2 ] || fail "pages are not kept apart: $(cat watch.txt)"
expect 0 rota doctor
[[ $OUT != *"--simulate"* ]] || fail "doctor offers a simulation to a running daemon: $OUT"
[[ $OUT != *"cannot open shared object"* ]] || fail "the loader's words are shown: $OUT"
expect 0 rota cancel "$holder"
wait_state "$holder" cancelled
expect 0 rota doctor -o csv
says "state,ok,$TEST_DIR/state,"
expect 1 rota serve --background --simulate 8xh200 --state "$TEST_DIR/state" \
  --socket "$TEST_DIR/second.sock" --port off
complains "the daemon did not start: "
complains "Its log is $TEST_DIR/state/daemon.log"

# --- limits of an array ---------------------------------------------------------------------------
expect 0 rota submit --parsable --array 1-3%1 --gpus 1 --time 10m -- sleep 600
array=$OUT
wait_state "$array.1" running
expect 0 rota why "$array.2"
says "may run 1 member at once, and it is running"
[[ $OUT != *"free up"* && $OUT != *"frees up"* ]] || fail "advice on GPUs under a limit: $OUT"
expect 0 rota cancel "$array"
expect 0 rota submit --parsable --array 1-2 --gpus 1 --time 10m -- sleep 600
array=$OUT
wait_state "$array.1" running
wait_state "$array.2" running
expect 0 rota why "$array"
[[ $OUT =~ "2 running: $array.1 on sim"[12]:[0-3]", $array.2 on sim"[12]:[0-3] ]] || fail "$OUT"
expect 0 rota cancel "$array"
