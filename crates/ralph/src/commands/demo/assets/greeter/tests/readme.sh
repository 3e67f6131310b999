. ./tests/lib.sh

for command in "sh build.sh" "sh greeter Ada"; do
    case $(cat README.md) in
    *"$command"*) check "README.md shows $command" yes yes ;;
    *) check "README.md shows $command" yes no ;;
    esac
done
exit $failed
