# What became of a commit whose reply was lost. It is finished or taken back, and told.
#
# The old shell is ended first. What it left is judged by what is on disk. Of a change g_xj_N is: published (its
# temporary file tells, so that it can be finished or taken back) · there (it looks as it should, and no temporary file
# is left, as after the end of a commit) · not · half (a step of it was done, which is taken back) · nothing (it does
# not tell: the same bytes before and after, or a directory that goes at the end) · unclear (another writer was there).

g_settle() {
    g_records && g_read_made && g_tail || g_broken
    [ -n "${g_xsync_tried-}" ] || g_try_fsync
    g_xsync_tried=1
    g_xdead= g_cwd=
    if g_end_old; then
        g_xdead=1
    else
        g_block_all
    fi
    g_xsettling=1
    g_xpublished=0 g_xthere=0 g_xnot=0 g_xhalf=0 g_xunclear=0 g_xpending=0 g_xtemps=
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        g_sign "$g_xn"
        g_load "$g_xn"
        g_judge_change
        eval "g_xj_$g_xn=\$g_xj"
        case $g_xj in
        published) g_xpublished=$((g_xpublished + 1)) g_xlatest=$g_xn ;;
        there) g_xthere=$((g_xthere + 1)) ;;
        not) g_xnot=$((g_xnot + 1)) ;;
        half) g_xhalf=$((g_xhalf + 1)) ;;
        unclear) g_xunclear=$((g_xunclear + 1)) ;;
        pending) g_xpending=$((g_xpending + 1)) ;;
        esac
        g_xn=$((g_xn + 1))
    done
    [ "$g_xpublished" -eq 0 ] || g_judge_order
    g_record=
    if [ "$((g_xnot + g_xhalf))" -eq 0 ] && [ "$((g_xpublished + g_xthere))" -gt 0 ] &&
        { [ "$g_xunclear" -eq 0 ] || [ "$g_xpublished" -gt 0 ]; }; then
        # Temporary files go only when everything was published, so that what does not tell was published too.
        g_settle_applied
    elif [ "$((g_xnot + g_xhalf + g_xunclear + g_xpending))" -eq 0 ]; then
        g_settle_applied
    elif [ "$((g_xnot + g_xhalf + g_xpublished))" -eq 0 ] && [ "$g_xunclear" -gt 0 ]; then
        g_settle_unclear
    else
        g_settle_not_applied
    fi
    g_forget_judged
    g_forget
}

# Changes are published in order, and let go in order. What has no temporary file and comes after the last that has
# one was not done.
g_judge_order() {
    g_xn=$((g_xlatest + 1))
    while [ "$g_xn" -lt "$g_count" ]; do
        eval "g_xj=\$g_xj_$g_xn g_xline=\$g_xc_$g_xn"
        case $g_xj:$g_xline in
        unclear:remove* | unclear:move*)
            eval "g_xj_$g_xn=not"
            g_xunclear=$((g_xunclear - 1)) g_xnot=$((g_xnot + 1))
            ;;
        esac
        g_xn=$((g_xn + 1))
    done
}

# Reads which directories the commit told that it was making: those are removed if they are empty. 1: the stream
# ended, or is something else.
g_read_made() {
    g_xk=0
    while [ "$g_xk" -lt "${g_opt_made:-0}" ]; do
        IFS='|' read -r g_xone g_xtwo g_dot <&3 || return 1
        g_is_number "$g_xone" && [ "$g_xone" -lt "$g_count" ] && [ "$g_dot" = . ] || return 1
        g_unesc "$g_xtwo"
        eval "g_xmp_$g_xmade=\$g_u g_xmb_$g_xmade=\$g_xone"
        g_xmade=$((g_xmade + 1)) g_xk=$((g_xk + 1))
    done
}

g_forget_judged() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        unset "g_xj_$g_xn"
        g_xn=$((g_xn + 1))
    done
}

g_settle_applied() {
    g_finish
    g_drop_staged
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        g_load "$g_xn"
        [ "$g_xs" != later ] || g_remove_later
        g_xn=$((g_xn + 1))
    done
    g_sync_dirs
    g_add applied
    g_send settled
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        g_xi=$g_xn
        g_send_notes failed
        g_xn=$((g_xn + 1))
    done
}

g_settle_unclear() {
    g_drop_staged
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        g_xi=$g_xn
        eval "g_xj=\$g_xj_$g_xn"
        case $g_xj in
        unclear | there) g_fate unknown ;;
        esac
        g_xn=$((g_xn + 1))
    done
    g_record=
    g_add conflict
    g_send settled
    g_send_fates
}

g_settle_not_applied() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        eval "g_xs=\${g_xs_$g_xn-} g_xline=\$g_xc_$g_xn g_xj=\$g_xj_$g_xn"
        case $g_xs:$g_xline in
        later:*) eval "g_xs_$g_xn=" ;;
        :mkdir*)
            # That the commit went further than its first look shows that nothing was there.
            if [ "$g_xj" = there ] && [ -n "$g_xtemps" ]; then
                g_load "$g_xn"
                g_is_now dir
                eval "g_xmp_$g_xmade=\$g_xp g_xmb_$g_xmade=\$g_xn"
                g_xmade=$((g_xmade + 1))
            fi
            ;;
        :rmdir*)
            # That the commit went further shows that it was there.
            if [ "$g_xj" = there ] && [ -n "$g_xtemps" ]; then
                g_load "$g_xn"
                g_is_now rmdir
            elif [ "$g_xj" = there ]; then
                g_xi=$g_xn
                g_fate unknown
            fi
            ;;
        # It may have been done by this commit, whose other changes another writer took back; nothing tells.
        *)
            if [ "$g_xj" = there ] && [ "$g_xs" != temp ]; then
                g_xi=$g_xn
                g_fate unknown
            fi
            ;;
        esac
        g_xn=$((g_xn + 1))
    done
    g_undo_all
    g_xoutcome=not-applied g_xn=0 g_xdirs=/
    while [ "$g_xn" -lt "$g_count" ]; do
        g_load "$g_xn"
        eval "g_xe=\${g_xe_$g_xn-}"
        [ "$g_xe" != unknown ] || g_xoutcome=conflict
        g_xn=$((g_xn + 1))
    done
    g_record=
    g_add "$g_xoutcome"
    g_send settled
    g_send_fates
}

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
    { g_hash; } < "./$1"
    g_xpart=$g_h
    g_h=$("$g_dd" if="./$g_xstage" bs="$g_len" count=1 | { g_hash && g_print "$g_h"; })
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
