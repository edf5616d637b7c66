# Commit, the first half: what the records ask for, the first look, parents, and new content beside its name.
#
# Nothing here is seen by others, but for directories that are made. All names begin with g_x. Of a change N there
# are: g_xc_N the record · g_xa_N what was there at the first look (type length mode links digest inode owner group)
# · g_xs_N how far it is · g_xt_N mode and inode of the staged file · g_xm_N how many parents are missing · g_xv_N
# what is told of its publication · g_xe_N its fate · g_xn_N its notes · and for a while g_xb_N what a replacement has
# to look like, g_xq_N a mode that is set last, g_xh_N the digest of a copy that is moved. A shell with few hash
# buckets looks through all variables, so that those that most changes do not need are not made.
#
# g_xs_N: empty nothing was done · same nothing is to be done · temp STAGE is there and nobody knows it · new linked
# to its name · excl written under its name · swap exchanged, STAGE has what was displaced · window ASIDE has it ·
# place written in place, ASIDE has a copy · gone removed, ASIDE has it · moved, copied the destination has it, ASIDE
# has the source · half as moved, the source is still there · dir made · rmdir removed · later to be removed at the
# end · kept whatever is there stays

# The largest file whose digest is taken only to be told of.
g_xtold=268435456
g_xblock=1048576

# Reads the records. 1: the stream ended, or is no record.
g_records() {
    g_xi=0 g_xnotes=0 g_xmade=0 g_xbody=0 g_xfailed= g_xdirs= g_xsettling=
    while [ "$g_xi" -lt "$g_count" ]; do
        IFS= read -r g_xline <&3 || return 1
        case $g_xline in
        *'|.') ;;
        *) return 1 ;;
        esac
        eval "g_xc_$g_xi=\$g_xline g_xs_$g_xi="
        g_xi=$((g_xi + 1))
    done
}

# Forgets a request's changes.
g_forget() {
    g_xi=0
    while [ "$g_xi" -lt "$g_count" ]; do
        unset "g_xc_$g_xi" "g_xa_$g_xi" "g_xs_$g_xi" "g_xt_$g_xi" "g_xm_$g_xi" "g_xv_$g_xi" "g_xe_$g_xi" \
            "g_xn_$g_xi" "g_xb_$g_xi" "g_xh_$g_xi" "g_xq_$g_xi"
        g_xi=$((g_xi + 1))
    done
    while [ "$g_xnotes" -gt 0 ]; do
        g_xnotes=$((g_xnotes - 1))
        unset "g_xnk_$g_xnotes" "g_xnv_$g_xnotes"
    done
    while [ "$g_xmade" -gt 0 ]; do
        g_xmade=$((g_xmade - 1))
        unset "g_xmp_$g_xmade" "g_xmb_$g_xmade"
    done
}

# Takes change N as the one that is worked on.
g_load() {
    g_xi=$1
    eval "g_xline=\$g_xc_$1 g_xs=\${g_xs_$1-}"
    g_xifs=$IFS
    IFS='|'
    g_fields $g_xline
    IFS=$g_xifs
    g_unesc "$g_xexpect"
    g_xp=$g_u g_xd=${g_u%/*} g_xname=${g_u##*/}
    g_xd=${g_xd:-/}
    g_xtd=
    if [ "$g_xkind" = move ]; then
        g_unesc "$g_xtoexpect"
        g_xtp=$g_u g_xtd=${g_u%/*} g_xtname=${g_u##*/}
        g_xtd=${g_xtd:-/}
        eval "g_xnew=\${g_xh_$1-}"
    fi
    [ -z "$g_xsettling" ] || g_settled_names
}

g_fields() {
    g_xkind=$1 g_xroot=$2 g_xpath=$3 g_xlast=$4 g_xexpect=$5 g_xpre=$6 g_xarg=$7 g_xparents=$8 g_xlen=$9
    shift 9
    g_xnew=$1 g_xmode=$2 g_xstage=$3 g_xaside=$4 g_xundo=$5 g_xtoroot=$6 g_xtopath=$7 g_xtolast=$8 g_xtoexpect=$9
    shift 9
    g_xtopre=$1
}

# Sets how far the change is.
g_is_now() {
    g_xs=$1
    eval "g_xs_$g_xi=\$1"
}

# Takes what was at the name of the change at the first look.
g_load_old() {
    eval "g_xold=\${g_xa_$g_xi-}"
    g_old_fields ${g_xold:-absent}
}

g_old_fields() {
    g_otype=$1 g_olen=${2-} g_omode=${3-} g_onlink=${4-} g_odigest=${5-} g_oid=${6-} g_ouid=${7-} g_ogid=${8-}
    [ "$g_odigest" != - ] || g_odigest=
}

# Says why the batch stops: CAUSE PATH DESTINATION TEXT [found: with the last state]. Returns 1.
g_halt() {
    g_record=
    g_add "$g_xi" && g_add "$1" && g_add "$2" && g_add "$3" && g_add "$4"
    if [ -n "${5-}" ]; then
        g_add_state
    else
        g_record=${g_record}0:0:0:0:0:
    fi
    g_xfailed=$g_record g_record=
    return 1
}

# Says so with the last error, whose path is PATH if it is given.
g_halt_error() {
    g_to_error
    g_halt "$g_code" "${1:-$g_at}" "${2:-0}" "$g_text"
}

# Leaves only the words that a caller is told.
g_to_error() {
    case $g_code in
    not-permitted) g_code=denied ;;
    exists | busy | cross-device | no-support | not-empty) g_code=io ;;
    esac
}

# Says that something else is there than what has to be: PATH DESTINATION, with the last state.
g_mismatch() { g_halt precondition "$1" "$2" '' found; }

# Keeps a note on change N for the reply: KIND N FIELD...
g_note() {
    g_record=
    g_xnk=$1 g_xnn=$2
    shift 2
    for g_xnf; do
        g_add "$g_xnf"
    done
    eval "g_xnk_$g_xnotes=\$g_xnk g_xnv_$g_xnotes=\$g_record g_xn_$g_xnn=\"\${g_xn_$g_xnn-} $g_xnotes\""
    g_record=
    g_xnotes=$((g_xnotes + 1))
}

# Says that something stays: NAME in DIRECTORY, and why.
g_stays() { g_note left "$g_xi" "${1%/}/$2" "$3"; }

# Tells whether something has a name. Presence can be told by the shell; absence cannot be proven by it.
g_there() { [ -L "$1" ] || [ -e "$1" ]; }

# Says what is at ./NAME for a report; what cannot be looked at is of an unknown kind.
g_found() {
    g_state "$1" "$g_xtold" && return 0
    [ $? -ne 1 ] || return 0
    # A digest that cannot be had is left out.
    g_state "$1" '' && return 0
    [ $? -ne 1 ] || return 0
    g_type=unknown
}

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
    # A rename could replace it all the same.
    g_out=$("$g_dd" of="./$g_name" count=0 conv=notrunc </dev/null 2>&1)
    g_rc=$?
    g_dd_words
    case $g_rc:$g_code in
    0:* | *:denied | *:not-permitted) g_halt read-only-file "$g_xp" 0 '' ;;
    *) g_halt_error "$g_xp" ;;
    esac
}

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

# Makes what is missing above names, one at a time and each in the directory that is held; and the directories
# themselves that are to be made, so that later changes can be below them.
g_parents_all() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        eval "g_xk=\${g_xm_$g_xn-} g_xline=\$g_xc_$g_xn"
        case $g_xk:$g_xline in
        :mkdir*) ;;
        :*)
            g_xn=$((g_xn + 1))
            continue
            ;;
        esac
        g_load "$g_xn"
        g_make_parents || return 1
        [ "$g_xkind" != mkdir ] || g_make_dir || return 1
        g_xn=$((g_xn + 1))
    done
}

g_make_parents() {
    eval "g_xk=\${g_xm_$g_xi-0}"
    g_xbase=$g_xd
    [ "$g_xkind" != move ] || g_xbase=$g_xtd
    g_xabove=$g_xbase/
    while [ "$g_xk" -gt 0 ]; do
        g_xbase=${g_xbase%/*} g_xk=$((g_xk - 1))
    done
    g_xabove=${g_xabove#"${g_xbase%/}/"}
    if ! g_enter "${g_xbase:-/}"; then
        g_halt_error
        return
    fi
    while [ -n "$g_xabove" ]; do
        g_xone=${g_xabove%%/*} g_xabove=${g_xabove#*/}
        [ -n "$g_xone" ] || continue
        g_xpathof=${g_cwd%/}/$g_xone
        # Another change of this batch made it, or another process did since: a directory is a directory.
        if ! g_there "./$g_xone"; then
            if g_make "$g_xone"; then
                g_note made "$g_xi" "$g_xpathof"
            elif [ "$g_code" != exists ]; then
                g_halt_error "$g_xpathof"
                return
            fi
        fi
        g_go_in "$g_xone" || return
    done
}

# Goes to ./NAME, which was made or found; what is not that directory any more is no place to go on.
g_go_in() {
    g_xhere=$g_cwd
    g_go "./$1" "${g_xhere%/}/$1" && return 0
    if [ -z "$g_cwd" ]; then
        g_cwd=$g_xhere
        if [ ! -L "./$1" ] && g_there "./$1"; then
            g_why_not_entered "./$1" "${g_xhere%/}/$1"
            g_halt_error
            return
        fi
    fi
    g_cwd=
    g_halt unstable "${g_xhere%/}/$1" 0 'the path leads elsewhere by now'
}

# Makes the directory ./NAME as any program of this user would.
g_make() {
    # Told before it is done: whoever settles this commit then knows that the directory was not there before.
    g_xkept_record=$g_record g_record=
    g_add "$g_xi"
    g_add "${g_cwd%/}/$1"
    g_send making
    g_record=$g_xkept_record
    umask "$g_umask"
    g_out=$("$g_mkdir" "./$1" 2>&1)
    g_rc=$?
    umask 077
    if [ "$g_rc" -ne 0 ]; then
        g_words "$g_out" "$g_rc"
        # Stopped after it was done.
        [ "$g_code" = unavailable ] && [ -d "./$1" ] && [ ! -L "./$1" ] || return 1
    fi
    eval "g_xmp_$g_xmade=\${g_cwd%/}/\$1 g_xmb_$g_xmade=\$g_xi"
    g_xmade=$((g_xmade + 1))
}

g_make_dir() {
    if ! g_enter "$g_xd"; then
        g_halt_error
        return
    fi
    if ! g_make "$g_xname"; then
        if [ "$g_code" != exists ]; then
            g_halt_error "$g_xp"
            return
        fi
        g_found "$g_xname"
        g_mismatch "$g_xp" 0
        return
    fi
    g_is_now dir
    g_go_in "$g_xname"
}

# Stages what is put, and checks all of it.
g_stage_all() {
    g_xn=0
    while [ "$g_xn" -lt "$g_count" ]; do
        eval "g_xline=\$g_xc_$g_xn"
        case $g_xline in
        put*)
            g_load "$g_xn"
            g_sign "$g_xn"
            if [ -n "$g_stop" ]; then
                g_halt unavailable "$g_xp" 0 'the session was told to end'
                return
            fi
            if [ "$g_xs" = same ]; then
                g_drain "$g_xlen"
                g_xbody=$((g_xn + 1))
            else
                g_stage_put || return
            fi
            ;;
        esac
        g_xn=$((g_xn + 1))
    done
    g_each_temp g_check_staged
}

# Takes what is left of the bodies off the stream: they are no commands.
g_drain_bodies() {
    while [ "$g_xbody" -lt "$g_count" ]; do
        eval "g_xline=\$g_xc_$g_xbody"
        case $g_xline in
        put*)
            g_load "$g_xbody"
            g_drain "$g_xlen"
            ;;
        esac
        g_xbody=$((g_xbody + 1))
    done
}

g_stage_put() {
    if ! g_enter "$g_xd"; then
        g_halt_error
        return
    fi
    g_load_old
    g_xstart=umask
    [ "$g_otype" = absent ] || g_xstart=private
    g_new_file "$g_xstage" "$g_xstart" g_fill_put || g_halt_blocked "$g_xstage" "$g_xp"
}

# Makes ./NAME exclusively, as private as it starts, and fills it by COMMAND, which writes to descriptor 6.
#
# 1 with g_code empty: it was not made.
g_new_file() {
    g_xopened= g_xrc=1 g_code= g_text=
    # What is no regular file can be opened in spite of set -C.
    if g_there "./$1"; then
        g_code=exists g_text='File exists'
        return 1
    fi
    [ "$2" = private ] || umask "$g_umask"
    set -C
    {
        set +C
        umask 077
        g_xopened=1
        [ "$1" != "$g_xstage" ] || g_is_now temp
        "$3" && g_xrc=0
        # A tool that is given the name makes it anew where a settlement has taken it.
        if [ "$g_xrc" -eq 0 ] && [ -n "$g_fds" ] && [ ! "./$1" -ef "$g_fds/6" ]; then
            g_xrc=1 g_code=io g_text='the file was taken away while it was written'
        fi
    } 2>/dev/null 6> "./$1"
    set +C
    umask 077
    return "$g_xrc"
}

# Says why a file could not be made or filled: NAME PATH. The directory is to blame, not the name that is changed.
g_halt_blocked() {
    [ -z "$g_xfailed" ] || return 1
    if [ -n "$g_xopened" ]; then
        g_halt_error "$2"
        return
    fi
    # What the shell says of it differs too much; the same is asked of a tool whose words are known.
    if [ -z "$g_code" ]; then
        g_out=$("$g_mkdir" "./$1" 2>&1)
        g_rc=$?
        if [ "$g_rc" -eq 0 ]; then
            "$g_rmdir" "./$1" 2>/dev/null
            g_code=io g_text='a temporary file could not be made'
        else
            g_words "$g_out" "$g_rc"
        fi
    fi
    if [ "$g_code" = exists ]; then
        g_halt_error "${g_cwd%/}/$1"
    else
        g_halt_error "$g_cwd"
    fi
}

# Gives the staged file its metadata and its content.
g_fill_put() {
    if [ "$g_xstart" = private ]; then
        g_xmodel=./$g_xname
        g_dress || return 1
    else
        case $g_xmode in
        keep) ;;
        exec)
            umask "$g_umask"
            g_change_mode +x "$g_xstage" || return 1
            umask 077
            ;;
        *) g_readable_mode "$g_xmode" || return 1 ;;
        esac
    fi
    g_xbody=$((g_xi + 1))
    g_pour "$g_xlen" || return 1
    # Writing takes setuid and setgid away.
    case $g_xmode in
    keep | exec) ;;
    *)
        g_plain_mode "$g_xmode"
        case $g_xplain in
        ????) g_readable_mode "$g_xmode" || return 1 ;;
        esac
        ;;
    esac
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

g_change_mode() {
    g_out=$("$g_chmod" "$1" "./$2" 2>&1)
    g_rc=$?
    [ "$g_rc" -eq 0 ] && return 0
    g_words "$g_out" "$g_rc"
    return 1
}

# Copies LEN bytes of the stream to descriptor 6, synced; all of them are taken whatever fails.
g_pour() {
    g_xrest=$1
    while [ "$g_xrest" -gt 0 ]; do
        g_xpiece=$g_xrest g_xsync=$g_xfsync
        if [ "$g_xpiece" -gt "$g_xblock" ]; then
            g_xpiece=$g_xblock g_xsync=
        fi
        g_xrest=$((g_xrest - g_xpiece))
        if [ "$g_reader" = dd ]; then
            g_out=$("$g_dd" bs="$g_xpiece" count=1 iflag=fullblock conv=notrunc$g_xsync <&3 2>&1 >&6)
        else
            g_out=$({ g_take "$g_xpiece" >&6; } 2>&1)
        fi
        g_rc=$?
        [ "$g_rc" -ne 0 ] || continue
        g_dd_words
        # The filesystem syncs no files, which is for it to say.
        [ "$g_code" = no-support ] && continue
        [ "$g_xrest" -eq 0 ] || g_drain "$g_xrest"
        return 1
    done
}

# The words of dd are followed by what it counted.
g_dd_words() {
    case $g_out in
    *"$g_nl"[0-9]*) g_out=${g_out%%"$g_nl"[0-9]*} ;;
    esac
    g_words "${g_out##*"$g_nl"}" "$g_rc"
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
        g_out=$("$g_cp" --attributes-only --preserve=mode,ownership,xattr "$g_xmodel" "./$g_xstage" 2>&1)
        if [ $? -ne 0 ]; then
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

# Runs COMMAND for the staged files, many at a time: their changes are in g_xlist, their paths are its arguments.
#
# The paths are whole, so that files of several directories share a process. A directory that is exchanged for a link
# meanwhile leads to files that have neither such names nor these digests.
g_each_temp() {
    g_xcall=$1 g_xlist= g_xsize=0 g_xn=0
    set --
    while [ "$g_xn" -lt "$g_count" ]; do
        eval "g_xs=\${g_xs_$g_xn-}"
        if [ "$g_xs" = temp ]; then
            g_load "$g_xn"
            g_path_of "$g_xd" "$g_xstage"
            set -- "$@" "$g_xfile"
            g_xlist="$g_xlist $g_xn" g_xsize=$((g_xsize + ${#g_xfile}))
            if [ $# -ge 200 ] || [ "$g_xsize" -gt 60000 ] || [ -n "$g_xalone" ]; then
                "$g_xcall" "$@" || return 1
                g_xlist= g_xsize=0
                set --
            fi
        fi
        g_xn=$((g_xn + 1))
    done
    [ $# -eq 0 ] || "$g_xcall" "$@"
}

# Makes g_xfile of DIRECTORY and NAME. Tools that write names in lines must not be given one with a newline in it:
# then the file is alone, in the directory that is held.
g_path_of() {
    g_xalone= g_xfile=${1%/}/$2
    case $1 in
    *"$g_nl"* | *\\*)
        g_enter "$1"
        g_xalone=1 g_xfile=./$2
        ;;
    esac
}

# Writes files or directories to the disk. 1: g_code and g_text.
g_sync_files() {
    case $g_sync_by in
    fsync) g_out=$("$g_fsync" "$@" 2>&1) ;;
    sync-file) g_out=$("$g_sync" "$@" 2>&1) ;;
    *)
        [ -z "$g_sync" ] || "$g_sync"
        return 0
        ;;
    esac
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_words "${g_out##*"$g_nl"}" "$g_rc"
    case $g_code in
    # A directory that may be written but not read cannot be opened to be synced; some filesystems sync none.
    denied | no-support) return 0 ;;
    esac
    return 1
}

# Finds out whether dd syncs what it writes: /dev/null cannot be synced, and what is no option is said to be none.
g_try_fsync() {
    g_xfsync=
    [ "$g_reader" = dd ] || return 0
    g_out=$("$g_dd" count=0 conv=notrunc,fsync </dev/null 2>&1 >/dev/null)
    g_rc=$?
    if [ "$g_rc" -ne 0 ]; then
        g_dd_words
        [ "$g_code" = no-support ] || return 0
    fi
    g_xfsync=,fsync
}

# Takes the digests of files into g_xsums, a line for each; an empty line where it could not be had.
g_sums() {
    g_xsums=
    case $g_sha_kind in
    sha256sum) g_xsums=$("$g_sha" "$@" 2>/dev/null) ;;
    shasum) g_xsums=$("$g_sha" -a 256 "$@" 2>/dev/null) ;;
    *) false ;;
    esac
    if [ $? -eq 0 ]; then
        g_xsums=$g_xsums$g_nl
        return
    fi
    g_xsums=
    for g_xone; do
        g_h=
        { g_hash < "$g_xone"; } 2>/dev/null || g_h=
        g_xsums=$g_xsums$g_h$g_nl
    done
}

# Takes the first digest off g_xsums into g_xsum.
g_next_sum() {
    g_xsum=${g_xsums%%"$g_nl"*} g_xsums=${g_xsums#*"$g_nl"}
    g_xsum=${g_xsum%% *}
    g_xsum=${g_xsum#\\}
}

# The same with what stat says.
g_stats() {
    g_xstats=$("$g_stat" "-$g_stat_kind" "$g_stat_format" "$@" 2>/dev/null) && {
        g_xstats=$g_xstats$g_nl
        return
    }
    g_xstats=
    for g_xone; do
        g_xstats=$g_xstats$("$g_stat" "-$g_stat_kind" "$g_stat_format" "$g_xone" 2>/dev/null)$g_nl
    done
}

g_next_stat() {
    g_xstat=${g_xstats%%"$g_nl"*} g_xstats=${g_xstats#*"$g_nl"}
}

# Checks that the staged files are what was announced, before anything is published.
g_check_staged() {
    if [ "$g_reader" != dd ] || [ -z "$g_xfsync" ]; then
        g_sync_files "$@" || {
            g_load "${g_xlist##* }"
            g_halt_error "$g_xp"
            return
        }
    fi
    g_sums "$@"
    g_stats "$@"
    for g_xk in $g_xlist; do
        g_next_sum
        g_next_stat
        g_load "$g_xk"
        g_sign "$g_xk"
        if [ "$g_xsum" != "$g_xnew" ] || ! g_parse "$g_xstat" || [ "$g_type" != regular ]; then
            g_halt content-mismatch "$g_xp" 0 'the staged bytes are not those that were announced'
            return
        fi
        eval "g_xlate=\${g_xq_$g_xi-}"
        if [ -n "$g_xlate" ] && ! { g_enter "$g_xd" && g_late_mode; }; then
            g_halt_error "$g_xp"
            return
        fi
        eval "g_xt_$g_xi=\"\$g_mode \$g_id\" g_xwas=\${g_xb_$g_xi-}"
        [ -z "$g_xwas" ] || g_check_dressed || return
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
