#!/bin/sh
# A whole search on this CPU: from the root implementation of unified attention to a faster one whose entry points still agree bit for
# bit. Fails when it does not show what it is meant to show.
#   script/demo.sh TIK [FOLDER]
set -eu

tik=$1
folder=${2:-demo}

# An earlier demo makes place; any other folder is left alone.
if [ -e "$folder" ]; then
  if [ ! -f "$folder/search.db" ]; then
    echo "demo: $folder exists and is no search; name another folder" >&2
    exit 2
  fi
  rm -rf "$folder"
fi

"$tik" new "$folder" --spec targets/attention-cpu/spec.toml
"$tik" run "$folder"
echo
"$tik" status "$folder"
echo
"$tik" log "$folder" --limit 0
echo

status=$("$tik" status "$folder" --json)
number() { printf '%s\n' "$status" | sed -n "s/^  \"$1\": \([0-9.e+-]*\),*\$/\1/p"; }
audits=$(number audits)
promotions=$(number promotions)
speedup=$(number speedup)
bitwise_failures=$("$tik" log "$folder" --limit 0 --json | grep -c '"failed_stage": "consistency"' || true)

failed=0
promise() { # promise CONDITION-AS-AWK SENTENCE
  if ! awk "BEGIN { exit !($1) }"; then
    echo "demo: promise not kept: $2" >&2
    failed=1
  fi
}
promise "$audits >= 25" "at least 25 audited candidates, there are $audits"
promise "$bitwise_failures >= 1" "at least one failed bitwise check"
promise "$speedup >= 4" "a speedup of at least 4, it is $speedup"
if printf '%s\n' "$status" | grep -q '^  "stepping_stones": \[\]'; then
  echo "demo: promise not kept: a verified implementation that was not promoted but whose descendant was" >&2
  failed=1
fi

printf 'demo: %d audits, %d promotions, %.2fx\n' "$audits" "$promotions" "$speedup"
exit $failed
