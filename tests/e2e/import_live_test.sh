#!/usr/bin/env bash
# `rota import --from-slurm`: a file that grows with a cluster. A made-up sacct tells from a real
# export what Slurm would have told at an instant; the clock of the test is a file.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export FIXTURE=$ROTA_SOURCE_DIR/tests/data/slurm/sacct-duplicates.psv
export STAGE=$TEST_DIR/stage
mkdir "$STAGE" "$TEST_DIR/bin"

cat >"$TEST_DIR/bin/sacct" <<'S'
#!/usr/bin/env bash
# Tells of $FIXTURE what was known at $(cat $STAGE/now), from -S on.
printf '%s\n' "$*" >>"$STAGE/calls"
[ "${TZ:-}" = UTC0 ] || { echo "not in UTC" >&2; exit 9; }
while [ $# -gt 0 ]; do
  case $1 in -S) from=$2; shift ;; esac
  shift
done
[ -f "$STAGE/slow" ] && sleep "$(cat "$STAGE/slow")"
[ -f "$STAGE/broken" ] && { cat "$STAGE/broken" >&2; head -3 "$FIXTURE"; exit 1; }
awk -F'|' -v OFS='|' -v now="$(cat "$STAGE/now")" -v from="$from" '
  NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print; next }
  { submit = $at["Submit"]; start = $at["Start"]; end = $at["End"]; step = $at["JobID"] ~ /\./ }
  submit > now || (end != "Unknown" && end < from) { next }
  step && (start > now || start == "Unknown") { next }
  end > now && end != "Unknown" {
    $at["End"] = "Unknown"; $at["State"] = "RUNNING"; $at["ExitCode"] = "0:0"
    if (start > now || start == "Unknown" || $at["AllocTRES"] == "") {
      $at["Start"] = "Unknown"; $at["State"] = "PENDING"; $at["AllocTRES"] = ""
      $at["NodeList"] = "None assigned"
    }
  }
  { print }' "$FIXTURE"
S
chmod +x "$TEST_DIR/bin/sacct"
export PATH=$TEST_DIR/bin:$PATH
at() { printf '%s\n' "$1" >"$STAGE/now"; }
# The rows of a history, whatever their order.
rows() { grep -v '^#' "$1" | sort; }
since=2026-11-30T18:00:00Z

# --- it takes what it says and nothing else -----------------------------------------------------
expect 2 rota import
complains "HISTORY is required"
expect 2 rota import --from-slurm
complains "--into"
expect 2 rota import --from-slurm --into a.csv b.csv
complains "no HISTORY, --format"
expect 2 rota import a.csv --every 5m
complains "--every goes with --from-slurm"
expect 2 rota import --from-slurm --into a.csv --every 1ms
complains "once a second at most"
expect 2 rota import --from-slurm --into a.csv --since 2999-01-01
complains "--since '2999-01-01': that is in the future"
expect 2 rota import --from-slurm --into a.csv --every never
complains "expected a span"
expect 2 rota import --from-slurm --into /nowhere/at/all/a.csv
complains "No such file"
echo "my notes" >notes.txt
expect 2 rota import --from-slurm --into notes.txt
complains "no history in Rota's own form"
same "$(cat notes.txt)" "my notes"

# --- without sacct, and with one that fails -----------------------------------------------------
at 2026-11-30T18:33:15
mkdir "$TEST_DIR/none"

expect 3 env PATH=$TEST_DIR/none "$ROTA_BIN" import --from-slurm --into jobs.csv
complains "no program sacct on the PATH"
echo "sacct: error: slurm_persist_conn_open_without_init: Connection refused" >"$STAGE/broken"
expect 5 rota import --from-slurm --into jobs.csv --since "$since"
complains "sacct -a -D -P -o ALL -S 2026-11-30T18:00:00"
complains "ended with 1; it said: sacct: error: slurm_persist_conn_open_without_init"
rm "$STAGE/broken"
[ -z "$(ls | grep jobs.csv)" ] || fail "a failed import leaves $(ls)"

# --- it grows, whatever the steps ---------------------------------------------------------------
rota import "$FIXTURE" --to whole.csv >whole.txt
expect 0 rota import --from-slurm --into jobs.csv --since "$since"
says "0 jobs, 0 attempts, 0 more than before"  # nothing has happened yet
expect 2 rota import jobs.csv
complains "no job in it"
at 2026-11-30T18:33:20
expect 0 rota import --from-slurm --into jobs.csv --since "$since"
says "more than before"
says "jobs.csv (rota), sacct (sacct)"
first=$(rows jobs.csv | wc -l)
expect 0 rota import jobs.csv -o json
says '"running"'
for time in 33:21 33:22 33:23 33:24 33:26 33:30 33:50 34:10 35:00 35:15 35:20 36:00 36:20; do
  at "2026-11-30T18:$time"
  expect 0 rota import --from-slurm --into jobs.csv --since "$since" -o json
done
at 2026-11-30T20:00:00
expect 0 rota import --from-slurm --into jobs.csv --since "$since" --overlap 3d
[ "$(rows jobs.csv | wc -l)" -gt "$first" ] || fail "the file has not grown: $first rows"
diff <(rows whole.csv) <(rows jobs.csv) || fail "grown in steps it differs from the whole"
same "$(ls jobs.csv*)" jobs.csv
cp jobs.csv once.csv
expect 0 rota import --from-slurm --into jobs.csv --since "$since"
diff <(rows once.csv) <(rows jobs.csv) || fail "read again it is another"
expect 0 rota audit jobs.csv
says "25 GPUs: the most ever held at once"

# --- it goes on where it was --------------------------------------------------------------------
: >"$STAGE/calls"
until=$(sed -n '1s/.*read until \(.*\)Z$/\1/p' jobs.csv)
expect 0 rota import --from-slurm --into jobs.csv --overlap 90m
same "$(sed 's/.*-S //' "$STAGE/calls")" "$(date -u -d "${until}Z - 90 minutes" +%FT%T)"
cp whole.csv other.csv
expect 2 rota import --from-slurm --into other.csv
complains "does not say until when it was read"
expect 0 rota import --from-slurm --into other.csv --since "$since"
diff <(rows whole.csv) <(rows other.csv) || fail "a history of import --to did not stay itself"
ln -s jobs.csv link.csv
chmod 640 jobs.csv
expect 0 rota import --from-slurm --into link.csv
[ -L link.csv ] || fail "the link was replaced"
same "$(stat -c %a jobs.csv)" 640

# --- ended at any instruction it is the old or the new --------------------------------------------
rm jobs.csv
at 2026-11-30T18:33:20
rota import --from-slurm --into jobs.csv --since "$since" >first.txt
cp jobs.csv before.csv
at 2026-11-30T20:00:00
echo 30 >"$STAGE/slow"
"$ROTA_BIN" import --from-slurm --into jobs.csv --since "$since" >killed.txt 2>&1 &
child=$!
for _ in $(seq 100); do [ -e jobs.csv.part ] && break; sleep 0.05; done
expect 1 rota import --from-slurm --into jobs.csv --since "$since"
complains "another import writes"
kill -9 "$child"
wait "$child" 2>/dev/null || true
rm "$STAGE/slow"
diff before.csv jobs.csv || fail "a killed import has changed the file"
for delay in 000 005 010 015 020 030 040 060; do
  cp before.csv jobs.csv
  "$ROTA_BIN" import --from-slurm --into jobs.csv --since "$since" >killed.txt 2>&1 &
  child=$!
  sleep "0.$delay"
  kill -9 "$child" 2>/dev/null || true
  wait "$child" 2>/dev/null || true
  cmp -s <(rows before.csv) <(rows jobs.csv) || cmp -s <(rows whole.csv) <(rows jobs.csv) ||
    fail "killed after 0.$delay s the file is neither the old nor the new"
done
expect 0 rota import --from-slurm --into jobs.csv --since "$since"
diff <(rows whole.csv) <(rows jobs.csv) || fail "after all that it is not the whole"
# An hour without a job is no sign of a Slurm that counts no GPUs.
head -1 "$FIXTURE" >quiet.psv
FIXTURE=$PWD/quiet.psv expect 0 rota import --from-slurm --into jobs.csv --since "$since"
! grep -q "no job shows a GPU" <<<"$OUT" || fail "a quiet hour is taken for no GPUs: $OUT"
diff <(rows whole.csv) <(rows jobs.csv) || fail "a quiet hour changed the file"

# --- again and again ------------------------------------------------------------------------------
rm jobs.csv
at 2026-11-30T18:33:20
"$ROTA_BIN" import --from-slurm --into jobs.csv --since "$since" --overlap 3650d --every 1s \
  -o json >rounds.txt 2>rounds.err &
child=$!
for _ in $(seq 100); do [ -s rounds.txt ] && break; sleep 0.1; done
echo "slurmdbd is away" >"$STAGE/broken"
for _ in $(seq 100); do grep -q "slurmdbd is away" rounds.err && break; sleep 0.1; done
grep -q "slurmdbd is away" rounds.err || fail "a failed round is not told: $(cat rounds.err)"
at 2026-11-30T20:00:00
rm "$STAGE/broken"
for _ in $(seq 100); do cmp -s <(rows whole.csv) <(rows jobs.csv) && break; sleep 0.1; done
kill "$child"
wait "$child" 2>/dev/null || true
diff <(rows whole.csv) <(rows jobs.csv) || fail "round after round it is not the whole"
grep -q '"attempts_before":0' rounds.txt || fail "the first round: $(head -1 rounds.txt)"
printf 'ok  import_live_test.sh\n'
