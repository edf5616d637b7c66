# The shell of a lost commit: it is ended, or its temporary names are taken from it.

# Ends the old shell and what it runs. 0: it is proven that it does nothing any more.
g_end_old() {
    # After a restart this shell can have its number, and is another one all the same.
    g_is_number "$g_opt_pid" && [ "$g_opt_pid" -gt 1 ] && [ "$g_opt_pid.$g_opt_start" != "$$.$g_start" ] || return 1
    if [ -z "$g_fds" ] || [ -z "$g_opt_start" ]; then
        return 1
    fi
    if ! g_old_lives; then
        # A tool that it had started lives on without it.
        g_orphans
        [ -n "$g_xfamily" ] || return 0
        kill -KILL $g_xfamily
        g_wait_for_end 1000
        return
    fi
    g_process_user "$g_opt_pid"
    [ "$g_xuser" = "$g_euid" ] || return 1
    # In the middle of a commit it takes back what it did, or finishes it, and knows more than what is on disk.
    g_descendants
    kill -TERM "$g_opt_pid" $g_xfamily
    g_wait_for_end 150 && return 0
    # It makes no new children while it is stopped.
    kill -STOP "$g_opt_pid"
    g_xk=0
    while [ "$g_xk" -lt 50 ] && g_old_lives && [ "$g_xstate" != T ]; do
        g_moment
        g_xk=$((g_xk + 1))
    done
    g_descendants
    kill -KILL "$g_opt_pid" $g_xfamily
    g_wait_for_end 1000
}

# Waits as long as it takes to start so many processes.
g_moment() { "$g_dd" count=0 </dev/null; }

g_wait_for_end() {
    g_xturn=0
    while [ "$g_xturn" -lt "$1" ]; do
        if ! g_old_lives; then
            g_xlives=
            for g_xone in $g_xfamily; do
                g_process "$g_xone" && [ "$g_xstate" != Z ] && g_xlives=1
            done
            [ -n "$g_xlives" ] || return 0
        fi
        g_sign "$g_xturn"
        g_moment
        g_xturn=$((g_xturn + 1))
    done
    return 1
}

# Tells whether the process of the old shell is still that.
g_old_lives() {
    g_process "$g_opt_pid" || return 1
    case $g_xstate in
    Z | X) return 1 ;;
    esac
    [ "$g_xbegan" = "$g_opt_start" ]
}

# What the kernel says of a process: g_xstate g_xparent g_xbegan.
g_process() {
    g_xline=
    [ -r "/proc/$1/stat" ] && { read -r g_xline; } < "/proc/$1/stat"
    case $g_xline in
    *') '*) ;;
    *) return 1 ;;
    esac
    # The name of the process is in brackets, and can hold anything.
    set -- ${g_xline##*) }
    g_xstate=$1 g_xparent=$2 g_xbegan=${20-}
}

g_process_user() {
    g_xuser=
    [ -r "/proc/$1/status" ] || return 1
    while read -r g_xone g_xk g_xline; do
        if [ "$g_xone" = Uid: ]; then
            g_xuser=${g_xline%%[!0-9]*}
        fi
    done < "/proc/$1/status"
}

# Lists what the old shell runs, and what that runs.
g_descendants() {
    g_xfamily= g_xpairs=
    set +f
    set -- /proc/[1-9]*
    set -f
    for g_xone; do
        g_process "${g_xone#/proc/}" && g_xpairs="$g_xpairs $g_xparent:${g_xone#/proc/}"
    done
    g_xmore=$g_opt_pid
    while [ -n "$g_xmore" ]; do
        g_xnext=
        for g_xk in $g_xmore; do
            for g_xone in $g_xpairs; do
                case $g_xone in
                "$g_xk":*) g_xnext="$g_xnext ${g_xone#*:}" ;;
                esac
            done
        done
        g_xmore=$g_xnext g_xfamily="$g_xfamily$g_xnext"
    done
}

# Lists the tools of the old shell, by the mark that it gave them.
g_orphans() {
    g_xfamily=
    set +f
    set -- /proc/[1-9]*/environ
    set -f
    if [ -n "$g_grep" ]; then
        # One process for all of them.
        set -- $("$g_grep" -lF "g_mark=$g_opt_pid.$g_opt_start." "$@" 2>/dev/null)
    fi
    for g_xone; do
        case $("$g_cat" "$g_xone" 2>/dev/null) in
        *"g_mark=$g_opt_pid.$g_opt_start."*)
            g_xone=${g_xone#/proc/}
            g_xfamily="$g_xfamily ${g_xone%/environ}"
            ;;
        esac
    done
}

# Takes the temporary names from a shell that may still be going to use them. A directory of that name makes its
# exclusive creation fail; what is there already gets another name, so that its link, rename or exchange fails.
#
# Never both: an exchange with a directory would go through.
g_block_all() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        g_sign "$g_xn"
        g_load "$g_xn"
        case $g_xkind in
        put) g_xold_stage=$g_xstage && g_block "$g_xd" "$g_xstage" "$g_xaside" "$g_xundo" ;;
        remove) g_block "$g_xd" "$g_xaside" ;;
        move)
            g_block "$g_xtd" "$g_xstage" "$g_xundo"
            g_block "$g_xd" "$g_xaside"
            ;;
        esac
        g_xn=$((g_xn + 1))
    done
}

# DIRECTORY NAME...
g_block() {
    # Where there is no such directory the old shell cannot make anything in it before it has made that.
    g_enter "$1" || return 0
    g_xat=$1
    shift
    for g_xone; do
        g_rotated "$g_xone"
        # It has been settled before.
        ! g_there "./$g_xrotated" || continue
        g_xaway=$g_xrotated
        g_rotated "$g_xaway"
        g_xturn=0
        while [ "$g_xturn" -lt 8 ]; do
            # What was taken away by an earlier settlement, which let it go, is not to be made anew: the old shell may
            # be about to exchange it.
            if g_there "./$g_xrotated" && ! g_there "./$g_xone"; then
                break
            fi
            # A mode that no program gives tells what it is.
            if ! g_there "./$g_xrotated" && "$g_mkdir" -m 0 "./$g_xone"; then
                g_stays "$g_xat" "$g_xone" 'it keeps a session that may still be alive from going on'
                break
            fi
            if [ ! -L "./$g_xone" ] && [ -d "./$g_xone" ]; then
                g_stays "$g_xat" "$g_xone" 'it keeps a session that may still be alive from going on'
                break
            fi
            # Only what can be exchanged needs it; in a directory that is removed it would be in the way.
            if [ "$g_xkind:$g_xone" = "put:$g_xold_stage" ] && "$g_mkdir" -m 0 "./$g_xrotated"; then
                g_stays "$g_xat" "$g_xrotated" "it says that $g_xone was taken from a session that may still be alive"
            fi
            ! g_rename "./$g_xone" "./$g_xaway" || break
            g_xturn=$((g_xturn + 1))
        done
    done
}

# Tells whether a directory is one that a settlement made in the place of a temporary file: no program gives its mode.
g_blocks() {
    [ -d "$1" ] && [ ! -L "$1" ] || return 1
    g_stats "$1"
    g_next_stat
    g_parse "$g_xstat" && [ "$g_type:$g_mode" = directory:0 ]
}

# The name that a temporary file has after that: the first letter goes to the end.
g_rotated() {
    g_xrotated=${1#.guard-}
    g_xfirst=${g_xrotated%"${g_xrotated#?}"}
    g_xrotated=.guard-${g_xrotated#?}$g_xfirst
}

# Takes the names that temporary files have by now, after this settlement's blocking or an earlier one's.
g_settled_names() {
    g_xat=${g_xtd:-$g_xd}
    g_settled_name "$g_xat" "$g_xstage"
    g_xstage=$g_xrotated
    g_settled_name "$g_xat" "$g_xundo"
    g_xundo=$g_xrotated
    g_settled_name "$g_xd" "$g_xaside"
    g_xaside=$g_xrotated
}

g_settled_name() {
    g_rotated "$2"
    if ! g_there "${1%/}/$g_xrotated"; then
        [ -d "${1%/}/$2" ] && [ ! -L "${1%/}/$2" ] || g_xrotated=$2
    fi
}
