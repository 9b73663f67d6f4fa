# Completion of dagentd in bash: dagentd itself says what could come, one word or kind of file a line.
_dagentd() {
    local kind value help
    COMPREPLY=()
    while IFS=$'\t' read -r kind value help; do
        case $kind in
            word) COMPREPLY+=("$value") ;;
            files) compopt -o default 2>/dev/null ;;
            folders) compopt -o dirnames 2>/dev/null ;;
        esac
    done < <(_DAGENTD_COMPLETE=bash "$1" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o nosort -F _dagentd dagentd 2>/dev/null || complete -F _dagentd dagentd
