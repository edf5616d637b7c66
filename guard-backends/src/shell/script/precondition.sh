# The first look: where each place leads, and whether what has to be there is there. Nothing is changed.

# Resolves every place, compares it with where it has to lead, and looks at what has to be there. Nothing is changed.
#
# A place that leads elsewhere is told before a precondition that does not hold, whatever their order.
g_look_all() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        g_load "$g_xn"
        g_sign "$g_xn"
        g_look_at || return 1
        g_xn=$((g_xn + 1))
    done
    [ -z "$g_xfailed" ]
}

g_look_at() {
    case $g_xkind:$g_xpre:$g_xtopre in
    put:exists:* | remove:exists:*)
        g_halt unsupported "$g_xp" 0 'the precondition `exists` for anything but a move'
        return
        ;;
    put:link:*)
        g_halt unsupported "$g_xp" 0 'putting a content where a link is'
        return
        ;;
    move:any:*)
        g_halt unsupported "$g_xp" 0 'moving whatever is there'
        return
        ;;
    put:*: | remove:*: | move:*:absent | mkdir:*: | rmdir:*:) ;;
    move:*)
        g_halt unsupported "$g_xp" 0 'a move to a name that need not be absent'
        return
        ;;
    esac
    g_unesc "$g_xpath"
    g_arrive "$g_xroot" "$g_u" "$g_xlast" "$g_xp" 0 || return 1
    if [ -z "$g_xfailed" ]; then
        case $g_xkind in
        put) g_look_put ;;
        mkdir) g_look_absent "$g_xp" 0 "$g_xparents" ;;
        rmdir) g_look_rmdir ;;
        *) g_look_taken ;;
        esac
    fi
    [ "$g_xkind" = move ] || return 0
    g_unesc "$g_xtopath"
    g_arrive "$g_xtoroot" "$g_u" "$g_xtolast" "$g_xtp" 1 || return 1
    [ -n "$g_xfailed" ] || g_look_absent "$g_xtp" 1 "$g_xparents"
    return 0
}

# ROOT PATH LAST EXPECT DESTINATION
g_arrive() {
    if ! g_resolve "$1" "$2" "$3"; then
        g_halt_error "$g_at" "$5"
        return
    fi
    if [ "$g_path" != "$4" ]; then
        g_here_is
        g_halt elsewhere "$g_path" "$5" '' found
        return
    fi
    [ -z "$g_name" ] || return 0
    # A root's own name is in a directory that is not the root's.
    if [ "$g_xkind" = rmdir ]; then
        g_halt outside "$g_path" "$5" 'the root itself'
    else
        g_type=directory
        g_mismatch "$g_path" "$5"
    fi
}

# Says what is where a path led.
g_here_is() {
    if [ -n "$g_missing" ]; then
        g_type=absent
    elif [ -z "$g_name" ]; then
        g_type=directory
    else
        g_found "$g_name"
    fi
}

# Refuses whatever is there: PATH DESTINATION PARENTS. That nothing is there is proven when the name is taken.
g_look_absent() {
    if [ -z "$g_missing" ]; then
        g_there "./$g_name" || return 0
        g_found "$g_name"
        # It may have gone since.
        [ "$g_type" = absent ] || g_mismatch "$1" "$2"
        return
    fi
    if [ "$3" = require ]; then
        g_halt not-found "${g_dir%/}/${g_missing%%/*}" "$2" 'a directory that is not there'
        return
    fi
    g_xrest=$g_missing g_xk=1
    while :; do
        case $g_xrest in
        */*) g_xrest=${g_xrest#*/} g_xk=$((g_xk + 1)) ;;
        *) break ;;
        esac
    done
    eval "g_xm_$g_xi=\$g_xk"
}

# Looks at what has to be there, with its digest if MAX allows. 0: it is there as demanded; 1: it failed.
g_demand() {
    if [ -n "$g_missing" ]; then
        g_type=absent
    else
        g_state "$g_name" "$1"
        if [ $? -eq 2 ]; then
            # A regular file that we may not read is there all the same.
            if [ "$g_code" != denied ] || [ -L "./$g_name" ] || [ ! -f "./$g_name" ]; then
                g_halt_error
                return
            fi
            g_state "$g_name" ''
            if [ $? -eq 2 ]; then
                g_halt_error
                return
            fi
        fi
    fi
    g_xok=
    case $g_xpre:$g_type in
    content:regular)
        if [ -z "$g_digest" ]; then
            # A digest that could not be taken is not another digest.
            g_halt denied "$g_xp" 0 'taking the digest'
            return
        fi
        [ "$g_digest" = "$g_xarg" ] && g_xok=1
        ;;
    link:link)
        g_unesc "$g_xarg"
        [ "$g_ltext" = "$g_u" ] && g_xok=1
        ;;
    exists:regular | any:regular | any:absent) g_xok=1 ;;
    esac
    if [ -z "$g_xok" ]; then
        g_mismatch "$g_xp" 0
        return
    fi
    eval "g_xa_$g_xi=\"\$g_type \${g_len:-0} \$g_mode \$g_nlink \${g_digest:--} \$g_id \$g_uid \$g_gid\""
}

g_look_put() {
    if [ "$g_xpre" = absent ]; then
        g_look_absent "$g_xp" 0 "$g_xparents"
        return
    fi
    g_xmax=any
    [ "$g_xpre" != any ] || g_xmax=$g_xtold
    g_demand "$g_xmax" || return
    if [ "$g_type" = absent ]; then
        unset "g_xa_$g_xi"
        g_look_absent "$g_xp" 0 "$g_xparents"
        return
    fi
    if [ "$g_digest" = "$g_xnew" ] && g_same_mode; then
        g_is_now same
        return
    fi
    [ -w "./$g_name" ] && return 0
    # A rename could replace it all the same. Why it may not be written is asked of its directory: the file itself may
    # be a link by now, and what opens that for writing makes what it leads to.
    g_code=
    if [ ! -w . ]; then
        if g_out=$("$g_mkdir" "./$g_xstage" 2>&1); then
            "$g_rmdir" "./$g_xstage"
        else
            g_words "$g_out"
        fi
    fi
    case $g_code in
    read-only-filesystem) g_halt_error "$g_xp" ;;
    *) g_halt read-only-file "$g_xp" 0 '' ;;
    esac
}

# What is removed or moved.
g_look_taken() {
    g_xmax=$g_xtold
    [ "$g_xpre" != content ] || g_xmax=any
    g_demand "$g_xmax" || return
    if [ "$g_type" = absent ]; then
        g_mismatch "$g_xp" 0
        return
    fi
    # A source is there, so that nothing is missing above it.
    return 0
}

g_look_rmdir() {
    g_here_is
    case $g_type in
    directory) eval "g_xa_$g_xi=\"directory 0 \${g_mode-} 0 - - \${g_uid-} \${g_gid-}\"" ;;
    absent) g_halt not-found "$g_xp" 0 'removing' ;;
    *) g_halt not-directory "$g_xp" 0 'removing' ;;
    esac
}
