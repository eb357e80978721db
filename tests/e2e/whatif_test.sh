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
printf 'id,submit,start,end,gpus\n1,0,1,2,0\n' >none.csv
wrong "no job that ran on a GPU" rota whatif none.csv
