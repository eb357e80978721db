#!/usr/bin/env bash
# Bills and balances of GPU time: the cases of tests/reports to the last digit, and what must hold
# of every report.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cases=$ROTA_SOURCE_DIR/tests/reports
data=$ROTA_SOURCE_DIR/tests/data

# field LINE NAME COLUMN: of the CSV in $OUT; LINE is group, idle, all, ...
field() {
  awk -F, -v line="$1" -v name="$2" -v column="$3" '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
    $1 == line && $2 == name { print $at; found = 1 }
    END { if (!found) print "no such line" }' <<<"$OUT"
}
# expected CASE: its "key value" lines.
expected() { sed -n 's/^\([^#][^ ]*\) = \(.*\)$/\1 \2/p' "$cases/$1.expected"; }

for name in A40a-four-quarters A40b-three-quarters; do
  checked=0
  while read -r key value; do
    by=queue
    [[ $key != cost.job.* ]] || by=job
    expect 0 rota report cost "$cases/$name.csv" --by $by -o csv
    case $key in
      gpu_hours.total) same "$(field all '' gpu_hours)" "$value" ;;
      gpu_hours.idle) same "$(field idle '' gpu_hours)" "$value" ;;
      cost.idle) same "$(field idle '' cost)" "$value" ;;
      cost.total) same "$(field all '' cost)" "$value" ;;
      cost.*) same "$(field group "${key##*.}" cost)" "$value" ;;
      *) fail "$name: unknown key $key" ;;
    esac
    checked=$((checked + 1))
  done < <(expected $name)
  [ $checked -ge 9 ] || fail "$name: only $checked values"
done
for name in A41a-shared-card A41b-mig-card; do
  expect 0 rota report devices "$cases/$name.prom" -o csv
  checked=0
  while read -r key value; do
    grep -qxF "$key,$value" <<<"$OUT" || fail "$name: $key is not $value but: $OUT"
    checked=$((checked + 1))
  done < <(expected $name)
  [ $checked -ge 7 ] || fail "$name: only $checked values"
done
expect 0 rota report delivered "$cases/A47-owed-and-delivered.csv" --allocation a=4 -o csv
checked=0
while read -r key value; do
  column=${key%.*}
  [ "$column" != allocation ] || column=allocation_gpus
  same "$(field group "${key##*.}" "$column")" "$value"
  checked=$((checked + 1))
done < <(expected A47-owed-and-delivered)
same $checked 4

# --- devices ------------------------------------------------------------------------------------
expect 0 rota report devices "$cases/mig-and-whole.prom"
says "0.2 %  ml-research/jupyter-anna-0"
says "2 devices, 623.455 W"
expect 0 rota report devices "$cases/A41a-shared-card.prom" -o json
says '"utilization_percent": null'
says '"power_watts": 60.0'
OUT=$(rota report devices - <"$cases/blanks.prom")
says "97 %"
expect 2 rota report devices "$data/philly-500.csv"
complains "philly-500.csv:1:"
printf 'up 1\n' >up.prom
expect 2 rota report devices up.prom
complains "no device is in it"
expect 2 rota report devices
# Names that a spreadsheet would compute, or that a terminal or a browser would obey.
printf '%s\n' id,team,gpus,submit,start,end '1,=cmd|x,1,0,0,3600' \
  $'2,\xc2\x9b31m\xe2\x80\xaered,1,0,0,3600' '3,<script>,1,0,0,3600' >hostile.csv
expect 0 rota report usage hostile.csv -o csv
same "$(field group "'=cmd|x" gpu_hours)" 1
same "$(field group '" 31m red"' gpu_hours)" 1
expect 0 rota audit hostile.csv -o csv
says ",'=cmd|x"
expect 0 rota report usage hostile.csv -o json
says '"=cmd|x"'
for what in 'report usage' 'report cost --prices 1' 'report delivered' audit; do
  expect 0 rota $what hostile.csv -o html
  ! grep -q '<script>' <<<"$OUT" || fail "$what: a name is a script"
done
expect 2 rota report usage "$data/philly-500.csv" --month ''
complains "option '--month' has an empty value"
expect 2 rota report usage "$data/philly-500.csv" --from 2017-09-31
complains "expected a date or time"

# --- usage and cost: lines add up to capacity x time ----------------------------------------------
# adds_up COLUMN: all lines of the CSV in $OUT, in millionths.
adds_up() {
  awk -F, -v column="$1" '
    function units(text,  parts, sign) {
      sign = 1
      if (sub(/^-/, "", text)) sign = -1
      split(text, parts, ".")
      return sign * (parts[1] * 1000000 + substr(parts[2] "000000", 1, 6))
    }
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i; next }
    $1 == "all" { all = units($at); next }
    { sum += units($at) }
    END { if (sum != all) { print sum " is not " all; exit 1 } }' <<<"$OUT" ||
    fail "$1 does not add up: $OUT"
}
sacct=$data/slurm/sacct-duplicates.psv
for by in queue user class model job; do
  expect 0 rota report cost "$sacct" --on 5x8 --by $by --prices 2.37 -o csv
  adds_up gpu_hours
  adds_up cost
  same "$(field all '' gpu_hours)" 2.622222
  same "$(field all '' cost)" 6.21
  [[ $(field all '' preempted_gpu_hours) == 0.01333[34] ]] || fail "preempted: $OUT"
  expect 0 rota report usage "$data/philly-500.csv" --on 4x8 --by $by -o csv --from 2017-10-01
  adds_up gpu_hours
done
expect 0 rota report usage "$sacct"
says "(idle)"
says "2 attempts held a share of GPUs whose size is not told"
says "most GPUs held at once"
expect 0 rota report usage "$sacct" --on 1x8 -o csv
adds_up gpu_hours
[ "$(field beyond_capacity '' gpu_hours)" != "no such line" ] || fail "no line beyond the capacity"

cat >cluster.scenario <<'S'
node a[1-2] gpus=a100:8 cost=1.5
node h[1-2] gpus=h100:8 cost=3.25
node m1 gpus=a100:8 cost=1.5 state=drained
S
expect 0 rota report cost "$sacct" --on cluster.scenario -o json
says '"line": "drained"'
says '"report": "cost"'
expect 0 rota report cost "$sacct" --on cluster.scenario
says "A GPU-hour costs: a100 1.5, h100 3.25."
says "Capacity:  40 GPUs: a100 24, h100 16"
printf 'model,price\na100,2\nH100,4\n' >prices.csv
expect 0 rota report cost "$sacct" --on cluster.scenario --prices prices.csv
says "A GPU-hour costs: a100 2, h100 4."
expect 2 rota report cost "$sacct" --on cluster.scenario --prices a10=3
complains "did you mean 'a100'"
expect 0 rota report cost "$cases/A40a-four-quarters.csv" --prices 8 -o csv
same "$(field all '' cost)" 8.00
expect 2 rota report cost "$sacct"
complains "no price of a GPU-hour for 'a100': say --prices a100=PRICE"

printf 'queue,budget\nml,0.50\nnlp,0.10\nnobody,7\n' >budget.csv
expect 0 rota report cost "$sacct" --on cluster.scenario --budget budget.csv
says "BUDGET"
says "nobody"
expect 0 rota report cost "$sacct" --on cluster.scenario --budget budget.csv -o csv
same "$(field group nobody cost)" 0.00
same "$(field group nobody budget)" 7
# Energy: one GPU for an hour, three quarters of it held: 0.75 x 0.91 kW and 0.25 x 0.156 kW at 0.5.
expect 0 rota report cost "$cases/A40b-three-quarters.csv" --by queue --energy-price 0.5 \
  --watts 700/120 --pue 1.3 -o csv
same "$(field all '' kwh)" 0.722
same "$(field idle '' kwh)" 0.039
same "$(field all '' energy_cost)" 0.36
same "$(field idle '' energy_cost)" 0.02
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "energy_cost") e = i
    if ($i == "cost") c = i
    if ($i == "total_cost") t = i } next }
  $1 == "all" { all = $e; if ($c + $e != $t) exit 1; next } { sum += $e }
  END { if (sprintf("%.2f", sum) != sprintf("%.2f", all)) exit 1 }' <<<"$OUT" ||
  fail "energy does not add up: $OUT"
expect 0 rota report cost "$cases/A40b-three-quarters.csv" --energy-price 0.5 --watts 700/120
says "Energy of a GPU-hour costs: 0.35 held, 0.06 idle or drained. A kWh costs 0.5, PUE 1."
expect 2 rota report cost "$cases/A40b-three-quarters.csv" --energy-price 0.5
complains "they are not guessed"
expect 2 rota report cost "$sacct" --on cluster.scenario --energy-price 0.5 --watts h100=700/120
complains "--watts a100=HELD/IDLE"
# Budgets that are parts of another one.
printf 'queue,parent,budget\nlab,,0.50\nml,lab,60%%\neval,lab,40%%\n' >parts.csv
expect 0 rota report cost "$sacct" --on cluster.scenario --budget parts.csv -o csv
same "$(field group ml budget)" 0.3
same "$(field group eval budget)" 0.2
same "$(field group lab budget_spent)" "$(awk -F, '
  NR == 1 { for (i = 1; i <= NF; i++) if ($i == "cost") at = i }
  $1 == "group" && ($2 == "ml" || $2 == "eval") { sum += $at } END { print sum }' <<<"$OUT")"
printf 'queue,parent,budget\nlab,,0.50\nml,lab,60%%\neval,lab,40.5%%\n' >parts.csv
expect 2 rota report cost "$sacct" --on cluster.scenario --budget parts.csv
complains "more than 100 %"
expect 2 rota report cost "$sacct" --prices 2 --budget budget.csv --by user
complains "there is no column 'user'"

# Nodes out of service, as Slurm lists them.
printf '%s\n' 'Cluster|NodeName|TimeStart|TimeEnd|State' \
  'lab||2026-11-30T18:25:18|Unknown|' \
  'lab|a2|2026-11-30T18:33:20|2026-11-30T18:34:20|DOWN*' \
  'lab|a2|2026-11-30T18:34:00|2026-11-30T18:35:00|DRAIN' \
  'lab|zz|2026-11-30T18:34:00|Unknown|DRAIN' >events.psv
printf 'node a[1-2] gpus=a100:8\n' >two.scenario
expect 0 rota report usage "$data/philly-500.csv" --on two.scenario --drained events.psv \
  --from 2026-11-30T18:30:00Z --until 2026-11-30T19:30:00Z -o csv
same "$(field drained '' gpu_hours)" 0.222222
same "$(field idle '' gpu_hours)" 15.777778
[[ $ERR == *"1 node of 'events.psv', like zz, is not in the cluster"* ]] || fail "$ERR"

# --- periods ------------------------------------------------------------------------------------
expect 0 rota report usage "$data/philly-500.csv" --on 8x8 --month 2017-10 -o csv
same "$(field all '' gpu_hours)" $((64 * 31 * 24))
expect 0 rota report usage "$data/philly-500.csv" --on 8x8 --from 2017-10-01 --until 2017-10-02
says "2017-10-01T00:00:00Z to 2017-10-02T00:00:00Z (1d)"
expect 2 rota report usage "$sacct" --month 10
complains "like 2026-10"
expect 2 rota report usage "$sacct" --month 2026-13
expect 2 rota report usage "$sacct" --month 2026-10 --from 2026-10-01
expect 2 rota report usage "$sacct" --from 2027-01-01
complains "the period is empty"
expect 2 rota report usage "$sacct" --from soon

# --- idle ---------------------------------------------------------------------------------------
expect 0 rota report idle "$sacct" --on cluster.scenario
says "IDLE WHILE WANTED"
says "h100"
expect 0 rota report idle "$data/philly-500.csv" --on 8x8 --by day -o json
says '"day": "2017-10-07"'
expect 2 rota report idle "$sacct" --by queue
complains "idle time belongs to nobody"

# --- delivered ----------------------------------------------------------------------------------
expect 0 rota report delivered "$data/philly-500.csv" --on 8x8 --shares ee9e8c=3,b436b2=2
says "teams got at least 95 % of what was owed"
expect 0 rota report delivered "$data/philly-500.csv" --allocation b436b2=8 -o csv
same "$(field group b436b2 allocation_gpus)" 8
[[ $ERR == *"7 other teams without an allocation"* ]] || fail "$ERR"
expect 0 rota report delivered "$sacct" --on cluster.scenario --by user -o json
says '"user": "alice"'
expect 2 rota report delivered "$data/philly-500.csv" --on 8x8 --shares ee9e8=3
complains "did you mean 'ee9e8c'"
expect 2 rota report delivered "$cases/A47-owed-and-delivered.csv"
complains "say what teams own"
expect 2 rota report delivered "$sacct" --shares ml=1 --allocation ml=1
expect 2 rota report delivered "$sacct" --by model
printf 'hour,queue,demand_gpus,used_gpus\n0,a,1,2\n' >odd.csv
expect 2 rota report delivered odd.csv --allocation a=1
complains "odd.csv:2"
complains "more was used than was wanted"

# --- one page to mail or print ------------------------------------------------------------------
expect 0 rota report cost "$sacct" --on cluster.scenario --budget budget.csv -o html
says "<!doctype html>"
says '<svg role="img"'
says "(drained)"
for outside in http '<script' 'src=' 'url('; do
  [[ $OUT != *"$outside"* ]] || fail "the page needs something beside itself: $outside"
done
sed 's/vision/<b>vision/' "$cases/A40a-four-quarters.csv" >markup.csv
expect 0 rota report usage markup.csv -o html
says "&lt;b&gt;vision"
for report in "idle $sacct" "delivered $sacct" "devices $cases/A41b-mig-card.prom"; do
  expect 0 rota report $report -o html
  says "</html>"
done

# --- what is wrong is an error ------------------------------------------------------------------
expect 2 rota report
expect 2 rota report usages "$sacct"
expect 2 rota report usage "$sacct" --prices 2
complains "--prices"
expect 2 rota report usage "$sacct" --by team
expect 2 rota report usage "$sacct" --by queue,user
complains "expected one of queue, user, class, model, job"
expect 2 rota report usage nowhere.csv
printf 'submit,run,gpus\n10,5,0\n' >none.csv
expect 2 rota report usage none.csv
complains "no attempt in the history held a GPU"
expect 2 rota report usage "$sacct" --drained events.psv
complains "--drained needs --on"
expect 2 rota report cost "$sacct" --prices cheap
complains "h100=2.5"
sed 's/0.25/1.25/' "$cases/A40a-four-quarters.csv" >odd.csv
expect 2 rota report cost odd.csv
complains "odd.csv:2"
sed 's/T11/T09/' "$cases/A40a-four-quarters.csv" >odd.csv
expect 2 rota report cost odd.csv
complains "ends before it starts"
expect 0 rota report cost --help
says "--budget"
echo "report_test: passed"
