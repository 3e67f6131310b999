#!/bin/sh
# A to-do list in a text file: todo.sh [add TEXT | done N]

dir=${0%/*}
[ "$dir" != "$0" ] || dir=.
for part in store list count done; do
    . "$dir/lib/$part.sh"
done

case ${1-} in
'')
    todo_list
    echo "$(todo_count) left"
    ;;
add)
    shift
    todo_add "$*"
    ;;
done)
    todo_done "${2-}"
    ;;
*)
    echo "usage: todo.sh [add TEXT | done N]" >&2
    exit 2
    ;;
esac
