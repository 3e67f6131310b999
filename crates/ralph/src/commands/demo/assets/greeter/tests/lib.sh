# Shared by the tests.

failed=0

# fail WHAT: prints it and exits.
fail() {
    echo "FAIL: $1"
    exit 1
}

# check WHAT EXPECTED ACTUAL
check() {
    if [ "$2" = "$3" ]; then
        echo "ok: $1"
    else
        echo "FAIL: $1: expected \"$2\", got \"$3\""
        failed=1
    fi
}
