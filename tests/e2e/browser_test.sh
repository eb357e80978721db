#!/usr/bin/env bash
# Pages of HTML in a real browser: they load nothing, no script fails, headings are there, and
# nothing is cut off at the width of a desk and of a sheet of paper.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
data=$ROTA_SOURCE_DIR/tests/data

browser=
for name in chromium chromium-browser google-chrome chrome-headless-shell; do
  browser=$(command -v $name) && break
done
[ -n "$browser" ] || fail "no chromium; ./rota-dev setup installs it"

# in_browser FILE WIDTH: the DOM as it came out in $DOM, what the page complained about in $CONSOLE.
# No name resolves: nothing leaves this machine.
in_browser() {
  rm -rf profile
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --user-data-dir="$PWD/profile" --no-first-run --disable-background-networking \
    --disable-component-update --host-resolver-rules='MAP * ~NOTFOUND' \
    --enable-logging=stderr --window-size="$2,1400" --dump-dom "file://$PWD/$1" \
    >dom.txt 2>log.txt || fail "the browser ended with $?: $(tail -5 log.txt)"
  DOM=$(cat dom.txt)
  CONSOLE=$(grep 'CONSOLE' log.txt || true)
}
in_dom() { [[ $DOM == *"$1"* ]] || fail "the page does not show '$1'"; }

# measured FILE: a copy that writes down, when it is loaded, what it asked for besides itself, and
# which boxes are cut off.
measured() {
  sed 's#</body>#<pre id="measured"></pre><script>addEventListener("load", () => {\
    const asked = performance.getEntriesByType("resource").map(entry => entry.name);\
    const cut = [...document.querySelectorAll("body, div, dd, pre, td")]\
      .filter(box => box.scrollWidth > box.clientWidth + 1 \&\& box.clientWidth > 0)\
      .map(box => box.tagName + "." + box.className + " " + box.textContent.slice(0, 40));\
    document.getElementById("measured").textContent =\
      `asked for ${asked.length}, cut off ${cut.length}: ${[...asked, ...cut].join("; ")}`;\
    })</script></body>#' "$1" >"measured-$1"
}

# --- the check itself sees what is wrong ----------------------------------------------------------
cat >bad.html <<'H'
<!doctype html><html><body><h1>Bad</h1><img src="http://rota.invalid/x.png">
<div style="width:50px;overflow:hidden">aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</div>
<script>nothing_of_this_name()</script></body></html>
H
in_browser bad.html 1280
[[ $CONSOLE == *nothing_of_this_name* ]] || fail "a failed script is not seen: $(cat log.txt)"
measured bad.html
in_browser measured-bad.html 1280
in_dom "asked for 1, cut off 1: http://rota.invalid/x.png; DIV"

# --- the pages ------------------------------------------------------------------------------------
awk 'BEGIN {
  print "id,queue,submit,start,end,state,gpus"
  for (hour = 0; hour < 42 * 24; ++hour) {
    full = hour % 168 < 120 && hour % 24 >= 8 && hour % 24 < 20
    begin = 1772409600 + hour * 3600
    print hour ",team-with-a-long-name-" hour % 9 "," begin "," begin + 60 "," begin + 3660 \
      (hour % 11 ? ",COMPLETED," : ",FAILED,") (full ? 40 : 10) + hour % 7
  }
}' >weeks.csv
sacct=$data/slurm/sacct-duplicates.psv
rota audit "$sacct" --on 4x8 --shares ml=3,eval=1 -o html >audit.html
rota audit weeks.csv --on 8x8 -o html >weeks.html
rota forecast weeks.csv --on 6x8 --scale-up-when 'p90 demand > 99' -o html >forecast.html
rota report usage "$sacct" --on 5x8 -o html >usage.html
printf 'queue,parent,budget\nall,,90000\nteam-with-a-long-name-1,all,12.5%%\n' >budget.csv
rota report cost weeks.csv --on 8x8 --prices 2.5 --energy-price 0.25 --watts 700/120 --pue 1.3 \
  --budget budget.csv -o html >cost.html
rota report idle weeks.csv --on 8x8 --by day -o html >idle.html
rota report delivered weeks.csv --on 8x8 -o html >delivered.html

headings_of() {
  case $1 in
    audit | weeks)
      echo 'Where the GPU time went|Four layers|Findings|Waits|What this history cannot tell' ;;
    forecast) echo 'Forecast of GPU demand' ;;
    usage) echo 'GPU time' ;;
    cost) echo 'Cost of GPU time' ;;
    idle) echo 'Idle GPU time' ;;
    delivered) echo 'GPU time owed and delivered' ;;
  esac
}
for page in audit weeks forecast usage cost idle delivered; do
  [[ $(cat $page.html) != *http* ]] || fail "$page.html names an address"
  in_browser $page.html 1280
  same "$CONSOLE" ""
  heads=$(headings_of $page)
  while read -r heading; do
    grep -q "<h[12]>$heading</h[12]>" <<<"$DOM" || fail "$page.html has no heading '$heading'"
  done < <(tr '|' '\n' <<<"$heads")
  measured $page.html
  in_browser measured-$page.html 1280
  same "$CONSOLE" ""
  in_dom "asked for 0, cut off 0: <"
done

# On paper: what the browser prints is as wide as a sheet, in the letters of print.
for page in audit forecast cost; do
  sed 's/@media print/@media screen/' $page.html >paper.html
  measured paper.html
  in_browser measured-paper.html 718
  in_dom "asked for 0, cut off 0: <"
done
echo "browser_test: passed"
