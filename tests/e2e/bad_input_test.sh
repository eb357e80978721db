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
wrong "use \`rota submit\`" rota run --array 1-3 -- true
wrong "is no time in the past" rota history --since tomorrow
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
printf 'node n1 gpu=8\n' >x.scenario
expect 2 rota sim x.scenario
says "x.scenario:1:"
expect 2 rota sim nowhere.scenario
