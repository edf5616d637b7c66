# Records, escapes, numbers, and the words of errors.

g_nl='
'

# mksh has no printf of its own: a process for every record would be dear.
case $g_shell in
mksh) g_print() { print -rn -- "$1"; } ;;
*) g_print() { printf %s "$1"; } ;;
esac

# Appends a field to the record.
g_add() { g_record=$g_record${#1}:$1; }

# Writes the record as one of this kind; there may be no fields.
g_send() {
    g_print "$g_nonce $g_seq $1${g_record:+ }$g_record$g_nl" >&4
    g_record=
}

# Says what failed: CODE PATH TEXT. Returns 1.
g_fail() {
    g_code=$1 g_at=$2 g_text=$3
    return 1
}

# Gives a sign of life now and then while many changes are worked on: N.
g_sign() {
    [ "$(($1 % 16))" -ne 15 ] || g_print "$g_nonce $g_seq working$g_nl" >&4
}

# Sends the last failure, without a state.
g_send_error() {
    g_record=
    g_add "$g_code" && g_add "$g_at" && g_add "$g_text"
    g_record=${g_record}0:0:0:0:0:
    g_send error
}

# Undoes the escapes of a field.
g_unesc() {
    case $1 in
    *\\*) ;;
    *)
        g_u=$1
        return
        ;;
    esac
    g_u= g_rest=$1
    while :; do
        case $g_rest in
        *\\*) ;;
        *) break ;;
        esac
        g_u=$g_u${g_rest%%\\*}
        g_rest=${g_rest#*\\}
        case $g_rest in
        p*) g_u=$g_u'|' ;;
        n*) g_u=$g_u$g_nl ;;
        *) g_u=$g_u\\ ;;
        esac
        g_rest=${g_rest#?}
    done
    g_u=$g_u$g_rest
}

# Tells whether one decimal number is at most another. mksh counts with 32 bits, and files are larger.
g_le() {
    if [ "${#1}" -ne "${#2}" ]; then
        [ "${#1}" -lt "${#2}" ]
        return
    fi
    g_a=$1 g_b=$2
    while [ -n "$g_a" ]; do
        g_a9=$g_a g_b9=$g_b
        if [ "${#g_a}" -gt 9 ]; then
            g_a9=${g_a%"${g_a#?????????}"} g_b9=${g_b%"${g_b#?????????}"}
        fi
        g_a=${g_a#"$g_a9"} g_b=${g_b#"$g_b9"}
        # A number that begins with 0 is octal to some.
        [ "1$g_a9" -lt "1$g_b9" ] && return 0
        [ "1$g_a9" -gt "1$g_b9" ] && return 1
    done
    return 0
}

# Tells whether a text is a decimal number as it is usually written.
g_is_number() {
    case $1 in
    '' | *[!0-9]* | 0?*) return 1 ;;
    esac
    [ "${#1}" -le 19 ]
}

# Names the error in a tool's words: TEXT, and the tool's status where it is known.
#
# A shell that could not start the tool says "No such file or directory" too, of the tool; then the status is 126 or
# more. glibc's words come first, then those of musl and of the BSDs.
g_words() {
    g_text=$1
    case ${2-1} in
    12[6-9] | 1[3-9]? | 2??)
        g_code=unavailable
        return
        ;;
    esac
    case ${1##*: } in
    'No such file or directory') g_code=not-found ;;
    'Not a directory') g_code=not-directory ;;
    'Permission denied') g_code=denied ;;
    'Operation not permitted') g_code=not-permitted ;;
    'Too many levels of symbolic links' | 'Symbolic link loop') g_code=loop ;;
    'File name too long' | 'Filename too long') g_code=name-too-long ;;
    'No space left on device') g_code=no-space ;;
    'Disk quota exceeded' | 'Disc quota exceeded' | 'Quota exceeded') g_code=no-space ;;
    'Read-only file system' | 'Read-only filesystem') g_code=read-only-filesystem ;;
    'File exists') g_code=exists ;;
    'Device or resource busy' | 'Resource busy' | 'Device busy') g_code=busy ;;
    'Invalid cross-device link' | 'Cross-device link') g_code=cross-device ;;
    'Invalid argument' | 'Operation not supported' | 'Not supported') g_code=no-support ;;
    'Operation not supported on transport endpoint' | 'Function not implemented') g_code=no-support ;;
    'Directory not empty') g_code=not-empty ;;
    'Is a directory') g_code=not-regular ;;
    'Input/output error' | 'I/O error') g_code=io ;;
    'Stale file handle' | 'Stale NFS file handle' | 'Too many links' | 'Text file busy') g_code=io ;;
    'Cannot allocate memory' | 'Out of memory' | 'Too many open files') g_code=io ;;
    'Too many open files in system' | 'No file descriptors available') g_code=io ;;
    'File too large' | 'Value too large for defined data type') g_code=io ;;
    *) g_code=unavailable ;;
    esac
}

# As g_words, for what a caller is told: to it there is no difference between EPERM and EACCES.
g_words_for() {
    g_words "$2" "${3-1}"
    g_at=$1
    case $g_code in
    not-permitted) g_code=denied ;;
    exists | busy | cross-device | no-support | not-empty) g_code=io ;;
    esac
}
