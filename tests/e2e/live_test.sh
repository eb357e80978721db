#!/usr/bin/env bash
# What only real processes and real time can show: bursts of small shares, strangers on a GPU, why a
# job was stopped, idle sessions, and a long queue that hides nobody.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

running() { rota ls -o name --state running | wc -l; }

# until_running N: until N jobs run, for at most 30 s.
until_running() {
  local i
  for i in $(seq 150); do
    [ "$(running)" = "$1" ] && return 0
    sleep 0.2
  done
  fail "$(running) jobs run, expected $1"
}

# within SECONDS COMMAND..: repeats the command until it succeeds.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || fail "not in time: $*"
    sleep 0.1
  done
}

# with_devices FOLDER: a daemon on the devices of $TEST_DIR/devices.yaml.
with_devices() {
  "$ROTA_BIN" serve --devices "$TEST_DIR/devices.yaml" --state "$TEST_DIR/$1" --port 0 \
    >"$TEST_DIR/banner" 2>"$TEST_DIR/daemon.log" &
  DAEMON_PID=$!
  within 20 rota nodes >/dev/null 2>&1
}

# --- a burst is counted as declared ---------------------------------------------------------------
# The devices report all of their memory free however many jobs are on them.
echo '{count: 16, model: h100, cpus: 256, memory_used: 0GiB}' >"$TEST_DIR/devices.yaml"
with_devices burst
expect 0 rota submit --gpus 0.2 --time 5m --array 1-128 -- sleep 60
until_running 80
sleep 1
same "$(running)" 80
per_gpu=$(rota gpus --no-headers | awk '{print gsub(/1\.[0-9]+/, "")}' | sort -u)
same "$per_gpu" 5
expect 0 rota cancel 1
says "128 jobs of array 1 are being cancelled (80 stopping, 48 cancelled)"
within 20 eval '[ "$(running)" = 0 ]'
stop_daemon

# --- a process from outside -----------------------------------------------------------------------
sleep 300 &
stranger=$!
cat >"$TEST_DIR/devices.yaml" <<YAML
count: 4
model: h100
processes:
  - {gpu: 2, pid: $stranger, user: eve, memory: 12GiB}
YAML
with_devices foreign
expect 0 rota gpus
says "used from outside by pid $stranger of eve"
expect 0 rota submit --gpus 4 --time 1m -- true
expect 0 rota submit --gpus 1 --time 1m -- sh -c 'echo GPU $CUDA_VISIBLE_DEVICES'
wait_state 2 done
expect 0 rota logs 2
[[ $OUT == "GPU "[013] ]] || fail "job 2 had a GPU that is in use: $OUT"
expect 0 rota why 1
says "process $stranger of eve on sim1:2"
same "$(field 1 state)" pending
kill $stranger
wait_state 1 done
stop_daemon

# --- idle sessions --------------------------------------------------------------------------------
cat >"$XDG_CONFIG_HOME/rota/rota.yaml" <<'YAML'
policy: {session_idle_warn: 2s, session_idle_end: 5s, grace: 2s, quarantine_after: none}
YAML
echo '{count: 2, model: h100, activity: [0%, 60%]}' >"$TEST_DIR/devices.yaml"
with_devices sessions
expect 0 rota submit --class interactive --gpus 1 -- sh -c 'touch kept; sleep 100'
expect 0 rota submit --class interactive --gpus 1 -- sleep 100
wait_state 1 cancelled
expect 0 rota events
says "job 1 (sh) is idle and will be ended if it stays so"
expect 0 rota why 1
says "idle for too long"
[ -f kept ] || fail "the files of an ended session are gone"
same "$(field 2 state)" running
expect 0 rota ls --all
says "session idle"
expect 0 rota cancel 2
wait_state 2 cancelled
stop_daemon

# --- why a job was stopped ------------------------------------------------------------------------
# One is preempted early, one reaches its limit; both had asked for a warning as long as the limit.
cat >"$XDG_CONFIG_HOME/rota/rota.yaml" <<'YAML'
policy: {grace: 2s, quarantine_after: none}
defaults: {min_runtime: 0s}
queues: {busy: {}, calm: {quota: 1}}
YAML
echo '{count: 1, model: h100}' >"$TEST_DIR/devices.yaml"
with_devices causes
again='echo attempt $ROTA_ATTEMPT cause $ROTA_RESTART_REASON; sleep 30'
expect 0 rota submit --queue busy --time 4s --signal USR1@4 --requeue -- sh -c "$again"
wait_state 1 running
expect 0 rota submit --queue calm --time 5s -- sleep 1
wait_state 2 done
within 20 eval '[ "$(field 1 attempts)" = 2 ]'
within 20 eval '[ "$(field 1 state)" = timeout ]'
expect 0 rota show 1
says "preempted"
says "time limit"
expect 0 rota logs 1
says "attempt 2 cause preempted"
stop_daemon

# --- a long queue hides nobody --------------------------------------------------------------------
echo 'policy: {quarantine_after: none}' >"$XDG_CONFIG_HOME/rota/rota.yaml"
echo '{count: 8, model: h100, cpus: 16}' >"$TEST_DIR/devices.yaml"
with_devices queue
expect 0 rota submit --gpus 8 --time 10m --array 1-10000 -- sleep 600
until_running 1
expect 0 rota submit --parsable --gpus 0 --cpus 4 --time 1m -- true
small=$OUT
wait_state "$small" done
expect 0 rota show "$small"
same "$(field 1.10000 state)" pending
expect 0 rota why 1.10000
says "8 GPUs"
expect 0 rota cancel 1
says "10000 jobs of array 1 are being cancelled (1 stopping, 9999 cancelled)"
within 20 eval '[ "$(running)" = 0 ]'
