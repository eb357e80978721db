#!/usr/bin/env bash
# A policy tried on the real engine under a virtual clock, before anybody adopts it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

rota sim "$here/share.scenario"
rota sim --trace "$here/share.scenario"

# What does not hold is named with its line and the engine's reasons.
sed 's/started=30m/started=20m/' "$here/share.scenario" >wrong.scenario
code=0
rota sim wrong.scenario >report.txt || code=$?
cat report.txt
test "$code" -eq 1
grep 'wrong.scenario:12' report.txt
