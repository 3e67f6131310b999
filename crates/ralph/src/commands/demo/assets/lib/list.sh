# Showing the list.

# Prints every item with its number.
todo_list() {
    todo_items | {
        n=0
        while IFS= read -r item; do
            n=$((n + 1))
            printf '%s\n' "$n $item"
        done
    }
}
