# Modes, owners, ACLs and extended attributes of what is staged.

# Tells whether the mode that is asked for is the one that is there.
g_same_mode() {
    case $g_xmode in
    keep | exec) return 0 ;;
    esac
    g_plain_mode "$g_xmode"
    [ "$g_xplain" = "$g_mode" ]
}

# Takes the zeros off a mode.
g_plain_mode() {
    g_xplain=$1
    while :; do
        case $g_xplain in
        0?*) g_xplain=${g_xplain#0} ;;
        *) break ;;
        esac
    done
}

g_change_mode() {
    case $2 in
    /*) g_out=$("$g_chmod" "$1" "$2" 2>&1) ;;
    *) g_out=$("$g_chmod" "$1" "./$2" 2>&1) ;;
    esac
    g_rc=$?
    [ "$g_rc" -eq 0 ] && return 0
    g_words "$g_out" "$g_rc"
    return 1
}

# Sets the mode of the staged file, or leaves that until its digest was taken, where we could not read it any more.
g_readable_mode() {
    g_plain_mode "$1"
    case $g_xplain in
    [4-7]?? | ?[4-7]??) g_change_mode "$1" "$g_xstage" ;;
    *)
        eval "g_xq_$g_xi=\$1"
        g_change_mode 600 "$g_xstage"
        ;;
    esac
}

# Sets the mode that was left.
g_late_mode() {
    eval "g_xlate=\${g_xq_$g_xi-}"
    [ -n "$g_xlate" ] || return 0
    unset "g_xq_$g_xi"
    g_change_mode "$g_xlate" "$g_xstage" && g_facts "$g_xstage"
}

# Gives a replacement, before it has any content, what the old file has: a write then takes away what new bytes must
# not inherit (file capabilities).
#
# The old file is at g_xmodel.
g_dress() {
    g_xlost=
    g_bits_of "$g_omode"
    g_xwant=$g_xkept
    case $g_xmode in
    keep | exec) ;;
    *) g_plain_mode "$g_xmode" && g_xwant=$g_xplain ;;
    esac
    g_xhas=600
    if [ "$g_attributes" = cp ]; then
        g_xhas=$g_omode
        # Nothing is taken through a link that came in between. A descriptor is one that leads to what is open.
        g_xfollow=-P
        [ "$g_xmodel" != "$g_fds/8" ] || g_xfollow=-L
        if ! g_out=$("$g_cp" "$g_xfollow" --attributes-only --preserve=mode,ownership,xattr \
            "$g_xmodel" "./$g_xstage" 2>&1); then
            g_xhas=
            g_cp_lost "$g_out"
            g_own
        fi
    else
        # Where nothing differs there is nothing to change. A directory's setgid gives another group.
        if [ ! -O "$g_xmodel" ] || [ ! -G "$g_xmodel" ] || [ -g . ]; then
            g_own
        fi
        g_note lost "$g_xi" 'ACL and extended attributes, if there were any: no tool here keeps them'
    fi
    case $g_xwant in
    [4-7]?? | ?[4-7]??)
        [ "$g_xhas" = "$g_xwant" ] || g_change_mode "$g_xwant" "$g_xstage" || return 1
        ;;
    *) g_readable_mode "$g_xwant" || return 1 ;;
    esac
    eval "g_xb_$g_xi=\"\$g_xwant:\$g_ouid:\$g_ogid:\$g_xlost\""
}

g_own() {
    "$g_chown" "$g_ouid:$g_ogid" "./$g_xstage" 2>/dev/null || "$g_chown" ":$g_ogid" "./$g_xstage" 2>/dev/null
}

# Takes from MODE what new bytes do not inherit: setuid, and setgid of what the group may execute (without that it
# means mandatory locking).
g_bits_of() {
    g_xkept=$1
    case $1 in
    ????) ;;
    *) return 0 ;;
    esac
    g_xlow=${1#?}
    g_xhigh=${1%"$g_xlow"}
    case $g_xhigh in
    4) g_xhigh=0 g_xdropped=setuid ;;
    5) g_xhigh=1 g_xdropped=setuid ;;
    6) g_xhigh=2 g_xdropped=setuid ;;
    7) g_xhigh=3 g_xdropped=setuid ;;
    *) g_xdropped= ;;
    esac
    [ -z "$g_xdropped" ] || g_note lost "$g_xi" "$g_xdropped"
    case $g_xlow in
    ?[1357]?)
        case $g_xhigh in
        2) g_xhigh=0 && g_note lost "$g_xi" setgid ;;
        3) g_xhigh=1 && g_note lost "$g_xi" setgid ;;
        esac
        ;;
    esac
    g_plain_mode "$g_xhigh$g_xlow"
    g_xkept=$g_xplain
}

# Says in g_xlost what cp could not keep; owner and mode are looked at afterwards.
g_cp_lost() {
    g_xrest=$1$g_nl
    while [ -n "$g_xrest" ]; do
        g_xone=${g_xrest%%"$g_nl"*} g_xrest=${g_xrest#*"$g_nl"}
        case $g_xone in
        '' | *'preserve ownership'*) continue ;;
        *security.capability*)
            g_note lost "$g_xi" 'file capabilities'
            continue
            ;;
        *security.ima* | *security.evm*) continue ;;
        *"setting attribute '"*)
            g_xone=${g_xone#*"setting attribute '"}
            g_xone="xattr ${g_xone%%"'"*}"
            ;;
        *'preserving permissions'* | *'setting permissions'*) g_xone=ACL ;;
        *) g_xone='extended attributes' ;;
        esac
        case ,$g_xlost, in
        *",$g_xone,"*) ;;
        *) g_xlost=${g_xlost:+$g_xlost,}$g_xone ;;
        esac
    done
}

# Compares a replacement's owner and mode with what they have to be.
g_check_dressed() {
    g_xlost=${g_xwas##*:} g_xwas=${g_xwas%:*}
    g_xwant=${g_xwas%%:*} g_xwas=${g_xwas#*:}
    [ "$g_uid" = "${g_xwas%:*}" ] || g_xlost=${g_xlost:+$g_xlost,}owner
    [ "$g_gid" = "${g_xwas#*:}" ] || g_xlost=${g_xlost:+$g_xlost,}group
    [ "$g_mode" = "$g_xwant" ] || g_xlost=${g_xlost:+$g_xlost,}mode
    unset "g_xb_$g_xi"
    [ -n "$g_xlost" ] || return 0
    if [ "$g_opt_metadata" != lose ]; then
        g_halt metadata-loss "$g_xp" 0 "$g_xlost"
        return
    fi
    g_xlost=$g_xlost,
    while [ -n "$g_xlost" ]; do
        g_note lost "$g_xi" "${g_xlost%%,*}"
        g_xlost=${g_xlost#*,}
    done
}
