. ./tests/lib.sh
[ -f lib/words.sh ] || fail "lib/words.sh is missing"
. ./lib/words.sh

check "a greeting" "Hallo" "$(word de)"
check "a greeting with a quote" "G'day" "$(word au)"
check "an unknown place" "words/mars.txt: no such file" "$(word mars 2>&1)"
exit $failed
