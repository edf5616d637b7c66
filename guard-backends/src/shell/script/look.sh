# What is at a name of the directory that is held: its state, its digest, and regular files that are opened.

# Reads a line of stat: a mode that tells the type, permission bits, length, links, inode, owner, group.
g_parse() {
    set -- $1
    [ $# -eq 7 ] || return 1
    if [ "$g_stat_kind" = c ]; then
        case $1 in
        8???) g_type=regular ;;
        4???) g_type=directory ;;
        a???) g_type=link ;;
        1???) g_type=fifo ;;
        c???) g_type=socket ;;
        6???) g_type=block-device ;;
        2???) g_type=char-device ;;
        ????) g_type=unknown ;;
        *) return 1 ;;
        esac
        g_mode=$2
    else
        case $1 in
        10????) g_type=regular ;;
        4????) g_type=directory ;;
        12????) g_type=link ;;
        1????) g_type=fifo ;;
        14????) g_type=socket ;;
        6????) g_type=block-device ;;
        2????) g_type=char-device ;;
        *) g_type=unknown ;;
        esac
        g_mode=${1#"${1%????}"}
        while :; do
            case $g_mode in
            0?*) g_mode=${g_mode#0} ;;
            *) break ;;
            esac
        done
    fi
    g_len=$3 g_nlink=$4 g_id=$5 g_uid=$6 g_gid=$7
    case $g_mode in
    '' | *[!0-7]* | ?????*) return 1 ;;
    esac
    case $g_id in
    *[!0-9:]* | :* | *:) return 1 ;;
    *:*) ;;
    *) return 1 ;;
    esac
    g_is_number "$g_len" && g_is_number "$g_nlink"
}

# Says what is at ./NAME itself. 0: the facts; 1: it is proven that nothing is there; 2: an error.
g_facts() {
    for g_try in 1 2 3; do
        g_out=$(exec "$g_stat" "-$g_stat_kind" "$g_stat_format" "./$1" 2>&1)
        g_facts_of "$1" $?
        g_seen=$?
        [ "$g_seen" -eq 1 ] || return "$g_seen"
        # What the shell can see is there, or it has come since.
        [ -L "./$1" ] || [ -e "./$1" ] || return 1
    done
    g_fail unavailable "${g_cwd%/}/$1" 'stat says that nothing is there, and the shell that something is'
    return 2
}

# The facts in $g_out, by the status of stat.
g_facts_of() {
    if [ "$2" -eq 0 ]; then
        g_parse "$g_out" && return 0
        # What is known to be a regular file is there, whatever is said of it; it is too large for everything.
        if [ ! -L "./$1" ] && [ -f "./$1" ]; then
            g_type=regular g_len=9223372036854775807 g_mode=0 g_nlink=1 g_id= g_uid= g_gid=
            return 0
        fi
        g_fail unavailable "${g_cwd%/}/$1" "stat says: $g_out"
        return 2
    fi
    g_words_for "${g_cwd%/}/$1" "$g_out" "$2"
    [ "$g_code" = not-found ] || return 2
    g_type=absent
    return 1
}

# Compares what was opened on descriptor 5 with what ./NAME is, in one look: 0 and the facts of the descriptor, or 1
# where the name is another thing by now, or 2.
#
# Tests that the shell has built in cannot do this: a name that is exchanged meanwhile passes them one by one. The
# kernel's answer for the descriptor's path is one look, at the directories above too. Without it, as a descriptor's
# inode stays what it is while it is open, one lstat of the name that shows the same inode is one look at the name.
# That is what a commit needs, which has to take back what it did in a directory that was moved meanwhile.
g_verify() {
    case $g_verify_by:$g_by_path in
    both:yes)
        g_out=$(exec "$g_stat" "-$g_stat_kind" "$g_stat_format %N." - /proc/self/fd/0 <&5 2>&1)
        g_rc=$?
        case $g_rc:$g_out in
        0:*" -.$g_nl"*" /proc/self/fd/0 -> "*)
            [ "${g_out#*" /proc/self/fd/0 -> "}" = "${g_cwd%/}/$1." ] || return 1
            g_out=${g_out%%" -.$g_nl"*}
            ;;
        esac
        g_first=$g_out
        ;;
    both: | dash:*)
        g_out=$(exec "$g_stat" "-$g_stat_kind" "$g_stat_format" "./$1" - <&5 2>&1)
        g_rc=$?
        g_first=${g_out%%"$g_nl"*} g_out=${g_out#*"$g_nl"}
        ;;
    path:yes)
        g_first=$("$g_readlink" /proc/self/fd/0 <&5 && echo .)
        [ "$g_first" = "${g_cwd%/}/$1$g_nl." ] || return 1
        g_out=$(exec "$g_stat" -L "-$g_stat_kind" "$g_stat_format" /proc/self/fd/0 <&5 2>&1)
        g_rc=$?
        g_first=$g_out
        ;;
    path:)
        g_first=$(exec "$g_stat" "-$g_stat_kind" "$g_stat_format" "./$1" 2>&1)
        g_out=$(exec "$g_stat" -L "-$g_stat_kind" "$g_stat_format" /proc/self/fd/0 <&5 2>&1)
        g_rc=$?
        ;;
    *)
        g_first=$(exec "$g_stat" "-$g_stat_kind" "$g_stat_format" "./$1" 2>&1)
        g_out=$(exec "$g_stat" "-$g_stat_kind" "$g_stat_format" <&5 2>&1)
        g_rc=$?
        ;;
    esac
    if [ "$g_rc" -ne 0 ]; then
        g_words_for "${g_cwd%/}/$1" "$g_first" "$g_rc"
        [ "$g_code" = not-found ] && return 1
        return 2
    fi
    g_id=
    if ! g_parse "$g_first"; then
        g_facts_of "$1" 0
        return
    fi
    [ "$g_type" = regular ] || return 1
    g_other=$g_id
    g_parse "$g_out" || {
        g_fail unavailable "${g_cwd%/}/$1" "stat says: $g_out"
        return 2
    }
    [ "$g_type:$g_id" = "regular:$g_other" ]
}

# Says what is at ./NAME; if it is a regular file, runs COMMAND with it open and verified on descriptor 5.
# Returns as g_facts; 2 also if the command failed, which sets g_code, g_at and g_text.
g_opened() {
    g_tries=0
    while [ "$g_tries" -lt 8 ]; do
        g_tries=$((g_tries + 1))
        # Opening a FIFO waits, and opening a device can have effects.
        if [ -L "./$1" ] || [ ! -f "./$1" ]; then
            g_facts "$1"
            g_rc=$?
            [ "$g_rc$g_type" = 0regular ] && continue
            return "$g_rc"
        fi
        g_rc=
        {
            g_verify "$1"
            g_rc=$?
            if [ "$g_rc" -eq 0 ]; then
                # It uses the variable too: what it delivered must not be delivered again.
                if "$2" "$1"; then g_rc=0; else g_rc=2; fi
            fi
        } 5< "./$1"
        case $g_rc in
        0) return 0 ;;
        2) return 2 ;;
        '')
            # The shell's own words differ too much.
            if [ -f "./$1" ] && [ ! -r "./$1" ]; then
                g_fail denied "${g_cwd%/}/$1" 'opening'
                return 2
            fi
            ;;
        esac
    done
    if [ -z "$g_rc" ]; then
        g_out=$(exec "$g_dd" if="./$1" count=0 2>&1)
        g_rc=$?
        if [ "$g_rc" -ne 0 ]; then
            g_words_for "${g_cwd%/}/$1" "$g_out" "$g_rc"
            return 2
        fi
    fi
    g_fail unstable "${g_cwd%/}/$1" 'the name kept changing while it was opened'
    return 2
}

# Tells whether a file of LEN bytes is worth the start of a tool that is faster then.
g_is_large() {
    case $1 in
    [2-9]?????? | ????????*) ;;
    *) return 1 ;;
    esac
}

# Runs the digest tool: LEN FILE..., for files of about that length; for standard input where there is no file. It is
# called in a subshell, which it ends.
g_sha256() {
    g_tool=$g_sha g_one=$g_sha_kind
    ! g_is_large "$1" || g_tool=$g_large g_one=$g_large_kind
    shift
    case $g_one in
    sha256sum) exec "$g_tool" "$@" ;;
    sha256) exec "$g_tool" -q "$@" ;;
    openssl) exec "$g_tool" dgst -sha256 -r "$@" ;;
    perl) exec "$g_tool" -MDigest::SHA -e 'for (@ARGV ? @ARGV : "-") {
print Digest::SHA->new(256)->addfile($_, "b")->hexdigest, "\n" }' "$@" ;;
    shasum) exec "$g_tool" -a 256 "$@" ;;
    *) exec "$g_tool" -I -S -c 'import hashlib,sys
for f in sys.argv[1:]or[0]:h=hashlib.sha256();s=open(f,"rb");[h.update(b)for b in iter(lambda:s.read(65536),b"")];print(h.hexdigest())' "$@" ;;
    esac
}

# Takes the digest of standard input, of about LEN bytes where that is known, into g_h.
g_hash() {
    ! g_is_large "$1" || g_try_large
    g_h=$(g_sha256 "$1")
    g_rc=$?
    [ "$g_rc" -eq 0 ] || return 1
    g_h=${g_h%% *}
    case $g_h in
    *[!0-9a-f]*) return 1 ;;
    esac
    [ "${#g_h}" -eq 64 ]
}

# Takes the digest of what is open and verified on descriptor 5, from its start.
g_hash_open() {
    g_hash "$g_len" <&5 && return 0
    g_why_unread "$1"
}

# Says why ./NAME, which is open on descriptor 5, could not be read.
g_why_unread() {
    g_out=$(exec "$g_dd" bs=65536 $g_dd_quiet <&5 2>&1 >/dev/null)
    g_words_for "${g_cwd%/}/$1" "$g_out" $?
    # It worked this time.
    [ "$g_code" = unavailable ] && g_text='it could not be read, and then it could'
    return 1
}

g_wanted_digest() {
    if [ "$g_max" != any ]; then
        g_le "$g_len" "$g_max" || return 0
    fi
    g_hash_open "$1" && g_digest=$g_h
}

# Says what is at ./NAME, with the text of a link, and with the digest of a regular file of at most MAX bytes (any:
# of every one; empty: of none). Returns as g_facts.
g_state() {
    g_digest= g_ltext=
    if [ -z "$2" ]; then
        g_facts "$1" || return
    else
        g_max=$2
        g_opened "$1" g_wanted_digest || return
    fi
    [ "$g_type" = link ] || return 0
    g_text_of_link "$1"
}

# Reads the text of the link ./NAME; returns as g_facts.
g_text_of_link() {
    g_tries=0
    while [ "$g_tries" -lt 8 ]; do
        g_tries=$((g_tries + 1))
        # Texts may end in newlines, which a command substitution takes away.
        g_ltext=$("$g_readlink" "./$1" && echo .)
        g_rc=$?
        case $g_ltext in
        ?*"$g_nl.")
            g_ltext=${g_ltext%"$g_nl."}
            return 0
            ;;
        esac
        g_ltext=
        g_facts "$1" || return
        if [ "$g_type" != link ]; then
            g_fail torn "${g_cwd%/}/$1" 'it was a link a moment ago'
            return 2
        fi
    done
    g_fail unavailable "${g_cwd%/}/$1" "readlink failed with status $g_rc"
    return 2
}

# Appends the five fields of what g_state or g_facts found.
g_add_state() {
    case $g_type in
    regular)
        g_add regular
        g_add "$g_len"
        g_add "$g_mode"
        g_add "$g_nlink"
        g_add "$g_digest"
        ;;
    link)
        g_add link
        g_add "$g_ltext"
        g_record=${g_record}0:0:0:
        ;;
    absent) g_record=${g_record}6:absent0:0:0:0: ;;
    directory) g_record=${g_record}9:directory0:0:0:0: ;;
    *)
        g_add other
        g_add "$g_type"
        g_record=${g_record}0:0:0:
        ;;
    esac
}
