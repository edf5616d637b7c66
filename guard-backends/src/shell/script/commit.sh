# A commit from its first record to its reply.

# Reads the tail. 1: the stream ended, or is something else; nothing may be published then.
g_tail() {
    IFS= read -r g_xline <&3 || return 1
    [ "$g_xline" = "$g_nonce|$g_seq|go|." ]
}

g_commit() {
    g_changes
    [ -n "${g_xsync_tried-}" ] || g_try_fsync
    g_xsync_tried=1
    g_xactive=1
    g_permit_all && g_look_all && g_parents_all && g_stage_all
    g_drain_bodies
    if ! g_tail; then
        g_undo_all
        g_xactive=
        g_broken
    fi
    if [ -z "$g_xfailed" ] && g_publish_all && g_last_look; then
        g_xactive=
        g_finish
        g_reply_applied
    else
        g_undo_all
        g_xactive=
        g_reply_failed
    fi
    g_forget
}

# What the shell does when it ends in the middle of a commit.
g_cleanup() {
    [ -z "${g_xactive-}" ] || g_undo_all
}

# Looks once more at what could still make it all wrong, a directory that is elsewhere by now, and writes the
# directories to the disk.
g_last_look() {
    g_xdirs=/ g_xn=0
    set --
    while [ "$g_xn" -lt "$g_count" ]; do
        g_load "$g_xn"
        g_sign "$g_xn"
        case $g_xs in
        new | excl | swap | place) g_is_held "$g_xd" "$g_xstage" || return ;;
        window | gone | moved | copied) g_is_held "$g_xd" "$g_xaside" || return ;;
        dir) g_is_held "$g_xd" "$g_xname" || return ;;
        rmdir | later) g_is_held "$g_xd" '' || return ;;
        *)
            g_xn=$((g_xn + 1))
            continue
            ;;
        esac
        for g_xone in "$g_xd" "$g_xtd"; do
            case $g_xone:$g_xdirs in
            :* | *"/$g_xone//"*) continue ;;
            esac
            [ "$g_xone" = "$g_xd" ] || g_is_held "$g_xtd" "$g_xtname" || return
            g_xdirs=$g_xdirs/$g_xone//
            set -- "$@" "$g_xone"
            if [ $# -ge 100 ]; then
                g_sync_or_halt "$@" || return
                set --
            fi
        done
        g_xn=$((g_xn + 1))
    done
    g_xm=0
    while [ "$g_xm" -lt "$g_xmade" ]; do
        eval "g_xone=\${g_xmp_$g_xm%/*}"
        g_xone=${g_xone:-/}
        case $g_xdirs in
        *"/$g_xone//"*) ;;
        *)
            g_xdirs=$g_xdirs/$g_xone//
            set -- "$@" "$g_xone"
            if [ $# -ge 100 ]; then
                g_sync_or_halt "$@" || return
                set --
            fi
            ;;
        esac
        g_xm=$((g_xm + 1))
    done
    [ $# -eq 0 ] || g_sync_or_halt "$@"
}

# Tells whether the directory is still at its path, with NAME in it. The one that is held is asked first: what was
# done was done in that.
g_is_held() {
    case $g_xdirs in
    *"/$1//"*) [ -z "$2" ] || [ "$g_cwd" != "$1" ] || g_there "./$2" && return 0 ;;
    esac
    if [ "$g_cwd" = "$1" ]; then
        # The working directory stays what it is: an undo needs it.
        if [ . -ef "$1" ] && (trap - EXIT; g_xactive= g_cwd= && g_enter "$1"); then
            return 0
        fi
    elif g_enter "$1"; then
        { [ -z "$2" ] || g_there "./$2"; } && return 0
    fi
    g_halt unstable "$1" 0 'the directory is elsewhere by now'
}

g_sync_or_halt() {
    g_sync_files "$@" && return 0
    g_xi=
    g_halt_error "$1"
}
