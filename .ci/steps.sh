# What .ci/run and .ci/nightly share: copies of the checkout, the README's commands in them, and a table of times.
# Needs only Python 3.11 or later, pip and gcc. Further interpreters: TEST_PYTHONS="/path/python3.12 /path/python3.15".
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap too_long TERM
(trap 'kill $!' TERM; sleep "${LIMIT_S:-3600}" & wait $! && kill -TERM $$) > /dev/null 2>&1 &  # a hang says what ran
watch=$!
failed=() names=() jobs=() missed=()
export OPENBLAS_NUM_THREADS=1  # the suites run beside one another: with threads of their own, products wait for each other

command_of() {  # the one line of the one fenced sh block under a heading of the README
    awk -v heading="## $1" '
        /^## / { wanted = ($0 == heading) }
        wanted && /^```/ { fence = !fence; blocks += fence; if (fence && $0 != "```sh") bad = 1; next }
        wanted && fence { lines++; line = $0 }
        END { if (bad || blocks != 1 || lines != 1) exit 1; print line }' "$root/README.md"
}

tests=$(command_of "Test it") || { echo "README: '## Test it' needs one fenced sh block with one line"; exit 1; }
quickstart=$(command_of "Run it") || { echo "README: '## Run it' needs one fenced sh block with one line"; exit 1; }
site=$(command_of "Read it") || { echo "README: '## Read it' needs one fenced sh block with one line"; exit 1; }

copy() {  # a checkout as a user gets it, without what earlier runs left behind
    mkdir -p "$1"
    tar -C "$root" --exclude=./.git --exclude='./.venv*' --exclude='__pycache__' --exclude='./.*_cache' -cf - . | tar -C "$1" -xf -
}

too_long() {  # what had ended, and the last words of what had not
    echo "!!! NOT ENDED after $SECONDS s"
    tail -n 40 "$work/times" "$work"/job* || true
    exit 1
}

timed() {  # timed NAME COMMAND...: run it where a signal is heard meanwhile, and keep a row for the table
    local name=$1 start=$SECONDS rc=0
    shift
    "$@" & wait $! || rc=$?
    printf '%6d s  %-6s  %s\n' $((SECONDS - start)) "$([ $rc = 0 ] && echo passed || echo FAILED)" "$name" >> "$work/times"
    return $rc
}

step() {  # step NAME COMMAND...: run it, remember whether it failed, go on
    echo "=== $1"
    timed "$@" || failed+=("$1")
}

start() {  # start NAME COMMAND...: as `step`, beside what else runs; `finish` waits for all and prints what they printed
    names+=("$1")
    ( timed "$@" ) > "$work/job ${#names[@]}" 2>&1 &
    jobs+=($!)
}

finish() {
    local k
    for k in "${!names[@]}"; do
        wait "${jobs[$k]}" || failed+=("${names[$k]}")
        echo "=== ${names[$k]}"
        cat "$work/job $((k + 1))"
    done
}

close() {  # the table of times, what failed and what was missed
    kill $watch
    echo "=== where the time went"
    cat "$work/times"
    [ ${#missed[@]} -eq 0 ] || printf '\n!!! NOT TESTED, no such interpreter found: Python %s\n' "${missed[@]}"
    [ ${#failed[@]} -eq 0 ] || { printf '\n!!! FAILED: %s\n' "${failed[@]}"; exit 1; }
    echo "=== all passed in $SECONDS s"
}

readme_under() {  # readme_under PYTHON DIR COMMAND: the README's line, with python3 meaning PYTHON
    mkdir -p "$2/bin"
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$1" > "$2/bin/python3"
    chmod +x "$2/bin/python3"
    (cd "$2/checkout" && PATH="$2/bin:$PATH" ${lower:-} bash -c "$3")
}

tests_under() {  # tests_under PYTHON DIR OPTIONS...: the README's test command in a copy of its own
    copy "$2/checkout"
    PYTEST_ADDOPTS="${*:3}" readme_under "$1" "$2" "$tests"
}

site_under() {  # site_under PYTHON DIR: the documentation, of a copy of its own
    copy "$2/checkout"
    readme_under "$1" "$2" "$site"
}

runs() { "$1" -c "import sys; sys.exit(sys.version_info[:2] != (${2/./, }))" >/dev/null 2>&1; }

find_python() {  # find_python 3.12: the first interpreter of that version that really runs (a pyenv shim may not)
    local candidate
    for candidate in ${TEST_PYTHONS:-} $(type -aP "python$1" || true) "$HOME"/.pyenv/versions/"$1"*/bin/"python$1"; do
        if runs "$candidate" "$1"; then "$candidate" -c 'import sys; print(sys.executable)'; return; fi
    done
    return 1
}

each_other_python() {  # each_other_python COMMAND...: start it with each Python found but the main one, and a folder
    local version interpreter
    for version in 3.11 3.12 3.13 3.14 3.15; do
        [ "$version" = "$main_version" ] && continue
        if interpreter=$(find_python "$version"); then
            start "tests on Python $version ($interpreter)" "$@" "$interpreter" "$work/$version"
        else
            missed+=("$version")
        fi
    done
}

main=$(python3 -c 'import sys; print(sys.executable)')
main_version=$("$main" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
