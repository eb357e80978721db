#!/usr/bin/env bash
# The first minutes of a newcomer: help, a daemon with simulated GPUs, run, submit, look, stop.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

expect 0 rota --help
says "Submit and follow jobs"
says "rota demo"
expect 0 rota submit --help
says "--gpus"
says "As sbatch spells it"
expect 0 rota queue set --help
says "--quota"
expect 0 rota --version
says "rota 0."
expect 2 rota
complains "usage: rota COMMAND"
expect 0 rota help queue ls
says "OWED H"
expect 2 rota seff 7
complains 'use `rota show`'

# Without a daemon: what to do is said, and the code tells.
expect 5 rota ls
complains "rota serve"
complains "rota demo"
expect 5 rota stop
expect 1 rota doctor
says "daemon"

start_daemon 2x4xh100
grep -q "SIMULATED" "$TEST_DIR/banner" || fail "the banner does not say that devices are made up"
grep -q "http  *http://127.0.0.1:" "$TEST_DIR/banner" || fail "no address in the banner"
expect 0 rota doctor
says "SIMULATED"
expect 0 rota gpus
says "h100 (simulated)"
expect 0 rota gpus -o json
says '"simulated": true'
expect 0 rota nodes -o name
same "$OUT" $'sim1\nsim2'
expect 0 rota ls
complains "No job waits or runs"
expect 0 rota version
says "daemon 0."

expect 0 rota run --gpus 1 -- echo hello
same "$OUT" "hello"
expect 0 rota submit --gpus 2 --time 5m -- sh -c 'echo devices $CUDA_VISIBLE_DEVICES'
says "submitted job 2 (2 GPUs)"
expect 0 rota wait @
says "job 2 done"
expect 0 rota logs @
says "devices "
expect 0 rota show @
says "Job:"
expect 0 rota why @
expect 0 rota history
says "done"
expect 0 rota events
says "submitted"

# A second daemon on the same folder or socket is refused.
expect 1 rota serve --simulate 8xh100 --state "$TEST_DIR/state" --socket "$TEST_DIR/other.sock"
expect 1 rota serve --simulate 8xh100 --state "$TEST_DIR/other"
expect 2 rota serve --simulate 8xh1000
expect 2 rota serve --listen 0.0.0.0:80 --state "$TEST_DIR/other"
complains "loopback"

# A stopped daemon leaves jobs running and finds them again.
expect 0 rota submit --gpus 1 -- sleep 60
wait_state 3 running
expect 0 rota stop
says "1 job goes on"
wait "$DAEMON_PID" || fail "the daemon ended with $?"
start_daemon 2x4xh100
same "$(field 3 state)" running
same "$(field 3 attempts)" 1
expect 0 rota cancel 3
wait_state 3 cancelled
expect 0 rota stop
wait "$DAEMON_PID" || fail "the daemon ended with $?"
DAEMON_PID=

# A job outlives its daemon; `wait` and `run` sit a restart out.
start_daemon 2x4xh100
"$ROTA_BIN" run -G 1 -- sh -c 'sleep 4; echo late; exit 9' >late.out 2>late.err &
runner=$!
wait_state 4 running
stop_daemon
start_daemon 2x4xh100
code=0
wait $runner || code=$?
same "$code" 9
same "$(cat late.out)" late
stop_daemon

# In the background it answers before the command returns.
expect 0 rota serve --background --simulate 4xh100 --state "$TEST_DIR/second" --port 0
says "the daemon runs"
expect 0 rota nodes -o name
same "$OUT" sim1
expect 1 rota serve --background --simulate 4xh100 --state "$TEST_DIR/second"
expect 0 rota stop
says "has ended"
expect 5 rota nodes
