# New content, beside its name and under a temporary one, and checked there. Nothing here is seen by others.

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

# Copies LEN bytes of the stream to descriptor 6, synced; all of them are taken whatever fails.
g_pour() {
    [ "$1" != 0 ] || return 0
    if [ "$g_reader" != dd ]; then
        g_out=$({ g_take "$1" >&6; } 2>&1)
        g_rc=$?
        [ "$g_rc" -eq 0 ] || g_dd_words
        return "$g_rc"
    fi
    g_split "$1"
    # The last block is the one that syncs.
    if [ "$g_lower" -eq 0 ]; then
        g_upper=$((g_upper - 1)) g_lower=1000000000
    fi
    g_xspilt= g_xrest=$g_lower
    if [ "$g_lower" -gt 1048576 ]; then
        g_xrest=$(((g_lower - 1) % 65536 + 1))
    fi
    while [ "$g_upper" -gt 0 ]; do
        g_upper=$((g_upper - 1))
        g_pour_blocks 1000000 1000
    done
    g_pour_blocks 65536 "$(((g_lower - g_xrest) / 65536))"
    g_pour_blocks "$g_xrest" 1 "$g_xfsync"
    [ -z "$g_xspilt" ]
}

# Copies COUNT blocks of SIZE bytes of the stream to descriptor 6, unless a block could not be written before: SIZE
# COUNT CONVERSION.
g_pour_blocks() {
    [ "$2" -gt 0 ] || return 0
    if [ -n "$g_xspilt" ]; then
        g_copy_blocks "$1" "$2" <&3 >/dev/null
        return
    fi
    g_out=$("$g_dd" bs="$1" count="$2" iflag=fullblock conv=notrunc${3-} <&3 2>&1 >&6)
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    # Whoever was killed does not know what it has taken.
    [ "$g_rc" -lt 126 ] || g_broken
    # What it has taken it says itself; without that nobody knows where the body ends.
    case $g_out:$2 in
    *'+0 records in'*)
        g_xk=${g_out%%'+0 records in'*}
        g_xk=${g_xk##*"$g_nl"}
        ;;
    # BusyBox says nothing where the sync fails, after its only block.
    *'standard output'*:1) g_xk=1 ;;
    *) g_xk= ;;
    esac
    g_is_number "$g_xk" && g_le "$g_xk" "$2" || g_broken
    # A disk that is full can fail the sync as well.
    case $g_out in
    *'error writing'*"$g_nl"*) g_out=${g_out%%"$g_nl"*} ;;
    esac
    g_dd_words
    # The filesystem syncs no files, which is for it to say.
    [ "$g_code:$g_xk" != "no-support:$2" ] || return 0
    g_xspilt=1
    g_copy_blocks "$1" "$(($2 - g_xk))" <&3 >/dev/null
}

# The words of dd are followed by what it counted. BusyBox writes a newline in a name as it is.
g_dd_words() {
    g_out=${g_out%"$g_nl"[0-9]*" records in$g_nl"[0-9]*' records out'*}
    g_words "${g_out##*"$g_nl"}" "$g_rc"
}

# Checks one staged file in the directory that is held: by its whole path it is not what was announced, or not there,
# which can be the path's doing.
g_check_held() {
    if ! g_come_back "$g_xd" "$g_xstage"; then
        g_halt unstable "$g_xd" 0 'the directory is elsewhere by now'
        return
    fi
    g_state "$g_xstage" any && [ "$g_type:$g_digest" = "regular:$g_xnew" ] && return 0
    g_halt content-mismatch "$g_xp" 0 'the staged bytes are not those that were announced'
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
            g_check_held || return
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
