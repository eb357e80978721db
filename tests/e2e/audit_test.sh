#!/usr/bin/env bash
# `rota audit`: the page, its figures as data, names hidden, and classes that the daemon accepts.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
data=$ROTA_SOURCE_DIR/tests/data
slurm=$data/slurm/sacct-duplicates.psv

# --- a real export of Slurm ---------------------------------------------------------------------
expect 0 rota audit "$slurm"
says "25 GPUs: the most ever held at once"
says "Utilisation:   cannot be known"
says "lost with a node"
says "WAITS"
says "FINDINGS"
says "WHAT THIS HISTORY CANNOT TELL"
expect 0 rota audit "$slurm" --on 4x8 --shares ml=3,eval=1 -o json
says '"capacity_gpus": 32.0'
says '"capacity_given": true'
says '"share": 0.75'
says '"line": "node_failed"'
says '"gpu_equivalents_max"'
[[ $OUT != *utilisation\"* ]] || fail "utilisation is not told and must not be there: $OUT"
first=$OUT
expect 0 rota audit "$slurm" --on 4x8 --shares ml=3,eval=1 -o json
same "$OUT" "$first"
expect 0 rota audit "$slurm" --hash-names --shares ml=3,eval=1 -o csv
says "figure,value"
says "teams.0.name,team-"
for name in alice bob eval; do
  [[ $OUT != *"$name"* ]] || fail "--hash-names shows '$name'"
done
expect 0 rota audit "$slurm" --from 2026-11-30T18:34:00Z --until 2026-11-30T18:35:00Z -o json
says '"span_seconds": 60.0'

# --- exact figures of a small table: 4 GPUs for 100 s ---------------------------------------------
# A holds 2 for 100 s, half busy; B fails on 1 after 50 s; C waits for 1 until 50 and is preempted.
cat >small.csv <<'C'
id,user,queue,submit,start,end,state,gpus,nodes,utilization
A,ann,vision,0,0,100,COMPLETED,2,n1,50
B,bob,speech,0,0,50,FAILED,1,n1,
C,bob,speech,0,50,100,PREEMPTED,1,n2,
C
expect 0 rota audit small.csv --on flat:4 -o csv
says "occupancy.ratio,0.75"
says "occupancy.gpu_hours_free_while_wanted,0.013889"
says "gpu_hours.held,0.083333"
says "gpu_hours.utilisation,0.5"
says "gpu_hours.lines.0.line,busy"
says "gpu_hours.lines.0.gpu_equivalents,1.0"
says "gpu_hours.lines.1.line,idle"
says "gpu_hours.lines.2.line,failed"
says "gpu_hours.lines.2.gpu_equivalents,0.5"
says "gpu_hours.lines.3.line,preempted"
says "waits.all.wait_seconds.max,50.0"
says "failures.nodes_seen,1"
expect 0 rota audit small.csv --from 50s -o csv
says "gpu_hours.held,0.041667"
says "jobs,2"
cp small.csv copy.csv
expect 0 rota audit copy.csv small.csv --on flat:4 -o csv
says "gpu_hours.held,0.083333"

# --- what was asked for and not needed ------------------------------------------------------------
# 8 GPUs a tenth busy and 80 of 800 GiB; one GPU with 4 GiB of its memory: one hour each.
{
  echo 'JobID|User|State|Submit|Start|End|Elapsed|AllocTRES|ReqTRES|NNodes|MaxRSS'\
'|TRESUsageInAve|TRESUsageInMax'
  t='2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T01:00:00|01:00:00'
  echo "1|ann|COMPLETED|$t|gres/gpu=8,mem=800G|gres/gpu=8,mem=800G|1|||"
  echo "1.batch||COMPLETED|$t|||1|80G|gres/gpuutil=10|gres/gpumem=20G"
  echo "2|bob|COMPLETED|$t|gres/gpu=1,mem=100G|gres/gpu=1,mem=100G|1|||"
  echo "2.batch||COMPLETED|$t|||1|10G|gres/gpuutil=10|gres/gpumem=4G"
} >over.psv
expect 0 rota audit over.psv --on flat:10 -o csv
says "requests.runs_of_several_gpus,1"
says "requests.gpu_hours_over_requested,7.0"
says "requests.memory_used_p50,0.1"
says "requests.gib_hours_memory_asked,900.0"
says "requests.gib_hours_memory_unused,810.0"
says "requests.gpu_hours_part_of_a_gpu,1.0"
expect 0 rota audit over.psv --on flat:10
says "of two and more GPUs would have filled at most half"
says "of the memory they asked for"
[[ $OUT != *"not told; utilisation is missing"* ]] || fail "utilisation is told"
grep -v batch over.psv >steps.psv
expect 0 rota audit steps.psv --on flat:10
says "over-requested GPUs: not told"
says "over-requested memory: not told"
[[ $OUT != *"of the memory they asked for"* ]] || fail "memory is not told"

# --- a trace that tells little --------------------------------------------------------------------
expect 0 rota audit "$data/philly-500.csv"
says "Waits cannot be known"
says "Occupancy:     cannot be known"
says "Impact:        cannot be known"
expect 0 rota audit "$data/kubernetes/dump.json" -o json
says '"cannot_tell"'

cut -d'|' -f1-4,6- "$slurm" >without.psv  # no column AllocTRES
expect 0 rota audit without.psv
says "no column AllocTRES"

# --- proposed classes are a configuration ---------------------------------------------------------
{
  echo id,submit,start,end,state,gpus
  for i in $(seq 60); do echo "s$i,0,3600,$((4080 + i)),COMPLETED,1"; done
  for i in $(seq 30); do echo "u$i,0,3600,$((14400 + i)),COMPLETED,1"; done
  for i in $(seq 20); do echo "l$i,0,3600,$((39600 + i)),COMPLETED,8"; done
} >kinds.csv
expect 0 rota audit kinds.csv --classes-to classes.yaml
says "runs longer than 10m, more than 1 GPU"
says "default_class: batch"
sed -n '/^classes:/,$p' <<<"$OUT" | diff - classes.yaml || fail "the page shows other classes"
expect 0 rota serve --background --simulate 8xh100 --config classes.yaml \
  --state "$TEST_DIR/proposed" --socket "$TEST_DIR/proposed.sock" --port off
expect 0 rota submit --socket "$TEST_DIR/proposed.sock" --class debug --parsable -- true
expect 4 rota submit --socket "$TEST_DIR/proposed.sock" --class debug --time 20m -- true
complains "10m"
expect 0 rota stop --socket "$TEST_DIR/proposed.sock"
printf 'id,start,end,gpus\n1,0,100,1\n2,0,100,1\n' >equal.csv
expect 2 rota audit equal.csv --classes-to none.yaml
complains "no classes are proposed"

# --- the same as a document that needs nothing else -----------------------------------------------
expect 0 rota audit kinds.csv --on flat:200 -o html
says "<!doctype html>"
says "Proposed classes"
[[ $OUT != *http* && $OUT != *"<script"* ]] || fail "the document loads something"
printf 'id,submit,start,end,gpus\n1,1900-01-01T00:00:00Z,%sT00:00:00Z,%sT00:00:00Z,1\n' \
  2026-01-01 2026-01-02 >old.csv
expect 2 rota audit old.csv
complains "more than 100 years"

# --- wrong calls ----------------------------------------------------------------------------------
wrong() { expect 2 "${@:2}"; complains "$1"; }
wrong "HISTORY is required" rota audit
wrong "unknown option '--shared'" rota audit --shared a=1 small.csv
wrong "expected team=PART" rota audit small.csv --shares vision
wrong "expected team=PART" rota audit small.csv --shares vision=0
wrong "named twice" rota audit small.csv --shares vision=1,vision=2
wrong "did you mean 'vision'" rota audit small.csv --shares vison=1
wrong "--on 'many'" rota audit small.csv --on many
wrong "has no dates" rota audit small.csv --from 2026-03-02
wrong "nothing of the history lies between" rota audit small.csv --from 3h
wrong "cannot read 'nowhere.csv'" rota audit nowhere.csv
wrong "expected table, json, csv or html" rota audit small.csv -o yaml
wrong "cannot write '/nowhere/x'" rota audit kinds.csv --classes-to /nowhere/x
