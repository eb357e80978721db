#!/usr/bin/env bash
# A job that waits: why, when it will start, and what would help.
set -euo pipefail

gpus=$(rota gpus -o name | wc -l)
holder=$(rota submit --parsable --tasks "$gpus" --gpus 1 --time 10m --min-runtime all -- sleep 300)
until rota show "$holder" -o json | grep -q '"state": "running"'; do sleep 0.1; done

waiting=$(rota submit --parsable --gpus 2 --time 5m -- true)
rota why "$waiting"

# The same as data, for scripts.
rota why "$waiting" -o json >verdict.json
grep '"code": "insufficient_free"' verdict.json
grep '"need": 2' verdict.json
grep '"estimate": "20' verdict.json

rota cancel "$holder"
rota wait "$waiting"
rota why "$waiting"
