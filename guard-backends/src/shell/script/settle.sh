# What became of a commit whose reply was lost. It is finished or taken back, and told.
#
# The old shell is ended first. What it left is judged by what is on disk. Of a change g_xj_N is: published (its
# temporary file tells, so that it can be finished or taken back) · there (it looks as it should, and no temporary file
# is left, as after the end of a commit) · not · half (a step of it was done, which is taken back) · nothing (it does
# not tell: the same bytes before and after, or a directory that goes at the end) · unclear (another writer was there).

g_settle() {
    g_changes
    g_read_made && g_tail || g_broken
    [ -n "${g_xsync_tried-}" ] || g_try_fsync
    g_xsync_tried=1
    g_xdead= g_cwd= g_xnowhere=
    g_are_at_roots || g_xnowhere=1
    if g_end_old; then
        g_xdead=1
    elif [ -z "$g_xnowhere" ]; then
        g_block_all
    fi
    if [ -n "$g_xnowhere" ]; then
        g_settle_nowhere
        g_forget
        return
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

# Tells whether every root is the directory that the commit was sent to: in another one nothing says what became of it,
# and nothing is to be touched.
g_are_at_roots() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        g_load "$g_xn"
        g_at_root "$g_xroot" || return
        [ "$g_xkind" != move ] || g_at_root "$g_xtoroot" || return
        g_xn=$((g_xn + 1))
    done
    g_cwd=
}

# Says that nobody knows: the directory of the commit is not there.
g_settle_nowhere() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        g_xi=$g_xn
        g_fate unknown
        g_xn=$((g_xn + 1))
    done
    g_record=
    g_add conflict
    g_send settled
    g_send_fates
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
