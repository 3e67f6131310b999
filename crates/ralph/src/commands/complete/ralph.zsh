#compdef ralph
# Completes ralph in zsh: asks `ralph complete` what fits. The first line of its answer says who completes: we, with the
# lines that follow, or zsh, with files or directories.
_ralph() {
    local -a answer before
    before=("${(@Q)words[1,CURRENT-1]}")
    answer=("${(@f)$(command ralph complete zsh -- "${before[@]}" "${(Q)PREFIX}" 2> /dev/null)}")
    case $answer[1] in
        words)
            shift answer
            (( $#answer )) && _describe -V 'ralph' answer
            ;;
        files)
            compset -P '--*='
            _files
            ;;
        dirs)
            compset -P '--*='
            _files -/
            ;;
    esac
}

# As a file on fpath this is the function's own body; else it is sourced.
if [[ $funcstack[1] == _ralph ]]; then
    _ralph "$@"
else
    compdef _ralph ralph
fi
