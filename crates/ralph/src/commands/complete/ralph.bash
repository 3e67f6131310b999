# Completes ralph in bash: asks `ralph complete` what fits. The first line of its answer says who completes: we, with the
# lines that follow, or bash, with files or directories.
_ralph() {
    local line kind='' word=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ -z $kind ]]; then
            kind=$line
        else
            COMPREPLY+=("$line")
        fi
    done < <(command ralph complete bash -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2> /dev/null)
    case $kind in
        files | dirs)
            compopt -o filenames 2> /dev/null
            [[ $word == '=' ]] && word=''
            while IFS= read -r line; do
                COMPREPLY+=("$line")
            done < <(if [[ $kind == dirs ]]; then compgen -d -- "$word"; else compgen -f -- "$word"; fi)
            ;;
    esac
}
complete -F _ralph ralph
# Ralph's own order is meant; older versions of bash sort.
complete -o nosort -F _ralph ralph 2> /dev/null
