# What is done to many files by one process: digests, states, syncs, removals.

# Runs COMMAND for the staged files, many at a time: their changes are in g_xlist, their paths are its arguments.
#
# The paths are whole, so that files of several directories share a process. A directory that is exchanged for a link
# meanwhile leads to files that have neither such names nor these digests.
g_each_temp() {
    g_xcall=$1 g_xlist= g_xsize=0 g_xlongest= g_xn=0
    set --
    while [ "$g_xn" -lt "$g_count" ]; do
        eval "g_xs=\${g_xs_$g_xn-}"
        if [ "$g_xs" = temp ]; then
            g_load "$g_xn"
            g_path_of "$g_xd" "$g_xstage"
            set -- "$@" "$g_xfile"
            g_xlist="$g_xlist $g_xn" g_xsize=$((g_xsize + ${#g_xfile}))
            g_longest "$g_xlen"
            if [ $# -ge 200 ] || [ "$g_xsize" -gt 60000 ] || [ -n "$g_xalone" ]; then
                "$g_xcall" "$@" || return 1
                g_xlist= g_xsize=0 g_xlongest=
                set --
            fi
        fi
        g_xn=$((g_xn + 1))
    done
    [ $# -eq 0 ] || "$g_xcall" "$@"
}

# Makes g_xfile of DIRECTORY and NAME. Tools that write names in lines must not be given one with a newline in it:
# then the file is alone, in the directory that is held.
g_path_of() {
    g_xalone= g_xfile=${1%/}/$2
    case $1 in
    *"$g_nl"* | *\\*)
        g_enter "$1"
        g_xalone=1 g_xfile=./$2
        ;;
    esac
}

# Takes the digests of files into g_xsums, a line for each; an empty line where it could not be had. The longest is of
# about g_xlongest bytes.
g_sums() {
    ! g_is_large "$g_xlongest" || g_try_large
    if g_xsums=$(g_sha256 "$g_xlongest" "$@" 2>/dev/null); then
        g_xsums=$g_xsums$g_nl
        return
    fi
    g_xsums=
    for g_xone; do
        g_h=
        { g_hash "$g_xlongest" < "$g_xone"; } 2>/dev/null || g_h=
        g_xsums=$g_xsums$g_h$g_nl
    done
}

# Takes the length of the change into account: it is that of a staged content, or of what is displaced.
g_longest() { ! g_is_large "$1" || g_xlongest=$1; }

# Takes the first digest off g_xsums into g_xsum.
g_next_sum() {
    g_xsum=${g_xsums%%"$g_nl"*} g_xsums=${g_xsums#*"$g_nl"}
    g_xsum=${g_xsum%% *}
    g_xsum=${g_xsum#\\}
}

# The digests of those files of g_xlist that need one.
g_sums_of() {
    for g_xone in $g_xlist; do
        g_xfile=$1
        shift
        case $g_xone in
        *:twin) ;;
        *) set -- "$@" "$g_xfile" ;;
        esac
    done
    g_sums "$@"
}

# The same with what stat says.
g_stats() {
    g_xstats=$("$g_stat" "-$g_stat_kind" "$g_stat_format" "$@" 2>/dev/null) && {
        g_xstats=$g_xstats$g_nl
        return
    }
    g_xstats=
    for g_xone; do
        g_xstats=$g_xstats$("$g_stat" "-$g_stat_kind" "$g_stat_format" "$g_xone" 2>/dev/null)$g_nl
    done
}

g_next_stat() {
    g_xstat=${g_xstats%%"$g_nl"*} g_xstats=${g_xstats#*"$g_nl"}
}

# Finds out whether dd syncs what it writes: /dev/null cannot be synced, and what is no option is said to be none.
g_try_fsync() {
    g_xfsync=
    [ "$g_reader" = dd ] || return 0
    g_out=$("$g_dd" count=0 conv=notrunc,fsync </dev/null 2>&1 >/dev/null)
    g_rc=$?
    if [ "$g_rc" -ne 0 ]; then
        g_dd_words
        [ "$g_code" = no-support ] || return 0
    fi
    g_xfsync=,fsync
}

# Writes files or directories to the disk. 1: g_code and g_text.
g_sync_files() {
    case $g_sync_by in
    fsync) g_out=$("$g_fsync" "$@" 2>&1) ;;
    sync-file) g_out=$("$g_sync" "$@" 2>&1) ;;
    *)
        [ -z "$g_sync" ] || "$g_sync"
        return 0
        ;;
    esac
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_words "${g_out##*"$g_nl"}" "$g_rc"
    case $g_code in
    # A directory that may be written but not read cannot be opened to be synced; some filesystems sync none.
    denied | no-support) return 0 ;;
    esac
    return 1
}

# Syncs the directories of the changes.
g_sync_dirs() {
    g_xdirs=/ g_xu=0
    set --
    while [ "$g_xu" -lt "$g_count" ]; do
        g_load "$g_xu"
        for g_xone in "$g_xd" "$g_xtd"; do
            case $g_xdirs in
            *"/$g_xone//"*) continue ;;
            esac
            [ -d "$g_xone" ] || continue
            g_xdirs=$g_xdirs/$g_xone//
            set -- "$@" "$g_xone"
            if [ $# -ge 200 ]; then
                g_sync_files "$@"
                set --
            fi
        done
        g_xu=$((g_xu + 1))
    done
    [ $# -eq 0 ] || g_sync_files "$@"
}

# Removes files, each in its own directory, which is held: a directory that is exchanged for a link meanwhile leads
# nowhere. What is the only one of its kind is in the directory that is held already.
g_remove_where() {
    g_xdone=/
    for g_xone; do
        case $g_xone in
        ./*)
            g_xdone=$g_xdone./
            "$g_rm" -f "$g_xone"
            ! g_there "$g_xone" || g_left_over "$g_xone"
            ;;
        esac
    done
    for g_xone; do
        g_xat=${g_xone%/*}
        case $g_xone:$g_xdone in
        ./*) continue ;;
        *"/$g_xat//"*) continue ;;
        esac
        g_xdone=$g_xdone/$g_xat//
        g_remove_from "$g_xat" "$@"
    done
}

# Removes those of the files that are in DIRECTORY: DIRECTORY FILE...
g_remove_from() {
    shift
    for g_xfile; do
        shift
        [ "${g_xfile%/*}" != "$g_xat" ] || set -- "$@" "${g_xfile##*/}"
    done
    if ! g_come_back "${g_xat:-/}" "$1"; then
        for g_xfile; do
            g_left_over "$g_xat/$g_xfile"
        done
        return
    fi
    for g_xfile; do
        shift
        set -- "$@" "./$g_xfile"
    done
    "$g_rm" -f "$@"
    for g_xfile; do
        ! g_there "$g_xfile" || g_left_over "$g_xfile"
    done
}

# Says that a file could not be removed: it is found by its name among the changes.
g_left_over() {
    for g_xitem in $g_xlist; do
        g_load "${g_xitem%%:*}"
        case ${1##*/}:$g_xkind in
        "$g_xstage":move) g_xat=$g_xtd ;;
        "$g_xstage":* | "$g_xaside":*) g_xat=$g_xd ;;
        *) continue ;;
        esac
        g_stays "$g_xat" "${1##*/}" "a temporary name of $g_xp, which could not be removed"
        return
    done
}
