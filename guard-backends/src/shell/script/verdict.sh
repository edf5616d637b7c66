# What a lost commit did, told from what is on disk, change by change.

# Judges the change, and says how far it is as a commit would.
g_judge_change() {
    g_xj=unclear
    if ! g_enter "$g_xd"; then
        case $g_code in
        # Nothing was made above it.
        not-found)
            case $g_xkind in
            rmdir) g_xj=there ;;
            # As after a removal of the directory in the same batch.
            remove) g_xj=there ;;
            move)
                if g_enter "$g_xtd"; then
                    g_judge "$g_xtname"
                    ! g_came_out || g_xj=there
                fi
                ;;
            put) [ "$g_xpre" = content ] || g_xj=not ;;
            *) g_xj=not ;;
            esac
            ;;
        esac
        return
    fi
    case $g_xpre in
    content | exists | any) eval "g_xa_$g_xi=\"regular 0 0 1 \${g_xarg:--} - - -\"" ;;
    link) eval "g_xa_$g_xi='link 0 0 1 - - - -'" ;;
    esac
    g_load_old
    case $g_xkind in
    put) g_judge_put ;;
    remove) g_judge_remove ;;
    move) g_judge_move ;;
    mkdir)
        g_xj=not
        [ -d "./$g_xname" ] && [ ! -L "./$g_xname" ] && g_xj=there
        ;;
    rmdir)
        if ! g_there "./$g_xname"; then
            g_xj=there
        elif [ -d "./$g_xname" ] && [ ! -L "./$g_xname" ]; then
            g_xj=not
            if g_goes_empty; then
                g_xj=pending
                g_is_now later
            fi
        fi
        ;;
    esac
}

# What has these names, as a word: absent, new, old, or other.
g_word_of() {
    g_judge "$1"
    case $g_jtype in
    absent) g_xword=absent ;;
    regular)
        if [ -n "$g_jdigest" ] && [ "$g_jdigest" = "$g_xnew" ]; then
            g_xword=new
        elif [ "$g_xpre" = any ] || [ -n "$g_jdigest" ] && [ "$g_jdigest" = "$g_xarg" ]; then
            g_xword=old
        else
            g_xword=other
        fi
        ;;
    *) g_xword=other ;;
    esac
    [ "$g_xword" = absent ] || [ "$1" = "$g_xname" ] || g_xtemps=1
}

# What an undo has taken away from the name of a new file goes, if it is what was staged, else goes back.
g_clear_undo() {
    g_there "./$g_xundo" || return 0
    g_xtemps=1
    g_judge "$g_xundo"
    [ "$g_jtype:$g_jdigest" = "regular:$g_xnew" ] && g_drop "$g_xundo" && return
    g_put_back "$g_xundo" "$g_xname" || g_stays "$g_xd" "$g_xundo" "what was at $g_xp"
}

# The same at the destination of a move: the source or its copy has what goes.
g_clear_moved() {
    g_there "./$g_xundo" || return 0
    g_xtemps=1
    if g_same_file "$g_xfrom/$g_xname" "./$g_xundo" || g_same_link "$g_xfrom/$g_xname" "./$g_xundo" ||
        g_same_file "./$g_xstage" "./$g_xundo"; then
        g_drop "$g_xundo" && return
    fi
    g_put_back "$g_xundo" "$g_xtname" || g_stays "$g_xtd" "$g_xundo" "what was at $g_xtp"
}

# The name of the change has what was staged: its inode is ours.
g_ours_at() {
    g_facts "$1" && eval "g_xt_$g_xi=\"\$g_mode \$g_id\""
}

g_judge_put() {
    g_clear_undo
    g_word_of "$g_xname"
    g_xat=$g_xword
    g_word_of "$g_xaside"
    g_xby=$g_xword
    g_word_of "$g_xstage"
    case $g_xword in
    new) g_ours_at "$g_xstage" ;;
    *) [ "$g_xat" != new ] || g_ours_at "$g_xname" ;;
    esac
    if g_same_file "./$g_xstage" "./$g_xname"; then
        # Also with another writer's bytes in it since.
        g_xj=published
        g_is_now new
        eval "g_xa_$g_xi=absent"
        return
    fi
    if [ "$g_xpre" = content ] && [ "$g_xnew" = "$g_xarg" ]; then
        g_judge_same
        return
    fi
    # What is at the name, under STAGE and under ASIDE.
    case $g_xpre:$g_xat:$g_xword:$g_xby in
    absent:new:absent:*) g_xj=there ;;
    absent:absent:absent:*) g_xj=not ;;
    absent:*:absent:*) ;;
    absent:absent:*)
        g_xj=not
        g_drop_part
        ;;
    absent:*)
        g_xj=not
        if [ "$g_xword" = new ] && ! g_can_link; then
            # It may be a creation that is visible while it is written.
            if [ "$g_xat" = new ]; then
                g_xj=published
                g_is_now excl
                return
            fi
            g_take_part_back "$g_xname" "$g_xd"
        fi
        g_drop_part
        ;;
    any:new:absent:absent) g_xj=there ;;
    *:new:new:old)
        g_xj=published
        g_is_now place
        ;;
    *:new:new:*)
        g_xj=there
        g_is_now temp
        ;;
    *:new:old:*)
        g_xj=published
        g_is_now swap
        ;;
    *:new:other:*)
        g_xj=half
        g_is_now swap
        ;;
    *:new:absent:old)
        g_xj=published
        g_is_now window
        ;;
    *:new:absent:other)
        g_xj=half
        g_is_now window
        ;;
    *:new:absent:*) g_xj=there ;;
    any:*:new:*)
        g_xj=not
        g_is_now temp
        g_drop_second
        ;;
    any:absent:absent:absent) g_xj=not ;;
    content:old:*)
        g_xj=not
        g_drop_second
        case $g_xword in
        new) g_is_now temp ;;
        old) g_drop "$g_xstage" ;;
        other)
            # Where there are no bytes, none are lost.
            if [ "$g_jtype" = regular ] && [ ! -s "./$g_xstage" ] && [ -n "$g_xdead" ]; then
                g_drop "$g_xstage"
            else
                g_stays "$g_xd" "$g_xstage" 'neither what was staged nor what was demanded'
            fi
            ;;
        esac
        ;;
    content:*:old:*)
        # It was exchanged, and then another writer came.
        g_xj=published
        g_is_now swap
        ;;
    content:*:absent:old)
        g_xj=published
        g_is_now window
        ;;
    content:*:new:old)
        g_stays "$g_xd" "$g_xaside" 'the old bytes; a write in place may have been stopped half-way'
        g_is_now temp
        ;;
    content:*:new:*)
        g_xj=not
        g_is_now temp
        ;;
    *:absent:absent) ;;
    *:absent:*) g_stays "$g_xd" "$g_xaside" 'what was displaced' ;;
    *) g_stays "$g_xd" "$g_xstage" 'neither what was staged nor what was demanded' ;;
    esac
}

# The same bytes before and after: whichever is there is right.
g_judge_same() {
    # With another mode, what is under STAGE is what was displaced.
    if [ "$g_xat:$g_xword" = new:new ] && g_facts "$g_xstage" && ! g_same_mode; then
        g_facts "$g_xname" && g_same_mode && {
            g_ours_at "$g_xname"
            g_xj=published
            g_is_now swap
            return
        }
    fi
    [ "$g_xat" = new ] && g_xj=nothing
    case $g_xmode:$g_xj in
    keep:* | exec:* | *:unclear) ;;
    *)
        g_facts "$g_xname"
        g_same_mode || g_xj=not
        ;;
    esac
    g_drop_second
    [ "$g_xword" != new ] || g_drop "$g_xstage"
}

# Removes ASIDE, if it has no more than the name has.
g_drop_second() {
    if [ "$g_xby" = old ] && [ "$g_xpre" = content ] || g_same_file "./$g_xname" "./$g_xaside"; then
        g_drop "$g_xaside"
    elif [ "$g_xby" != absent ]; then
        g_stays "$g_xd" "$g_xaside" 'neither what was staged nor what was demanded'
    fi
}

# A staged content that is not whole was never under a name that others know, nor was anything displaced by it.
g_drop_part() {
    if [ "$g_xword" = new ] || { [ -n "$g_xdead" ] && [ "$g_jtype" = regular ]; }; then
        g_is_now temp
    else
        g_stays "$g_xd" "$g_xstage" 'not what was staged'
    fi
}

# Takes away what was being written under the name: it has the first bytes of what was staged, and no others.
g_take_part_back() {
    g_is_part "$1" && ! g_there "./$g_xundo" && g_rename "./$1" "./$g_xundo" || return 0
    g_is_part "$g_xundo" && g_drop "$g_xundo" && return
    g_put_back "$g_xundo" "$1" || g_stays "$2" "$g_xundo" 'what another writer put there'
}

g_is_part() {
    g_facts "$1" && [ "$g_type" = regular ] || return 1
    # Not by arithmetic: mksh takes 2 GiB for less than nothing.
    [ "$g_len" != 0 ] || return 0
    g_le "$g_len" "$g_xtold" || return 1
    g_h=
    { g_hash "$g_xlen"; } < "./$1"
    g_xpart=$g_h
    g_h=$("$g_dd" if="./$g_xstage" bs="$g_len" count=1 | { g_hash "$g_len" && g_print "$g_h"; })
    [ -n "$g_xpart" ] && [ "$g_xpart" = "$g_h" ]
}

# Tells whether names of one inode can be made in the directory that is held.
g_can_link() {
    g_there "./$g_xundo" && return 0
    g_link_to "./$g_xstage" "./$g_xundo"
    g_xk=$?
    if g_same_file "./$g_xstage" "./$g_xundo"; then
        g_drop "$g_xundo"
    fi
    [ "$g_xk" -eq 0 ] || { [ "$g_code" != no-support ] && [ "$g_code" != not-permitted ]; }
}

g_judge_remove() {
    g_judge "$g_xaside"
    if [ "$g_jtype" = absent ]; then
        if ! g_there "./$g_xname"; then
            g_xj=there
            return
        fi
        g_judge "$g_xname"
        g_came_out && g_xj=not
        return
    fi
    g_xtemps=1
    if g_same_file "./$g_xname" "./$g_xaside" || g_same_link "./$g_xname" "./$g_xaside"; then
        g_xj=not
        g_drop "$g_xaside"
        return
    fi
    g_is_now gone
    g_xj=published
    g_came_out || g_xj=half
}

g_judge_move() {
    g_judge "$g_xaside"
    g_xbytype=$g_jtype g_xbydigest=$g_jdigest g_xbytext=$g_jtext
    g_judge "$g_xname"
    g_xattype=$g_jtype g_xatdigest=$g_jdigest
    g_xcopies=
    g_facts . && g_xcopies=${g_id%%:*}
    g_xfrom=${g_xd%/}
    if ! g_enter "$g_xtd"; then
        [ "$g_xattype" = absent ] || g_xj=not
        return
    fi
    g_facts . && [ "${g_id%%:*}" = "$g_xcopies" ] && ! g_lacks link && g_xcopies=
    g_clear_moved
    g_judge "$g_xstage"
    g_xcopy=
    [ "$g_jtype" != regular ] || g_xcopy=$g_jdigest
    g_xlinked=$g_jtype
    g_judge "$g_xtname"
    [ "$g_xbytype:$g_xlinked" = absent:absent ] || g_xtemps=1
    g_xwas=
    g_came_out && g_xwas=1
    if [ "$g_xbytype" != absent ]; then
        g_xj=published
        if g_same_thing "$g_xfrom/$g_xaside" "./$g_xtname" || g_same_thing "./$g_xstage" "./$g_xtname" &&
            g_same_thing "./$g_xstage" "$g_xfrom/$g_xaside"; then
            g_is_now moved
        elif [ "$g_xbytype:$g_jtype" = link:link ] && [ "$g_xbytext" = "$g_jtext" ]; then
            g_is_now copied
        elif [ -n "$g_xbydigest" ] && [ "$g_xbydigest" = "$g_jdigest" ] &&
            { [ "$g_xlinked" = absent ] || [ "$g_xcopy" = "$g_jdigest" ]; }; then
            g_xcopy=$g_jdigest
            g_is_copy copied
        else
            g_xj=half
            g_is_now moved
        fi
        return
    fi
    if [ "$g_xattype" = absent ]; then
        if [ -n "$g_xwas" ]; then
            g_xj=there
            g_same_thing "./$g_xstage" "./$g_xtname" && g_drop "$g_xstage"
        fi
        return
    fi
    g_xj=not
    if g_same_thing "$g_xfrom/$g_xname" "./$g_xstage"; then
        g_xj=half
        g_is_now half
    elif [ "$g_xlinked" = absent ]; then
        # A link that was made anew is known by its text.
        if [ -n "$g_xcopies" ] && [ "$g_xpre:$g_xattype" = link:link ] && [ -n "$g_xwas" ]; then
            g_xj=half
            g_is_now half
        fi
    elif [ -n "$g_xcopies" ] && [ -n "$g_xcopy" ] && [ "$g_xcopy" = "$g_xatdigest" ]; then
        g_xj=half
        [ "$g_jtype:$g_jdigest" != "regular:$g_xcopy" ] || g_xcopies=
        [ -z "$g_xcopies" ] || [ "$g_jtype" != regular ] || g_can_link || g_take_part_back "$g_xtname" "$g_xtd"
        g_is_copy half
    elif [ -n "$g_xcopies" ] && [ "$g_xlinked" = regular ] && [ -n "$g_xdead" ]; then
        # A copy is never what was displaced; one that is not whole has nothing that is missing elsewhere.
        g_is_now temp
    else
        g_xj=half
        g_is_now half
    fi
}

# Says that the destination is a copy, which STAGE tells.
g_is_copy() {
    g_is_now "$1"
    g_xnew=$g_xcopy
    eval "g_xh_$g_xi=\$g_xcopy"
    g_ours_at "$g_xstage"
}
