#!/usr/bin/env bash
# The documentation's commands: every script of examples/ against a daemon of its own, examples that
# are files are read by the program, and every command of the reference exists.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/lib.sh"
examples=$(cd "$here/../../examples" && pwd)
docs=$(cd "$here/../../docs" && pwd)

mkdir "$TEST_DIR/bin"
ln -s "$ROTA_BIN" "$TEST_DIR/bin/rota"
export PATH=$TEST_DIR/bin:$PATH

start_daemon 2x4xh100
ROTA_URL=$(grep -o 'http://127.0.0.1:[0-9]*' "$TEST_DIR/banner" | head -1)
export ROTA_URL ROTA_TOKEN_FILE=$TEST_DIR/state/token ROTA_STATE=$TEST_DIR/state

for script in "$examples"/*.sh; do
  name=$(basename "$script" .sh)
  mkdir "$TEST_DIR/work/$name"
  if ! (cd "$TEST_DIR/work/$name" && bash "$script") >"$TEST_DIR/$name.txt" 2>&1 </dev/null; then
    cat "$TEST_DIR/$name.txt" >&2
    fail "examples/$name.sh"
  fi
  printf 'ok  examples/%s.sh\n' "$name"
done

# The worked scenario of the how-to page is the one that runs.
sed -n '/^# Two teams/,/^```/p' "$docs/how-to/scenarios.md" | grep -v '^```' \
  >"$TEST_DIR/page.scenario"
diff "$TEST_DIR/page.scenario" "$examples/share.scenario" ||
  fail "docs/how-to/scenarios.md shows another scenario than examples/share.scenario"

# The configuration is accepted as it stands.
expect 0 rota serve --background --simulate 8xh100 --config "$examples/rota.yaml" \
  --state "$TEST_DIR/configured" --socket "$TEST_DIR/configured.sock" --port off
expect 0 rota queue ls --socket "$TEST_DIR/configured.sock" -o name
says serving
expect 0 rota stop --socket "$TEST_DIR/configured.sock"

# Commands of the reference and of the program are the same.
rota --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | sort -u >"$TEST_DIR/has"
sed -n 's/^| `\([a-z][a-z]*\)[^|]*|.*/\1/p' "$docs/reference/commands.md" | sort -u \
  >"$TEST_DIR/says"
diff "$TEST_DIR/has" "$TEST_DIR/says" ||
  fail "docs/reference/commands.md (>) does not list the commands of the program (<)"

# Every option of submit is in the reference.
missing=
for option in $(rota submit --help | grep '^ *-' | grep -o -- '--[a-z][a-z-]*' | sort -u); do
  grep -q -- "$option\b" "$docs/reference/submit-options.md" || missing="$missing $option"
done
[ -z "$missing" ] || fail "docs/reference/submit-options.md misses:$missing"

# Links between pages lead somewhere.
broken=$(cd "$docs/.." && find README.md ARCHITECTURE.md docs examples bench -name '*.md' |
  while read -r page; do
    { grep -o '](\([^)#]*\)' "$page" || true; } | sed 's/^](//' | while read -r link; do
      case $link in http* | '') continue ;; esac
      [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
    done
  done)
[ -z "$broken" ] || fail "broken links: $broken"
echo "docs_test: passed"
