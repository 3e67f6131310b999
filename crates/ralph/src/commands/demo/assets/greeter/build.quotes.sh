# Builds greeter from its parts, including the greetings.

# Prints the greetings as a function.
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
