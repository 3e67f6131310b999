. ./tests/lib.sh
[ -f build.sh ] || fail "build.sh is missing"
sh build.sh || fail "build.sh failed"
sh -n greeter 2>/dev/null || fail "syntax error in greeter: unterminated quote"

# Run it in a directory without words/.
cd tests
said=$(sh ../greeter Ada 2>&1) || fail "$said"
check "greeter Ada" "Hello, Ada!" "$said"
check "greeter Ada de" "Hallo, Ada!" "$(sh ../greeter Ada de)"
check "greeter Ada au" "G'day, Ada!" "$(sh ../greeter Ada au)"
exit $failed
