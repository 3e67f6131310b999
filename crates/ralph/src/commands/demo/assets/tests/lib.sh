# Shared by the tests: a separate list file, and a function to compare values.

TODO_FILE=${TMPDIR:-/tmp}/todo-test.$$
export TODO_FILE
trap 'rm -f "$TODO_FILE" "$TODO_FILE.new"' EXIT
failed=0

# load PART...: the parts of the program under test.
load() {
    for part in "$@"; do
        if [ ! -f "lib/$part.sh" ]; then
            echo "FAIL: lib/$part.sh is missing"
            exit 1
        fi
        . "./lib/$part.sh"
    done
}

# check WHAT EXPECTED ACTUAL
check() {
    if [ "$2" = "$3" ]; then
        echo "ok: $1"
    else
        echo "FAIL: $1: expected '$2', got '$3'"
        failed=1
    fi
}
