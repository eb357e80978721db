#!/usr/bin/env bash
# The daemon is killed with -9 again and again while real jobs run, end and are submitted. Every
# accepted job runs exactly once to its true exit code, as the same process, on devices of its own.
# KILL_ROUNDS sets the number of kills (default 8).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ROUNDS=${KILL_ROUNDS:-8}
MARKS=$TEST_DIR/marks
LOCKS=$TEST_DIR/locks
mkdir -p "$MARKS" "$LOCKS"
export MARKS LOCKS
RANDOM=${KILL_SEED:-4711}

# A job: notes its start, takes each of its devices for itself, works, notes its end.
cat >"$TEST_DIR/job.sh" <<'JOB'
#!/usr/bin/env bash
mark=$1 seconds=$2 code=$3
echo "start $$ $ROTA_JOB_ID $ROTA_ATTEMPT $CUDA_VISIBLE_DEVICES" >>"$MARKS/$mark"
for device in ${CUDA_VISIBLE_DEVICES//,/ }; do
  mkdir "$LOCKS/$device" 2>/dev/null ||
    echo "device $device taken while $(cat "$LOCKS/$device/owner") holds it" >>"$MARKS/violations"
  echo "$mark" >"$LOCKS/$device/owner" 2>/dev/null
done
sleep "$seconds"
for device in ${CUDA_VISIBLE_DEVICES//,/ }; do rm -rf "${LOCKS:?}/$device"; done
echo "end $$" >>"$MARKS/$mark"
exit "$code"
JOB
chmod +x "$TEST_DIR/job.sh"

kill_daemon() {
  kill -KILL "$DAEMON_PID" 2>/dev/null || true
  wait "$DAEMON_PID" 2>/dev/null || true
}

# Marks whose job has started and not ended.
running_marks() {
  local mark
  for mark in "$MARKS"/j*; do
    [ -e "$mark" ] || continue
    grep -q '^start' "$mark" && ! grep -q '^end' "$mark" && basename "$mark"
  done
  return 0
}

declare -A IDS CODES
COUNT=0
submit_some() {
  local wanted=$1 mark seconds code gpus id
  while [ "$wanted" -gt 0 ]; do
    wanted=$((wanted - 1))
    COUNT=$((COUNT + 1))
    mark=j$COUNT
    seconds=$((RANDOM % 3)).$((RANDOM % 10))
    code=$((RANDOM % 3 == 0 ? RANDOM % 100 + 1 : 0))
    gpus=$((RANDOM % 2 + 1))
    # Not acknowledged: it may or may not have been accepted, but never twice.
    id=$(rota submit --parsable --name "$mark" -G $gpus -t 10m -- "$TEST_DIR/job.sh" "$mark" \
      "$seconds" "$code" 2>/dev/null) || continue
    IDS[$mark]=$id
    CODES[$mark]=$code
  done
}

start_daemon 4xh100
for round in $(seq "$ROUNDS"); do
  submit_some 5
  # Half the time the kill falls into a submit.
  if [ $((RANDOM % 2)) = 0 ]; then
    (sleep 0.0$((RANDOM % 10)); kill -KILL "$DAEMON_PID" 2>/dev/null) &
    submit_some 1
    wait $! || true
  else
    sleep $((RANDOM % 2)).$((RANDOM % 10))
  fi
  kill_daemon
  alive=$(running_marks)
  sleep 0.$((RANDOM % 10))
  for mark in $alive; do
    pid=$(sed -n 's/^start \([0-9]*\) .*/\1/p' "$MARKS/$mark")
    grep -q '^end' "$MARKS/$mark" || kill -0 "$pid" ||
      fail "round $round: $mark (pid $pid) died with the daemon"
  done
  start_daemon 4xh100
  # What still runs is taken over as it is, not begun anew.
  for mark in $alive; do
    grep -q '^end' "$MARKS/$mark" && continue
    [ -n "${IDS[$mark]:-}" ] || continue
    state=$(field "${IDS[$mark]}" state)
    grep -q '^end' "$MARKS/$mark" && continue
    case $state in
      starting | running) ;;
      *) fail "round $round: $mark runs, but the daemon calls it '$state'" ;;
    esac
  done
done

for _ in $(seq 600); do
  [ -z "$(rota ls -o name)" ] && break
  sleep 0.1
done
same "$(rota ls -o name)" ""

[ ! -e "$MARKS/violations" ] || fail "$(cat "$MARKS/violations")"
for mark in "${!IDS[@]}"; do
  id=${IDS[$mark]}
  [ -e "$MARKS/$mark" ] || fail "$mark (job $id) was accepted and never ran"
  same "$mark starts $(grep -c '^start' "$MARKS/$mark")" "$mark starts 1"
  begun=$(sed -n 's/^start \([0-9]*\) .*/\1/p' "$MARKS/$mark")
  same "$mark ended as $(sed -n 's/^end //p' "$MARKS/$mark")" "$mark ended as $begun"
  want=$([ "${CODES[$mark]}" = 0 ] && echo done || echo failed)
  same "$mark: $(field "$id" state) $(field "$id" exit_code)" "$mark: $want ${CODES[$mark]}"
  same "$mark: attempts $(field "$id" attempts)" "$mark: attempts 1"
done
# Numbers are given once, also those of submits that were cut off.
same "$(rota ls --all -o name | sort | uniq -d)" ""
for mark in "$MARKS"/j*; do
  same "$(basename "$mark") starts $(grep -c '^start' "$mark")" "$(basename "$mark") starts 1"
done
echo "killed $ROUNDS times, ${#IDS[@]} accepted jobs, each ran once"
