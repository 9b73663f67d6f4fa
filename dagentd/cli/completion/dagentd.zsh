#compdef dagentd
# Completion of dagentd in zsh: dagentd itself says what could come, one word or kind of file a line.
_dagentd() {
    local kind value help
    local -a found
    while IFS=$'\t' read -r kind value help; do
        case $kind in
            word) found+=("${value//:/\\:}${help:+:$help}") ;;
            files) _files ;;
            folders) _files -/ ;;
        esac
    done < <(_DAGENTD_COMPLETE=zsh "${words[1]}" "${(@)words[2,CURRENT]}" 2>/dev/null)
    (( ${#found} )) && _describe -V dagentd found
}
if [[ ${funcstack[1]-} == _dagentd ]]; then
    _dagentd "$@"
elif (( ${+functions[compdef]} )); then
    compdef _dagentd dagentd
fi
