# Moves, within a filesystem and across, and taking them back.

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
            if g_is_source; then
                g_copy_file
                g_xrc=$?
            else
                g_found "$g_xname"
                g_mismatch "$g_xp" 0
            fi
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

# Tells whether what is open on descriptor 8 is the file that was looked at: the name can have become a link since.
g_is_source() {
    [ -n "$g_fds" ] || return 0
    g_out=$(exec "$g_stat" -L "-$g_stat_kind" "$g_stat_format" "$g_fds/8" 2>&1) && g_parse "$g_out" &&
        [ "$g_type:$g_id" = "regular:$g_oid" ]
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
    [ -z "$g_touch" ] || "$g_touch" -r "$g_xmodel" "./$g_xstage"
    return 0
}

# Gives the source its name again, then takes the destination away: it is a second name of it, or a copy.
g_undo_move() {
    g_xmoved= g_xfrom=${g_xd%/}
    if [ "$g_xs" != half ]; then
        g_xmoved=1
        if g_there "./$g_xaside" || g_same_thing "./$g_xname" "${g_xtd%/}/$g_xstage" ||
            g_same_thing "./$g_xname" "${g_xtd%/}/$g_xtname"; then
            g_undo_gone
        else
            # The destination has the only name that is left.
            g_displaced_is_gone "$g_xaside"
            g_is_now ''
            g_come_back "$g_xtd" "$g_xstage" && g_same_thing "./$g_xstage" "./$g_xtname" && g_drop "$g_xstage"
            for g_xone in "$g_xtname" "$g_xstage"; do
                ! g_there "${g_xtd%/}/$g_xone" || g_stays "$g_xtd" "$g_xone" "it may be what was at $g_xp"
            done
            return
        fi
    fi
    g_come_back "$g_xtd" "$g_xstage"
    g_xk=$?
    if [ "$g_xk" -eq 1 ] || { [ "$g_xk" -eq 2 ] && ! g_there "./$g_xtname"; }; then
        g_stays "$g_xtd" "$g_xtname" "it could not be taken back: $g_text"
        g_stays "$g_xtd" "$g_xstage" 'in that directory, wherever it is now'
        g_fate unknown
        return
    fi
    [ "$g_xs" = kept ] || g_is_now ''
    if [ "$g_otype" = link ] && ! g_there "./$g_xstage"; then
        # A link that was made anew, or it was not moved yet.
        if g_is_moved "$g_xtname"; then
            g_take_back "$g_xtname" g_is_moved "$g_xtd"
        fi
    elif g_there "./$g_xtname" && g_is_moved "$g_xtname"; then
        g_take_back "$g_xtname" g_is_moved "$g_xtd"
    elif [ "$g_xmoved" = 1 ] && g_there "./$g_xtname"; then
        g_stays "$g_xtd" "$g_xtname" "another writer's content is there, and was left alone"
    fi
    g_there "./$g_xstage" || return 0
    if [ -n "$g_xnew" ]; then
        # A copy.
        [ "$g_xs" = kept ] && g_drop "$g_xstage" || g_is_now temp
        return
    fi
    # While another name has the same inode, nothing is lost with this one.
    if g_same_thing "$g_xfrom/$g_xname" "./$g_xstage" || g_same_thing "$g_xfrom/$g_xaside" "./$g_xstage"; then
        g_drop "$g_xstage" && return
    fi
    g_judge "$g_xstage"
    case $g_xpre in
    content | link) g_came_out && g_drop "$g_xstage" && return ;;
    esac
    g_stays "$g_xtd" "$g_xstage" "what was at $g_xp"
    g_fate unknown
}

# Tells whether ./NAME at the destination is what the source is, or the copy of it.
g_is_moved() {
    if g_there "./$g_xstage"; then
        g_same_thing "./$g_xstage" "./$1" && return 0
        # Where every name has an inode of its own.
        [ -n "$g_xnew" ] && [ ! -L "./$1" ] && [ -f "./$1" ] || return 1
        g_hash_of "$1"
        [ "$g_h" = "$g_xnew" ]
        return
    fi
    # Nothing is lost with a second name of the source.
    g_same_thing "$g_xfrom/$g_xname" "./$1" && return 0
    [ "$g_otype" = link ] && [ -L "./$1" ] && g_text_of_link "$1" || return 1
    g_unesc "$g_xarg"
    [ "$g_ltext" = "$g_u" ]
}
