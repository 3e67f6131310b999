# Builds greeter from its parts.

{
    cat lib/words.sh lib/greet.sh
    echo 'greet "$@"'
} >greeter
