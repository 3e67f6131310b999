# Greets a person.

# Greets $1 in the language of place $2, in English by default.
greet() {
    greeting=$(word "${2:-en}") || return
    echo "$greeting, $1!"
}
