# Giving names to what was staged, and taking them away, each under its precondition.
#
# Before each step g_xs_N says what it is going to be, and afterwards what is on disk decides: a tool can be stopped
# before its effect or after it.

# How strong a tier is.
g_rank() {
    case $1 in
    exchange) g_xrank=3 ;;
    window) g_xrank=2 ;;
    created-nonatomic) g_xrank=1 ;;
    *) g_xrank=0 ;;
    esac
}

# Refuses TIER if the batch requires a stronger one.
g_permit() {
    [ -n "$g_opt_require" ] || return 0
    g_rank "$g_opt_require"
    g_xk=$g_xrank
    g_rank "$1"
    [ "$g_xrank" -ge "$g_xk" ] || g_halt tier "$g_xp" 0 "$1"
}

# Refuses a tier that no tool here has, before anything is done.
g_permit_all() {
    g_xtier=exchange
    [ -n "$g_exchange" ] || g_xtier=window
    ! g_lacks link || g_xtier=created-nonatomic
    g_xi= g_xp=
    g_permit "$g_xtier"
}

g_publish_all() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        g_load "$g_xn"
        g_sign "$g_xn"
        if [ -n "$g_stop" ]; then
            g_halt unavailable "$g_xp" 0 'the session was told to end'
            return
        fi
        case $g_xkind:$g_xs in
        put:temp)
            g_load_old
            if [ "$g_otype" = absent ]; then
                g_yd=$g_xd g_yname=$g_xname g_yp=$g_xp g_ydest=0
                g_publish_new new
            else
                g_publish_replace
            fi
            ;;
        remove:*) g_publish_remove ;;
        move:*) g_publish_move ;;
        rmdir:*) g_publish_rmdir ;;
        esac || {
            # A descriptor that could not be opened says nothing.
            [ -n "$g_xfailed" ] || g_halt io "$g_xp" 0 'opening'
            return 1
        }
        g_xn=$((g_xn + 1))
    done
}

# Gives the staged file its name, which nothing has: the change is then STATUS. What is created is at g_yd, g_yname,
# g_yp.
g_publish_new() {
    if ! g_enter "$g_yd"; then
        g_halt_error '' "$g_ydest"
        return
    fi
    g_xnow=$1
    g_is_now "$1"
    if g_link_to "./$g_xstage" "./$g_yname"; then
        g_same_file "./$g_xstage" "./$g_yname" && return 0
        # Some network filesystems give every name an inode of its own.
        g_state "$g_yname" any
        [ $? -eq 0 ] && [ "$g_type" = regular ] && [ "$g_digest" = "$g_xnew" ] && return 0
        g_is_now temp
        g_found "$g_yname"
        g_mismatch "$g_yp" "$g_ydest"
        return
    fi
    g_same_file "./$g_xstage" "./$g_yname" && return 0
    g_is_now temp
    if [ -L "./$g_xstage" ] || [ ! -f "./$g_xstage" ]; then
        # Another session has settled this commit.
        g_halt io "${g_yd%/}/$g_xstage" "$g_ydest" 'the staged file is gone'
        return
    fi
    case $g_code in
    exists) g_taken ;;
    not-permitted | no-support) g_exclusive ;;
    *) g_halt_error "$g_yp" "$g_ydest" ;;
    esac
}

# Reports what has the name by now.
g_taken() {
    g_found "$g_yname"
    g_mismatch "$g_yp" "$g_ydest"
}

# Creates the file under its own name, where a whole one cannot be given a name: nothing is replaced, but a reader can
# see it partial.
g_exclusive() {
    g_permit created-nonatomic || return
    g_told_of created-nonatomic
    g_new_file "$g_yname" private g_fill_again && return 0
    if [ -z "$g_xopened" ]; then
        g_there "./$g_yname" && g_code=exists
        case $g_code in
        exists) g_taken ;;
        *) g_halt io "$g_yp" "$g_ydest" 'creating' ;;
        esac
        return
    fi
    g_halt_error "$g_yp" "$g_ydest"
}

# Fills what was created exclusively from the staged file; what could not be filled is taken away again.
g_fill_again() {
    case $g_xnow in
    new) g_is_now excl ;;
    *) g_is_now "$g_xnow" ;;
    esac
    eval "g_xt=\${g_xt_$g_xi-}"
    g_code=
    # What is no regular file can be opened in spite of set -C, through a link too; and the name can be a link by now.
    g_xmine=./$g_yname g_xby=$g_yname
    [ -z "$g_fds" ] || g_xmine=$g_fds/6 g_xby=$g_fds/6
    if [ -L "./$g_yname" ] || [ ! -f "$g_xmine" ] || [ -s "$g_xmine" ] || [ ! "./$g_yname" -ef "$g_xmine" ]; then
        g_is_now temp
        g_fail io "$g_yp" 'another file took the name while it was made'
        return
    fi
    # Before there is anything in it: what is whole has its mode.
    if g_change_mode "${g_xt%% *}" "$g_xby"; then
        g_out=$("$g_dd" if="./$g_xstage" bs=65536 conv=notrunc$g_xfsync 2>&1 >&6)
        g_rc=$?
        if [ "$g_rc" -ne 0 ]; then
            g_dd_words
            [ "$g_code" != no-support ] || g_code=
        fi
    fi
    if [ -z "$g_code" ]; then
        g_h=
        { g_hash "$g_xlen"; } < "$g_xmine"
        [ "$g_h" = "$g_xnew" ] && return 0
        g_code=io g_text='what was written is not what was staged'
    fi
    g_xcode=$g_code g_xtext=$g_text
    if [ -n "$g_fds" ] && [ ! -L "./$g_yname" ] && [ "./$g_yname" -ef "$g_fds/6" ] && ! g_there "./$g_xundo" &&
        g_rename "./$g_yname" "./$g_xundo"; then
        if [ ! -L "./$g_xundo" ] && [ "./$g_xundo" -ef "$g_fds/6" ]; then
            g_drop "$g_xundo"
        else
            g_put_back "$g_xundo" "$g_yname" || g_stays "$g_yd" "$g_xundo" 'what another writer put there'
        fi
    else
        g_stays "$g_yd" "$g_yname" 'a partial content stays'
    fi
    g_is_now temp
    g_code=$g_xcode g_text=$g_xtext
    return 1
}

# Replaces a file by exchanging names, and judges what came out.
g_publish_replace() {
    if ! g_enter "$g_xd"; then
        g_halt_error
        return
    fi
    if [ -z "$g_exchange" ]; then
        g_publish_window
        return
    fi
    g_is_now swap
    if ! g_exchange_names "./$g_xstage" "./$g_xname"; then
        g_xcode=$g_code g_xtext=$g_text
        g_ours_is
        g_facts "$g_xstage"
        if [ $? -ne 0 ] || [ "regular $g_id $g_xnew" = "$g_xours" ]; then
            g_is_now temp
            g_code=$g_xcode g_text=$g_xtext g_at=$g_xp
            case $g_code in
            busy) g_publish_in_place ;;
            no-support) g_publish_window ;;
            not-found)
                g_found "$g_xname"
                g_mismatch "$g_xp" 0
                ;;
            *) g_halt_error "$g_xp" ;;
            esac
            return
        fi
    fi
    g_told_of exchange no
    # A settlement's directory may have been under STAGE when it was exchanged.
    if [ -d "./$g_xname" ] && [ ! -L "./$g_xname" ] && g_facts "$g_xname" && [ "$g_type:$g_mode" = directory:0 ]; then
        g_exchange_names "./$g_xstage" "./$g_xname" && g_is_now ''
        g_fate unknown
        g_halt io "${g_xd%/}/$g_xstage" 0 'another session has settled this commit'
        return
    fi
    g_judge "$g_xstage"
    g_came_out && return 0
    g_ours_is
    g_thing "$g_xstage"
    g_give_back "$g_xours" "$g_xthing"
    g_found "$g_xname"
    g_mismatch "$g_xp" 0
}

# Replaces a file where names cannot be exchanged: the race is narrowed, not closed.
#
# The old inode gets a second name, is verified there, and the name is verified to be of it right before the new
# content is renamed over.
g_publish_window() {
    g_permit window || return
    if g_there "./$g_xaside"; then
        g_halt io "${g_xd%/}/$g_xaside" 0 'File exists'
        return
    fi
    if ! g_link_to "./$g_xname" "./$g_xaside" && ! g_same_file "./$g_xname" "./$g_xaside"; then
        g_xcode=$g_code g_xtext=$g_text
        case $g_code in
        # Within one directory: the name is a mount point.
        cross-device)
            g_publish_in_place
            return
            ;;
        not-found | no-support | not-permitted) g_found "$g_xname" ;;
        *)
            g_halt_error "$g_xp"
            return
            ;;
        esac
        if [ "$g_type" != regular ]; then
            g_mismatch "$g_xp" 0
        elif [ "$g_xcode" = not-found ]; then
            g_halt io "$g_xp" 0 "$g_xtext"
        else
            g_halt unsupported "$g_xp" 0 'replacing a file where names can neither be exchanged nor linked'
        fi
        return
    fi
    g_thing "$g_xaside"
    g_xcame=$g_xthing g_jtype=$g_type g_jdigest=$g_digest g_jtext=$g_ltext
    if ! g_came_out || ! g_same_file "./$g_xname" "./$g_xaside"; then
        g_found "$g_xname"
        g_mismatch "$g_xp" 0
        # A second name of what is (or was, until another writer replaced it) at the first: nothing is lost with it.
        g_clear_aside
        return
    fi
    g_is_now window
    g_told_of window no
    if ! g_rename "./$g_xstage" "./$g_xname" && g_there "./$g_xstage"; then
        g_is_now temp
        g_xcode=$g_code g_xtext=$g_text
        g_clear_aside
        if [ "$g_xcode" = busy ]; then
            # In place, the same name is needed for a copy.
            if g_there "./$g_xaside"; then
                g_halt busy-mount "$g_xp" 0 ''
            else
                g_publish_in_place
            fi
        else
            g_code=$g_xcode g_text=$g_xtext
            g_halt_error "$g_xp"
        fi
        return
    fi
    g_thing "$g_xaside"
    [ "$g_xthing" = "$g_xcame" ] && return 0
    # It was written to in place until the very last instant.
    g_found "$g_xaside"
    g_mismatch "$g_xp" 0
    g_undo_window
    return 1
}

# Removes the second name of the old content. Returns 1, for what it is used for is a failure.
g_clear_aside() {
    g_thing "$g_xaside"
    if [ "$g_xthing" = "$g_xcame" ]; then
        g_drop "$g_xaside"
    fi
    if g_there "./$g_xaside"; then
        g_stays "$g_xd" "$g_xaside" 'a second name of the old content, which could not be removed'
    fi
    return 1
}

# Writes a mount point in place, where that was asked for. The old bytes are kept beside until the batch is over.
g_publish_in_place() {
    if [ "$g_opt_inplace" != danger ]; then
        g_halt busy-mount "$g_xp" 0 ''
        return
    fi
    g_permit in-place || return
    if ! g_new_file "$g_xaside" private g_fill_backup; then
        g_xopened=1
        [ -n "$g_code" ] || g_code=io
        g_there "./$g_xaside" && g_drop "$g_xaside"
        g_halt_error "$g_xp"
        return
    fi
    g_judge "$g_xaside"
    if ! g_came_out; then
        g_drop "$g_xaside"
        g_found "$g_xname"
        g_mismatch "$g_xp" 0
        return
    fi
    g_is_now place
    g_told_of in-place no
    case $g_xmode in
    keep | exec) g_xgive= ;;
    *) g_xgive=$g_xmode ;;
    esac
    if ! g_overwrite "$g_xstage" "$g_xgive"; then
        if [ -n "$g_xwrote" ]; then
            g_halt_error "$g_xp"
            g_write_back
            return 1
        fi
        g_is_now temp
        g_drop "$g_xaside" || g_stays "$g_xd" "$g_xaside" 'a copy of the old bytes'
        g_found "$g_xname"
        g_mismatch "$g_xp" 0
        return
    fi
    g_is_overwritten "$g_xnew" && return 0
    # Another writer wrote at the same time: what is there is not ours to take back.
    g_found "$g_xname"
    g_mismatch "$g_xp" 0
    g_stays "$g_xd" "$g_xaside" 'the old bytes; another writer wrote at the same time'
    g_drop "$g_xstage" || g_stays "$g_xd" "$g_xstage" 'a staged content'
    g_is_now kept
    return 1
}

# What is no regular file any more has no bytes to keep, and is found out afterwards.
g_fill_backup() { g_opened "$g_xname" g_copy_opened; }

g_copy_opened() {
    g_out=$("$g_dd" bs=65536 conv=notrunc$g_xfsync <&5 2>&1 >&6)
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_dd_words
    [ "$g_code" = no-support ]
}

# Writes what ./NAME has into the file of the change, and gives it MODE where there is one: NAME MODE. g_xwrote is the
# inode, once that was begun: it is not where something else has the name by now.
g_overwrite() {
    g_xfrom=$1 g_xgive=$2 g_xwrote= g_code=
    g_opened "$g_xname" g_overwrite_opened && [ -n "$g_xwrote" ]
}

# By the name of its descriptor, where those have names: its own can be a link by now.
g_overwrite_opened() {
    # A settlement does not know the inode.
    [ -z "$g_oid" ] || [ "$g_id" = "$g_oid" ] || return 1
    g_xinto=./$1
    [ -z "$g_fds" ] || g_xinto=$g_fds/5
    g_xwrote=$g_id
    g_out=$("$g_dd" if="./$g_xfrom" of="$g_xinto" bs=65536 ${g_xfsync:+conv=fsync} 2>&1)
    g_rc=$?
    if [ "$g_rc" -ne 0 ]; then
        g_dd_words
        [ "$g_code" = no-support ] || return 1
    fi
    # With its new mode it may be unreadable.
    g_hash "$g_xlen" <&5 || g_h=
    [ -z "$g_xgive" ] || g_change_mode "$g_xgive" "$g_xinto"
}

# Tells whether what was written has DIGEST, and the name.
g_is_overwritten() { [ "$g_h" = "$1" ] && g_facts "$g_xname" && [ "$g_type:$g_id" = "regular:$g_xwrote" ]; }

# Renames what is removed to ASIDE and judges it there.
g_publish_remove() {
    if ! g_enter "$g_xd"; then
        g_halt_error
        return
    fi
    g_load_old
    g_take_away gone || return
    [ "$g_otype" != regular ] || g_told_of exchange no
}

# Renames the name of the change to ASIDE and judges it there: the change is then STATUS.
g_take_away() {
    if g_there "./$g_xaside"; then
        g_halt io "${g_xd%/}/$g_xaside" 0 'File exists'
        return
    fi
    g_xbefore=$g_xs
    g_is_now "$1"
    if ! g_rename "./$g_xname" "./$g_xaside" && ! g_there "./$g_xaside"; then
        g_is_now "$g_xbefore"
        if [ "$g_code" = busy ]; then
            g_halt busy-mount "$g_xp" 0 ''
        elif g_there "./$g_xname"; then
            g_halt_error "$g_xp"
        else
            g_found "$g_xname"
            g_mismatch "$g_xp" 0
        fi
        return
    fi
    g_judge "$g_xaside"
    g_came_out && return 0
    g_found "$g_xaside"
    g_mismatch "$g_xp" 0
    g_undo_gone
    g_is_now "$g_xbefore"
    return 1
}
