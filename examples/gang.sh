#!/usr/bin/env bash
# Two tasks that start together or not at all, and find each other.
set -euo pipefail

id=$(rota submit --parsable -N 2 -G 1 --time 1m --output 'rank-%t.txt' -- \
  sh -c 'echo "rank $RANK of $WORLD_SIZE meets at $MASTER_ADDR:$MASTER_PORT"')
rota wait "$id"
cat rank-0.txt rank-1.txt
grep 'rank 0 of 2' rank-0.txt
grep 'rank 1 of 2' rank-1.txt
test "$(sed 's/.*meets at//' rank-0.txt)" = "$(sed 's/.*meets at//' rank-1.txt)"
