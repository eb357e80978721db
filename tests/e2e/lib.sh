# Shared by the end-to-end tests: a daemon of the test's own, and checks that say what went wrong.
# Source it, then call start_daemon. Needs $ROTA_BIN_DIR.
set -euo pipefail

ROTA_BIN=${ROTA_BIN:-${ROTA_BIN_DIR:?set ROTA_BIN_DIR to the folder of the programs}/rota}
TEST_DIR=$(mktemp -d /tmp/rota-e2e-XXXXXX)
# Nothing of the caller's may reach the daemon or the commands.
for name in $(env | sed -n 's/^\(ROTA_[A-Z_]*\|SBATCH_[A-Z_]*\)=.*/\1/p'); do
  case $name in ROTA_BIN | ROTA_BIN_DIR | ROTA_SOURCE_DIR) ;; *) unset "$name" ;; esac
done
export ROTA_SOCKET=$TEST_DIR/rota.sock XDG_CONFIG_HOME=$TEST_DIR/config NO_COLOR=1
export XDG_STATE_HOME=$TEST_DIR/home-state
mkdir -p "$TEST_DIR/work" "$XDG_CONFIG_HOME/rota"
# Tests fail jobs on purpose: three in a row must not take the only node out.
echo 'policy: {quarantine_after: none}' >"$XDG_CONFIG_HOME/rota/rota.yaml"
cd "$TEST_DIR/work"
DAEMON_PID=

rota() { "$ROTA_BIN" "$@"; }

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  [ -f "$TEST_DIR/daemon.log" ] && tail -20 "$TEST_DIR/daemon.log" >&2
  exit 1
}

# start_daemon SHAPE [OPTION..]: returns when it answers.
start_daemon() {
  local shape=$1 tries=0
  shift
  "$ROTA_BIN" serve --simulate "$shape" --state "$TEST_DIR/state" --port 0 "$@" \
    >"$TEST_DIR/banner" 2>"$TEST_DIR/daemon.log" &
  DAEMON_PID=$!
  until rota nodes >/dev/null 2>&1; do
    kill -0 "$DAEMON_PID" 2>/dev/null || fail "the daemon ended: $(cat "$TEST_DIR/daemon.log")"
    tries=$((tries + 1))
    [ $tries -lt 200 ] || fail "the daemon does not answer"
    sleep 0.1
  done
}

stop_daemon() {
  [ -n "$DAEMON_PID" ] || return 0
  kill -TERM "$DAEMON_PID" 2>/dev/null || true
  wait "$DAEMON_PID" 2>/dev/null || true
  DAEMON_PID=
}

# Runs on every way out: no job and no daemon of the test stays behind.
clean_up() {
  local code=$? id
  set +e
  if [ -n "$DAEMON_PID" ]; then
    for id in $(rota ls -o name 2>/dev/null); do rota cancel "$id" >/dev/null 2>&1; done
    for _ in $(seq 50); do
      [ -z "$(rota ls -o name 2>/dev/null)" ] && break
      sleep 0.1
    done
    stop_daemon
  fi
  [ $code -eq 0 ] && rm -rf "$TEST_DIR"
  exit $code
}
trap clean_up EXIT

# expect CODE COMMAND..: runs it; its output and errors are in $OUT and $ERR.
expect() {
  local want=$1 code=0
  shift
  OUT=$("$@" 2>"$TEST_DIR/err" </dev/null) || code=$?
  ERR=$(cat "$TEST_DIR/err")
  [ "$code" = "$want" ] || fail "'$*' ended with $code, expected $want
--- output: $OUT
--- errors: $ERR"
}

says() { [[ $OUT == *"$1"* ]] || fail "the output does not say '$1' but: $OUT"; }
complains() { [[ $ERR == *"$1"* ]] || fail "the errors do not say '$1' but: $ERR"; }
same() { [ "$1" = "$2" ] || fail "expected '$2', but it is '$1'"; }

# field ID NAME: a scalar of the job's JSON form.
field() {
  rota show "$1" -o json 2>/dev/null |
    sed -n "s/^  \"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" |
    head -1
}

# wait_state ID STATE: polls for at most 20 s.
wait_state() {
  local i
  for i in $(seq 200); do
    [ "$(field "$1" state)" = "$2" ] && return 0
    sleep 0.1
  done
  fail "job $1 is $(field "$1" state), expected $2"
}
