# Questions: open, stat, read, stream. Each function answers one record. PLACE is ROOT PATH LAST ROOTS WITHIN.

# Sends the last failure with the state that was found.
g_send_error_state() {
    g_record=
    g_add "$g_code"
    g_add "$g_at"
    g_add "$g_text"
    g_add_state
    g_send error
}

g_send_found() {
    g_record=
    g_add "$g_path"
    g_add_state
    g_send found
}

# Resolves the place of a record: ROOT PATH LAST ROOTS WITHIN.
g_place() {
    g_is_number "$1" || g_broken
    g_by_path=yes g_reach=$4
    g_unesc "$5"
    g_within=$g_u
    g_unesc "$2"
    g_resolve "$1" "$g_u" "$3" && return 0
    g_send_error
    return 1
}

# Answers what is not looked at by its name: 0 if that was all.
g_is_plain() {
    g_digest= g_ltext=
    if [ -n "$g_missing" ]; then
        g_type=absent
    elif [ -z "$g_name" ]; then
        g_type=directory
    else
        return 1
    fi
}

# PATH
g_open() {
    g_unesc "$1"
    g_p=$g_u g_cwd= g_held=
    case $g_p in
    /*) ;;
    *)
        g_fail unavailable "$g_p" 'the path of a root is absolute'
        g_send_error
        return
        ;;
    esac
    if cd -P "$g_p"; then
        if g_where; then
            if g_hold "$g_cwd"; then
                g_add "$g_cwd"
                g_add "$g_is"
                g_send root
                return
            fi
        else
            g_fail unavailable "$g_p" 'the path of the directory cannot be told'
        fi
    else
        g_why_not_entered "$g_p" "$g_p"
    fi
    g_send_error
}

# PLACE MAX
g_stat() {
    g_place "$@" || return
    if ! g_is_plain; then
        g_state "$g_name" "$6"
        if [ $? -eq 2 ]; then
            g_send_error
            return
        fi
    fi
    g_send_found
}

# Delivers the regular file that a record names. 1: something else is there, whose state is known.
g_answered() {
    g_is_plain && return 1
    g_opened "$g_name" g_deliver
    g_rc=$?
    case $g_rc:$g_type in
    0:link)
        g_text_of_link "$g_name"
        g_rc=$?
        ;;
    [01]:regular) return 0 ;;
    esac
    [ "$g_rc" -eq 2 ] || return 1
    g_send_error
}

# PLACE MAX PART A B
g_read() {
    g_place "$@" || return
    shift 5
    g_max=$1 g_part=$2 g_from=$3 g_many=$4
    g_answered || g_send_found
}

# PLACE MAX
g_stream() {
    g_place "$@" || return
    g_max= g_part=whole g_from=
    g_answered && return
    g_fail not-regular "$g_path" 'reading'
    g_send_error_state
}

# Delivers what is wanted of the regular file that is open on descriptor 5. What goes wrong once `found` was said is
# said in the place of `digest`.
g_deliver() {
    g_digest=
    case $g_part in
    whole)
        if [ -n "$g_from" ] && ! g_le "$g_len" "$g_from"; then
            g_deliver_large "$1"
            return
        fi
        g_send_found
        g_deliver_body "$1" g_copy_first "$g_len"
        ;;
    *)
        # What comes with a window is the digest of the whole.
        if [ -n "$g_max" ] && ! g_le "$g_len" "$g_max"; then
            g_deliver_large "$1"
            return
        fi
        g_hash_open "$1" || return
        g_digest=$g_h
        g_send_found
        g_le "$g_many" "$g_len" || g_many=$g_len
        if [ "$g_many" = 0 ] || g_le "$g_len" "$g_from"; then
            g_many=0
        fi
        g_deliver_body "$1" g_copy_window "$g_many"
        ;;
    esac
    return 0
}

g_deliver_large() {
    if [ -n "$g_max" ] && g_le "$g_len" "$g_max"; then
        g_hash_open "$1" || return
        g_digest=$g_h
    fi
    g_send_found
    g_send large
    g_add "$g_digest"
    g_add "$g_len"
    g_send digest
}

# NAME COPY MANY
g_deliver_body() {
    g_send body
    g_rc=0
    if [ "$3" != 0 ]; then
        case $2 in
        g_copy_first) g_copy_first "$3" <&5 >&4 ;;
        *) g_pass "$1" "$2" "$3" >&4 ;;
        esac
        g_rc=$?
    fi
    g_print "$g_token" >&4
    if [ "$g_rc" -ne 0 ]; then
        [ "$g_rc" -eq 77 ] || g_why_unread "$1"
        g_send_error
        return
    fi
    g_pass "$1" g_hash "$g_len"
    g_rc=$?
    if [ "$g_rc" -eq 0 ]; then
        g_len_open
        if [ -n "$g_digest" ] && [ "$g_digest" != "$g_h" ]; then
            g_fail torn "$g_path" 'the file changed while it was read'
        elif [ -n "$g_len" ]; then
            g_add "$g_h"
            g_add "$g_len"
            g_send digest
            return
        else
            g_fail unavailable "$g_path" "stat says: $g_out"
        fi
    elif [ "$g_rc" -ne 77 ]; then
        g_why_unread "$1"
    fi
    g_send_error
}

# The first N bytes of standard input.
g_copy_first() {
    if [ "$g_reader" = dd ] && ! g_le "$1" 1048576; then
        # Heads copy in small pieces, some of them byte by byte.
        g_exactly "$1"
    elif [ -n "$g_head_works" ]; then
        "$g_head" -c "$1"
    else
        "$g_cat"
    fi
}

# The window of standard input that starts at g_from.
g_copy_window() {
    if [ -z "$g_window_by" ]; then
        g_window_by=tail
        g_out=$(g_print abcdef | "$g_dd" bs=65536 iflag=skip_bytes,count_bytes,fullblock skip=2 count=3)
        [ "$g_out" = cde ] && g_window_by=dd
    fi
    if [ "$g_window_by" = dd ]; then
        "$g_dd" bs=65536 iflag=skip_bytes,count_bytes,fullblock skip="$g_from" count="$1"
        return
    fi
    # mksh counts with 32 bits.
    if [ -z "$g_head_works" ] || [ -z "$g_tail" ] || [ "$((g_from + 1))" -le 0 ]; then
        g_fail unsupported "$g_path" 'the target has no tool that reads a part of a file'
        return 77
    fi
    "$g_tail" -c "+$((g_from + 1))" | "$g_head" -c "$1"
}
g_window_by=

# Runs a command with the file that is open on descriptor 5 as standard input, from its start: NAME COMMAND. The
# status 77 says that the error is told already.
g_pass() {
    g_name_again=$1
    shift
    if [ -n "$g_fds" ]; then
        "$@" < /proc/self/fd/5
        return
    fi
    # A descriptor of its own: it has to be the same inode.
    g_was=$g_id g_rc=77
    {
        if g_verify "$g_name_again" && [ "$g_id" = "$g_was" ]; then
            "$@" <&5
            g_rc=$?
        fi
    } 5< "./$g_name_again"
    [ "$g_rc" -ne 77 ] || g_fail torn "$g_path" 'the name led to another file while it was read'
    return "$g_rc"
}

# The length of what is open on descriptor 5; empty where it is not told.
g_len_open() {
    g_len=
    case $g_verify_by in
    both | dash) g_out=$(exec "$g_stat" "-$g_stat_kind" %s - <&5 2>&1) ;;
    path) g_out=$(exec "$g_stat" -L "-$g_stat_kind" %s /proc/self/fd/0 <&5 2>&1) ;;
    *) g_out=$(exec "$g_stat" "-$g_stat_kind" %z <&5 2>&1) ;;
    esac
    g_is_number "$g_out" && g_len=$g_out
}
