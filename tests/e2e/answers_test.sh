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

# --- watching into a pipe, health -----------------------------------------------------------------
(timeout 5 "$ROTA_BIN" ls --watch || true) >watch.txt
[ "$(grep -c '^--- 20' watch.txt)" -ge 2 ] || fail "pages are not kept apart: $(cat watch.txt)"
expect 0 rota doctor
[[ $OUT != *"--simulate"* ]] || fail "doctor offers a simulation to a running daemon: $OUT"
[[ $OUT != *"cannot open shared object"* ]] || fail "the loader's words are shown: $OUT"
expect 0 rota cancel "$holder"
wait_state "$holder" cancelled
