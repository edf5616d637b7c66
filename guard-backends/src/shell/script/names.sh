# Two names of a directory: giving, exchanging and taking them, and judging what has one.

# Tells whether something has a name. Presence can be told by the shell; absence cannot be proven by it.
g_there() { [ -L "$1" ] || [ -e "$1" ]; }

# Gives A a second name B, which nothing has. 1: g_code and g_text.
g_link_to() {
    if g_lacks link; then
        g_code=no-support g_text='no hard links'
        return 1
    fi
    if [ "$g_link_by" = link ]; then
        g_out=$("$g_link" "$1" "$2" 2>&1)
    else
        g_out=$("$g_ln" -T "$1" "$2" 2>&1)
    fi
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_words "$g_out" "$g_rc"
    case $g_text in
    *'Too many links') g_code=no-support ;;
    esac
    return 1
}

# Exchanges two names. 1: g_code and g_text.
g_exchange_names() {
    if [ -z "$g_exchange" ]; then
        g_code=no-support g_text='no exchange'
        return 1
    fi
    g_out=$(g_swap "$1" "$2" 2>&1)
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_words "$g_out" "$g_rc"
    return 1
}

# Renames A to B, whatever B is. 1: g_code and g_text.
g_rename() {
    g_out=$("$g_mv" -f -T "$1" "$2" 2>&1)
    g_rc=$?
    [ "$g_rc" -ne 0 ] || return 0
    g_words "$g_out" "$g_rc"
    return 1
}

# Unlinks ./NAME, which was judged; what is no regular file and no link is not.
g_drop() {
    [ -L "./$1" ] || [ -f "./$1" ] || return 1
    "$g_rm" -f "./$1" </dev/null
    ! g_there "./$1"
}

# Gives what is under the temporary name A its name B again, if nothing has that.
g_put_back() {
    if [ -d "./$1" ] && [ ! -L "./$1" ]; then
        # One that a settlement made in the place of a temporary file is no one's.
        ! g_facts "$1" || [ "$g_mode" != 0 ] || return 1
        # A directory's rename replaces nothing but an empty directory.
        g_there "./$2" || g_rename "./$1" "./$2" || return 1
        g_there "./$1" && return 1
        return 0
    fi
    if ! g_link_to "./$1" "./$2"; then
        if [ "$g_code" = no-support ] || [ "$g_code" = not-permitted ]; then
            g_put_back_unlinked "$1" "$2"
            return
        fi
        [ ! -L "./$1" ] && [ "./$1" -ef "./$2" ] || return 1
    fi
    g_drop "$1"
}

# The same where there are no hard links: the name is taken by an empty file, which nobody else has, and that is
# exchanged; without an exchange it is renamed over while it is empty, which narrows a race and does not close it.
g_put_back_unlinked() {
    if [ -L "./$1" ]; then
        g_text_of_link "$1" && "$g_ln" -s -T -- "$g_ltext" "./$2" && g_drop "$1"
        return
    fi
    [ -f "./$1" ] && g_new_file "$2" private : || return 1
    if g_exchange_names "./$1" "./$2"; then
        [ ! -s "./$1" ] && g_drop "$1"
        return
    fi
    [ ! -L "./$2" ] && [ -f "./$2" ] && [ ! -s "./$2" ] && g_rename "./$1" "./$2"
}

# Tells whether ./A and B are names of one regular file.
g_same_file() { [ ! -L "$1" ] && [ ! -L "$2" ] && [ -f "$1" ] && [ "$1" -ef "$2" ]; }

# The same of links.
g_same_link() {
    [ -L "$1" ] && [ -L "$2" ] || return 1
    g_stats "$1" "$2"
    g_next_stat
    g_parse "$g_xstat" && g_xk="$g_type $g_id" || return 1
    g_next_stat
    g_parse "$g_xstat" && [ "$g_xk" = "$g_type $g_id" ]
}

# Tells whether A and B are names of one file or link.
g_same_thing() {
    if [ -L "$1" ]; then
        g_same_link "$1" "$2"
    else
        g_same_file "$1" "$2"
    fi
}

# Takes the digest of ./NAME, a regular file, into g_h, which stays empty where it cannot be had.
g_hash_of() {
    g_h=
    if [ -r "./$1" ]; then
        # What was there before or what is put.
        g_xabout=$g_olen
        g_is_large "$g_olen" || g_xabout=$g_xlen
        { g_hash "$g_xabout"; } < "./$1" && return 0
        g_h=
        return 1
    fi
    g_hash_ours "$1"
}

# The same of the file that this change staged, whose mode can keep us from reading it: it is made readable meanwhile,
# by a name that nobody else has for it. What is not proven to be that file is left alone.
g_hash_ours() {
    g_h=
    [ ! -L "./$1" ] && [ -f "./$1" ] && [ ! -r "./$1" ] && [ -O "./$1" ] || return 1
    eval "g_xt=\${g_xt_$g_xi-}"
    g_xprivate=$g_xstage g_xborrowed=
    if [ "$1" = "$g_xundo" ]; then
        g_xprivate=$1
    elif ! g_same_file "./$1" "./$g_xstage"; then
        [ -n "$g_xt" ] && ! g_there "./$g_xundo" && g_link_to "./$1" "./$g_xundo" || return 1
        g_xprivate=$g_xundo g_xborrowed=1
    fi
    if g_facts "$g_xprivate" && g_is_mine && "$g_chmod" u+r "./$g_xprivate"; then
        { g_hash "$g_len"; } < "./$g_xprivate" || g_h=
        "$g_chmod" "$g_mode" "./$g_xprivate"
    fi
    [ -z "$g_xborrowed" ] || g_drop "$g_xundo"
    [ -n "$g_h" ]
}

# Tells whether what g_facts found is the inode that was staged; a settlement knows only the mode that it was given.
g_is_mine() {
    case $g_xt:$g_xsettling:$g_xmode in
    ?*:*:*) [ "$g_id" = "${g_xt#* }" ] ;;
    :1:keep | :1:exec | ::*) return 1 ;;
    # A second name would be of a file that was there before.
    *) [ "$g_nlink" = 1 ] && g_same_mode ;;
    esac
}

# Judges what is under a temporary name, by type first, then by digest: g_jtype, g_jdigest, g_jtext.
#
# Nobody else renames to or from such a name, so that its type stays what it is.
g_judge() {
    g_jdigest= g_jtext=
    if [ -L "./$1" ]; then
        g_jtype=link
        g_text_of_link "$1" && g_jtext=$g_ltext || g_jtype=unknown
    elif [ -f "./$1" ]; then
        g_jtype=regular
        g_hash_of "$1" && g_jdigest=$g_h
    elif [ -d "./$1" ]; then
        g_jtype=directory
    elif [ -e "./$1" ]; then
        g_jtype=unknown
    else
        g_jtype=absent
    fi
}

# Tells whether what came out of the name is what the precondition named.
g_came_out() {
    case $g_xpre:$g_jtype in
    content:regular) [ -n "$g_jdigest" ] && [ "$g_jdigest" = "$g_xarg" ] ;;
    link:link)
        g_unesc "$g_xarg"
        [ "$g_jtext" = "$g_u" ]
        ;;
    exists:regular | any:regular) ;;
    *) return 1 ;;
    esac
}

# Says what is at ./NAME in one word: an inode with a content, which is the same only while both are.
g_thing() {
    g_state "$1" any
    case $? in
    0) ;;
    1)
        g_xthing=absent
        return
        ;;
    *)
        # It is being written to, or may not be read: unless it is ours, it is never what it has to be.
        g_hash_ours "$1"
        g_digest=$g_h
        if [ -L "./$1" ] || [ ! -f "./$1" ] || ! g_facts "$1" || [ "$g_type" != regular ]; then
            g_xthing=unknown g_type=unknown
            return
        fi
        ;;
    esac
    case $g_type in
    regular) g_xthing="regular $g_id $g_digest" ;;
    link) g_xthing="link $g_id $g_ltext" ;;
    *) g_xthing="$g_type $g_id" ;;
    esac
}

# What the staged file of the change is as g_thing says it.
g_ours_is() {
    eval "g_xours=\${g_xt_$g_xi-}"
    g_xours="regular ${g_xours#* } $g_xnew"
}
