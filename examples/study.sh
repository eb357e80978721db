#!/usr/bin/env bash
# Twelve nodes of two models, and tasks of which some need the scarce one: what can be used?
set -euo pipefail

{
  echo sn,cpu_milli,memory_mib,gpu,model
  for i in $(seq 4); do echo "t$i,64000,262144,4,T4"; done
  for i in $(seq 8); do echo "v$i,96000,393216,8,V100"; done
} >nodes.csv
cat >tasks.csv <<'CSV'
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
part,2000,8192,1,250,
one,4000,16384,1,1000,
pinned,4000,16384,1,1000,T4
four,16000,65536,4,1000,
CSV

rota study packing --nodes nodes.csv --tasks tasks.csv --load 0.9,1.3 --seeds 1-5
rota study packing --nodes nodes.csv --tasks tasks.csv --load 0.8 --seeds 1-2 --departures 2000 \
  --placement pack,least_fragmentation -o json >study.json
grep '"moves_per_1000"' study.json
