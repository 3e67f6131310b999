# Marking items as done.

# Marks item number $1 as done.
todo_done() {
    items=$(todo_items)
    if [ "$1" -lt 1 ] || [ "$1" -gt $(printf '%s\n' "$items" | wc -l) ]; then
        echo "todo: no item $1" >&2
        return 1
    fi
    todo_items | {
        n=0
        while IFS= read -r item; do
            n=$((n + 1))
            [ "$n" != "$1" ] || item="x ${item#??}"
            printf '%s\n' "$item"
        done
    } >"$TODO_FILE.new"
    mv "$TODO_FILE.new" "$TODO_FILE"
}
