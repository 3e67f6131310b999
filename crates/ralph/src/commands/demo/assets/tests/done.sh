. ./tests/lib.sh
load store list done

todo_done 1 2>/dev/null
check "an empty list has no item 1" 1 $?
todo_add "Buy milk"
todo_add "Call home"
todo_add "Sleep"
todo_done 2
check "only that item is done" "1 - Buy milk
2 x Call home
3 - Sleep" "$(todo_list)"
todo_done 4 2>/dev/null
check "there is no item 4" 1 $?
exit $failed
