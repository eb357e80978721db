#!/usr/bin/env bash
# `rota forecast`: exact figures of a series that is known, its test on the past, the condition to
# scale up and its hook.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
data=$ROTA_SOURCE_DIR/tests/data

# 42 days from Monday 2026-03-02 on: one run an hour, of 40 GPUs from 8 to 20 o'clock on working
# days, else of 10. Full hours wait for 10 minutes.
week() { # week DAYS
  awk -v days="$1" 'BEGIN {
    print "id,submit,start,end,state,gpus"
    for (hour = 0; hour < days * 24; ++hour) {
      full = hour % 168 < 120 && hour % 24 >= 8 && hour % 24 < 20
      begin = 1772409600 + hour * 3600
      start = begin + (full ? 600 : 0)
      print hour "," begin "," start "," start + 3600 ",COMPLETED," (full ? 40 : 10)
    }
  }'
}
week 42 >weeks.csv

# --- what is known in advance -------------------------------------------------------------------
expect 0 rota forecast weeks.csv --capacity 64 -o csv
same "$(wc -l <<<"$OUT")" 169
says "begin,gpus_p10,gpus_p50,gpus_p90,gpus_short_p50,gpus_short_p90,wait_seconds_p50"
says "2026-04-13T08:00:00Z,40,40,40,0,0,600,600,0,0,1"
says "2026-04-13T20:00:00Z,10,10,10,0,0,0,0,0,0,1"
says "2026-04-18T12:00:00Z,10,10,10,0,0,0,0,0,0,1"
expect 0 rota forecast weeks.csv --days 3 --on 4x8 -o json
says '"wape": 0.0'
says '"wape_last_week": 0.0'
says '"below_p90": 1.0'
says '"gpu_hours_p50": 600.0'
says '"hours_short_p90": 12'
says '"gpus_short_max_p90": 8.0'
says '"history_begin": "2026-03-02T00:00:00Z"'
expect 0 rota forecast weeks.csv
says "50 GPUs, the most ever held at once"
says "off by 0 % (same hour last week: 0 %)"
says "Mon 13 Apr 00:00"
[[ $OUT != *"Mon 13 Apr 09:00"* ]] || fail "hours stand in the page that did not ask for them"
expect 0 rota forecast weeks.csv -o wide
says "Mon 13 Apr 09:00"
expect 0 rota forecast weeks.csv -o html
says "<!doctype html>"
# From a point of the past, nothing of what came later is used: the file that ends there says so.
week 35 >cut.csv
expect 0 rota forecast cut.csv --days 2 --capacity 64 -o csv
first=$OUT
expect 0 rota forecast weeks.csv --days 2 --capacity 64 --until 2026-04-06T00:00:00Z -o csv
same "$OUT" "$first"

# --- scaling up ---------------------------------------------------------------------------------
expect 0 rota forecast weeks.csv --capacity 64 --scale-up-when 'p90 demand > capacity'
says "at no hour"
expect 10 rota forecast weeks.csv --capacity 32 --scale-up-when 'p90 demand > capacity for 4h'
says "Mon 13 Apr 08:00 for 12 hours: at most 8 GPUs short, 96 GPU-hours in all"
expect 0 rota forecast weeks.csv --capacity 32 --scale-up-when 'p90 demand > capacity for 13h'
expect 10 rota forecast weeks.csv --scale-up-when 'p90 wait > 5m'
says "at most 5m longer"
expect 10 rota forecast weeks.csv --days 1 --capacity 32 --scale-up-when 'p50 demand > 32' \
  --hook 'cat >hook.json; echo told'
complains "told"
[[ $OUT != *told* ]] || fail "the output of the hook is not in the report"
grep -q '"gpus_short_max": 8.0' hook.json || fail "the hook got: $(cat hook.json)"
grep -q '"begin": "2026-04-13T08:00:00Z"' hook.json || fail "the hook got: $(cat hook.json)"
expect 0 rota forecast weeks.csv --scale-up-when 'p50 demand > 99' --hook 'touch run'
[ ! -e run ] || fail "the hook ran for nothing"
expect 1 rota forecast weeks.csv --scale-up-when 'p50 demand > 9' --hook 'exit 3'
complains "ended with exit code 3"
expect 1 rota forecast weeks.csv --scale-up-when 'p50 demand > 9' --hook 'sleep 600' \
  --hook-timeout 1s
complains "had not ended after 1s and was killed; --hook-timeout gives it longer"
expect 1 rota forecast weeks.csv --scale-up-when 'p50 demand > 9' --hook 'kill -9 $$'
complains "ended with exit code 137"

# A report that is not written is an error also when the condition holds.
expect 1 sh -c "'$ROTA_BIN' forecast weeks.csv --scale-up-when 'p50 demand > 9' >/dev/full"
complains "cannot be written"
(cat weeks.csv && echo 'x,soon,then,later,COMPLETED,4') >odd.csv
expect 0 rota forecast odd.csv
says "1 row skipped on reading"

# --- what cannot be told --------------------------------------------------------------------------
cut -d, -f1,2,6 weeks.csv | sed '1s/.*/id,submit,gpus,run/; 1!s/$/,3600/' >without.csv
expect 0 rota forecast without.csv
says "Not told: waits: no run has both a submit and a start time"
wrong() { expect 2 "${@:2}"; complains "$1"; }
wrong "HISTORY is required" rota forecast
wrong "unknown option '--day'" rota forecast weeks.csv --day 3
wrong "--capacity" rota forecast weeks.csv --capacity ''
wrong "--scale-up-when" rota forecast weeks.csv --scale-up-when ''
wrong "--hook" rota forecast weeks.csv --scale-up-when 'p50 demand > 9' --hook ''
wrong "from 1 to 28" rota forecast weeks.csv --days 29
wrong "leave one out" rota forecast weeks.csv --on 4x8 --capacity 32
wrong "--capacity 'all'" rota forecast weeks.csv --capacity all
wrong "this history does not tell waits" rota forecast without.csv --scale-up-when 'p90 wait > 1h'
wrong "--capacity or --on" rota forecast weeks.csv --scale-up-when 'p90 demand > capacity'
wrong "the third word is >" rota forecast weeks.csv --scale-up-when 'p90 demand = 3'
wrong "--hook-timeout 'soon': expected a duration" rota forecast weeks.csv --hook-timeout soon
wrong "--hook needs a condition" rota forecast weeks.csv --hook true
wrong "needs 34 days of history" rota forecast "$data/slurm/sacct-duplicates.psv"
wrong "ask for at most 11 days (--days)" rota forecast weeks.csv --days 12
wrong "expected table, wide, json, csv or html" rota forecast weeks.csv -o yaml
echo "forecast_test: passed"
