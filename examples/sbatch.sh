#!/usr/bin/env bash
# A script written for Slurm, unchanged.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# --mail-type has no meaning here: it is accepted and said.
rota submit --dry-run "$here/train.sbatch" data.txt

id=$(rota submit --parsable "$here/train.sbatch" data.txt)
rota wait "$id"
grep "job $id on GPUs .*, argument data.txt" "train-$id.out"

# A line that Rota does not know is an error with its place, and nothing runs.
printf '#!/bin/sh\n#SBATCH --gress=gpu:1\ntrue\n' >typo.sh
code=0
rota submit typo.sh 2>error.txt || code=$?
cat error.txt
test "$code" -eq 2
grep 'typo.sh:2' error.txt
grep -- '--gres' error.txt
