# The loop: requests in, replies out.

# Ends the session: what arrived is not the protocol, and nothing can be inferred from it.
g_broken() { exit 3; }

# Reads the words of the options into g_opt_require, g_opt_displaced, g_opt_metadata, g_opt_inplace, g_opt_pid,
# g_opt_start and g_opt_made, which are empty where they are not given.
g_options() {
    g_opt_require= g_opt_displaced= g_opt_metadata= g_opt_inplace= g_opt_pid= g_opt_start= g_opt_made=
    g_unesc "$1"
    for g_word in $g_u; do
        case $g_word in
        require=*) g_opt_require=${g_word#*=} ;;
        displaced=*) g_opt_displaced=${g_word#*=} ;;
        metadata=*) g_opt_metadata=${g_word#*=} ;;
        inplace=*) g_opt_inplace=${g_word#*=} ;;
        made=*) g_opt_made=${g_word#*=} ;;
        pid=*) g_opt_pid=${g_word#*=} ;;
        start=*) g_opt_start=${g_word#*=} ;;
        *) g_broken ;;
        esac
    done
}

# Reads the roots of a request into g_root_N, g_rid_N and g_rsp_N, for N from 0.
g_roots() {
    g_k=0
    while [ "$g_k" -lt "$g_nroots" ]; do
        IFS='|' read -r g_p g_rid g_sp g_dot <&3 || g_broken
        [ "$g_dot" = . ] || g_broken
        g_unesc "$g_p"
        g_p=$g_u
        g_unesc "$g_sp"
        eval "g_root_$g_k=\$g_p g_rid_$g_k=\$g_rid g_rsp_$g_k=\$g_u"
        g_k=$((g_k + 1))
    done
}

# Reads the records of a request into variables NAMEn, for n from 0.
g_records() {
    g_k=0
    while [ "$g_k" -lt "$g_count" ]; do
        IFS= read -r g_line <&3 || g_broken
        case $g_line in
        *'|.') ;;
        *) g_broken ;;
        esac
        eval "$1$g_k=\$g_line"
        g_k=$((g_k + 1))
    done
}

# Answers the records of a question one by one: FUNCTION is called with the fields of each.
g_answer() {
    g_nth=0
    while [ "$g_nth" -lt "$g_count" ]; do
        eval "g_line=\$g_ask_$g_nth"
        unset "g_ask_$g_nth"
        IFS='|'
        set -- "$1" $g_line
        IFS=$g_ifs
        "$@"
        g_nth=$((g_nth + 1))
    done
}

# One request. g_commit and g_settle read their records, the bodies and the tail; they send every record of the
# reply but its end.
g_request() {
    g_is_number "$g_nroots" && g_is_number "$g_count" && [ "${#g_token}" -eq 32 ] || g_broken
    g_options "$g_option_words"
    g_roots
    g_record= g_stop=
    case $g_verb in
    open | stat | read | stream | list)
        g_records g_ask_
        g_answer "g_$g_verb"
        ;;
    commit | settle)
        # What is being changed is finished or taken back before the session ends.
        trap 'g_stop=1' HUP INT TERM
        "g_$g_verb"
        trap 'exit 3' HUP INT TERM
        ;;
    *) g_broken ;;
    esac
    g_send end
    [ -z "$g_stop" ] || exit 3
}

g_main() {
    g_seq=0
    g_hello || exit 3
    while IFS='|' read -r g_n g_number g_verb g_nroots g_count g_token g_option_words g_dot <&3; do
        g_seq=$((g_seq + 1))
        [ "$g_n|$g_number|$g_dot" = "$g_nonce|$g_seq|." ] || g_broken
        g_request
    done
}

g_at_end() {
    case $(command -v g_cleanup) in
    g_cleanup) g_cleanup ;;
    esac
}

trap g_at_end EXIT
trap 'exit 3' HUP INT TERM
trap '' PIPE
g_main
exit 0
