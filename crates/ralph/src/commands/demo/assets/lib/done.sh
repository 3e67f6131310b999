# Marking items as done.

# Marks item number $1 as done.
todo_done() {
    n=0
    found=no
    : >"$TODO_FILE.new"
    if [ -f "$TODO_FILE" ]; then
        while IFS= read -r item; do
            n=$((n + 1))
            if [ "$n" = "$1" ]; then
                found=yes
                item="x ${item#??}"
            fi
            printf '%s\n' "$item" >>"$TODO_FILE.new"
        done <"$TODO_FILE"
    fi
    if [ "$found" = no ]; then
        rm -f "$TODO_FILE.new"
        echo "todo: no item $1" >&2
        return 1
    fi
    mv "$TODO_FILE.new" "$TODO_FILE"
}
