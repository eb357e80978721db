#!/usr/bin/env bash
# Where the GPU time of a history went; the same as data, without names; classes found from the
# jobs, as a configuration that the daemon reads.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
data=$here/../tests/data

rota audit "$data/slurm/sacct-duplicates.psv" --on 4x8 --shares ml=3,eval=1
rota audit "$data/slurm/sacct-duplicates.psv" --on 4x8 --hash-names -o json >audit.json
grep '"capacity_gpus": 32' audit.json
rota audit "$data/philly-500.csv" --classes-to classes.yaml -o csv | grep '^jobs,500'
cat classes.yaml
rota audit "$data/slurm/sacct-duplicates.psv" --on 4x8 -o html >audit.html
