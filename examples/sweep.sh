#!/usr/bin/env bash
# Many jobs from one submit, and jobs that follow one another.
set -euo pipefail

# An array of six, two at a time.
array=$(rota submit --parsable --array 1-6%2 --gpus 1 --time 1m --output 'part-%a.txt' -- \
  sh -c 'echo "part $ROTA_ARRAY_TASK_ID of $ROTA_ARRAY_TASK_COUNT"')

# A sweep of four: the parameters are variables of each job.
sweep=$(rota submit --parsable --param lr=.1,.2 --param bs=32,64 --gpus 1 --time 1m \
  --name-template 'lr{lr}-bs{bs}' --output 'run-%x.txt' -- sh -c 'echo "lr=$lr bs=$bs"')

# The same from a file.
printf 'lr,bs\n.3,128\n.4,256\n' >grid.csv
file=$(rota submit --parsable --param-file grid.csv --gpus 1 --time 1m -- sh -c 'echo "$lr $bs"')

# A report when all of the sweep has succeeded.
report=$(rota submit --parsable --afterok "$sweep" --gpus 0 --time 1m --output report.txt -- \
  sh -c 'cat run-lr*.txt')

rota wait "$array" "$file" "$report"
rota history --no-headers
test "$(cat part-*.txt | wc -l)" -eq 6
test "$(sort report.txt | head -1)" = 'lr=.1 bs=32'
