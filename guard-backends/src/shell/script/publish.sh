# Commit, the second half: giving names to what was staged, and taking them away, each under its precondition.
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

# Tells what is published with: TIER LEASE COPIED.
g_told_of() { eval "g_xv_$g_xi=\"\$1 \${2:--} \${3:-0}\""; }

# Gives A a second name B, which nothing has. 1: g_code and g_text.
g_link_to() {
    if g_lacks link; then
        g_code=no-support g_text='no hard links'
        return 1
    fi
    if [ "$g_link_by" = link ]; then
        g_out=$("$g_link" "$1" "$2" 2>&1)
    else
        g_out=$("$g_ln" -T "$1" "$2" 2>&1)
    fi
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_words "$g_out" "$g_rc"
    case $g_text in
    *'Too many links') g_code=no-support ;;
    esac
    return 1
}

# Exchanges two names. 1: g_code and g_text.
g_exchange_names() {
    case $g_exchange in
    mv) g_out=$("$g_mv" --exchange -T "$1" "$2" 2>&1) ;;
    exch) g_out=$("$g_exch" "$1" "$2" 2>&1) ;;
    perl)
        g_out=$("$g_perl" -e 'exit 0 if syscall($ARGV[0] + 0, -100, $ARGV[1], -100, $ARGV[2], 2) == 0;
print STDERR "exchange: $!\n"; exit 1' "$g_swap_call" "$1" "$2" 2>&1)
        ;;
    *)
        g_code=no-support g_text='no exchange'
        return 1
        ;;
    esac
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_words "$g_out" "$g_rc"
    return 1
}

# Renames A to B, whatever B is. 1: g_code and g_text.
g_rename() {
    g_out=$("$g_mv" -f -T "$1" "$2" 2>&1)
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_words "$g_out" "$g_rc"
    return 1
}

# Tells whether ./A and B are names of one regular file.
g_same_file() { [ ! -L "$1" ] && [ ! -L "$2" ] && [ -f "$1" ] && [ "$1" -ef "$2" ]; }

# The same of links.
g_same_link() {
    [ -L "$1" ] && [ -L "$2" ] || return 1
    g_stats "$1" "$2"
    g_next_stat
    g_parse "$g_xstat" && g_xk="$g_type $g_id" || return 1
    g_next_stat
    g_parse "$g_xstat" && [ "$g_xk" = "$g_type $g_id" ]
}

# Judges what is under a temporary name, by type first, then by digest: g_jtype, g_jdigest, g_jtext.
#
# Nobody else renames to or from such a name, so that its type stays what it is.
g_judge() {
    g_jdigest= g_jtext=
    if [ -L "./$1" ]; then
        g_jtype=link
        g_text_of_link "$1" && g_jtext=$g_ltext || g_jtype=unknown
    elif [ -f "./$1" ]; then
        g_jtype=regular g_h=
        { g_hash; } < "./$1" && g_jdigest=$g_h
    elif [ -d "./$1" ]; then
        g_jtype=directory
    elif [ -e "./$1" ]; then
        g_jtype=unknown
    else
        g_jtype=absent
    fi
}

# Tells whether what came out of the name is what the precondition named.
g_came_out() {
    case $g_xpre:$g_jtype in
    content:regular) [ -n "$g_jdigest" ] && [ "$g_jdigest" = "$g_xarg" ] ;;
    link:link)
        g_unesc "$g_xarg"
        [ "$g_jtext" = "$g_u" ]
        ;;
    exists:regular | any:regular) ;;
    *) return 1 ;;
    esac
}

# Says what is at ./NAME in one word: an inode with a content, which is the same only while both are.
g_thing() {
    g_state "$1" any
    case $? in
    0) ;;
    1)
        g_xthing=absent
        return
        ;;
    *)
        # It is being written to, or may not be read: it is never what it has to be.
        g_digest=
        if [ -L "./$1" ] || [ ! -f "./$1" ] || ! g_facts "$1" || [ "$g_type" != regular ]; then
            g_xthing=unknown g_type=unknown
            return
        fi
        ;;
    esac
    case $g_type in
    regular) g_xthing="regular $g_id $g_digest" ;;
    link) g_xthing="link $g_id $g_ltext" ;;
    *) g_xthing="$g_type $g_id" ;;
    esac
}

# What the staged file of the change is as g_thing says it.
g_ours_is() {
    eval "g_xours=\${g_xt_$g_xi-}"
    g_xours="regular ${g_xours#* } $g_xnew"
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
    # Before there is anything in it: what is whole has its mode.
    if g_change_mode "${g_xt%% *}" "$g_yname"; then
        g_out=$("$g_dd" if="./$g_xstage" bs=65536 conv=notrunc$g_xfsync 2>&1 >&6)
        g_rc=$?
        if [ "$g_rc" -ne 0 ]; then
            g_dd_words
            [ "$g_code" != no-support ] || g_code=
        fi
    fi
    if [ -z "$g_code" ]; then
        g_h=
        { g_hash; } < "./$g_yname"
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
    g_facts "$g_xname"
    if [ $? -ne 0 ] || [ "$g_type $g_id" != "regular $g_oid" ]; then
        g_drop "$g_xaside"
        g_found "$g_xname"
        g_mismatch "$g_xp" 0
        return
    fi
    g_is_now place
    g_told_of in-place no
    if ! g_overwrite "$g_xstage"; then
        g_halt_error "$g_xp"
        g_write_back
        return 1
    fi
    case $g_xmode in
    keep | exec) ;;
    *)
        if ! g_change_mode "$g_xmode" "$g_xname"; then
            g_halt_error "$g_xp"
            return
        fi
        ;;
    esac
    g_judge "$g_xname"
    [ "$g_jdigest" = "$g_xnew" ] && return 0
    # Another writer wrote at the same time: what is there is not ours to take back.
    g_found "$g_xname"
    g_mismatch "$g_xp" 0
    g_stays "$g_xd" "$g_xaside" 'the old bytes; another writer wrote at the same time'
    g_is_now kept
    return 1
}

g_fill_backup() {
    g_out=$("$g_dd" if="./$g_xname" bs=65536 conv=notrunc$g_xfsync 2>&1 >&6)
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_dd_words
    [ "$g_code" = no-support ]
}

# Writes what ./NAME has into the file of the change.
g_overwrite() {
    g_out=$("$g_dd" if="./$1" of="./$g_xname" bs=65536 ${g_xfsync:+conv=fsync} 2>&1)
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_dd_words
    [ "$g_code" = no-support ]
}

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

# Moves: a second name STAGE at the destination, which is judged there; the name itself, which replaces nothing; then
# the first name is taken away. What is never under a name of its own can be let go by a settlement.
g_publish_move() {
    if ! g_enter "$g_xtd"; then
        g_halt_error '' 1
        return
    fi
    g_load_old
    g_xstands=
    if g_there "./$g_xstage" || g_there "./$g_xundo"; then
        g_halt io "${g_xtd%/}/$g_xstage" 1 'File exists'
        return
    fi
    if [ "$g_xtd" = "$g_xd" ]; then
        g_xto=.
        g_move
    elif [ -n "$g_fds" ] && [ -r . ]; then
        # The destination is held: its path may lead elsewhere in between.
        g_xto=$g_fds/7
        { g_move; } 7< .
    else
        # Whoever stands in the destination cannot be led elsewhere; what was linked is judged there.
        g_xto=${g_xtd%/} g_xstands=1
        g_move
    fi
}

# Tells whether A and B are names of one file or link.
g_same_thing() {
    if [ -L "$1" ]; then
        g_same_link "$1" "$2"
    else
        g_same_file "$1" "$2"
    fi
}

g_move() {
    g_xone=$g_xp g_xtwo=./$g_xstage
    if [ -z "$g_xstands" ]; then
        if ! g_enter "$g_xd"; then
            g_halt_error
            return
        fi
        g_xone=./$g_xname g_xtwo=$g_xto/$g_xstage
    fi
    g_is_now half
    if ! g_link_to "$g_xone" "$g_xtwo" && ! g_same_thing "$g_xone" "$g_xtwo"; then
        g_is_now ''
        g_xcode=$g_code g_xtext=$g_text
        if ! g_enter "$g_xd"; then
            g_halt_error
            return
        fi
        g_code=$g_xcode g_text=$g_xtext g_at=$g_xp
        case $g_code in
        cross-device | no-support | not-permitted) g_copy ;;
        not-found)
            if g_there "./$g_xname"; then
                g_halt_error "$g_xtp" 1
            else
                g_type=absent
                g_mismatch "$g_xp" 0
            fi
            ;;
        *) g_halt_error "$g_xp" ;;
        esac
        return
    fi
    if ! g_enter "$g_xtd"; then
        g_halt_error '' 1
        return
    fi
    g_xmax=
    [ "$g_xpre" != content ] || g_xmax=any
    g_state "$g_xstage" "$g_xmax"
    if [ $? -ne 0 ]; then
        g_halt_error "$g_xp"
        return
    fi
    g_jtype=$g_type g_jdigest=$g_digest g_jtext=$g_ltext
    if ! g_came_out || { [ "$g_xpre" = exists ] && [ "$g_id" != "$g_oid" ]; }; then
        g_mismatch "$g_xp" 0
        return
    fi
    if ! g_link_to "./$g_xstage" "./$g_xtname" && ! g_same_thing "./$g_xstage" "./$g_xtname"; then
        if [ "$g_code" = exists ]; then
            g_found "$g_xtname"
            g_mismatch "$g_xtp" 1
        else
            g_halt_error "$g_xtp" 1
        fi
        return
    fi
    if ! g_enter "$g_xd"; then
        g_halt_error
        return
    fi
    g_take_source moved
}

# Takes the source away, now that the destination has what was there. Nothing is let go of yet.
g_take_source() {
    g_xpast=$g_xs
    if g_there "./$g_xaside"; then
        g_halt io "${g_xd%/}/$g_xaside" 0 'File exists'
        return
    fi
    g_is_now "$1"
    if ! g_rename "./$g_xname" "./$g_xaside" && ! g_there "./$g_xaside"; then
        g_is_now "$g_xpast"
        if [ "$g_code" = busy ]; then
            g_halt busy-mount "$g_xp" 0 ''
        elif g_there "./$g_xname"; then
            g_halt_error "$g_xp"
        else
            g_type=absent
            g_mismatch "$g_xp" 0
        fi
        return
    fi
    if [ "$1" = copied ] || ! g_same_thing "./$g_xaside" "$g_xto/$g_xstage"; then
        # Another inode is what was moved only if the precondition says what is in it.
        g_judge "$g_xaside"
        if [ "$g_xpre" = exists ] || ! g_came_out; then
            g_found "$g_xaside"
            g_mismatch "$g_xp" 0
            return
        fi
    fi
    # The destination has to have it still.
    if [ "$1:$g_otype" = copied:link ]; then
        g_enter "$g_xtd" || g_halt_error '' 1 || return
        g_judge "$g_xtname"
        g_came_out && return 0
    elif g_same_thing "$g_xto/$g_xstage" "$g_xto/$g_xtname"; then
        return 0
    elif [ "$1" = copied ] && g_enter "$g_xtd"; then
        # Where every name has an inode of its own.
        g_judge "$g_xtname"
        [ "$g_jdigest" = "$g_xnew" ] && return 0
    fi
    g_enter "$g_xtd" || g_halt_error '' 1 || return
    g_found "$g_xtname"
    g_mismatch "$g_xtp" 1
}

# Moves across filesystems: a copy and a removal.
g_copy() {
    if [ "$g_otype" = link ]; then
        g_copy_link || return
    else
        if [ -L "./$g_xname" ] || [ ! -f "./$g_xname" ] || [ ! -r "./$g_xname" ]; then
            g_found "$g_xname"
            case $g_type in
            regular) g_halt denied "$g_xp" 0 'reading' ;;
            *) g_mismatch "$g_xp" 0 ;;
            esac
            return
        fi
        g_xrc=1
        {
            g_copy_file
            g_xrc=$?
        } 8< "./$g_xname"
        [ "$g_xrc" -eq 0 ] || {
            [ -n "$g_xfailed" ] || g_halt io "$g_xp" 0 'opening'
            return 1
        }
    fi
    g_enter "$g_xd" || g_halt_error || return
    g_xs=half
    g_xpre_was=$g_xpre g_xarg_was=$g_xarg
    [ "$g_otype" = link ] || g_xpre=content g_xarg=$g_xnew
    g_take_source copied
    g_xrc=$?
    g_xpre=$g_xpre_was g_xarg=$g_xarg_was
    [ "$g_xrc" -eq 0 ] || return
    eval "g_xk=\${g_xv_$g_xi-}"
    g_xk=${g_xk%% *}
    if [ "$g_otype" = link ]; then
        g_told_of "${g_xk:-exchange}" '' 1
    else
        g_told_of "${g_xk:-exchange}" no 1
    fi
}

# Makes a link with the same text; making one never replaces anything.
g_copy_link() {
    g_text_of_link "$g_xname"
    g_unesc "$g_xarg"
    if [ "$g_ltext" != "$g_u" ]; then
        g_found "$g_xname"
        g_mismatch "$g_xp" 0
        return
    fi
    g_enter "$g_xtd" || g_halt_error '' 1 || return
    g_is_now half
    g_out=$("$g_ln" -s -T -- "$g_u" "./$g_xtname" 2>&1)
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_words "$g_out" "$g_rc"
    g_is_now ''
    if [ "$g_code" = exists ]; then
        g_found "$g_xtname"
        g_mismatch "$g_xtp" 1
    else
        g_halt_error "$g_xtp" 1
    fi
}

# Copies the file on descriptor 8 to STAGE at the destination and gives it its name.
g_copy_file() {
    g_enter "$g_xtd" || g_halt_error '' 1 || return
    if ! g_new_file "$g_xstage" private g_fill_copy; then
        g_halt_blocked "$g_xstage" "$g_xtp"
        return
    fi
    g_judge "$g_xstage"
    g_facts "$g_xstage" && g_late_mode
    if [ $? -ne 0 ] || [ -z "$g_jdigest" ] || [ "$g_jdigest" != "${g_odigest:-$g_jdigest}" ]; then
        g_halt torn "$g_xp" 0 'it was written to while it was copied'
        return
    fi
    g_xnew=$g_jdigest
    eval "g_xt_$g_xi=\"\$g_mode \$g_id\" g_xwas=\${g_xb_$g_xi-} g_xh_$g_xi=\$g_jdigest"
    [ -z "$g_xwas" ] || g_check_dressed || return
    g_yd=$g_xtd g_yname=$g_xtname g_yp=$g_xtp g_ydest=1
    g_publish_new half
}

g_fill_copy() {
    g_xmode=keep
    g_xmodel=$g_xp
    [ -z "$g_fds" ] || g_xmodel=$g_fds/8
    g_dress || return 1
    g_out=$("$g_dd" bs=65536 conv=notrunc$g_xfsync <&8 2>&1 >&6)
    g_rc=$?
    if [ "$g_rc" -ne 0 ]; then
        g_dd_words
        [ "$g_code" = no-support ] || return 1
    fi
    # When the bytes were written, as a rename keeps it; no promise is made of it.
    [ -z "$g_touch" ] || "$g_touch" -r "$g_xp" "./$g_xstage"
    return 0
}

# Removes a directory. Whether it is empty is for the kernel to say.
g_publish_rmdir() {
    if ! g_enter "$g_xd"; then
        g_halt_error
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
        *) g_xrc=1 ;;
        esac
    done
    g_enter "$g_xd" || return 1
    return "$g_xrc"
}
