. ./tests/lib.sh
[ -f build.sh ] || fail "build.sh is missing"
sh build.sh || fail "build.sh does not work"
sh -n greeter 2>/dev/null || fail "syntax error in greeter: a quote has no end"

# Elsewhere there is no words/.
cd tests
said=$(sh ../greeter Ada 2>&1) || fail "$said"
check "greeter Ada" "Hello, Ada!" "$said"
check "greeter Ada de" "Hallo, Ada!" "$(sh ../greeter Ada de)"
check "greeter Ada au" "G'day, Ada!" "$(sh ../greeter Ada au)"
exit $failed
