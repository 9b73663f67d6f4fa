# Run by an agent, as `sh -c '. "$0"' THIS`: the MCP server, by the Python that `dagentd connect` was run with. Where
# that is gone the agent has none of our tools.
_dagentd_program=${0%/*}/program
[ -r "$_dagentd_program" ] || exit 0
{
	IFS= read -r _dagentd_python
	while IFS= read -r _dagentd_line; do
		case $_dagentd_line in [A-Z]*=*) export "$_dagentd_line" ;; esac
	done
} <"$_dagentd_program"
[ -x "$_dagentd_python" ] || exit 0
exec "$_dagentd_python" -P -m dagentd.mcp
