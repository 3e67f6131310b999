# Completes ralph in fish: asks `ralph complete` what fits. The first line of its answer says who completes: we, with the
# lines that follow, or fish, with files or directories.
function __ralph_complete
    set -l word (commandline -ct)
    set -l answer (command ralph complete fish -- (commandline -opc) "$word" 2> /dev/null)
    set -l lead (string match -r -- '^--[^=]*=' "$word")
    set -l rest (string replace -r -- '^--[^=]*=' '' "$word")
    switch "$answer[1]"
        case words
            printf '%s\n' $answer[2..-1]
        case files
            for path in (__fish_complete_path "$rest")
                printf '%s%s\n' "$lead" $path
            end
        case dirs
            for path in (__fish_complete_directories "$rest")
                printf '%s%s\n' "$lead" $path
            end
    end
end
complete --command ralph --no-files --keep-order --arguments '(__ralph_complete)'
