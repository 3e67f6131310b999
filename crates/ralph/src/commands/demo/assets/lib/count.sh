# Counting open items.

# Prints the number of open items.
todo_count() {
    todo_items | {
        open=0
        while IFS= read -r item; do
            case $item in
            '- '*) open=$((open + 1)) ;;
            esac
        done
        printf '%s\n' "$open"
    }
}
