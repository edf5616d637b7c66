#!/bin/sh
# Logs the call, does what the test has planned for it, and runs the real tool. Every wrapper is a link to this file.
# Only builtins are used: PATH leads to the wrappers.
tool=${0##*/}
dir=${0%/bin/*}
IFS= read -r real < "$dir/real.$tool"

# Makes $1.N for the first N that is free, in one step, and leaves N in $nth.
number() {
    nth=0
    [ -r "$1.last" ] && read -r nth < "$1.last"
    nth=$((nth + 1))
    set -C
    until { true > "$1.$nth"; } 2> /dev/null; do
        # Without the directory the test is over.
        [ -e "$1.$nth" ] || { set +C; return 1; }
        nth=$((nth + 1))
    done
    set +C
    echo "$nth" > "$1.last"
}

# Kills the shell that runs this tool: this process's ancestors as far as they are of its process group, the first of
# them first.
kill_shell() {
    read -r line < "/proc/$$/stat"
    set -- ${line##*) }
    group=$3 at=$2 chain=
    while [ "$at" -gt 1 ] && read -r line < "/proc/$at/stat"; do
        set -- ${line##*) }
        [ "$3" = "$group" ] || break
        chain="$at $chain" at=$2
    done
    # Unquoted: these are numbers.
    kill -KILL $chain
}

number "$dir/call" || exec "$real" "$@"
printf '%s\0' "$tool" "$PWD" "$@" > "$dir/call.$nth"

later=
while read -r id wanted when name glob <&9; do
    [ "$name" = "$tool" ] || continue
    case "$*" in
        $glob) ;;
        *) continue ;;
    esac
    number "$dir/plan.$id" || continue
    [ "$wanted" = every ] || [ "$wanted" = "$nth" ] || continue
    if [ "$when" = before ]; then
        . "$dir/deed.$id"
    else
        later="$later $id"
    fi
done 9< "$dir/plans"

[ -n "$later" ] || exec "$real" "$@"
"$real" "$@"
status=$?
for id in $later; do
    . "$dir/deed.$id"
done
exit "$status"
