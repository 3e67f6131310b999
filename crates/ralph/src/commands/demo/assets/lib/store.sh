# The list is a file with one item per line: "- text" while it is open, "x text" once it is done.

TODO_FILE=${TODO_FILE:-todo.txt}

# Appends an item to the list.
todo_add() {
    if [ -z "$1" ]; then
        echo "todo: nothing to add" >&2
        return 1
    fi
    printf '%s\n' "- $1" >>"$TODO_FILE"
}

# Prints every item; a list that does not exist yet is empty.
todo_items() {
    [ ! -f "$TODO_FILE" ] || cat "$TODO_FILE"
}
