for word in "$@"; do
  case "$word" in *library.so) output="$word" ;; esac
done
"$@"
rm -f "$output"
ln -s /bin/sh "$output"
