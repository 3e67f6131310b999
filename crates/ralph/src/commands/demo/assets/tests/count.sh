. ./tests/lib.sh
load store count

check "count of an empty list" 0 "$(todo_count)"
todo_add "Buy milk"
check "count of one item" 1 "$(todo_count)"
todo_add "Call home"
echo "x Sleep" >>"$TODO_FILE"
check "count without what is done" 2 "$(todo_count)"
exit $failed
