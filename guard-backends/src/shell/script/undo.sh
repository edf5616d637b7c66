# Taking back what was published, in reverse, by compare-and-swap on type, digest and inode.
#
# What another writer has touched since is left and named. An inode is unlinked only if it is what was staged or what
# the precondition named, and has a temporary name.

# Takes back everything, removes what was staged and the directories that were made.
g_undo_all() {
    if g_is_settled; then
        g_leave_all
        return
    fi
    g_xundone=
    g_xu=$g_count
    while [ "$g_xu" -gt 0 ]; do
        g_xu=$((g_xu - 1))
        eval "g_xs=\${g_xs_$g_xu-}"
        case $g_xs in
        '' | same | temp | kept | dir | later) continue ;;
        esac
        g_sign "$g_xu"
        g_xundone=1
        g_load "$g_xu"
        g_load_old
        # What tells the directory from another one: the name that was made for this change.
        case $g_xs in
        swap | new | excl) g_xmark=$g_xstage ;;
        window | place | gone | moved | copied) g_xmark=$g_xaside ;;
        *) g_xmark= ;;
        esac
        g_come_back "$g_xd" "$g_xmark"
        g_xlost=$?
        if [ "$g_xlost" -eq 1 ]; then
            g_stays "$g_xd" "$g_xname" "it could not be taken back: $g_text"
            [ -z "$g_xmark" ] || g_stays "$g_xd" "$g_xmark" 'in that directory, wherever it is now'
            case $g_xs in
            half)
                # The destination can be taken back without its source.
                g_undo_move
                ;;
            moved | copied)
                g_stays "$g_xtd" "$g_xtname" "what was at $g_xp, wherever its directory is now"
                g_stays "$g_xtd" "$g_xstage" "a second name of what was at $g_xp, wherever its directory is now"
                ;;
            esac
            g_fate unknown
            continue
        fi
        case $g_xs in
        new | excl)
            # STAGE goes with the others, which name it.
            g_undo_new
            g_xmark=
            ;;
        swap) g_undo_swap ;;
        window) g_undo_window ;;
        place) g_undo_place ;;
        gone) g_undo_gone ;;
        half | moved | copied) g_undo_move ;;
        rmdir) g_undo_rmdir ;;
        esac
        if [ "$g_xlost" -ne 0 ] && [ -n "$g_xmark" ]; then
            g_stays "$g_xd" "$g_xmark" 'in that directory, if that is elsewhere by now'
            g_fate unknown
        fi
    done
    g_drop_staged
    g_undo_made
    # The failure that is reported is the batch's; a crash now could at worst bring a name back.
    [ -z "$g_xundone" ] || g_sync_dirs
}

# Tells whether another session has settled this commit: a temporary file of what was done is not there, and what a
# settlement leaves is. A program that clears temporary files away leaves nothing.
g_is_settled() {
    [ -z "$g_xsettling" ] || return 1
    g_xu=0
    while [ "$g_xu" -lt "$g_count" ]; do
        eval "g_xs=\${g_xs_$g_xu-}"
        case $g_xs in
        temp | new | excl | swap | window | place | gone | half | moved | copied)
            g_load "$g_xu"
            g_xat=${g_xtd:-$g_xd}
            g_was_settled "$g_xat" "$g_xstage" || g_was_settled "$g_xat" "$g_xundo" ||
                g_was_settled "$g_xd" "$g_xaside" && return 0
            ;;
        esac
        g_xu=$((g_xu + 1))
    done
    return 1
}

# Tells whether a settlement took NAME in DIRECTORY: what had it has another name, or a directory that none may enter
# has it. A directory that is held is not left.
g_was_settled() {
    g_xat_it=${1%/}
    [ "$g_cwd" != "$1" ] || g_xat_it=.
    g_rotated "$2"
    ! g_there "$g_xat_it/$g_xrotated" || return 0
    g_rotated "$g_xrotated"
    ! g_there "$g_xat_it/$g_xrotated" || return 0
    g_blocks "$g_xat_it/$2"
}

# Names the temporary files of a change that stay: WHY. Those that cannot be looked for are named too.
g_name_temps() {
    g_xat=$g_xd
    [ "$g_xkind" != move ] || g_xat=$g_xtd
    for g_xone in "$g_xat/$g_xstage" "$g_xd/$g_xaside" "$g_xat/$g_xundo"; do
        if g_there "$g_xone" || { [ "${g_xone##*/}" != "$g_xundo" ] && ! [ -x "${g_xone%/*}" ]; }; then
            g_stays "${g_xone%/*}" "${g_xone##*/}" "$1"
        fi
    done
}

# Leaves everything as it is: it is the other session's to tell what became of it.
g_leave_all() {
    g_xu=0
    while [ "$g_xu" -lt "$g_count" ]; do
        eval "g_xs=\${g_xs_$g_xu-}"
        case $g_xs in
        '' | same | later) ;;
        *)
            g_load "$g_xu"
            g_fate unknown
            g_name_temps 'the commit was broken off, because another session has settled it'
            ;;
        esac
        g_xu=$((g_xu + 1))
    done
}

# Removes staged files that nobody knows, many at a time. What is in them is ours.
g_drop_staged() {
    g_xlist= g_xsize=0 g_xu=0
    set --
    while [ "$g_xu" -lt "$g_count" ]; do
        eval "g_xs=\${g_xs_$g_xu-}"
        if [ "$g_xs" = temp ]; then
            g_load "$g_xu"
            g_xat=$g_xd
            [ "$g_xkind" != move ] || g_xat=$g_xtd
            g_path_of "$g_xat" "$g_xstage"
            g_there "$g_xfile" || [ "$g_cwd" = "$g_xat" ] ||
                g_stays "$g_xat" "$g_xstage" 'a staged content, if its directory is elsewhere by now'
            set -- "$@" "$g_xfile"
            g_xlist="$g_xlist $g_xu:temp" g_xsize=$((g_xsize + ${#g_xfile}))
            if [ $# -ge 200 ] || [ "$g_xsize" -gt 60000 ] || [ -n "$g_xalone" ]; then
                g_remove_where "$@"
                g_xlist= g_xsize=0
                set --
            fi
        fi
        g_xu=$((g_xu + 1))
    done
    [ $# -eq 0 ] || g_remove_where "$@"
    g_xu=0
    while [ "$g_xu" -lt "$g_count" ]; do
        eval "g_xs=\${g_xs_$g_xu-}"
        if [ "$g_xs" = temp ]; then
            g_load "$g_xu"
            g_xat=$g_xd
            [ "$g_xkind" != move ] || g_xat=$g_xtd
            # The one that is held may have been moved.
            if [ "$g_cwd" = "$g_xat" ] && g_there "./$g_xstage"; then
                g_drop "$g_xstage"
            fi
            if g_there "${g_xat%/}/$g_xstage"; then
                g_stays "$g_xat" "$g_xstage" 'a staged content could not be removed'
            fi
            g_is_now ''
        fi
        g_xu=$((g_xu + 1))
    done
}

# Takes ./NAME away under UNDO, if it still is what this commit put there, as COMMAND tells of a name; says what
# became of it.
#
# Looked at first where it is: what is another writer's is not even moved.
g_take_back() {
    if ! g_there "./$1"; then
        if [ "$g_xlost" -eq 0 ]; then
            # Another writer removed it already.
            g_fate restored
        else
            g_stays "$3" "$1" 'in that directory, wherever it is now'
            g_fate unknown
        fi
        return
    fi
    if ! "$2" "$1"; then
        g_stays "$3" "$1" "another writer's content is there, and was left alone"
        g_fate unknown
        return
    fi
    if g_there "./$g_xundo" || ! { g_rename "./$1" "./$g_xundo" || g_there "./$g_xundo"; }; then
        g_stays "$3" "$1" "it could not be taken back: $g_text"
        g_fate unknown
        return
    fi
    if "$2" "$g_xundo" && g_drop "$g_xundo"; then
        g_fate restored
        return
    fi
    if g_put_back "$g_xundo" "$1"; then
        g_stays "$3" "$1" "another writer's content is there, and was left alone"
    else
        g_stays "$3" "$g_xundo" "another writer's content, whose name was taken again"
    fi
    g_fate unknown
}

# Tells whether ./NAME is what was staged: the inode of STAGE while that is there, and its content.
g_is_staged() {
    [ ! -L "./$1" ] && [ -f "./$1" ] || return 1
    if [ "$g_xs" = new ]; then
        if [ -f "./$g_xstage" ]; then
            [ "./$1" -ef "./$g_xstage" ] || return 1
        else
            eval "g_xt=\${g_xt_$g_xi-}"
            [ -z "$g_xt" ] || { g_facts "$1" && [ "$g_id" = "${g_xt#* }" ]; } || return 1
        fi
    fi
    g_hash_of "$1"
    [ "$g_h" = "$g_xnew" ]
}

g_undo_new() {
    g_take_back "$g_xname" g_is_staged "$g_xd"
    g_is_now temp
}

g_undo_swap() {
    g_ours_is
    if ! g_there "./$g_xstage"; then
        g_thing "$g_xname"
        eval "g_xv=\${g_xv_$g_xi-}"
        # Else it was never exchanged.
        if [ -n "$g_xv" ] || [ "$g_xthing" = "$g_xours" ]; then
            g_displaced_is_gone "$g_xstage"
        fi
        g_is_now ''
        return
    fi
    g_thing "$g_xstage"
    if [ "$g_xthing" = "$g_xours" ]; then
        # It was never exchanged.
        g_is_now temp
        return
    fi
    g_give_back "$g_xours" "$g_xthing"
}

# Exchanges back what should not have been displaced, until the name has the newest content: OURS is at the name and
# OUT, which came out of it, under STAGE.
#
# An exchange only permutes inodes over two names, so that nothing is lost by it; what it can get wrong is which of
# them is at the name. If what comes out of the name is what was put there, nobody was at the name in between. If it
# is anything else (another inode, or our own with another writer's bytes in it), it is newer than all that was seen
# before and goes back.
g_give_back() {
    g_xput=$1 g_xout=$2 g_xturn=1 g_xmine=1
    while [ "$g_xturn" -lt 8 ]; do
        if ! g_exchange_names "./$g_xstage" "./$g_xname"; then
            g_xcode=$g_code g_xtext=$g_text
            g_thing "$g_xstage"
            if [ "$g_xthing" = "$g_xout" ]; then
                case $g_xcode in
                not-found) g_kept_stage 'what was displaced; its name was removed meanwhile' ;;
                *) g_kept_stage "what was displaced could not be put back: $g_xtext" ;;
                esac
                return
            fi
            # It was stopped after it was done.
        else
            g_thing "$g_xstage"
        fi
        if [ "$g_xthing" = "$g_xput" ]; then
            if [ -n "$g_xmine" ] && g_drop "$g_xstage"; then
                g_is_now ''
                g_fate restored
            else
                g_kept_stage 'a content of another writer that a later one superseded'
            fi
            return
        fi
        if [ "$g_xthing" = unknown ]; then
            # The name has what came out of it last; what this is cannot be told, so that nothing is decided by it.
            g_kept_stage 'what came out of the name, which cannot be looked at'
            return
        fi
        g_xput=$g_xout g_xout=$g_xthing g_xmine=
        g_xturn=$((g_xturn + 1))
    done
    g_kept_stage 'a content of another writer; the name kept changing'
}

# Says that what was displaced cannot be put back: NAME, where it was, is not there.
g_displaced_is_gone() {
    g_stays "$g_xd" "$g_xname" "it could not be taken back: $1, where the old content was, was removed meanwhile"
    g_fate unknown
}

g_kept_stage() {
    g_stays "$g_xd" "$g_xstage" "$1"
    g_is_now kept
    g_fate unknown
}

# The old content is at ASIDE.
g_undo_window() {
    if g_there "./$g_xstage"; then
        # It was never renamed.
        g_is_now temp
        g_same_file "./$g_xname" "./$g_xaside" && g_drop "$g_xaside" && return
        ! g_there "./$g_xaside" || g_stays "$g_xd" "$g_xaside" 'a second name of the old content'
        return
    fi
    g_ours_is
    g_thing "$g_xname"
    if ! g_there "./$g_xaside"; then
        g_displaced_is_gone "$g_xaside"
        g_is_now ''
        return
    fi
    if [ "$g_xthing" = "$g_xours" ]; then
        if g_rename "./$g_xaside" "./$g_xname" || ! g_there "./$g_xaside"; then
            g_is_now ''
            g_fate restored
            return
        fi
        g_stays "$g_xd" "$g_xaside" "the old content could not be put back: $g_text"
    elif [ "$g_xthing" = absent ]; then
        g_stays "$g_xd" "$g_xaside" 'the old content; its name was removed meanwhile'
    elif [ "${g_xthing##* }" = '' ]; then
        g_stays "$g_xd" "$g_xaside" 'the old content; what has its name now cannot be read'
    else
        g_stays "$g_xd" "$g_xaside" 'the old content; another writer has its name now'
    fi
    g_is_now kept
    g_fate unknown
}

# The old bytes are in a copy at ASIDE; STAGE goes with the others.
g_undo_place() {
    if ! g_there "./$g_xaside"; then
        g_judge "$g_xname"
        if [ -n "$g_xv" ] || [ "$g_jdigest" = "$g_xnew" ]; then
            g_displaced_is_gone "$g_xaside"
        fi
        g_is_now temp
        return
    fi
    g_judge "$g_xaside"
    g_xbackup=$g_jdigest
    g_judge "$g_xname"
    case $g_jdigest in
    "$g_xnew") g_write_back ;;
    "$g_xbackup")
        # Nothing was written yet.
        g_drop "$g_xaside"
        g_is_now temp
        ;;
    *)
        g_stays "$g_xd" "$g_xaside" 'the old bytes; another writer wrote since'
        g_fate unknown
        g_is_now temp
        ;;
    esac
}

# Writes the old bytes back; they stay beside where that fails.
g_write_back() {
    g_is_now temp
    g_judge "$g_xaside"
    g_xbackup=$g_jdigest
    case $g_xmode in
    keep | exec) g_xgive= ;;
    *) g_xgive=$g_omode ;;
    esac
    if [ -n "$g_xbackup" ] && g_overwrite "$g_xaside" "$g_xgive"; then
        if g_is_overwritten "$g_xbackup" && g_drop "$g_xaside"; then
            g_fate restored
            return
        fi
    fi
    g_stays "$g_xd" "$g_xaside" 'the old bytes, which could not be written back'
    g_fate unknown
}

# What was removed is at ASIDE.
g_undo_gone() {
    if ! g_there "./$g_xaside"; then
        # Else it was never taken away.
        if [ -n "$g_xv" ] || ! g_there "./$g_xname"; then
            g_displaced_is_gone "$g_xaside"
        fi
        g_is_now ''
        return
    fi
    if ! g_there "./$g_xname" && g_put_back "$g_xaside" "$g_xname" && ! g_there "./$g_xaside"; then
        g_is_now ''
        g_fate restored
        return
    fi
    if g_same_file "./$g_xname" "./$g_xaside" || g_same_link "./$g_xname" "./$g_xaside"; then
        # It was stopped half-way.
        g_drop "$g_xaside" && g_is_now '' && g_fate restored && return
    fi
    if g_there "./$g_xname"; then
        g_stays "$g_xd" "$g_xaside" 'what was removed; its name was taken again'
    else
        g_stays "$g_xd" "$g_xaside" "what was removed could not be put back: $g_text"
    fi
    g_is_now kept
    g_fate unknown
}
