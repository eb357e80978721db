#!/usr/bin/env bash
# The HTTP API with curl: through the socket, and over loopback with the token.
# Needs ROTA_SOCKET, ROTA_URL (http://127.0.0.1:PORT) and ROTA_TOKEN_FILE.
set -euo pipefail

socket() { curl -sS --fail-with-body --unix-socket "$ROTA_SOCKET" "http://rota$1" "${@:2}"; }

# The key makes a second try of the same submit the same job.
body='{"argv": ["sh", "-c", "echo hello from curl"], "gpus": 1, "time_limit_seconds": 60,
  "workdir": "'$PWD'", "stdout_path": "curl.txt", "idempotency_key": "nightly-1"}'
first=$(socket /api/v1/jobs -H 'Content-Type: application/json' -d "$body")
again=$(socket /api/v1/jobs -H 'Content-Type: application/json' -d "$body")
echo "$first"
id=$(sed 's/.*"id": *"\([^"]*\)".*/\1/' <<<"$first")
grep "\"id\": *\"$id\"" <<<"$again"
grep '"repeated": *true' <<<"$again"

rota wait "$id"
# Output may be any bytes, so it comes as base64.
socket "/api/v1/jobs/$id/log" | sed 's/.*"data": *"\([^"]*\)".*/\1/' | base64 -d | grep 'hello'
socket "/api/v1/jobs/$id/why"
socket /metrics | grep '^rota_healthy 1'

# Over loopback nothing but /healthz is open without the token.
curl -sS "$ROTA_URL/healthz"
test "$(curl -sS -o /dev/null -w '%{http_code}' "$ROTA_URL/api/v1/jobs")" = 401
curl -sS --fail -H "Authorization: Bearer $(cat "$ROTA_TOKEN_FILE")" "$ROTA_URL/api/v1/server"
curl -sS --fail -H "Authorization: Bearer $(cat "$ROTA_TOKEN_FILE")" "$ROTA_URL/openapi.json" |
  grep -o '"openapi": *"3[^"]*"'

# A stream of events: what comes within two seconds.
curl -sSN --max-time 2 --unix-socket "$ROTA_SOCKET" -H 'Accept: text/event-stream' \
  'http://rota/api/v1/events?after=0' >stream.txt || test $? -eq 28
grep '^data:' stream.txt | head -3
