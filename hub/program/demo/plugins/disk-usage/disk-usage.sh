#!/bin/sh
# A task comes as JSON on standard input; what is printed is its output. Exit code 75 asks for another attempt.
set -eu

path=$(sed -n 's/^{"pk":"\([A-Za-z0-9._\/-]*\)".*/\1/p')
case $path in
  /*) ;;
  *) echo "the task's key must be an absolute path of letters, digits, . _ and -" >&2; exit 1 ;;
esac
[ -d "$path" ] || { echo "$path is not a directory here" >&2; exit 1; }

# Total, used and free kilobytes and the percentage: the fields before and at the first one that ends with %.
reading=$(df -Pk "$path" | awk 'NR == 2 { for (i = 4; i <= NF; i++) if ($i ~ /^[0-9]+%$/) {
  printf "%d %d %d %d", $(i - 3), $(i - 2), $(i - 1), $i; exit } }')
[ -n "$reading" ] || { echo "df said nothing of $path" >&2; exit 75; }
# Four words.
# shellcheck disable=SC2086
set -- $reading
output=$(printf '{"path":"%s","total_kb":%d,"used_kb":%d,"free_kb":%d,"used_percent":%d}' "$path" "$@")

# FLOTILLA_STORE_URL opens this plugin's state and blobs, and nothing else.
put() {
  curl -fsS --max-time 30 -o /dev/null -X PUT -H "Content-Type: $2" --data-binary "$3" "$FLOTILLA_STORE_URL/$1" || exit 75
}
put "state/disks$path" application/json "$output"
put blob/last.svg image/svg+xml "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 560 76\" \
font-family=\"sans-serif\" font-size=\"13\" fill=\"#2b5f8a\"><text x=\"12\" y=\"24\" font-size=\"15\">$path: $4 % used</text>\
<rect x=\"12\" y=\"40\" width=\"500\" height=\"20\" rx=\"4\" fill=\"#d8e2ea\"/>\
<rect x=\"12\" y=\"40\" width=\"$(($4 * 5))\" height=\"20\" rx=\"4\"/></svg>"
echo "$output"
