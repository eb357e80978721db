#!/usr/bin/env bash
# Who held which GPU time, what it cost, what nobody held, and what teams got of what they own.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
data=$here/../tests/data
cases=$here/../tests/reports

cat >cluster.scenario <<'S'
node a[1-2] gpus=a100:8 cost=1.5
node h[1-2] gpus=h100:8 cost=3.25
node m1 gpus=a100:8 cost=1.5 state=drained
S
rota report usage "$data/slurm/sacct-duplicates.psv" --on cluster.scenario
rota report usage "$data/philly-500.csv" --on 64x8 --by queue --month 2017-10 -o csv | grep '^all,'

printf 'queue,budget\nml,0.50\neval,0.20\n' >budget.csv
rota report cost "$data/slurm/sacct-duplicates.psv" --on cluster.scenario --budget budget.csv
rota report cost "$data/slurm/sacct-duplicates.psv" --on cluster.scenario --by user \
  --prices h100=2.5,a100=1.2
printf 'queue,parent,budget\nlab,,0.50\nml,lab,60%%\n' >parts.csv
rota report cost "$data/slurm/sacct-duplicates.psv" --on cluster.scenario --budget parts.csv \
  --energy-price 0.25 --watts h100=700/120,a100=400/60 --pue 1.3
rota report cost "$cases/A40b-three-quarters.csv" --by job | grep '(idle)  *0.250'

rota report idle "$data/philly-500.csv" --on 64x8 --by day
rota report delivered "$data/philly-500.csv" --on 8x8 --shares ee9e8c=3,b436b2=2
rota report delivered "$cases/A47-owed-and-delivered.csv" --allocation a=4 -o csv |
  grep '^group,a,4,18,9,10,9,0.90$'

rota report devices - <"$cases/A41b-mig-card.prom"
