# Counting open items.

# Prints the number of open items.
todo_count() {
    open=$(todo_items | while IFS= read -r item; do
        case $item in
        '- '*) printf '%s\n' "$item" ;;
        esac
    done)
    echo $(printf '%s\n' "$open" | wc -l)
}
