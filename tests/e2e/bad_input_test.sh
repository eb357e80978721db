#!/usr/bin/env bash
# A typo never runs: whatever is wrong is named, and nothing is submitted. Needs no daemon, so
# nothing here may even try to reach one.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

wrong() {  # wrong TEXT COMMAND..: a usage error that says TEXT
  local text=$1
  shift
  expect 2 "$@"
  complains "$text"
}

wrong "did you mean 'rota submit'" rota sumbit job.sh
wrong 'use `rota ls`' rota squeue
wrong "unknown command 'rota frobnicate'" rota frobnicate
wrong "did you mean 'rota queue set'" rota queue sett a
wrong "did you mean '--gpus'" rota submit --gpsu 2 -- true
wrong "unknown option '-Z'" rota submit -Z -- true
wrong "needs a value" rota submit --gpus
wrong "takes no value" rota submit --hold=yes -- true
wrong "nothing to run" rota submit --gpus 2
wrong "nothing to run after --" rota submit --
wrong "cannot read the script 'python'" rota submit --gpus 2 python train.py
wrong "options stand after the command" rota -o json ls
wrong "did you mean 'json'" rota ls -o jsn
wrong "did you mean 'running'" rota ls --state runing
wrong "unexpected word 'x'" rota ls x
wrong "ID is required" rota show
wrong "expected a number of GPUs" rota submit -G two -- true
wrong "above one, GPUs are given whole" rota submit -G 1.5 -- true
wrong "'soon' is no duration" rota submit -t soon -- true
wrong "did you mean rack" rota submit --same racks -- true
wrong "is no signal" rota submit --signal FOO@30 -- true
wrong "no amount of memory" rota submit --mem lots -- true
wrong "is not supported" rota submit --exclusive -- true
wrong "NAME=VALUE" rota submit --param lr -- true
wrong "give one of them" rota submit --param a=1 --array 1-2 -- true
wrong "expected indices" rota submit --array 5-1 -- true
wrong "nothing to change" rota update 7
wrong "no completion for 'tcsh'" rota completion tcsh
wrong "expected trace" rota serve --simulate 8xh100 --state "$TEST_DIR/s" --log-level loud
wrong "exclude each other" rota serve --foreground --background
wrong "flat:512" rota replay "$ROTA_SOURCE_DIR/tests/data/philly-500.csv" --on flat:none
wrong "did you mean 'easy'" rota replay "$ROTA_SOURCE_DIR/tests/data/philly-500.csv" --backfill esy
wrong "cannot read 'nowhere.csv'" rota replay nowhere.csv
wrong "cannot read 'nowhere.csv'" rota submit --param-file nowhere.csv -- true
wrong "did you mean 'sacct'" rota import --format sact jobs.psv
wrong "did you mean 'submit'" rota import --map sumbit=created jobs.csv
wrong "cannot read 'nowhere.psv'" rota import nowhere.psv
wrong "is a folder" rota import .
wrong "HISTORY is required" rota import
wrong "unknown option '--form'" rota import --form csv x.csv
wrong "expected table, json or csv" rota import -o yaml x.csv
wrong "use \`rota submit\`" rota run --array 1-3 -- true
wrong "is no time in the past" rota history --since tomorrow
wrong "rota queue set: NAME is required; see \`rota queue set --help\`" rota queue set
wrong "rota study packing: --nodes is required; see \`rota study packing --help\`" \
  rota study packing
wrong "not in range" rota events --after -1
wrong "unknown option '--reason'" rota undrain --reason x n1
wrong "other form; -o json lists the dependencies" rota ls --tree -o json
wrong "other form" rota ls --tree -o csv

# An argument that is empty names nothing.
for command in cancel show why hold release requeue wait logs redo drain undrain 'queue set'; do
  wrong "an argument is empty; see \`rota $command --help\`" rota $command ''
done

wrong "the name of the script is empty" rota submit ''
wrong "the command after -- is empty" rota run -- ''

# Times and bounds: what was written, and what the bounds are.
wrong "--deadline 2020-01-01T00:00:00Z" rota submit --deadline 2020-01-01T00:00:00Z -- true
wrong "allows the job 4h, but only 1h lie before it" \
  rota submit --deadline now+1h --time 4h -- true
wrong "--begin: '9999-12-31' is too far off" rota submit --begin 9999-12-31 -- true
wrong "--grace: '100000d' is too long" rota submit --grace 100000d -- true
wrong "'%q' stands for nothing" rota submit --output 'x-%q.out' -- true
wrong "with 1 to 1,000,000 GPUs" \
  rota replay "$ROTA_SOURCE_DIR/tests/data/philly-500.csv" --on flat:0
wrong "above 0 and at most 100" rota study packing --nodes x --tasks y --load 1e9
wrong "at most 10,000" rota study packing --nodes x --tasks y --seeds 1-99999999

# What Rota sets itself cannot be chosen, and a value must not be missing.
wrong "--env: Rota sets CUDA_VISIBLE_DEVICES itself" \
  rota submit --env CUDA_VISIBLE_DEVICES=7 -- true
wrong "--export: Rota sets SLURM_JOB_ID itself" rota submit --export ALL,SLURM_JOB_ID=7 -- true
wrong "Rota sets ROTA_JOB_ID itself" rota submit --param ROTA_JOB_ID=55 -- true
wrong "every program needs PATH" rota submit --param PATH=1 -- true
wrong "one of the values is empty" rota submit --param lr=1,,2 -- true

# An environment that no daemon takes: each value is short enough for the kernel.
(
  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    export "BIG_$i=$(head -c 100000 /dev/zero | tr '\0' x)"
  done
  wrong "the submission is too large: 1" rota submit -G 0 -- true
  complains "(the environment alone 1"
  complains "--export NONE"
)

# A folder is no file, wherever a file is named.
wrong "cannot read '/tmp': it is a folder" rota sim /tmp
wrong "cannot read 'nofile': No such file or directory" rota sim nofile
same "$OUT" "0 scenarios passed, 1 failed"
wrong "cannot read '/tmp': it is a folder" rota replay /tmp
wrong "--nodes: cannot read '/tmp': it is a folder" rota study packing --nodes /tmp --tasks y
wrong "cannot read '/tmp': it is a folder" rota study sharing /tmp
wrong "--param-file: cannot read '/tmp': it is a folder" rota submit --param-file /tmp -- true
wrong "cannot read '/tmp': it is a folder" \
  rota replay "$ROTA_SOURCE_DIR/tests/data/philly-500.csv" --on /tmp
wrong "--config: cannot read 'nofile': No such file" \
  rota serve --simulate 8xh100 --state "$TEST_DIR/s" --config nofile
wrong "--devices: cannot read 'nofile': No such file" \
  rota serve --state "$TEST_DIR/s" --devices nofile

# Output that is lost is an error.
printf 'node n1 gpus=1\nat 0s\nsubmit A gpus=1 time=1m\nexpect A state=running\n' >ok.scenario
for command in 'completion bash' '--help' 'sim -o json ok.scenario' \
  "replay $ROTA_SOURCE_DIR/tests/data/philly-500.csv --on flat:64"; do
  code=0
  rota $command >/dev/full 2>"$TEST_DIR/err" || code=$?
  same "$code" 1
  grep -q "rota: the output cannot be written: No space left on device" "$TEST_DIR/err" ||
    fail "rota $command: $(cat "$TEST_DIR/err")"
done
wrong "history is of jobs that have ended" rota history --state running
wrong "expected table or json" rota sim -o csv x.scenario

# Scripts: file, line and column.
printf '#!/bin/sh\n#SBATCH --gres=gpu:1\n#SBATCH --tiem=10\ntrue\n' >job.sh
wrong "job.sh:3:9: unknown option '--tiem=10'; did you mean '--time'?" rota submit job.sh
printf '#!/bin/sh\n#ROTA --queu x\ntrue\n' >job.sh
wrong "job.sh:2:7: unknown option '--queu'; did you mean '--queue'?" rota submit job.sh
printf '#!/bin/sh\n#SBTACH --gpus=1\ntrue\n' >job.sh
wrong "job.sh:2:1: this looks like a misspelt #SBATCH line" rota submit job.sh
printf 'echo no shebang\n' >job.sh
wrong "must begin with a #! line" rota submit job.sh
wrong "is a folder" rota submit .
wrong "is a program, not a script" rota submit "$ROTA_BIN"

# A CSV or a scenario that is malformed.
printf 'timestamp,duration,num_gpus\n1,x,1\n' >jobs.csv
wrong "jobs.csv:2:3" rota replay jobs.csv
printf 'alpha,beta\n1,2\n' >odd.csv
wrong "odd.csv:1:1: the format of this input is not known" rota import odd.csv
wrong "odd.csv:1:1: submit=gamma: there is no column 'gamma'" rota import --map submit=gamma odd.csv
printf 'PK\003\004' >odd.zip
wrong "odd.zip': the zip is not sound" rota import odd.zip
printf 'BZh91AY' >odd.bz2
wrong "unpack it with \`bunzip2\`" rota import odd.bz2
printf 'node n1 gpu=8\n' >x.scenario
expect 2 rota sim x.scenario
says "x.scenario:1:"
expect 2 rota sim nowhere.scenario
