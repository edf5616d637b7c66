# The changes of a commit: their records, how far each is, and what is told of it.
#
# All names of a commit begin with g_x. Of a change N there are: g_xc_N the record · g_xa_N what was there at the first
# look (type length mode links digest inode owner group) · g_xs_N how far it is · g_xt_N mode and inode of the staged
# file · g_xm_N how many parents are missing · g_xv_N what is told of its publication · g_xe_N its fate · g_xn_N its
# notes · and for a while g_xb_N what a replacement has to look like, g_xq_N a mode that is set last, g_xh_N the digest
# of a copy that is moved. A shell with few hash buckets looks through all variables, so that those that most changes
# do not need are not made.
#
# g_xs_N: empty nothing was done · same nothing is to be done · temp STAGE is there and nobody knows it · new linked
# to its name · excl written under its name · swap exchanged, STAGE has what was displaced · window ASIDE has it ·
# place written in place, ASIDE has a copy · gone removed, ASIDE has it · moved, copied the destination has it, ASIDE
# has the source · half as moved, the source is still there · dir made · rmdir removed · later to be removed at the
# end · kept whatever is there stays

# The largest file whose digest is taken only to be told of.
g_xtold=268435456
# Not what came by the environment.
g_xactive= g_xsync_tried= g_xsettling=

# Reads the changes.
g_changes() {
    g_xnotes=0 g_xmade=0 g_xbody=0 g_xfailed= g_xdirs= g_xsettling= g_xdoubt= g_by_path=
    g_records g_xc_
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
    g_unesc "$g_within"
    g_within=$g_u
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
    g_xtopre=$1 g_reach=$3 g_within=$4
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

# Takes that back: PATH.
g_stays_not() {
    g_record= g_xk=0
    g_add "$1"
    while [ "$g_xk" -lt "$g_xnotes" ]; do
        eval "g_xnv=\$g_xnv_$g_xk"
        case $g_xnv in
        "$g_record"*) eval "g_xnk_$g_xk=" ;;
        esac
        g_xk=$((g_xk + 1))
    done
    g_record=
}

# Says what is at ./NAME for a report; what cannot be looked at is of an unknown kind.
g_found() {
    g_state "$1" "$g_xtold" && return 0
    [ $? -ne 1 ] || return 0
    # A digest that cannot be had is left out.
    g_state "$1" '' && return 0
    [ $? -ne 1 ] || return 0
    g_type=unknown
}

# Tells what is published with: TIER LEASE COPIED.
g_told_of() { eval "g_xv_$g_xi=\"\$1 \${2:--} \${3:-0}\""; }

# Says what became of the change; the worse of two counts.
g_fate() {
    eval "g_xe=\${g_xe_$g_xi-}"
    case $g_xe:$1 in
    unknown:*) ;;
    *) eval "g_xe_$g_xi=\$1" ;;
    esac
}
