#!/usr/bin/env bash
# Demand of the next days, hour by hour, and a command that is run when it will not be enough.
set -euo pipefail

# Six weeks of a team: full on working days, quiet at night and at the weekend.
awk 'BEGIN {
  print "id,submit,start,end,state,gpus"
  for (hour = 0; hour < 42 * 24; ++hour) {
    full = hour % 168 < 120 && hour % 24 >= 8 && hour % 24 < 20
    begin = 1772409600 + hour * 3600
    print hour "," begin "," begin + 60 "," begin + 3660 ",COMPLETED," (full ? 40 : 10) + hour % 7
  }
}' >quarter.csv

rota forecast quarter.csv --capacity 64
rota forecast quarter.csv --days 3 --on 4x8 -o wide
code=0
rota forecast quarter.csv --capacity 32 --scale-up-when 'p90 demand > capacity for 4h' \
  --hook 'grep gpus_short_max' || code=$?
[ $code = 10 ]
