#!/usr/bin/env bash
# What happens to a daemon, its files and its jobs when somebody means ill, or the machine does:
# private files, broken configurations, lost journals and folders, shims that are killed, full
# connections, long absences.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

STATE=$TEST_DIR/state

kill_daemon() {
  kill -KILL "$DAEMON_PID" 2>/dev/null || true
  wait "$DAEMON_PID" 2>/dev/null || true
  DAEMON_PID=
}

# refuses_to_start WORDS..: `rota serve` ends by itself with the code in $WANT and says so.
refuses_to_start() {
  local want=$1 words=$2
  shift 2
  expect "$want" timeout 20 "$ROTA_BIN" serve --simulate 4xh100 --state "$STATE" --port 0 "$@"
  complains "$words"
}

wait_gone() {
  local i
  for i in $(seq 100); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.1
  done
  fail "process $1 still runs"
}

# ---- configurations that are none ----

printf 'queues: &q\n  a: {weight: 1, queues: *q}\n' >"$TEST_DIR/cycle.yaml"
printf 'policy:\n  fairness_span: 0s\n' >"$TEST_DIR/zero.yaml"
printf '\377\376' >"$TEST_DIR/bytes.yaml"
refuses_to_start 2 "cycle.yaml:2:7" --config "$TEST_DIR/cycle.yaml"
refuses_to_start 2 "zero.yaml:2:18" --config "$TEST_DIR/zero.yaml"
refuses_to_start 2 "bytes.yaml:1:1" --config "$TEST_DIR/bytes.yaml"
refuses_to_start 2 "folder" --config "$TEST_DIR"
[ ! -e "$STATE/rota.db" ] || fail "a journal was made for a wrong configuration"

# ---- files are private, whatever the umask ----

umask 000
start_daemon 4xh100
umask 022
expect 0 rota submit --parsable -t 5m -- sh -c 'umask 0; touch $ROTA_CHECKPOINT_DIR/x; sleep 300'
keeper=$OUT
wait_state "$keeper" running
open=$(find "$STATE" -type f -perm /077 ! -path "*/checkpoints/*" -o \
  -type d -perm /066 | sed "s|$STATE/||")
same "$open" ""
mode=$([ "$(id -u)" = 0 ] && echo 711 || echo 700)
same "$(stat -c %a "$STATE")" "$mode"
same "$(stat -c %a "$STATE/rota.db" "$STATE/rota.db-wal" "$STATE/attempts" | tr '\n' ' ')" \
  "600 600 700 "

# ---- a job of another account: its checkpoints are its own, and nothing else is ----

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  mkdir -p "$TEST_DIR/nobody" "$TEST_DIR/secret"
  chmod 755 "$TEST_DIR" && chown 65534:65534 "$TEST_DIR/nobody" && chmod 700 "$TEST_DIR/secret"
  echo "for root alone" >"$TEST_DIR/secret/file"
  as_nobody() {
    (cd "$TEST_DIR/nobody" && setpriv --reuid 65534 --regid 65534 --clear-groups \
      env HOME="$TEST_DIR/nobody" "$ROTA_BIN" "$@")
  }
  expect 0 as_nobody submit --parsable -t 1m -- sh -c 'echo kept >$ROTA_CHECKPOINT_DIR/model'
  other=$OUT
  wait_state "$other" done
  same "$(cat "$STATE/checkpoints/$other/model")" kept
  ln -sf "$TEST_DIR/secret/file" "$TEST_DIR/nobody/rota-$other.out"
  expect 6 as_nobody logs "$other" || true
  [[ $OUT != *"root alone"* ]] || fail "a link in the job's folder shows a file of root"
fi

# ---- a shim that is killed is not begun again at once, and not for ever ----

expect 0 rota submit --parsable -t 1m -- sh -c 'echo $$ >>tries; kill -9 $PPID; sleep 60'
looper=$OUT
for _ in $(seq 100); do
  [ -s tries ] && break
  sleep 0.1
done
sleep 4
tries=$(wc -l <tries)
[ "$tries" -le 2 ] || fail "begun $tries times in four seconds"
expect 0 rota cancel "$looper"

# ---- a job whose shim is stopped can be ended ----

expect 0 rota submit --parsable -t 1m -- sh -c 'echo $PPID >shim; echo $$ >main; sleep 300'
stopped=$OUT
wait_state "$stopped" running
until [ -s main ]; do sleep 0.1; done
kill -STOP "$(cat shim)"
expect 0 rota cancel "$stopped"
wait_gone "$(cat main)"
wait_state "$stopped" cancelled

# ---- time that passes while the daemon is away is nobody's ----

expect 0 rota submit --parsable -t 1h -- sleep 1
short=$OUT
wait_state "$short" running
kill_daemon
sleep 6
start_daemon 4xh100
wait_state "$short" done
seconds=$(field "$short" run_seconds)
[ "${seconds%.*}" -le 3 ] || fail "one second of work is booked as $seconds"

# ---- an attempt whose folder is gone does not run beside the next one ----

expect 0 rota submit --parsable -t 5m -- sh -c 'echo $$ >>runs; sleep 300'
runner=$OUT
wait_state "$runner" running
until [ -s runs ]; do sleep 0.1; done
kill_daemon
first=$(head -1 runs)
kill -0 "$first" || fail "the job died with the daemon"
rm -rf "$STATE/attempts/$runner.1"
start_daemon 4xh100
for _ in $(seq 100); do
  [ "$(wc -l <runs)" -ge 2 ] && break
  sleep 0.1
done
same "$(wc -l <runs)" 2
! kill -0 "$first" 2>/dev/null || fail "the first attempt still runs beside the second"
expect 0 rota cancel "$runner"

# ---- a journal that lost its end ----

expect 0 rota submit --parsable -t 5m -- sleep 300
last=$OUT
wait_state "$last" running
kill_daemon
cp -a "$STATE" "$TEST_DIR/copy"
rm "$STATE/rota.db-wal" "$STATE/rota.db-shm"
refuses_to_start 1 "rota serve --accept-loss"
rm -f "$STATE/rota.db"*
refuses_to_start 1 "rota serve --accept-loss"
rm "$STATE/high-water"
refuses_to_start 1 "rota serve --accept-loss"
# The folder as it was goes on as if nothing had been.
rm -f "$STATE"/rota.db*
cp -a "$TEST_DIR/copy"/rota.db* "$TEST_DIR/copy/high-water" "$STATE/"
start_daemon 4xh100
same "$(field "$last" state)" running
kill_daemon
rm "$STATE/rota.db-wal" "$STATE/rota.db-shm"
start_daemon 4xh100 --accept-loss
expect 0 rota submit --parsable -t 1m -- true
[ "$OUT" -gt "$last" ] || fail "number $OUT was given a second time"
wait_state "$OUT" done

# ---- one account cannot take all seats ----

if command -v python3 >/dev/null; then
  python3 - "$ROTA_SOCKET" <<'PY' &
import socket, sys, time
held = []
for _ in range(600):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.settimeout(2)
        s.connect(sys.argv[1])
        held.append(s)
    except OSError:
        pass
time.sleep(6)
PY
  hog=$!
  sleep 2
  if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    expect 0 as_nobody ls
  fi
  kill $hog 2>/dev/null || true
  wait $hog 2>/dev/null || true
  sleep 0.5
  expect 0 rota ls
fi
echo "withstood"
