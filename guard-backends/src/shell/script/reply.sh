# What is told of a commit.

# Sends what was done.
g_reply_applied() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        g_load "$g_xn"
        g_load_old
        g_xshow=
        if [ "$g_xs" = later ]; then
            g_remove_later
        elif [ -n "$g_opt_displaced" ] && [ "$g_otype" = regular ] && [ "$g_xpre" != exists ] &&
            g_le "$g_olen" "$g_opt_displaced"; then
            case $g_xs in
            swap) g_xshow=$g_xstage ;;
            window | gone | place) g_xshow=$g_xaside ;;
            esac
        fi
        if [ -n "$g_xshow" ] && ! g_come_back "$g_xd" "$g_xshow"; then
            g_stays "$g_xd" "$g_xshow" "what was at $g_xp before; the directory is elsewhere by now"
            g_say_applied
        elif [ -n "$g_xshow" ] && [ ! -L "./$g_xshow" ] && [ -f "./$g_xshow" ]; then
            g_xsaid=
            { g_show; } 8< "./$g_xshow"
            if [ -z "$g_xsaid" ]; then
                [ "$g_xpre" = any ] || g_stays "$g_xd" "$g_xshow" "what was at $g_xp before; it cannot be read any more"
                g_say_applied
            fi
        else
            g_say_applied
        fi
        g_xn=$((g_xn + 1))
    done
}

# Lets the displaced file go that is open on descriptor 8, says so, and then sends its bytes.
g_show() {
    g_xsaid=1
    [ "$g_xpre" = any ] || g_let_go "$g_xd" "$g_xshow" "${g_xarg:-$g_odigest}"
    g_say_applied
    g_record=
    g_add "$g_xi"
    g_send displaced
    g_print "$g_nonce $g_seq body$g_nl" >&4
    "$g_cat" <&8 >&4
    g_print "$g_token" >&4
}

g_say_applied() {
    g_xchanged=1 g_xothers=0
    eval "g_xv=\${g_xv_$g_xi-}"
    set -- ${g_xv:-exchange - 0}
    g_xtier=$1 g_xlease=$2 g_xcopied=$3
    [ "$g_xlease" != - ] || g_xlease=
    if [ "$g_xs" = same ]; then
        g_xchanged=0 g_xlease=no
    elif [ "$g_xkind:$g_otype" = put:regular ] || [ "$g_xcopied:$g_otype" = 1:regular ]; then
        g_xothers=$((g_onlink - 1))
        [ "$g_xothers" -ge 0 ] || g_xothers=0
    fi
    g_record=
    g_add "$g_xi"
    g_add "$g_xp"
    g_add_before
    case $g_xkind:$g_xs in
    put:same) g_add_before ;;
    put:*) g_add_after "$g_xlen" "$g_xnew" ;;
    move:copied)
        if [ "$g_otype" = link ]; then
            g_add_before
        else
            g_add_after "$g_olen" "$g_xnew"
        fi
        ;;
    move:*) g_add_before ;;
    mkdir:*) g_record=${g_record}9:directory0:0:0:0: ;;
    rmdir:kept)
        g_xchanged=0
        g_add_before
        ;;
    *) g_record=${g_record}6:absent0:0:0:0: ;;
    esac
    g_add "$g_xtier"
    g_add "$g_xlease"
    g_add "$g_xchanged"
    g_add "$g_xcopied"
    g_add "$g_xothers"
    g_send applied
    g_send_notes
}

g_add_before() {
    g_type=$g_otype g_len=$g_olen g_mode=$g_omode g_nlink=$g_onlink g_digest=$g_odigest
    if [ "$g_type" = link ]; then
        g_unesc "$g_xarg"
        g_ltext=$g_u
    fi
    g_add_state
}

# What was put there: LENGTH DIGEST.
g_add_after() {
    eval "g_mode=\${g_xt_$g_xi-}"
    g_type=regular g_len=$1 g_mode=${g_mode%% *} g_nlink=1 g_digest=$2
    g_add_state
}

g_send_notes() {
    eval "g_xnote=\${g_xn_$g_xi-}"
    for g_xone in $g_xnote; do
        eval "g_xnk=\$g_xnk_$g_xone g_xnv=\$g_xnv_$g_xone"
        case ${1-}$g_xnk in
        failed*) [ "$g_xnk" = left ] || continue ;;
        esac
        g_record=
        g_add "$g_xi"
        g_record=$g_record$g_xnv
        g_send "$g_xnk"
    done
}

# Sends why it was not carried out, and what became of each change.
g_reply_failed() {
    g_record=$g_xfailed
    if [ -z "$g_record" ]; then
        g_xi=
        g_halt io '' 0 'the commit failed'
        g_record=$g_xfailed
    fi
    g_send failed
    g_send_fates
}

g_send_fates() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        g_xi=$g_xn
        eval "g_xe=\${g_xe_$g_xn-}"
        g_add "$g_xi"
        g_add "${g_xe:-untouched}"
        g_send fate
        g_send_notes failed
        g_xn=$((g_xn + 1))
    done
}
