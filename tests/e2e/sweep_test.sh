#!/usr/bin/env bash
# Sweeps, arrays, dependencies, holds, updates, redo, last jobs, output forms, a tree.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
start_daemon 4xh100

# Every combination once, two at a time, with its own name and variables.
expect 0 rota submit --gpus 1 --param lr=.1,.2 --param bs=32,64 --max-concurrent 2 \
  --name-template 'lr{lr}-bs{bs}' -o json -- sh -c 'echo "lr=$lr bs=$bs"'
says '"ids"'
array=$(sed -n 's/^  "id": "\([0-9]*\)",$/\1/p' <<<"$OUT")
expect 0 rota wait "$array"
lines=$(for id in $(rota history --array "$array" -o name); do rota logs "$id"; done | sort)
same "$lines" $'lr=.1 bs=32\nlr=.1 bs=64\nlr=.2 bs=32\nlr=.2 bs=64'
expect 0 rota history --array "$array" -o csv
says "lr.1-bs32"

printf 'lr,tag\n.5,a\n.6,"b,c"\n' >sweep.csv
expect 0 rota submit --parsable --param-file sweep.csv -- sh -c 'echo "$lr $tag"'
expect 0 rota wait "$OUT"

# An array member knows its index; a failing member is found.
expect 0 rota submit --parsable --array 3-5 --wrap 'exit $(( ROTA_ARRAY_TASK_ID == 4 ))'
expect 1 rota wait "$OUT"

# Dependencies: success lets go, failure cancels, redo brings both back.
expect 0 rota submit --parsable --hold -J base -G 1 -- test -f fixed
base=$OUT
expect 0 rota submit --parsable --afterok "$base" -J after -G 1 -- true
after=$OUT
same "$(field "$base" state)" pending
expect 0 rota why "$after"
says "$base"
expect 0 rota ls --tree
says "└─ $after"
expect 0 rota release "$base"
expect 1 rota wait "$base"
wait_state "$after" cancelled
touch fixed
expect 0 rota redo "$base" --cascade
says "$base again"
says "$after again"
expect 0 rota wait @ @~1

# Hold, update, cancel of a pending job.
expect 0 rota submit --parsable -H -G 1 -- true
id=$OUT
expect 0 rota update "$id" --time 2h --priority 5 --name renamed --comment hi
same "$(field "$id" time_limit_seconds)" 7200.0
same "$(field "$id" name)" renamed
expect 0 rota ls --me -w
says "renamed"
expect 0 rota ls --me -o name
same "$OUT" "$id"
for form in table wide json yaml csv name; do
  expect 0 rota ls -o $form
  [ -n "$OUT" ] || fail "-o $form prints nothing"
done
expect 0 rota cancel "$id"
wait_state "$id" cancelled

# A script's own options, and the order flag, variable, script.
printf '#!/bin/sh\n#SBATCH -J named --time=10 --gres=gpu:2\necho $1 $SLURM_JOB_ID\n' >job.sh
expect 0 rota submit --parsable job.sh word
id=$OUT
expect 0 rota wait "$id"
expect 0 rota logs "$id"
same "$OUT" "word $id"
same "$(field "$id" gpus)" 2.0
same "$(field "$id" time_limit_seconds)" 600.0
expect 0 env SBATCH_TIMELIMIT=20 "$ROTA_BIN" submit --parsable job.sh
same "$(field "$OUT" time_limit_seconds)" 1200.0
expect 0 env SBATCH_TIMELIMIT=20 "$ROTA_BIN" submit --parsable -t 30 job.sh
same "$(field "$OUT" time_limit_seconds)" 1800.0
expect 0 rota wait @ @~1

# Queues and nodes.
expect 0 rota queue set vision --weight 3 --quota 2
expect 0 rota queue ls -o csv
says "vision"
expect 0 rota submit --queue vision -G 1 --parsable -- true
expect 0 rota wait "$OUT"
expect 0 rota drain sim1 --reason "new fan"
says "drained"
expect 0 rota nodes
says "new fan"
expect 0 rota undrain sim1
says "up"

# The journal's events, as lines of JSON.
expect 0 rota events --last 3 -o json
says '"seq":'
