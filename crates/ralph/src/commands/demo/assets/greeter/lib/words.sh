# The greeting of each place.

# Prints the greeting of place $1.
word() {
    if [ ! -f "words/$1.txt" ]; then
        echo "words/$1.txt: no such file" >&2
        return 1
    fi
    cat "words/$1.txt"
}
