. ./tests/lib.sh

check "an empty list" "0 left" "$(sh todo.sh 2>&1)"
sh todo.sh add Buy milk
sh todo.sh add Call home
sh todo.sh done 1
check "add, done and show" "1 x Buy milk
2 - Call home
1 left" "$(sh todo.sh)"
sh todo.sh frobnicate 2>/dev/null
check "an unknown word is refused" 2 $?
for word in add done; do
    case $(cat README.md) in
    *"sh todo.sh $word"*) check "README.md explains $word" yes yes ;;
    *) check "README.md explains $word" yes no ;;
    esac
done
exit $failed
