# Run by an agent, as `sh -c '. "$0"' THIS`: the MCP server, by the Python that `dagentd connect` was run with. Where
# that is gone, a server that has nothing: of one that fails an agent tells its model, and its user.
_dagentd_program=${0%/*}/program
if [ -r "$_dagentd_program" ]; then
	{
		IFS= read -r _dagentd_python
		IFS= read -r _dagentd_code
		while IFS= read -r _dagentd_line; do
			case $_dagentd_line in [A-Z]*=*) export "$_dagentd_line" ;; esac
		done
	} <"$_dagentd_program"
	[ ! -x "$_dagentd_python" ] || exec "$_dagentd_python" -P -m dagentd.mcp
fi
while IFS= read -r _dagentd_line; do
	_dagentd_id=${_dagentd_line##*'"id":'}
	_dagentd_id=${_dagentd_id%%[,\}]*}
	case $_dagentd_line in
	*'"initialize"'*) _dagentd_said='"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"dagentd","version":"0"}}' ;;
	*'"tools/list"'*) _dagentd_said='"result":{"tools":[]}' ;;
	*'"id":'*) _dagentd_said='"error":{"code":-32601,"message":"dagentd is not installed any more"}' ;;
	*) continue ;; # a notification
	esac
	printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$_dagentd_id" "$_dagentd_said"
done
exit 0
