# Completion of dagentd in fish: dagentd itself says what could come, one word or kind of file a line.
function __dagentd_complete
    set -l given (commandline -opc)
    set -l token (commandline -ct)
    set -l command $given[1]
    set -e given[1]
    env _DAGENTD_COMPLETE=fish $command $given "$token" 2>/dev/null | while read -l -d \t kind value help
        switch $kind
            case word
                printf '%s\t%s\n' $value $help
            case files
                __fish_complete_path $token
            case folders
                __fish_complete_directories $token
        end
    end
end
complete --command dagentd --no-files --arguments '(__dagentd_complete)'
