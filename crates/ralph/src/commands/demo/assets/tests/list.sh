. ./tests/lib.sh
load store list

check "an empty list shows nothing" "" "$(todo_list)"
todo_add "Buy milk"
todo_add "Call home"
check "items are numbered from 1" "1 - Buy milk
2 - Call home" "$(todo_list)"
exit $failed
