#!/usr/bin/env bash
# `rota whatif` and `rota capacity`: fidelity on a real run of Slurm, scenarios side by side, goals.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
data=$ROTA_SOURCE_DIR/tests/data
slurm=$data/slurm/trace40n_slurm_out.csv
as_it_was=(--today slurm-like,backfill-every=10s)

# --- a real run: 700 jobs, 40 nodes of 8 --------------------------------------------------------
expect 0 rota whatif "$slurm" "${as_it_was[@]}" --change policy=time-fair
says "Past jobs: 700 of"
says "40 nodes, 320 GPUs, the nodes that the history names"
says "FIDELITY"
says "Trust: good"
says "policy=time-fair"
says "Demand is as it was submitted"
first=$OUT
expect 0 rota whatif "$slurm" "${as_it_was[@]}" --change policy=time-fair
same "$OUT" "$first"
expect 0 rota whatif "$slurm" "${as_it_was[@]}" -o json
figure() { sed -n "s/^ *\"$1\": \(-\{0,1\}[0-9.]*\),\{0,1\}$/\1/p" <<<"$OUT" | head -1; }
within() { awk -v x="$1" -v m="$2" 'BEGIN { if (x < 0) x = -x; exit !(x != "" && x <= m) }'; }
within "$(figure wait_mean_error)" 0.10 || fail "mean wait: $(figure wait_mean_error)"
within "$(figure makespan_error)" 0.03 || fail "makespan: $(figure makespan_error)"
says '"trust": "good"'
says '"from": "nodes_of_history"'

# A policy that it never ran under is not to be trusted, and the page says so.
expect 0 rota whatif "$slurm" --today greedy
says "DO NOT TRUST what follows"
# Without a word the nearest of a few is taken, and the others are named.
expect 0 rota whatif "$slurm"
says "of those tried the one that comes nearest"
says "would be off by"

# --- exact figures: four jobs of four GPUs for 10 s, as FIFO ran them on four ---------------------
cat >four.csv <<'C'
id,queue,submit,start,end,state,gpus,nodes,limit_min
1,a,0,0,10,COMPLETED,4,n1,1
2,b,1,10,20,COMPLETED,4,n1,1
3,a,2,20,30,COMPLETED,4,n1,1
4,b,3,30,40,COMPLETED,4,n1,1
C
expect 0 rota whatif four.csv --today fifo --change gpus=+4 --prices 3600 -o json
says '"wait_mean_error": 0.0'
says '"makespan_error": 0.0'
says '"name": "gpus=+4"'
says '"cost": 160.0'
says '"cost": 320.0'
expect 0 rota whatif four.csv --today fifo --change nodes=+1 --change policy=easy -o wide
says "nodes=+1 policy=easy"
says "Teams: delivered of owed"
expect 0 rota whatif four.csv --today fifo --compare easy,contracts,priority
says "contracts"
expect 0 rota whatif four.csv --today fifo --change gpus=+4 --change reaction=1
says "demand"
says "Nobody measured that"
expect 0 rota whatif four.csv --today fifo --change time-limit-factor=0.1
says "cut at their limit"
expect 0 rota whatif four.csv --today fifo --on flat:2
says "never started"

# A configuration of the daemon is a policy, read by the same reader.
cat >rota.yaml <<'Y'
policy: {order: fair, fairness: instant, backfill: easy}
queues: {a: {weight: 3}, b: {weight: 1, limit: 4}}
Y
expect 0 rota whatif four.csv --today fifo --change policy=rota.yaml
says "policy=rota.yaml"
echo 'polcy: {}' >wrong.yaml
expect 2 rota whatif four.csv --today fifo --compare wrong.yaml
complains "did you mean 'policy'"

# --- histories that tell little -------------------------------------------------------------------
expect 0 rota whatif "$data/philly-500.csv" --change gpus=-8
says "Trust: unknown"
says "a guess: the most ever held at once"
says "tell no time limit"
expect 0 rota whatif "$data/slurm/sacct-duplicates.psv" -o yaml
says "policy: slurm-like"

# --- capacity -------------------------------------------------------------------------------------
expect 0 rota capacity four.csv --today fifo --goal 'max wait of all < 1s' --policies none
says "4 nodes, 16 GPUs (+3 against today): 0s"
says "Nothing tried contradicts that"
expect 0 rota capacity four.csv --today fifo --goal 'mean wait of a < 8s' --policies easy -o json
says '"found"'
says '"monotone": true'
expect 1 rota capacity four.csv --today fifo --goal 'max wait of all < 1s' --most 3
complains "nothing that was tried meets the goal"
says "No number of nodes tried meets it"
expect 0 rota capacity four.csv --today fifo --goal 'occupancy > 99%' --policies none
says "The largest cluster that meets it"

# Two jobs of two nodes, which one node cannot run: it is no answer, though what it runs is served.
cat >pairs.csv <<'C'
id,queue,submit,start,end,state,gpus,nodes,node_count
1,a,0,0,3600,COMPLETED,16,n[1-2],2
2,b,0,3600,7200,COMPLETED,16,n[1-2],2
3,a,0,7200,10800,COMPLETED,8,n1,1
4,b,0,7200,10800,COMPLETED,8,n2,1
C
expect 0 rota capacity pairs.csv --today fifo --goal 'delivered of all > 60%' --policies none
says "missed, 2 jobs never start"
says "2 nodes, 16 GPUs (as many as today)"
expect 0 rota capacity pairs.csv --today fifo --goal 'occupancy > 99%' --policies none
says "The largest cluster that meets it under fifo: 2 nodes"
says "with fewer nodes it was missed again"
expect 0 rota capacity pairs.csv --today fifo --goal 'p50 wait < 3h' --policies none -o json
says '"never_started": 2'
# Where nothing can start, a part of nothing is neither all nor none of it, and nothing is trusted.
expect 0 rota whatif four.csv --today fifo --on 1x1
says "1 node, 1 GPU (--on)"
says "and 100% of the jobs, which ran, never start in it"
grep -Eq '^delivered of owed +-$' <<<"$OUT" || fail "delivered where nothing starts: $OUT"
grep -Eq '^occupancy +-$' <<<"$OUT" || fail "occupancy where nothing starts: $OUT"
expect 0 rota whatif four.csv --today fifo --on 1x1 -o json
today=$(sed -n '/^  "today"/,$p' <<<"$OUT")
[[ $today != *_seconds\":\ {* && $today != *occupancy* && $today != *delivered_ratio* ]] ||
  fail "figures of jobs that never start: $today"
expect 0 rota whatif four.csv --today fifo -o json
says '"wide_wait_seconds"'
[[ $OUT != *debug_wait_seconds* ]] || fail "waits of debug jobs, of which there are none: $OUT"
# Nobody waited, as far as the history tells, which is not far.
cut -d, -f1,2,4- pairs.csv >starts.csv
expect 0 rota whatif starts.csv --today fifo
says "Trust: unknown"

# What changes nothing is told: contracts of a policy that stops nobody, queues of no team.
expect 0 rota whatif four.csv --today fifo --change contract=4h
says "contract=4h changes nothing"
expect 0 rota whatif four.csv --today fifo --change policy=contracts --change contract=4h
[[ $OUT != *"Careful:"* ]] || fail "a contract that counts is said not to: $OUT"
echo 'queues: {a: {weight: 3}, speech: {weight: 1}}' >other.yaml
expect 0 rota whatif four.csv --today fifo --change policy=other.yaml
says "1 queue of 2 in the configuration is of no team of the history: speech"
says "no queue in the configuration, and one of weight 1 here: b"
[[ $OUT != *"inference"* ]] || fail "classes that nobody wrote down are told of: $OUT"
expect 0 rota capacity four.csv --today other.yaml --goal 'max wait < 1s' --policies none -o json
says '"remarks"'
(cat four.csv && echo '5,a,soon,0,10,COMPLETED,none,n1,1') >odd.csv
expect 0 rota whatif odd.csv --today fifo
says "1 row was skipped on reading"

# --- wrong calls ----------------------------------------------------------------------------------
wrong() { expect 2 "${@:2}"; complains "$1"; }
wrong "HISTORY is required" rota whatif
wrong "did you mean 'gpus'" rota whatif four.csv --change gpu=+4
wrong "did you mean 'time-fair'" rota whatif four.csv --compare tme-fair
wrong "policy=slurm-like before it" rota whatif four.csv --change backfill-every=10s
wrong "to leave some" rota whatif four.csv --today fifo --change gpus=-4
wrong "unknown option '--chnge'" rota whatif four.csv --chnge gpus=+4
wrong "expected table, wide, json or yaml" rota whatif four.csv -o csv
wrong "--goal is required" rota capacity four.csv
wrong "too few words" rota capacity four.csv --goal fast
wrong "no team or class 'c'" rota capacity four.csv --today fifo --goal 'p90 wait of c < 1m'
wrong "cannot read 'nowhere.csv'" rota whatif nowhere.csv
# Words are looked at before the files, which may take a while.
no_wait=(--goal 'max wait < 1s')
wrong "--policies: unknown policy" rota capacity nowhere.csv "${no_wait[@]}" --policies tme-fair
wrong "did you mean 'easy'" rota capacity nowhere.csv "${no_wait[@]}" --today eesy
printf 'id,submit,start,end,gpus\n1,0,1,2,0\n' >none.csv
wrong "did you mean 'a'" rota whatif four.csv --change weights=a1=2
wrong "no job of a team of that name" rota whatif four.csv --change weights=a=3,b=1
wrong "limit of 'c'" rota capacity four.csv --goal 'max wait < 1s' --change limit=c:4
wrong "limit of 'c'" rota whatif four.csv --today fifo,quota=c:4
wrong "--compare" rota whatif four.csv --compare ''
wrong "--on" rota capacity four.csv --goal 'max wait < 1s' --on ''
wrong "no job that ran on a GPU" rota whatif none.csv
