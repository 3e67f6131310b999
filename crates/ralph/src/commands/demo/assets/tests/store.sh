. ./tests/lib.sh
load store

check "a new list is empty" "" "$(todo_items)"
todo_add "Buy milk"
todo_add "Call  home; 100% * \$x"
check "items stay as they were written" "- Buy milk
- Call  home; 100% * \$x" "$(todo_items)"
todo_add "" 2>/dev/null
check "nothing is not added" 1 $?
exit $failed
