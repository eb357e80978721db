#!/usr/bin/env bash
# One job: what would happen, submit, follow, result.
set -euo pipefail

rota submit --dry-run --gpus 2 --time 10m -- sh -c 'echo hello'

id=$(rota submit --parsable --gpus 2 --time 10m --job-name hello -- \
  sh -c 'echo "hello from GPUs $CUDA_VISIBLE_DEVICES"')
rota wait "$id"
rota show "$id"
rota logs "$id" | grep 'hello from GPUs [0-9]'

# Now, with its output here and its exit code as ours.
code=0
rota run --gpus 1 --time 1m -- sh -c 'echo working; exit 3' || code=$?
test "$code" -eq 3

# The latest one is @, the one before it @~1.
rota show @~1 -o json | grep '"name": "hello"'
