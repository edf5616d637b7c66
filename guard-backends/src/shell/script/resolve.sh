# Roots, and where a path leads: a directory that is held as the working directory, and a name in it.

# Finds out what the working directory really is. dash and BusyBox ask the kernel, but bash, mksh and zsh make $PWD
# from texts, which can be of another moment than the change of directory.
g_where() {
    g_cwd=
    if [ -n "$g_where_proc" ]; then
        cd -P /proc/self/cwd && g_cwd=$PWD
    else
        g_cwd=$("$g_pwd" -P && echo .)
        g_cwd=${g_cwd%"$g_nl."}
    fi
    # Linux tells a directory that cannot be reached by a path as "(unreachable)...".
    case $g_cwd in
    /*) ;;
    *)
        g_cwd=
        return 1
        ;;
    esac
}

# Goes to the directory DIR, which has to be at the path PATH.
g_go() {
    g_cwd=
    cd -P "$1" && g_where && [ "$g_cwd" = "$2" ]
}

# Says why the directory at a path could not be entered: DIR PATH.
g_why_not_entered() {
    g_out=$(exec "$g_stat" "-$g_stat_kind" "$g_stat_format" "$1/." 2>&1)
    g_rc=$?
    # Whoever can look at DIR/. can enter it.
    if [ "$g_rc" -ne 0 ]; then
        g_words_for "$2" "$g_out" "$g_rc"
    else
        g_fail unstable "$2" 'the path kept leading elsewhere'
    fi
    return 1
}

# Goes to an absolute, physical directory, unless it is there already.
g_enter() {
    [ -n "$g_cwd" ] && [ "$g_cwd" = "$1" ] && return 0
    g_go "$1" "$1" || g_why_not_entered "$1" "$1"
}

# Goes back to a directory in which something was done: one that is swapped for another over and over is there every
# other time. NAME is what was put there: DIRECTORY [NAME].
#
# 1: it cannot be entered. 2: the directory that is there has no NAME: it is another one, or somebody took NAME away.
# In the one that was held all the time, somebody took it.
g_come_back() {
    [ -n "$g_cwd" ] && [ "$g_cwd" = "$1" ] && [ "$g_xdoubt" != "$1" ] && return 0
    g_xback=0
    while [ "$g_xback" -lt 50 ]; do
        if [ -n "$g_cwd" ] && [ "$g_cwd" = "$1" ] && { [ -z "${2-}" ] || g_there "./$2"; }; then
            g_xdoubt=
            return 0
        fi
        g_xback=$((g_xback + 1))
        g_go "$1" "$1"
    done
    g_enter "$1" || return 1
    [ -n "${2-}" ] || return 0
    g_xdoubt=$1 g_text='another directory is there'
    return 2
}

# Goes to a root, which has to be the directory that was opened. Descriptor 9 holds the one that was used last, so
# that no process is needed while it stays.
g_at_root() {
    eval "g_root=\${g_root_$1-} g_rid=\${g_rid_$1-}"
    if [ -z "$g_root" ]; then
        g_fail not-found "root $1" 'a root that was not named'
        return
    fi
    if g_go "$g_root" "$g_root"; then
        if [ "$g_held" = "$g_rid $g_root" ] && [ . -ef "$g_fds/9" ]; then
            return 0
        fi
        g_hold "$g_root" || return
        [ "$g_is" = "$g_rid" ] && return 0
        g_fail root-replaced "$g_root" 'another directory is there'
        return
    fi
    g_cwd=
    g_out=$(exec "$g_stat" "-$g_stat_kind" '%d:%i' "$g_root" 2>&1)
    g_rc=$?
    if [ "$g_rc" -eq 0 ]; then
        if [ "$g_out" = "$g_rid" ] && [ ! -x "$g_root" ]; then
            g_fail denied "$g_root" 'entering'
        else
            g_fail root-replaced "$g_root" 'the path leads elsewhere'
        fi
        return
    fi
    g_words_for "$g_root" "$g_out" "$g_rc"
    case $g_code in
    not-found | not-directory | loop) g_code=root-replaced ;;
    esac
    return 1
}

# Holds the working directory, which is at PATH, on descriptor 9; says which it is in g_is.
g_hold() {
    g_held= g_is=
    # A redirection of exec that fails ends dash.
    if [ -n "$g_fds" ] && [ -r . ]; then
        exec 9< .
        [ . -ef "$g_fds/9" ] && g_held=yes
    fi
    g_is=$(exec "$g_stat" "-$g_stat_kind" '%d:%i' . 2>&1)
    g_rc=$?
    if [ "$g_rc" -ne 0 ]; then
        g_held=
        g_words_for "$1" "$g_is" "$g_rc"
        return 1
    fi
    [ -z "$g_held" ] || g_held="$g_is $1"
}

# Resolves PATH from the root with this INDEX; LAST tells whether a link at the end is followed.
#
# A link leads into no root that is not in g_reach, and a path only to what is in a directory of g_within.
#
# 0: the working directory is the deepest directory on the way that exists, g_dir is its path, g_missing are the
# names on the way that do not exist, g_name is the last name (empty for the root itself), g_path is all of it.
# 1: g_code, g_at and g_text.
g_resolve() {
    g_lead "$@" || return
    g_holds "$g_path" || g_fail outside "$g_path" 'resolving'
}

# Tells whether a path may lead to PATH at its end.
g_holds() {
    [ "$g_within" != '*' ] || return 0
    g_dirs=$g_within
    while [ -n "$g_dirs" ]; do
        case $1/ in
        "${g_dirs%%//*}"/*) return 0 ;;
        esac
        g_dirs=${g_dirs#*//}
    done
    return 1
}

# Tells whether a path may lead through PATH: that is in such a directory, or above one.
g_passes() {
    [ "$g_within" != '*' ] || return 0
    g_holds "$1" && return 0
    g_dirs=$g_within
    while [ -n "$g_dirs" ]; do
        case ${g_dirs%%//*}/ in
        "$1"/*) return 0 ;;
        esac
        g_dirs=${g_dirs#*//}
    done
    return 1
}

# Resolves without a look at what holds the end.
g_lead() {
    case $2 in
    /*)
        g_fail outside "$2" 'an absolute path'
        return
        ;;
    esac
    if [ "${#2}" -gt 4095 ]; then
        g_fail name-too-long "$2" 'resolving'
        return
    fi
    g_missing=
    if [ "${#2}" -le 255 ] && g_resolve_at_once "$1" "$2" "$3"; then
        g_joined
        return
    fi
    g_at_root "$1" || return
    case $2 in
    '')
        g_dir=$g_root g_name= g_path=$g_root
        return
        ;;
    esac
    if [ "${#2}" -gt 255 ]; then
        if ! g_names_fit "$2"; then
            g_fail name-too-long "${g_root%/}/$2" 'resolving'
            return
        fi
        if g_resolve_at_once "$1" "$2" "$3"; then
            g_joined
            return
        fi
        g_at_root "$1" || return
    fi
    g_walk "$2" "$3"
}

# The fast path: one step into the parents, and one comparison, which holds for the root's own path too.
g_resolve_at_once() {
    case /$2/ in
    *//* | */./* | */../*) return 1 ;;
    esac
    eval "g_root=\${g_root_$1-} g_rid=\${g_rid_$1-}"
    g_name=${2##*/}
    if [ "$g_name" = "$2" ]; then
        g_dir=$g_root
        g_at_root "$1" || return
    else
        g_dir=${g_root%/}/${2%/*}
        g_at_held || g_at_root "$1" || return
        g_go "./${2%/*}" "$g_dir" || return
    fi
    [ "$3" != follow ] || [ ! -L "./$g_name" ]
}

# Goes to the directory that descriptor 9 holds by the root's path. What the root's path really is is not looked at.
g_at_held() {
    g_cwd=
    [ "$g_held" = "$g_rid $g_root" ] && cd -P "$g_root" && [ . -ef "$g_fds/9" ]
}

# Makes g_path of g_dir, g_missing and g_name.
g_joined() {
    g_path=${g_dir%/}/${g_missing:+$g_missing/}$g_name
    if [ "${#g_path}" -gt 4095 ]; then
        g_fail name-too-long "$g_path" 'resolving'
    fi
}

# Tells whether no name of a path is too long.
g_names_fit() {
    g_rest=$1/
    while [ -n "$g_rest" ]; do
        g_name=${g_rest%%/*}
        [ "${#g_name}" -le 255 ] || return 1
        g_rest=${g_rest#*/}
    done
}

# The walk: one name at a time, no link followed by the kernel.
#
# A link's text is followed as the kernel follows it, as long as that stays beneath the root. Where it is absolute, or
# goes above the root, its next names, up to a `..`, have to begin with a root's path or spelling: the walk goes on from
# that root. Otherwise the path is outside, even if the rest would come back, and nothing is looked at there.
#
# Level 0 holds the names of the request that are still to be walked, every other one those of a link: g_wn_N.
g_walk() {
    g_level=0 g_links=0 g_final=
    g_wn_0=$1
    g_last=$2
    while :; do
        g_step
        case $? in
        0) ;;
        1) return 1 ;;
        2)
            g_joined
            return
            ;;
        *) return 0 ;;
        esac
    done
}

# One step: 0 to go on, 1 failed, 2 at the end, 3 at the end in the root itself.
g_step() {
    while :; do
        eval "g_names=\$g_wn_$g_level"
        # Empty names and dots are nothing.
        while :; do
            case $g_names in
            /*) g_names=${g_names#/} ;;
            ./*) g_names=${g_names#./} ;;
            .) g_names= ;;
            *) break ;;
            esac
        done
        [ -z "$g_names" ] || break
        if [ "$g_level" -eq 0 ]; then
            g_directory_itself
            return
        fi
        g_level=$((g_level - 1))
    done
    g_name=${g_names%%/*}
    case $g_names in
    */*) g_names=${g_names#*/} ;;
    *) g_names= ;;
    esac
    eval "g_wn_$g_level=\$g_names"
    if [ "$g_name" = .. ]; then
        g_up
        return
    fi
    if ! g_passes "${g_cwd%/}/$g_name"; then
        g_fail outside "${g_cwd%/}/$g_name" 'resolving'
        return
    fi
    if [ "${#g_name}" -gt 255 ]; then
        g_fail name-too-long "${g_cwd%/}/$g_name" 'resolving'
        return
    fi
    g_is_last && g_ends=1 || g_ends=
    if [ -L "./$g_name" ]; then
        if [ -z "$g_ends" ] || [ "$g_last" = follow ]; then
            g_follow
            return
        fi
        g_spot
    elif [ -n "$g_ends" ] && { [ "$g_level" -eq 0 ] || [ -e "./$g_name" ]; }; then
        g_spot
    elif [ -d "./$g_name" ]; then
        g_down
    elif [ -e "./$g_name" ]; then
        g_fail not-directory "${g_cwd%/}/$g_name" 'resolving'
    else
        g_facts "$g_name"
        case $? in
        0) g_again ;;
        1) g_missing_from ;;
        *) return 1 ;;
        esac
    fi
}

# Tells whether no name is left on any level.
g_is_last() {
    g_k=$g_level
    while [ "$g_k" -ge 0 ]; do
        eval "g_rest=\$g_wn_$g_k"
        while :; do
            case $g_rest in
            /*) g_rest=${g_rest#/} ;;
            ./*) g_rest=${g_rest#./} ;;
            .) g_rest= ;;
            *) break ;;
            esac
        done
        [ -z "$g_rest" ] || return 1
        g_k=$((g_k - 1))
    done
}

g_spot() {
    g_dir=$g_cwd g_missing=
    return 2
}

# Counts a link, or a name that changed under the walk.
g_count() {
    g_links=$((g_links + 1))
    [ "$g_links" -le 40 ] || g_fail loop "${g_cwd%/}/$g_name" 'resolving'
}

# Puts the name back, to be looked at again.
g_again() {
    g_count || return
    eval "g_wn_$g_level=\$g_name/\$g_wn_$g_level"
}

# Goes to the parent of the directory that the walk is in: of what a link led to, not of the link.
g_up() {
    if [ "$g_cwd" != "$g_root" ]; then
        g_here=$g_cwd
        g_parent=${g_here%/*}
        g_go .. "${g_parent:-/}" && return 0
        g_fail unstable "$g_here" 'the directory was moved'
        return
    fi
    if [ "$g_level" -eq 0 ]; then
        # From the top of a root that is in another one.
        g_enter_root "${g_root%/*}"
        return
    fi
    g_leave "${g_root%/*}"
}

g_down() {
    g_here=$g_cwd
    g_go "./$g_name" "${g_here%/}/$g_name" && return 0
    # Either it could not be entered or it led elsewhere.
    g_entered=$g_cwd g_cwd=$g_here
    if [ -z "$g_entered" ]; then
        g_why_not_entered "./$g_name" "${g_here%/}/$g_name"
        case $g_code in
        not-found | not-directory | loop | unstable) ;;
        *) return 1 ;;
        esac
    fi
    if ! g_go "$g_here" "$g_here"; then
        g_fail unstable "$g_here" 'the directory was moved'
        return
    fi
    g_again
}

g_follow() {
    g_count || return
    g_text_of_link "$g_name"
    g_rc=$?
    if [ "$g_rc" -ne 0 ]; then
        # It was a link a moment ago.
        if [ "$g_rc" -eq 1 ] || [ "$g_code" = torn ]; then
            eval "g_wn_$g_level=\$g_name/\$g_wn_$g_level"
            return 0
        fi
        return 1
    fi
    if [ -n "$g_ends" ] && [ -z "$g_final" ]; then
        g_final=1 g_final_dir=$g_cwd g_final_name=$g_name
    fi
    g_level=$((g_level + 1))
    eval "g_wn_$g_level=\$g_ltext"
    case $g_ltext in
    /*) g_leave '' ;;
    esac
}

# Goes on from the root that the text of a link leads back into, from a directory above the roots, whose path is free
# of links: ABOVE. What a name of the text is there is not looked at, so that a `..` behind one leads nowhere.
g_leave() {
    g_whole=$1 g_entered=
    eval "g_names=\$g_wn_$g_level"
    while [ -n "$g_names" ]; do
        g_one=${g_names%%/*}
        case $g_one in
        '' | .) ;;
        ..)
            [ -z "$g_entered" ] || break
            g_whole=${g_whole%/*}
            ;;
        *) g_whole=$g_whole/$g_one g_entered=1 ;;
        esac
        case $g_names in
        */*) g_names=${g_names#*/} ;;
        *) g_names= ;;
        esac
    done
    eval "g_wn_$g_level=\$g_names"
    g_enter_root "$g_whole"
}

# Goes on from the root of which a path or spelling holds the absolute path WHOLE.
g_enter_root() {
    g_whole=$1 g_k=0 g_best= g_longest=
    while [ "$g_k" -lt "$g_nroots" ]; do
        eval "g_base=\$g_root_$g_k g_other=\$g_rsp_$g_k"
        case $g_reach in
        '*' | *",$g_k,"*) ;;
        *) g_base= g_other= ;;
        esac
        for g_base in "$g_base" "$g_other"; do
            [ -n "$g_base" ] || continue
            case $g_whole/ in
            "${g_base%/}/"*)
                # Of two that hold the same path the longer one has more names. The last of equals counts.
                if [ -z "$g_best" ] || [ "${#g_base}" -ge "${#g_longest}" ]; then
                    g_best=$g_k g_longest=$g_base
                fi
                ;;
            esac
        done
        g_k=$((g_k + 1))
    done
    if [ -z "$g_best" ]; then
        g_fail outside "$g_whole" 'resolving'
        return
    fi
    g_at_root "$g_best" || return
    eval "g_wn_$g_level=\${g_whole#\"\${g_longest%/}\"}/\$g_wn_$g_level"
}

# Ends the walk at a name that is not there.
g_missing_from() {
    if [ "$g_level" -gt 0 ]; then
        # A link that dangles is what is there itself; what is made is never made through one.
        if [ -z "$g_final" ]; then
            g_fail not-found "${g_cwd%/}/$g_name" 'resolving'
            return
        fi
        g_enter "$g_final_dir" || return
        g_name=$g_final_name
        g_spot
        return
    fi
    g_at=${g_cwd%/}/$g_name
    g_rest=$g_wn_0/
    g_missing=
    while [ -n "$g_rest" ]; do
        g_one=${g_rest%%/*}
        g_rest=${g_rest#*/}
        case $g_one in
        '' | .) ;;
        ..)
            g_fail not-found "$g_at" 'resolving'
            return
            ;;
        *)
            g_missing=${g_missing:+$g_missing/}$g_name
            g_name=$g_one
            ;;
        esac
    done
    g_dir=$g_cwd
    return 2
}

# Ends the walk in a directory: the path ended in `..`, or with a link to `.`.
g_directory_itself() {
    g_missing=
    if [ "$g_cwd" = "$g_root" ]; then
        g_dir=$g_root g_name= g_path=$g_root
        return 3
    fi
    g_here=$g_cwd
    g_name=${g_here##*/} g_dir=${g_here%/*}
    g_dir=${g_dir:-/}
    g_go .. "$g_dir" && return 2
    g_fail unstable "$g_here" 'the directory was moved'
}
