# Tells dagentd that something changed here, by a file whose name says all: the event and, in a linked worktree, its
# name. It starts no process, prints nothing and waits for nothing; whatever goes wrong, git goes on.
{
	_dagentd_dir=${GIT_DIR:-.git} _dagentd_name=
	# "gitdir: PATH", and a path may have several lines. `git worktree add` sets no GIT_DIR for its hook.
	if [ -f "$_dagentd_dir" ]; then
		{
			IFS= read -r _dagentd_dir
			while IFS= read -r _dagentd_line; do
				_dagentd_dir="$_dagentd_dir
$_dagentd_line"
			done
		} <"$_dagentd_dir"
		_dagentd_dir=${_dagentd_dir#gitdir: }
	fi
	if [ -f "$_dagentd_dir/commondir" ]; then
		_dagentd_name=.${_dagentd_dir##*/}
		IFS= read -r _dagentd_line <"$_dagentd_dir/commondir"
		case $_dagentd_line in
		/*) _dagentd_dir=$_dagentd_line ;;
		*) _dagentd_dir=$_dagentd_dir/$_dagentd_line ;;
		esac
	fi
	# DAGENTD_PROBE is set by `dagentd hooks status` alone: word of it goes to a name of its own, and nothing after this
	# part is run. Word that is there was not taken yet, and whoever takes it looks after that: one is enough. Taken
	# word is an empty file. To open what else is in its place could wait, as for a FIFO, or lead elsewhere, as a link
	# there or on the way there.
	_dagentd_dir=$_dagentd_dir/dagentd
	_dagentd_note=$_dagentd_dir/spool/${DAGENTD_PROBE:+probe.}EVENT$_dagentd_name
	if [ ! -s "$_dagentd_note" ] && [ ! -L "$_dagentd_note" ] && [ ! -L "$_dagentd_dir/spool" ] &&
		[ ! -L "$_dagentd_dir" ] &&
		{ [ -f "$_dagentd_note" ] || [ ! -e "$_dagentd_note" ]; }; then
		echo "${DAGENTD_PROBE:-EVENT}" >>"$_dagentd_note"
	fi
	if [ -n "${DAGENTD_PROBE:-}" ]; then
		exit 0
	fi
	unset _dagentd_dir _dagentd_name _dagentd_line _dagentd_note
} 2>/dev/null || :
