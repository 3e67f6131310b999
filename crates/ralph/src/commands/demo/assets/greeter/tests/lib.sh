# Shared by the tests: two ways to say what is wrong.

failed=0

# fail WHAT: and nothing further is looked at.
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
