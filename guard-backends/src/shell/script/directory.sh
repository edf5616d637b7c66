# Directories: making them, removing them, and taking both back.

# Makes what is missing above names, one at a time and each in the directory that is held; and the directories
# themselves that are to be made, so that later changes can be below them.
g_parents_all() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        eval "g_xk=\${g_xm_$g_xn-} g_xline=\$g_xc_$g_xn"
        case $g_xk:$g_xline in
        :mkdir*) ;;
        :*)
            g_xn=$((g_xn + 1))
            continue
            ;;
        esac
        g_load "$g_xn"
        g_make_parents || return 1
        [ "$g_xkind" != mkdir ] || g_make_dir || return 1
        g_xn=$((g_xn + 1))
    done
}

g_make_parents() {
    eval "g_xk=\${g_xm_$g_xi-0}"
    g_xbase=$g_xd
    [ "$g_xkind" != move ] || g_xbase=$g_xtd
    g_xabove=$g_xbase/
    while [ "$g_xk" -gt 0 ]; do
        g_xbase=${g_xbase%/*} g_xk=$((g_xk - 1))
    done
    g_xabove=${g_xabove#"${g_xbase%/}/"}
    if ! g_enter "${g_xbase:-/}"; then
        g_halt_error
        return
    fi
    while [ -n "$g_xabove" ]; do
        g_xone=${g_xabove%%/*} g_xabove=${g_xabove#*/}
        [ -n "$g_xone" ] || continue
        g_xpathof=${g_cwd%/}/$g_xone
        # Another change of this batch made it, or another process did since: a directory is a directory.
        if ! g_there "./$g_xone"; then
            if g_make "$g_xone"; then
                g_note made "$g_xi" "$g_xpathof"
            elif [ "$g_code" != exists ]; then
                g_halt_error "$g_xpathof"
                return
            fi
        fi
        g_go_in "$g_xone" || return
    done
}

# Goes to ./NAME, which was made or found; what is not that directory any more is no place to go on.
g_go_in() {
    g_xhere=$g_cwd
    g_go "./$1" "${g_xhere%/}/$1" && return 0
    if [ -z "$g_cwd" ]; then
        g_cwd=$g_xhere
        if [ ! -L "./$1" ] && g_there "./$1"; then
            g_why_not_entered "./$1" "${g_xhere%/}/$1"
            g_halt_error
            return
        fi
    fi
    g_cwd=
    g_halt unstable "${g_xhere%/}/$1" 0 'the path leads elsewhere by now'
}

# Makes the directory ./NAME as any program of this user would.
g_make() {
    # Told before it is done: whoever settles this commit then knows that the directory was not there before.
    g_xkept_record=$g_record g_record=
    g_add "$g_xi"
    g_add "${g_cwd%/}/$1"
    g_send making
    g_record=$g_xkept_record
    umask "$g_umask"
    g_out=$("$g_mkdir" "./$1" 2>&1)
    g_rc=$?
    umask 077
    if [ "$g_rc" -ne 0 ]; then
        g_words "$g_out" "$g_rc"
        # Stopped after it was done.
        [ "$g_code" = unavailable ] && [ -d "./$1" ] && [ ! -L "./$1" ] || return 1
    fi
    eval "g_xmp_$g_xmade=\${g_cwd%/}/\$1 g_xmb_$g_xmade=\$g_xi"
    g_xmade=$((g_xmade + 1))
}

g_make_dir() {
    if ! g_enter "$g_xd"; then
        g_halt_error
        return
    fi
    if ! g_make "$g_xname"; then
        if [ "$g_code" != exists ]; then
            g_halt_error "$g_xp"
            return
        fi
        g_found "$g_xname"
        g_mismatch "$g_xp" 0
        return
    fi
    g_is_now dir
    g_go_in "$g_xname"
}

# Removes a directory. Whether it is empty is for the kernel to say.
g_publish_rmdir() {
    if ! g_enter "$g_xd"; then
        g_halt_error
        return
    fi
    # What earlier changes did in it is looked at once more before the batch is over: until then it stays.
    if g_is_worked_in; then
        if g_goes_empty; then
            g_is_now later
        else
            g_halt not-empty "$g_xp" 0 ''
        fi
        return
    fi
    g_is_now rmdir
    g_out=$("$g_rmdir" "./$g_xname" 2>&1)
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_words "$g_out" "$g_rc"
    if ! g_there "./$g_xname" && [ "$g_code" = unavailable ]; then
        # Stopped after it was done.
        return 0
    fi
    g_is_now ''
    case $g_code in
    busy) g_halt busy-mount "$g_xp" 0 '' ;;
    not-empty | exists)
        if g_goes_empty; then
            g_is_now later
        else
            g_halt not-empty "$g_xp" 0 ''
        fi
        ;;
    *) g_halt_error "$g_xp" ;;
    esac
}

# Tells whether earlier changes of the batch were made in the directory.
g_is_worked_in() {
    g_xdir=$g_xp g_xme=$g_xi g_xrc=1
    g_xk=0
    while [ "$g_xk" -lt "$g_xme" ]; do
        g_load "$g_xk"
        [ "$g_xd" != "$g_xdir" ] || [ -z "$g_xs" ] || g_xrc=0
        g_xk=$((g_xk + 1))
    done
    g_load "$g_xme"
    return "$g_xrc"
}

# Tells whether the directory has nothing in it but what is gone when this batch is over: what earlier changes
# displaced, and directories that they remove.
g_goes_empty() {
    g_xdir=$g_xp g_xme=$g_xi g_xgoing=/
    g_xk=0
    while [ "$g_xk" -lt "$g_xme" ]; do
        g_load "$g_xk"
        if [ "$g_xd" = "$g_xdir" ]; then
            case $g_xkind:$g_xs in
            remove:gone | move:moved | move:copied) g_xgoing=$g_xgoing$g_xaside/ ;;
            rmdir:later) g_xgoing=$g_xgoing$g_xname/ ;;
            esac
        fi
        g_xk=$((g_xk + 1))
    done
    g_load "$g_xme"
    g_go "./$g_xname" "$g_xp" || {
        g_cwd=
        g_enter "$g_xd"
        return 1
    }
    set +f
    set -- ./* ./.[!.]* ./..?*
    set -f
    g_xrc=0
    # What cannot be read looks empty.
    [ -r . ] || g_xrc=1
    for g_xone; do
        g_there "$g_xone" || continue
        case $g_xgoing in
        *"/${g_xone#./}/"*) ;;
        # What a settlement made is not content.
        *) [ -n "$g_xsettling" ] && g_blocks "$g_xone" || g_xrc=1 ;;
        esac
    done
    g_enter "$g_xd" || return 1
    return "$g_xrc"
}

# Removes a directory that is empty only now.
g_remove_later() {
    if g_enter "$g_xd"; then
        [ -z "$g_xsettling" ] || g_unblock
        g_out=$("$g_rmdir" "./$g_xname" 2>&1)
        g_rc=$?
        if ! g_there "./$g_xname"; then
            # A crash now could at worst bring an empty directory back.
            g_sync_files "$g_xd"
            return
        fi
        g_words "$g_out" "$g_rc"
    fi
    g_stays "$g_xd" "$g_xname" "not removed, something came to be in it: $g_text"
    g_is_now kept
}

# Removes what settlements made in a directory that goes: where that is gone, nobody can make anything in it.
g_unblock() {
    if g_go "./$g_xname" "$g_xp"; then
        set +f
        set -- ./.guard-*
        set -f
        for g_xone; do
            g_blocks "$g_xone" && "$g_rmdir" "$g_xone" && g_stays_not "$g_xp/${g_xone#./}"
        done
    else
        g_cwd=
    fi
    g_enter "$g_xd"
}

# Makes a removed directory again.
g_undo_rmdir() {
    g_is_now ''
    if ! g_there "./$g_xname"; then
        umask "$g_umask"
        if [ -n "$g_omode" ]; then
            g_out=$("$g_mkdir" -m "$g_omode" "./$g_xname" 2>&1)
        else
            g_out=$("$g_mkdir" "./$g_xname" 2>&1)
        fi
        g_rc=$?
        umask 077
        if [ "$g_rc" -ne 0 ] && ! g_there "./$g_xname"; then
            g_words "$g_out" "$g_rc"
            g_stays "$g_xd" "$g_xname" "the directory could not be made again: $g_text"
            g_fate unknown
            return
        fi
        if [ -n "$g_omode" ]; then
            if [ "$g_ouid:$g_ogid" != "$g_euid:$g_egid" ] || [ ! -O "./$g_xname" ] || [ ! -G "./$g_xname" ]; then
                g_dress_directory
            fi
        else
            g_stays "$g_xd" "$g_xname" 'the directory was made again, without its attributes'
        fi
    elif [ -L "./$g_xname" ] || [ ! -d "./$g_xname" ]; then
        g_stays "$g_xd" "$g_xname" "another writer's content is there; the directory could not be made again"
        g_fate unknown
        return
    fi
    # Another process made one there: it has the last word, and a directory is a directory.
    g_fate restored
}

# Gives the directory that was made again its owner and mode, from within: the name can be a link by now.
g_dress_directory() {
    if g_go "./$g_xname" "${g_xd%/}/$g_xname" && g_is_empty; then
        # A change of the owner can take setuid and setgid away.
        "$g_chown" "$g_ouid:$g_ogid" .
        "$g_chmod" "$g_omode" .
    else
        g_stays "$g_xd" "$g_xname" 'the directory was made again, without its owner'
    fi
    g_cwd=
    g_come_back "$g_xd"
}

# Tells whether the working directory is empty.
g_is_empty() {
    set +f
    set -- ./* ./.[!.]* ./..?*
    set -f
    g_xrc=0
    for g_xone; do
        ! g_there "$g_xone" || g_xrc=1
    done
    return "$g_xrc"
}

# Removes the directories that were made, if nothing came to be in them.
g_undo_made() {
    g_xm=$g_xmade
    while [ "$g_xm" -gt 0 ]; do
        g_xm=$((g_xm - 1))
        eval "g_xwhere=\$g_xmp_$g_xm g_xby=\$g_xmb_$g_xm"
        g_load "$g_xby"
        g_xat=${g_xwhere%/*} g_xone=${g_xwhere##*/}
        g_come_back "${g_xat:-/}" "$g_xone"
        g_xk=$?
        # A settlement knows only that it was going to be made.
        [ "$g_xk:$g_xsettling" != 2:1 ] || g_xk=0
        if [ "$g_xk" -eq 0 ]; then
            g_code=
            g_out=$("$g_rmdir" "./$g_xone" 2>&1)
            g_rc=$?
            g_words "$g_out" "$g_rc"
            if ! g_there "./$g_xone"; then
                [ "$g_xs" != dir ] || [ "$g_xwhere" != "$g_xp" ] || g_fate restored
                continue
            fi
        fi
        case $g_code in
        not-empty | exists) g_text='because something came to be in it' ;;
        esac
        g_stays "$g_xat" "$g_xone" "a directory that was made stays: $g_text"
    done
}
