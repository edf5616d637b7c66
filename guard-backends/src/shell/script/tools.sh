# The tools of the target: where they are, what they can do, and what is said of them at the start.

g_ifs=' 	'$g_nl
g_record=
g_cwd= g_held=

# Finds NAME in PATH: g_tool, empty where there is none. Entries that are not absolute do not count.
g_find() {
    g_tool=$1
    IFS=$g_nl
    set -- $g_path_entries
    IFS=$g_ifs
    for g_entry; do
        if [ -f "$g_entry/$g_tool" ] && [ -x "$g_entry/$g_tool" ]; then
            g_tool=$g_entry/$g_tool
            return 0
        fi
    done
    g_tool=
    return 1
}

g_find_all() {
    g_path_entries= g_rest=${PATH-}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:
    # Entries may hold any byte but the colon and, in this list, the newline.
    while [ -n "$g_rest" ]; do
        g_one=${g_rest%%:*}
        g_rest=${g_rest#*:}
        case $g_one in
        *"$g_nl"*) ;;
        /*) g_path_entries=$g_path_entries${g_path_entries:+$g_nl}$g_one ;;
        esac
    done
    for g_one in stat readlink cat dd head tail ls mkdir rmdir rm mv ln link cp chmod chown chgrp touch sync fsync id \
        uname pwd grep exch perl python3; do
        g_find "$g_one"
        eval "g_$g_one=\$g_tool"
    done
}

# Tells whether the session is to do without something that the target has.
g_lacks() {
    case " ${g_without-} " in
    *" $1 "*) return 0 ;;
    esac
    return 1
}

# Tells whether a command that names files that do not exist fails for that, and for nothing else.
g_misses() {
    g_out=$("$@" 2>&1)
    g_words "$g_out" $?
    [ "$g_code" = not-found ]
}

# The directory that no tool finds.
g_none=/proc/self/fd/-1

# How the state of a name and of a descriptor is asked for.
g_try_stat() {
    g_stat_kind= g_stat_format= g_verify_by= g_rootid=
    [ -n "$g_stat" ] || return
    g_out=$("$g_stat" -c '%d:%i' / - </ 2>/dev/null)
    g_first=${g_out%%"$g_nl"*}
    case $g_first in
    [0-9]*:*[0-9])
        g_stat_kind=c g_stat_format='%f %a %s %h %d:%i %u %g' g_rootid=$g_first
        if [ "$g_out" = "$g_first$g_nl$g_first" ]; then
            g_verify_by=dash
            if [ -n "$g_fds" ]; then
                QUOTING_STYLE=literal
                export QUOTING_STYLE
                g_out=$("$g_stat" -c '%N.' - /proc/self/fd/0 </dev/null 2>/dev/null)
                [ "$g_out" != "-.$g_nl/proc/self/fd/0 -> /dev/null." ] || g_verify_by=both
            fi
        elif [ -n "$g_fds" ]; then
            g_verify_by=path
        fi
        ;;
    *)
        g_out=$("$g_stat" -f '%d:%i' / 2>/dev/null)
        case $g_out in
        [0-9]*:*[0-9])
            g_stat_kind=f g_stat_format='%p %p %z %l %d:%i %u %g' g_rootid=$g_out
            [ "$("$g_stat" -f '%d:%i' </ 2>/dev/null)" = "$g_out" ] && g_verify_by=bare
            ;;
        esac
        ;;
    esac
}

# Tells whether the tool for files of LEN bytes knows the digest of "abc" (FIPS 180-4).
g_knows_abc() {
    g_out=$(g_print abc | { g_hash "$1" && g_print "$g_h"; })
    [ "$g_out" = ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad ]
}

# The first digest tool that works, by the time that they need to start: sha256sum 1 ms, openssl 4, perl 8, python3 14,
# shasum 16. Most files are small.
g_try_digest() {
    for g_sha_kind in sha256sum sha256 openssl perl python3 shasum; do
        g_find "$g_sha_kind" || continue
        g_sha=$g_tool
        g_knows_abc && return 0
    done
    return 1
}

# The tool for large files, when the first of them comes: openssl uses what the processor has for it, so that it takes
# 1 ms for a MiB where the others take 4.
g_try_large() {
    [ -z "$g_large_kind" ] || return 0
    g_large_kind=openssl
    g_find openssl
    g_large=$g_tool
    [ -n "$g_large" ] && g_knows_abc 9999999 || g_large_kind=$g_sha_kind g_large=$g_sha
}
g_large_kind=

# How many bytes are read and no more, tried on a pipe of our own.
g_try_reader() {
    g_reader= g_dd_quiet=
    if [ -n "$g_dd" ] && [ -n "$g_cat" ]; then
        for g_dd_quiet in status=none ''; do
            g_out=$(g_print abcdef | { "$g_dd" bs=3 count=1 iflag=fullblock $g_dd_quiet; g_print '|'; "$g_cat"; })
            if [ "$g_out" = 'abc|def' ]; then
                g_reader=dd
                return
            fi
        done
    fi
    if [ -n "$g_head" ]; then
        g_out=$(g_print abcdef | { "$g_head" -c 3; g_print '|'; "$g_cat"; })
        if [ "$g_out" = 'abc|def' ]; then
            g_reader=head
            return
        fi
    fi
    if [ -n "$g_dd" ]; then
        g_out=$(g_print abcdef | { "$g_dd" bs=1 count=3; g_print '|'; "$g_cat"; })
        [ "$g_out" = 'abc|def' ] && g_reader=dd1
    fi
}

# Whether `head -c` stops after so many bytes of a file.
g_try_head() {
    [ -n "$g_head" ] || return 1
    [ "$g_reader" = head ] && return 0
    [ "$(g_print abcdef | "$g_head" -c 3)" = abc ]
}

# How two names are exchanged: empty where they cannot be.
g_try_exchange() {
    g_exchange=
    g_lacks exchange && return
    if [ -n "$g_mv" ] && g_misses "$g_mv" --exchange -T "$g_none/a" "$g_none/b"; then
        g_exchange=mv
        return
    fi
    if [ -n "$g_exch" ] && g_misses "$g_exch" "$g_none/a" "$g_none/b"; then
        g_exchange=exch
        return
    fi
    if [ -n "$g_perl" ] && [ -n "$g_uname" ]; then
        # renameat2, by the tables of Linux.
        case $("$g_uname" -s -m) in
        'Linux x86_64') g_swap_call=316 ;;
        'Linux aarch64') g_swap_call=276 ;;
        *) return ;;
        esac
        g_exchange=perl
        g_misses g_swap "$g_none/a" "$g_none/b" || g_exchange=
    fi
}

# Exchanges two names, in a subshell, which it ends.
g_swap() {
    case $g_exchange in
    mv) exec "$g_mv" --exchange -T "$1" "$2" ;;
    exch) exec "$g_exch" "$1" "$2" ;;
    perl)
        exec "$g_perl" -e 'exit 0 if syscall($ARGV[0] + 0, -100, $ARGV[1], -100, $ARGV[2], 2) == 0;
print STDERR "exchange: $!\n"; exit 1' "$g_swap_call" "$1" "$2"
        ;;
    esac
}

# Copies exactly LEN bytes of the request to standard output. They are consumed in full, also if they cannot be
# written: what follows them has to be found.
g_take() {
    [ "$1" != 0 ] || return 0
    if [ "$g_reader" = dd ] && g_le "$1" 1048576; then
        "$g_dd" bs="$1" count=1 iflag=fullblock $g_dd_quiet <&3
        return
    fi
    g_exactly "$1" <&3 | {
        "$g_cat" || {
            "$g_cat" >/dev/null
            false
        }
    }
}

# Copies exactly LEN bytes of standard input, and takes no more of it, by a few processes however many they are.
g_exactly() {
    if [ "$g_reader" = head ]; then
        "$g_head" -c "$1"
        return
    fi
    g_split "$1"
    while [ "$g_upper" -gt 0 ]; do
        g_upper=$((g_upper - 1))
        g_copy_blocks 1000000 1000 || return
    done
    g_copy_blocks 65536 "$((g_lower / 65536))" && g_copy_blocks "$((g_lower % 65536))" 1
}

# Splits a number into thousand millions, g_upper, and what is beside them, g_lower: mksh counts with 32 bits.
g_split() {
    g_upper=0 g_lower=$1
    [ "${#1}" -gt 9 ] || return 0
    g_upper=${1%?????????}
    g_lower=${1#"$g_upper"}
    # A number that begins with 0 is octal to some.
    g_lower=$((1$g_lower - 1000000000))
}

# Copies COUNT blocks of SIZE bytes of standard input.
g_copy_blocks() {
    [ "$1" -gt 0 ] && [ "$2" -gt 0 ] || return 0
    case $g_reader in
    dd) "$g_dd" bs="$1" count="$2" iflag=fullblock $g_dd_quiet ;;
    *) "$g_dd" bs=1 count="$(($1 * $2))" ;;
    esac 2>/dev/null
}

# Throws away exactly LEN bytes of the request.
g_drain() { g_take "$1" >/dev/null; }

# The user, the umask and the start of this shell, from the kernel where it tells them.
g_try_self() {
    g_euid= g_egid= g_umask= g_start=
    if [ -n "$g_fds" ]; then
        while read -r g_one g_first g_other g_rest; do
            case $g_one in
            Uid:) g_euid=$g_other ;;
            Gid:) g_egid=$g_other ;;
            Umask:) g_umask=$g_first ;;
            esac
        done < /proc/self/status
        read -r g_rest < /proc/self/stat
        # The name of the process is in brackets, and can hold anything.
        set -- ${g_rest##*) }
        g_start=${20-}
    fi
    [ -n "$g_euid" ] || g_euid=$("$g_id" -u)
    [ -n "$g_egid" ] || g_egid=$("$g_id" -g)
    [ -n "$g_umask" ] || g_umask=$(umask)
}

# The user's home directory, free of links. What is not known is left out: to say that there is none would say that
# nothing below one is private.
g_try_home() {
    g_home=${HOME-}
    if [ -z "$g_home" ]; then
        while IFS=: read -r g_one g_first g_other g_rest; do
            if [ "$g_other" = "$g_euid" ]; then
                g_rest=${g_rest#*:*:}
                g_home=${g_rest%%:*}
                break
            fi
        done < /etc/passwd
    fi
    case $g_home in
    /*) ;;
    *)
        g_home=
        return
        ;;
    esac
    if cd -P "$g_home" && g_where; then
        g_home=$g_cwd
    elif ! g_misses "$g_stat" "-$g_stat_kind" '%i' "$g_home"; then
        g_home=
    fi
}

g_fact() {
    g_add "$1"
    g_add "$2"
}

# Says that the target cannot be used, and ends.
g_unsupported() {
    g_add "$1"
    g_send unsupported
    return 1
}

g_hello() {
    g_find_all
    exec 9< /
    g_fds=
    if ! g_lacks proc && [ / -ef /proc/self/fd/9 ]; then
        g_fds=/proc/self/fd
    fi
    exec 9<&-
    g_where_proc=
    case $g_shell in
    # bash reads every part of the path that the kernel tells once more, as a link; zsh goes where such a text leads.
    bash | zsh) ;;
    *) [ -n "$g_fds" ] && cd / && cd -P /proc/self/cwd && [ "$PWD" = / ] && g_where_proc=yes ;;
    esac
    # Names are bytes, whatever they spell: yash takes them for characters.
    case $g_shell in
    mksh) g_out=$(print -n '\0303\0251\0377') ;;
    *) g_out=$(printf '\303\251\377') ;;
    esac
    if [ "${#g_out}" -ne 3 ]; then
        g_unsupported 'the sh of the target does not take any byte as one character'
        return
    fi
    g_try_self
    g_mark=$$.$g_start.
    export g_mark
    umask 077
    for g_one in stat readlink dd cat mkdir rmdir rm mv cp chmod pwd; do
        eval "g_tool=\$g_$g_one"
        if [ -z "$g_tool" ]; then
            g_unsupported "the target has no tool named $g_one in its PATH"
            return
        fi
    done
    g_try_stat
    if [ -z "$g_verify_by" ]; then
        g_unsupported 'the target has no stat that tells what an open file is, and no /proc'
        return
    fi
    if ! g_try_digest; then
        g_unsupported \
            'the target has no tool for SHA-256 that works: sha256sum, shasum, openssl, sha256, perl or python3'
        return
    fi
    g_try_reader
    if [ -z "$g_reader" ]; then
        g_unsupported 'the target has no dd or head that reads as many bytes as it is told and no more'
        return
    fi
    g_head_works=
    g_try_head && g_head_works=yes
    if [ -n "$g_link" ] && g_misses "$g_link" "$g_none/a" "$g_none/b"; then
        g_link_by=link
    elif [ -n "$g_ln" ] && g_misses "$g_ln" -T "$g_none/a" "$g_none/b"; then
        g_link_by=ln-T
    else
        g_unsupported 'the target has no tool that makes a hard link and never replaces: link, or ln with -T'
        return
    fi
    g_try_exchange
    if [ "$g_exchange" != mv ] && ! g_misses "$g_mv" -T "$g_none/a" "$g_none/b"; then
        g_unsupported 'the mv of the target has no -T, without which it moves into directories'
        return
    fi
    g_attributes=basic
    g_misses "$g_cp" --attributes-only --preserve=all "$g_none/a" "$g_none/b" && g_attributes=cp
    # A sync that takes no files would write everything there is to disk.
    g_sync_by=sync-all
    if [ -n "$g_fsync" ]; then
        g_sync_by=fsync
    elif [ -n "$g_sync" ]; then
        case $("$g_sync" --help 2>&1) in
        *FILE*) g_sync_by=sync-file ;;
        esac
    fi
    g_try_home
    g_say_hello
}

# Reads the first line of a file that may not be there.
g_line_of() {
    g_line=
    [ -r "$1" ] && read -r g_line < "$1"
}

g_say_hello() {
    g_record=
    g_fact version 1
    case $g_shell in
    bash) g_one="bash $BASH_VERSION" ;;
    zsh) g_one="zsh $ZSH_VERSION" ;;
    mksh) g_one=$KSH_VERSION ;;
    *) g_one=$("$g_readlink" "/proc/$$/exe" || g_print sh) ;;
    esac
    g_fact shell "$g_one"
    g_fact pid "$$"
    g_fact start "$g_start"
    g_fact uid "$g_euid"
    g_fact gid "$g_egid"
    g_fact umask "$g_umask"
    [ -z "$g_home" ] || g_fact home "$g_home"
    g_line_of /etc/machine-id
    [ -n "$g_line" ] || g_line_of /var/lib/dbus/machine-id
    g_fact machine "$g_line"
    g_fact rootid "$g_rootid"
    g_line_of /proc/sys/kernel/random/boot_id
    g_fact bootid "$g_line"
    g_fact digest "$g_sha_kind"
    g_fact link "$g_link_by"
    g_fact rename mv-T
    g_fact exchange "$g_exchange"
    g_fact reader "$g_reader"
    g_fact sync "$g_sync_by"
    g_fact stat "$g_stat_kind"
    g_fact attributes "$g_attributes"
    g_fact proc "${g_fds:+yes}"
    g_send hello
}
