# The question list: the names of a directory, by pages, in the order of their bytes.

# Tells whether one name comes after another by its bytes.
case $g_shell in
zsh) eval 'g_after() { [[ $1 > $2 ]]; }' ;;
*) g_after() { [ "$1" \> "$2" ]; } ;;
esac

# PLACE AFTER LIMIT
g_list() {
    g_place "$@" || return
    g_unesc "$6"
    g_previous=./$g_u g_limit=$7
    case $g_limit in
    '' | *[!0-9]*) g_broken ;;
    # Shells count with 32 or 64 bits.
    ??????????*) g_limit=999999999 ;;
    esac
    if [ -n "$g_missing" ]; then
        g_fail not-found "$g_path" 'listing'
    elif [ -n "$g_name" ]; then
        g_enter_to_list
    fi || {
        g_send_error
        return
    }
    if [ ! -r . ]; then
        g_fail denied "$g_path" 'listing'
        g_send_error
        return
    fi
    g_type=directory
    g_send_found
    g_past= g_taken=0 g_held_back=0 g_more=
    set +f
    set -- ./*
    set -f
    g_unmatched "$1" './*' && shift
    g_any=$#
    g_list_until ./. "$@" && g_list_dots && g_list_from ./. "$@" && g_list_flush && g_list_nothing || {
        g_send_error
        return
    }
    [ -z "$g_more" ] || g_send more
}

g_enter_to_list() {
    if [ ! -L "./$g_name" ] && [ -d "./$g_name" ]; then
        g_go "./$g_name" "$g_path" && return 0
        if [ -n "$g_cwd" ]; then
            g_fail unstable "$g_path" 'the path kept leading elsewhere'
            return
        fi
        g_why_not_entered "./$g_name" "$g_path"
        return
    fi
    g_facts "$g_name"
    case $? in
    0) g_fail not-directory "$g_path" 'listing' ;;
    1) g_fail not-found "$g_path" 'listing' ;;
    *) return 1 ;;
    esac
}

# Tells whether a pattern is itself for lack of names that match it.
g_unmatched() {
    [ "$1" = "$2" ] && [ ! -e "$1" ] && [ ! -L "$1" ]
}

g_list_dots() {
    set +f
    set -- ./.[!.]*
    set -f
    g_unmatched "$1" './.[!.]*' && shift
    g_any=$((g_any + $#))
    g_list_until ./.. "$@" && g_list_double_dots && g_list_from ./.. "$@"
}

g_list_double_dots() {
    set +f
    set -- ./..?*
    set -f
    g_unmatched "$1" './..?*' && shift
    g_any=$((g_any + $#))
    g_list_from ./.. "$@"
}

# Takes the names that come before a text, which begin a list that is sorted.
g_list_until() {
    g_text_before=$1
    shift
    for g_one do
        g_after "$g_one" "$g_text_before" && return
        g_list_name "$g_one" || return
        [ -z "$g_more" ] || return 0
    done
}

# Takes the names that come after a text.
g_list_from() {
    [ -z "$g_more" ] || return 0
    g_text_before=$1 g_begun=
    shift
    for g_one do
        if [ -z "$g_begun" ]; then
            g_after "$g_one" "$g_text_before" || continue
            g_begun=1
        fi
        g_list_name "$g_one" || return
        [ -z "$g_more" ] || return 0
    done
}

# Takes one name, in order.
g_list_name() {
    if ! g_after "$1" "$g_previous"; then
        [ -z "$g_past" ] && return 0
        g_fail unavailable "$g_path" 'the shell does not sort names by their bytes'
        return
    fi
    g_past=1
    if [ "$g_taken" -ge "$g_limit" ]; then
        g_more=1
        return 0
    fi
    g_previous=$1
    g_taken=$((g_taken + 1))
    g_held_back=$((g_held_back + 1))
    eval "g_entry_$g_held_back=\$1"
    [ "$g_held_back" -lt 100 ] || g_list_flush
}

# Sends the names that were taken.
g_list_flush() {
    [ "$g_held_back" -gt 0 ] || return 0
    # What was listed has to be at its path still.
    if ! { g_where && [ "$g_cwd" = "$g_path" ]; }; then
        g_fail unstable "$g_path" 'the directory was moved while it was listed'
        return
    fi
    g_k=0 g_line=
    while [ "$g_k" -lt "$g_held_back" ]; do
        g_k=$((g_k + 1))
        g_line="$g_line \"\$g_entry_$g_k\""
    done
    g_held_back=0
    eval "g_list_states $g_line"
}

g_count_lines() {
    IFS=$g_nl
    set -- $g_out
    IFS=$g_ifs
    g_lines=$#
}

g_list_states() {
    g_out=$(exec "$g_stat" "-$g_stat_kind" "$g_stat_format" "$@" 2>&1)
    g_rc=$?
    g_count_lines
    g_states=
    # Names that are gone meanwhile make it less than it should be.
    [ "$g_rc:$g_lines" = "0:$#" ] && g_states=$g_out$g_nl
    g_list_texts "$@"
    for g_entry do
        g_entry=${g_entry#./}
        g_line=${g_states%%"$g_nl"*}
        g_states=${g_states#*"$g_nl"}
        g_digest= g_ltext=
        if [ -z "$g_line" ] || ! g_parse "$g_line"; then
            g_facts "$g_entry"
            case $? in
            1) continue ;;
            2) return 1 ;;
            esac
        fi
        if [ "$g_type" = link ] && [ -n "$g_texts" ]; then
            g_ltext=${g_texts%%"$g_nl"*}
            g_texts=${g_texts#*"$g_nl"}
        elif [ "$g_type" = link ]; then
            g_text_of_link "$g_entry"
            case $?:$g_code in
            0:*) ;;
            1:*) continue ;;
            *:torn) ;;
            *) return 1 ;;
            esac
        fi
        g_record=
        g_add "$g_entry"
        g_add_state
        g_send entry
    done
}

# Reads the texts of all links among the names at once: a line each in g_texts, which stays empty where it cannot be
# told which text is whose.
g_list_texts() {
    g_texts= g_line=$g_states g_list= g_k=0 g_many=0
    while [ -n "$g_line" ]; do
        g_k=$((g_k + 1))
        case $g_stat_kind$g_line in
        ca* | f12????' '*)
            g_many=$((g_many + 1))
            g_list="$g_list \"\${$g_k}\""
            ;;
        esac
        g_line=${g_line#*"$g_nl"}
    done
    [ "$g_many" -gt 1 ] || return 0
    g_out=$(eval '"$g_readlink"' "$g_list" && echo .)
    case $g_nl$g_out in
    *"$g_nl$g_nl"*) return 0 ;;
    *"$g_nl.") ;;
    *) return 0 ;;
    esac
    # A text of two lines makes it more.
    g_count_lines
    [ "$g_lines" -ne "$((g_many + 1))" ] || g_texts=${g_out%.}
}

# A directory that is empty and one that cannot be read look the same to a pattern.
g_list_nothing() {
    [ "$g_any" -eq 0 ] && [ -n "$g_ls" ] || return 0
    g_out=$(exec "$g_ls" -A . 2>&1)
    g_rc=$?
    if [ "$g_rc" -ne 0 ]; then
        g_words_for "$g_path" "$g_out" "$g_rc"
        return 1
    fi
    if [ -n "$g_out" ]; then
        g_fail torn "$g_path" 'the directory changed while it was listed'
    fi
}
