#!/usr/bin/env bash
# A node is emptied for maintenance and taken back.
set -euo pipefail

node=$(rota nodes -o name | tail -1)
node=${node#node/}
rota drain "$node" --reason 'replace fan'
rota nodes
rota nodes -o json | grep '"state": "drain'
rota undrain "$node"
rota nodes -o json >nodes.json
if grep '"state": "drain' nodes.json; then exit 1; fi
