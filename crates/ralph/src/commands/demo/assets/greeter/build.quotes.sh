# Makes greeter from its parts, with the greetings in it.

# Prints the words as a function.
words() {
    echo 'word() {'
    echo '    case $1 in'
    for file in words/*.txt; do
        place=${file#words/}
        echo "    ${place%.txt}) echo '$(cat "$file")' ;;"
    done
    echo '    *) return 1 ;;'
    echo '    esac'
    echo '}'
}

{
    words
    cat lib/greet.sh
    echo 'greet "$@"'
} >greeter
