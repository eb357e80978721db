#!/usr/bin/env bash
# Two teams, eight GPUs. One fills the cluster in the morning; what does the other get, and when?
set -euo pipefail

{
  echo submitted,duration,gpus,team
  for i in $(seq 0 15); do echo "2026-01-05 08:0$((i / 4)):00,21600,1,vision"; done
  for i in $(seq 0 3); do echo "2026-01-05 09:00:00,7200,1,speech"; done
} >jobs.csv

rota study sharing jobs.csv --on 1x8 --days 1 --contract 2h --fairness instant -o wide
rota study sharing jobs.csv --on 1x8 --days 1 --policy contracts,easy -o json >sharing.json
grep '"delivered_ratio"' sharing.json
