# Greeting somebody.

# Greets $1 as they do in place $2, in English if that is not said.
greet() {
    greeting=$(word "${2:-en}") || return
    echo "$greeting, $1!"
}
