# A commit from its first record to its reply.

# Reads the tail. 1: the stream ended, or is something else; nothing may be published then.
g_tail() {
    IFS= read -r g_xline <&3 || return 1
    [ "$g_xline" = "$g_nonce|$g_seq|go|." ]
}

g_commit() {
    g_records || g_broken
    [ -n "${g_xsync_tried-}" ] || g_try_fsync
    g_xsync_tried=1
    g_xactive=1
    g_permit_all && g_look_all && g_parents_all && g_stage_all
    g_drain_bodies
    if ! g_tail; then
        g_undo_all
        g_xactive=
        g_broken
    fi
    if [ -z "$g_xfailed" ] && g_publish_all && g_last_look; then
        g_xactive=
        g_finish
        g_reply_applied
    else
        g_undo_all
        g_xactive=
        g_reply_failed
    fi
    g_forget
}

# What the shell does when it ends in the middle of a commit.
g_cleanup() {
    [ -z "${g_xactive-}" ] || g_undo_all
}

# Looks once more at what could still make it all wrong, a directory that is elsewhere by now, and writes the
# directories to the disk.
g_last_look() {
    g_xdirs=/ g_xn=0
    set --
    while [ "$g_xn" -lt "$g_count" ]; do
        g_load "$g_xn"
        g_sign "$g_xn"
        case $g_xs in
        new | excl | swap | place) g_is_held "$g_xd" "$g_xstage" || return ;;
        window | gone | moved | copied) g_is_held "$g_xd" "$g_xaside" || return ;;
        dir | rmdir | later) g_is_held "$g_xd" '' || return ;;
        *)
            g_xn=$((g_xn + 1))
            continue
            ;;
        esac
        for g_xone in "$g_xd" "$g_xtd"; do
            case $g_xone:$g_xdirs in
            :* | *"/$g_xone//"*) continue ;;
            esac
            [ "$g_xone" = "$g_xd" ] || g_is_held "$g_xtd" "$g_xtname" || return
            g_xdirs=$g_xdirs/$g_xone//
            set -- "$@" "$g_xone"
            if [ $# -ge 100 ]; then
                g_sync_or_halt "$@" || return
                set --
            fi
        done
        g_xn=$((g_xn + 1))
    done
    g_xm=0
    while [ "$g_xm" -lt "$g_xmade" ]; do
        eval "g_xone=\${g_xmp_$g_xm%/*}"
        g_xone=${g_xone:-/}
        case $g_xdirs in
        *"/$g_xone//"*) ;;
        *)
            g_xdirs=$g_xdirs/$g_xone//
            set -- "$@" "$g_xone"
            if [ $# -ge 100 ]; then
                g_sync_or_halt "$@" || return
                set --
            fi
            ;;
        esac
        g_xm=$((g_xm + 1))
    done
    [ $# -eq 0 ] || g_sync_or_halt "$@"
}

# Tells whether the directory is still at its path, with NAME in it. The one that is held is asked first: what was
# done was done in that.
g_is_held() {
    case $g_xdirs in
    *"/$1//"*) [ -z "$2" ] || [ "$g_cwd" != "$1" ] || g_there "./$2" && return 0 ;;
    esac
    if [ "$g_cwd" = "$1" ]; then
        # The working directory stays what it is: an undo needs it.
        if [ . -ef "$1" ] && (trap - EXIT; g_xactive= g_cwd= && g_enter "$1"); then
            return 0
        fi
    elif g_enter "$1"; then
        { [ -z "$2" ] || g_there "./$2"; } && return 0
    fi
    g_halt unstable "$1" 0 'the directory is elsewhere by now'
}

g_sync_or_halt() {
    g_sync_files "$@" && return 0
    g_xi=
    g_halt_error "$1"
}

# Lets go of what was displaced, many files at a time: each is judged again, and unlinked if it is what it was.
g_finish() {
    g_xn=0 g_xlist= g_xsize=0
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
                if [ -n "$g_xalone" ]; then
                    g_let_all_go "$@"
                    g_xlist= g_xsize=0
                    set --
                fi
            fi
            # What was moved has its STAGE besides.
            case $g_xs in
            moved | copied)
                if g_enter "$g_xtd" && g_there "./$g_xstage"; then
                    if g_same_thing "./$g_xstage" "./$g_xtname"; then
                        g_path_of "$g_xtd" "$g_xstage"
                        set -- "$@" "$g_xfile"
                        g_xlist="$g_xlist $g_xn:twin" g_xsize=$((g_xsize + ${#g_xfile}))
                    else
                        g_xend=${g_xnew:-$g_xarg}
                        g_let_go "$g_xtd" "$g_xstage" "${g_xend:-$g_odigest}"
                    fi
                fi
                ;;
            place) g_enter "$g_xd" && g_let_go "$g_xd" "$g_xstage" "$g_xnew" ;;
            esac
            if [ $# -ge 200 ] || [ "$g_xsize" -gt 60000 ] || [ -n "$g_xalone" ]; then
                [ $# -eq 0 ] || g_let_all_go "$@"
                g_xlist= g_xsize=0
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
    *) g_xgo=${g_xarg:-$g_odigest} ;;
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
            g_load "${g_xone%%:*}"
            g_stays "$g_xd" "${g_xfile##*/}" "what was at $g_xp before; it was written to after it was displaced"
        fi
    done
    [ $# -ne 0 ] || return 0
    g_remove_where "$@"
}

# Removes files, each in its own directory, which is held: a directory that is exchanged for a link meanwhile leads
# nowhere. What is the only one of its kind is in the directory that is held already.
g_remove_where() {
    g_xdone=/
    for g_xone; do
        case $g_xone in
        ./*)
            g_xdone=$g_xdone./
            "$g_rm" -f "$g_xone"
            ! g_there "$g_xone" || g_left_over "$g_xone"
            ;;
        esac
    done
    for g_xone; do
        g_xat=${g_xone%/*}
        case $g_xone:$g_xdone in
        ./*) continue ;;
        *"/$g_xat//"*) continue ;;
        esac
        g_xdone=$g_xdone/$g_xat//
        g_remove_from "$g_xat" "$@"
    done
}

# Removes those of the files that are in DIRECTORY: DIRECTORY FILE...
g_remove_from() {
    shift
    for g_xfile; do
        shift
        [ "${g_xfile%/*}" != "$g_xat" ] || set -- "$@" "${g_xfile##*/}"
    done
    if ! g_enter "${g_xat:-/}"; then
        for g_xfile; do
            g_left_over "$g_xat/$g_xfile"
        done
        return
    fi
    for g_xfile; do
        shift
        set -- "$@" "./$g_xfile"
    done
    "$g_rm" -f "$@"
    for g_xfile; do
        ! g_there "$g_xfile" || g_left_over "$g_xfile"
    done
}

# The digests of those files of g_xlist that need one.
g_sums_of() {
    for g_xone in $g_xlist; do
        g_xfile=$1
        shift
        case $g_xone in
        *:twin) ;;
        *) set -- "$@" "$g_xfile" ;;
        esac
    done
    g_sums "$@"
}

# Says that a file could not be removed: it is found by its name among the changes.
g_left_over() {
    for g_xitem in $g_xlist; do
        g_load "${g_xitem%%:*}"
        case ${1##*/}:$g_xkind in
        "$g_xstage":move) g_xat=$g_xtd ;;
        "$g_xstage":* | "$g_xaside":*) g_xat=$g_xd ;;
        *) continue ;;
        esac
        g_stays "$g_xat" "${1##*/}" "a temporary name of $g_xp, which could not be removed"
        return
    done
}

# Removes ./NAME in the directory that is held, if it is regular and has this digest: DIRECTORY NAME DIGEST.
g_let_go() {
    g_judge "$2"
    [ "$g_jtype" != absent ] || return 0
    if [ "$g_jtype:$g_jdigest" != "regular:$3" ] || ! g_drop "$2"; then
        g_stays "$1" "$2" "what was at $g_xp before; it is not what it was any more"
    fi
}

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
        if [ -n "$g_xshow" ] && g_enter "$g_xd" && [ ! -L "./$g_xshow" ] && [ -f "./$g_xshow" ]; then
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

# Removes a directory that is empty only now.
g_remove_later() {
    if g_enter "$g_xd"; then
        g_out=$("$g_rmdir" "./$g_xname" 2>&1)
        g_rc=$?
        if ! g_there "./$g_xname"; then
            # A crash now could at worst bring an empty directory back.
            g_sync_files "$g_xd"
            return
        fi
        g_words "$g_out" "$g_rc"
    fi
    g_stays "$g_xd" "$g_xname" "not removed, something came to be in it: $g_text"
    g_is_now kept
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
