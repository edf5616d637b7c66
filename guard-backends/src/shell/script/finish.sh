# After a batch was published: what was displaced is judged again and let go.

# Lets go of what was displaced, many files at a time: each is judged again, and unlinked if it is what it was.
g_finish() {
    g_xn=0 g_xlist= g_xsize=0 g_xlongest=
    set --
    while [ "$g_xn" -lt "$g_count" ]; do
        eval "g_xs=\${g_xs_$g_xn-}"
        case $g_xs in
        new | excl | swap | window | place | gone | moved | copied)
            g_load "$g_xn"
            g_sign "$g_xn"
            g_load_old
            g_goes
            if [ -n "$g_xgo" ]; then
                set -- "$@" "$g_xfile"
                g_xlist="$g_xlist $g_xn:$g_xgo" g_xsize=$((g_xsize + ${#g_xfile}))
                g_longest "$g_olen"
                g_longest "$g_xlen"
                if [ -n "$g_xalone" ]; then
                    g_let_all_go "$@"
                    g_xlist= g_xsize=0 g_xlongest=
                    set --
                fi
            fi
            # What was moved has its STAGE besides.
            case $g_xs in
            moved | copied)
                if [ "$g_xs:$g_otype" = copied:link ]; then
                    # It was made anew, under its own name.
                    :
                elif ! g_come_back "$g_xtd" "$g_xstage"; then
                    g_stays "$g_xtd" "$g_xstage" 'a temporary name of what was moved, wherever its directory is now'
                elif g_same_thing "./$g_xstage" "./$g_xtname"; then
                    g_path_of "$g_xtd" "$g_xstage"
                    set -- "$@" "$g_xfile"
                    g_xlist="$g_xlist $g_xn:twin" g_xsize=$((g_xsize + ${#g_xfile}))
                else
                    g_xend=${g_xnew:-$g_xarg}
                    g_let_go "$g_xtd" "$g_xstage" "${g_xend:-$g_odigest}"
                fi
                ;;
            place)
                if g_come_back "$g_xd" "$g_xstage"; then
                    g_let_go "$g_xd" "$g_xstage" "$g_xnew"
                else
                    g_stays "$g_xd" "$g_xstage" 'a staged content, wherever its directory is now'
                fi
                ;;
            esac
            if [ $# -ge 200 ] || [ "$g_xsize" -gt 60000 ] || [ -n "$g_xalone" ]; then
                [ $# -eq 0 ] || g_let_all_go "$@"
                g_xlist= g_xsize=0 g_xlongest=
                set --
            fi
            ;;
        esac
        g_xn=$((g_xn + 1))
    done
    [ $# -eq 0 ] || g_let_all_go "$@"
}

# Says which file is to go, in g_xfile, and what it has to be, in g_xgo: a digest, or `twin` where its content is
# under the name too. g_xgo is empty where nothing goes, or not now.
g_goes() {
    g_xgo= g_xalone=
    case $g_xs in
    new)
        g_path_of "$g_xd" "$g_xstage"
        g_xgo=$g_xnew
        ! g_same_file "$g_xfile" "${g_xd%/}/$g_xname" || g_xgo=twin
        return
        ;;
    excl)
        g_path_of "$g_xd" "$g_xstage"
        g_xgo=$g_xnew
        return
        ;;
    swap) g_path_of "$g_xd" "$g_xstage" ;;
    moved)
        g_path_of "$g_xd" "$g_xaside"
        if g_same_thing "$g_xfile" "${g_xtd%/}/$g_xtname"; then
            g_xgo=twin
            return
        fi
        ;;
    *) g_path_of "$g_xd" "$g_xaside" ;;
    esac
    if [ "$g_xpre" = any ]; then
        g_stays "$g_xd" "${g_xfile##*/}" "what was at $g_xp before"
        return
    fi
    # Sent in the reply, and then let go.
    if [ -n "$g_opt_displaced" ] && [ "$g_otype" = regular ] && g_le "$g_olen" "$g_opt_displaced"; then
        case $g_xs in
        swap | window | gone | place) return ;;
        esac
    fi
    case $g_otype:$g_xs in
    link:*)
        if ! g_enter "$g_xd"; then
            g_stays "$g_xd" "$g_xaside" "what was at $g_xp before: $g_text"
            return
        fi
        g_judge "$g_xaside"
        g_xpre=link
        if ! g_came_out || ! g_drop "$g_xaside"; then
            g_stays "$g_xd" "$g_xaside" "what was at $g_xp before; it is not what it was any more"
        fi
        ;;
    *:copied) g_xgo=$g_xnew ;;
    *)
        g_xgo=${g_xarg:-$g_odigest}
        if [ -z "$g_xgo" ]; then
            # Without a digest it is known by its other name alone.
            if [ "$g_xs" = moved ] && g_come_back "$g_xd" "$g_xaside" &&
                g_same_thing "./$g_xaside" "${g_xtd%/}/$g_xtname"; then
                g_xgo=twin
            else
                g_stays "$g_xd" "${g_xfile##*/}" "what was at $g_xp before; nothing tells what is in it"
            fi
        fi
        ;;
    esac
}

# Removes files which are, by g_xlist, what they have to be.
g_let_all_go() {
    g_xsums= g_xk=
    # What needs no digest is not read.
    for g_xone in $g_xlist; do
        case $g_xone in
        *:twin) ;;
        *) g_xk=1 ;;
        esac
    done
    [ -z "$g_xk" ] || g_sums_of "$@"
    g_xfiles=$#
    for g_xone in $g_xlist; do
        g_xfile=$1
        shift
        g_xk=1
        if [ "${g_xone#*:}" != twin ]; then
            g_next_sum
            # The type is taken again, before the digest counts.
            [ ! -L "$g_xfile" ] && [ -f "$g_xfile" ] && [ "$g_xsum" = "${g_xone#*:}" ] || g_xk=
        fi
        if [ -n "$g_xk" ]; then
            set -- "$@" "$g_xfile"
        else
            # By its whole path it is not what it was, or not there, which can be the path's doing: what is held decides.
            g_load "${g_xone%%:*}"
            case $g_xfile in
            ./*) g_xat=${g_cwd:-$g_xd} ;;
            *) g_xat=${g_xfile%/*} ;;
            esac
            if g_come_back "${g_xat:-/}" "${g_xfile##*/}"; then
                g_let_go "$g_xat" "${g_xfile##*/}" "${g_xone#*:}"
            else
                g_stays "$g_xat" "${g_xfile##*/}" "what was at $g_xp before; the directory is elsewhere by now"
            fi
        fi
    done
    [ $# -ne 0 ] || return 0
    g_remove_where "$@"
}

# Removes ./NAME in the directory that is held, if it is regular and has this digest: DIRECTORY NAME DIGEST.
g_let_go() {
    g_judge "$2"
    [ "$g_jtype" != absent ] || return 0
    if [ "$g_jtype:$g_jdigest" != "regular:$3" ] || ! g_drop "$2"; then
        g_stays "$1" "$2" "what was at $g_xp before; it is not what it was any more"
    fi
}
