#!/usr/bin/env bash
# What is in an export of Slurm's accounting, in a dump of Kubernetes, and in any table; the first
# also in Rota's own form, which reads back to the same history.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
data=$here/../tests/data

rota import "$data/slurm/sacct-duplicates.psv" --to week.csv
rota import week.csv -o json >again.json
grep '"jobs": 28' again.json

rota import "$data/kubernetes/dump.json"
rota import "$data/kubernetes/kai-snapshot.zip" --to snapshot.csv

printf 'created,ngpu,took,who\n2026-03-02T10:00:00Z,2,90,ann\n2026-03-02T10:01:00Z,1,soon,bob\n' \
  >jobs.csv
rota import jobs.csv --map submit=created,gpus=ngpu,run=took,user=who
gzip -k jobs.csv
rota import jobs.csv.gz --map submit=created,gpus=ngpu,run=took,user=who -o csv |
  grep 'rows_skipped,1'
