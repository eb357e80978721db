#!/usr/bin/env bash
# What needs no daemon: replay of past jobs, scenarios, completion.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
sample=$ROTA_SOURCE_DIR/tests/data/philly-500.csv

expect 0 rota replay "$sample" --on flat:64 --order fifo,shortest --backfill off,easy
says "clairvoyant bound"
says "shortest*"
same "$(grep -c '500' <<<"$OUT")" 4
expect 2 rota replay "$sample" --on flat:64 --order fifo,easy,fifo
complains "unknown word 'easy'"
expect 2 rota replay "$sample" --on flat:64 --order fifo,shortest,fifo
complains "--order: 'fifo' is named twice"
expect 0 rota replay "$sample" --on 8x8 --backfill easy -o json
says '"jobs": 500'
says '"wait_seconds"'
says '"replay_seconds"'
# Any format of history, packed or not; what cannot be replayed is said.
gzip -c "$ROTA_SOURCE_DIR/tests/data/slurm/sacct-duplicates.psv" >week.psv.gz
expect 0 rota replay week.psv.gz --on 4x8
says "3 jobs never ran to an end and were left out"
says "passed over: a step of a job"
expect 0 rota replay week.psv.gz --on 4x8 -o json
says '"never_ran": 3'
expect 0 rota study sharing week.psv.gz --on 4x8 --days 1 --policy easy
says "were left out"
printf 'timestamp,duration,num_gpus\n1,5,1\n2,x,1\n' >dirty.csv
expect 0 rota replay dirty.csv
says "1 row skipped: no length of time"
says "dirty.csv:3:3"
# Past jobs of any system, and Rota's own form of them.
data=$ROTA_SOURCE_DIR/tests/data
expect 0 rota import "$data/slurm/sacct-duplicates.psv" --to week.csv
says "28"
says "32 rows passed over: a step of a job"
expect 0 rota import week.csv --to again.csv -o json
says '"jobs": 28'
says '"attempts": 30'
cmp week.csv again.csv || fail "Rota's own form does not read back to itself"
# What is read is not written over, by whatever name.
ln week.csv link.csv
expect 2 rota import week.csv --to ./link.csv
complains "is the file that is read"
expect 2 rota audit week.csv --classes-to week.csv
complains "is the file that is read"
cmp week.csv again.csv || fail "the input was written over"
rm link.csv
# A few columns of Rota's own form are enough: 8 GPUs for an hour, stopped; then again.
printf '%s\n' job,attempt,gpus_held,submitted,started,ended,outcome \
  1,1,8,2026-11-02T00:00:00Z,2026-11-02T00:00:00Z,2026-11-02T01:00:00Z,requeued \
  1,2,8,2026-11-02T01:00:00Z,2026-11-02T01:30:00Z,2026-11-02T02:00:00Z,completed >few.csv
expect 0 rota import few.csv -o csv
says "gpu_hours.model not told,12.0"
expect 0 rota report usage few.csv --on 2x8 --by job -o csv
says "group,1,4,0,8,0,12"
gzip -k week.csv
expect 0 rota import --format rota week.csv.gz -o csv
says "figure,value"
says "outcomes.preempted,1"
mkfifo pipe; cat "$data/kubernetes/dump.json" >pipe &
expect 0 rota import pipe
says "pipe (kubernetes)"
says "item 11: ml/gone"
expect 0 rota import "$data/slurm/sacct-22.05.json" "$sample"
says "(sacct-json)"
says "(philly)"
printf 'created;ngpu;took\n10;2;5\n20;x;5\n' >odd.csv
expect 0 rota import odd.csv --map submit=created,gpus=ngpu,run=took
says "1 row skipped: no number of GPUs"
says "odd.csv:3:4: x"

printf 'node a[1-4] gpus=8\n' >cluster.scenario
expect 0 rota replay "$sample" --on cluster.scenario -o yaml
says "order: fifo"

cat >good.scenario <<'S'
# One job runs, one waits.
node n1 gpus=4
at 0s
submit A gpus=4 time=10m
submit B gpus=1 time=10m
expect A state=running
expect B state=pending
S
sed 's/B state=pending/B state=running/' good.scenario >bad.scenario
expect 0 rota sim good.scenario
says "1 scenario passed"
expect 0 rota sim --trace good.scenario
expect 1 rota sim --quiet good.scenario bad.scenario
says "bad.scenario:7"
says "running"
expect 1 rota sim -o json bad.scenario
says '"expected": "running"'

# --- what teams get of a cluster --------------------------------------------------------------
expect 0 rota study sharing "$sample" --on 4x8 --days 20 --policy contracts,fifo --debug-gpus 2 \
  --weights ee9e8c=3,b436b2=2 --fairness instant -o json
says '"policy": "contracts"'
says '"policy": "fifo"'
says '"delivered_ratio"'
[ "$(grep -c '"preemptions": 0' <<<"$OUT")" -eq 1 ] || fail "contracts preempt, fifo does not: $OUT"
first=$OUT
expect 0 rota study sharing "$sample" --on 4x8 --days 20 --policy contracts,fifo --debug-gpus 2 \
  --weights ee9e8c=3,b436b2=2 --fairness instant -o json
same "$OUT" "$first"
expect 0 rota study sharing "$sample" --on 4x8 --days 3 --policy easy -o wide
says DELIVERED
says b436b2
expect 2 rota study sharing "$sample" --weights nobody=3
complains "no job of 'nobody'"
for span in '--checkpoint 0s' '--contract=-1h' '--grace=-1s' '--debug-under 0'; do
  expect 2 rota study sharing "$sample" $span  # else the engine refuses all jobs
  complains "expected a duration like 30s or 2h"
done
expect 2 rota study sharing "$sample" --policy contract
complains "did you mean 'contracts'"
expect 2 rota study sharing "$sample" --fairness window
complains window:7d
expect 2 rota study sharing "$sample" --on 1x8 --debug-gpus 8
expect 2 rota study sharing

expect 0 rota completion bash
bash -n <<<"$OUT" || fail "the bash completion is not valid"
complete_words() {  # complete_words WORD..: what bash offers for the last word
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _rota
  printf '%s\n' "${COMPREPLY[@]}"
}
offered() {  # offered WORD WORD..: bash offers the first for the last
  local words
  words=$(complete_words "${@:2}")
  [[ $'\n'$words$'\n' == *$'\n'"$1"$'\n'* ]]
}
source <("$ROTA_BIN" completion bash)
offered submit rota sub || fail "completion of commands"
offered --gpus rota submit --gp || fail "completion of options"
offered json rota ls -o js || fail "completion of values"
offered set rota queue se || fail "completion of inner commands"
same "$(complete_words rota submit --exclus)" ""
same "$(complete_words rota completion '' | tr '\n' ' ')" "bash zsh fish "
same "$(complete_words rota ls --state ru)" running
same "$(complete_words rota submit --same ra)" rack
same "$(complete_words rota replay --backfill co)" conservative
same "$(complete_words rota submit --class de)" debug
same "$(complete_words rota import --format kub)" kubernetes
# What is there now comes from the daemon; the ids alone stand for an empty word.
_rota_jobs() { printf '7\n12\n'; }
_rota_queues() { printf 'vision\nspeech\n'; }
same "$(complete_words rota why '' | tr '\n' ' ')" "7 12 "
same "$(complete_words rota submit --queue vi)" vision
same "$(complete_words rota queue set sp)" speech
offered --output rota why -- || fail "options of why"
expect 0 rota completion zsh
says "#compdef rota"
says "'--gpus:GPUs: 2, 0.5 (half of one), h100:2, 8/node; as in sbatch: of the job'"
[[ $OUT != *" path="* ]] || fail "zsh ties path to PATH"
if command -v zsh >/dev/null; then
  cat >complete.zsh <<'ZSH'
compdef() { }
_describe() { shift; print -l -- ${(P)1} }
compadd() { shift; print -l -- "$@" }
source <($1 completion zsh)
_rota_queues() { print -l vision speech }
offers() { words=("$@"); CURRENT=$#; PREFIX="${words[-1]}"; _rota }
offers rota ls --state '' | grep -qx running || exit 1
offers rota completion '' | grep -qx fish || exit 2
offers rota queue set '' | grep -qx vision || exit 3
offers rota submit --gp | grep -qx -- '--gpus:GPUs: 2, .*h100:2, .*' || exit 4
ZSH
  zsh -f complete.zsh "$ROTA_BIN" || fail "the zsh completion: case $?"
fi
expect 0 rota completion fish
says "complete -c rota"
if command -v fish >/dev/null; then fish -n <<<"$OUT" || fail "the fish completion is not valid"; fi
