. ./tests/lib.sh
[ -f lib/greet.sh ] || fail "lib/greet.sh is missing"
. ./lib/words.sh
. ./lib/greet.sh

check "English by default" "Hello, Ada!" "$(greet Ada)"
check "in Australia" "G'day, Ada!" "$(greet Ada au)"
exit $failed
