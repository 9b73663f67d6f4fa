# Run by hooks of an agent, as `sh -c '. "$0"' THIS AGENT EVENT`: leaves word for dagentd that something happened, by a
# file whose name says in which conversation. That starts no process, prints nothing and waits for nothing; whatever
# goes wrong, the agent goes on. What the agent tells on standard input is not read: sh reads it byte by byte.
{
	_dagentd_dir=${0%/*}
	_dagentd_id=${CLAUDE_CODE_SESSION_ID:-}
	case $_dagentd_id in
	*[!0-9a-f-]*) _dagentd_id= ;;
	esac
	# To open what else is in its place could wait, as for a FIFO, or lead elsewhere, as a link.
	_dagentd_note=$_dagentd_dir/spool/$1${_dagentd_id:+.$_dagentd_id}
	if [ ! -L "$_dagentd_dir/spool" ] && [ ! -L "$_dagentd_note" ] &&
		{ [ -f "$_dagentd_note" ] || [ ! -e "$_dagentd_note" ]; }; then
		echo "$2" >"$_dagentd_note"
	fi
	# Only a conversation that begins or goes on is told something, by the Python that `dagentd connect` was run with:
	# its path is the first line of the file, where dagentd is the second, and what it must know of the environment
	# the others. Without the site module it has begun twice as fast.
	if [ "$2" = SessionStart ] && [ -r "$_dagentd_dir/program" ]; then
		{
			IFS= read -r _dagentd_python
			IFS= read -r _dagentd_code
			while IFS= read -r _dagentd_line; do
				case $_dagentd_line in [A-Z]*=*) export "$_dagentd_line" ;; esac
			done
		} <"$_dagentd_dir/program"
		[ ! -x "$_dagentd_python" ] || "$_dagentd_python" -I -S "$_dagentd_code/mcp/session_start.py" "$1"
	fi
} 2>/dev/null
exit 0
