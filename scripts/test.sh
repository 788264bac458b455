#!/bin/bash
# usage: scripts/test.sh [dev|ci|asan]...
#
# Installs what the tests need, builds, and runs the test suite:
#   dev    every test but those labelled "slow", real kernel boots included
#   ci     the same, as continuous integration does it
#   asan   the tests labelled "unit" or "sim" under the address and
#          undefined-behaviour sanitizers
# Without arguments dev and asan. Ends with a summary: one line per preset, and
# one per experiment, which names the kernels that were left out for lack of time,
# and what the experiments took together: at most 1200 s are meant on two cores
# (KAB_ALL_ARMS=1 builds all; see tests/integration/experiments_test.py).
#
# exit codes: 0 all passed, 1 a test failed, 2 usage, 3 packages or build

set -euo pipefail

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

presets=()
for arg; do
    case $arg in
        -h | --help)
            usage
            exit 0
            ;;
        dev | ci | asan) presets+=("$arg") ;;
        *) fail 2 "unknown argument $arg (see --help)" ;;
    esac
done
if ((${#presets[@]} == 0)); then
    presets=(dev asan)
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# limit_processes N: at most N processes for this user from here on, so that a
# test which forks without end fails instead of taking the machine down
limit_processes() {
    local now
    now=$(ulimit -u)
    if [[ $now == unlimited ]] || ((now > $1)); then
        ulimit -u "$1"
    fi
}

# run_tests PRESET FOLDER CTEST-ARG...: true if all passed. Prints every test as it
# ends, the output of those that fail, and keeps the whole in a log.
run_tests() {
    local preset=$1 folder=$2 log status=0
    shift 2
    log=build/test-$preset.log
    say "test: preset $preset"
    (
        limit_processes 2000
        ctest --test-dir "$folder" --output-on-failure --no-tests=error "$@" 2>&1
    ) | tee "$log" || status=$?
    summary+=("$preset: $(grep -E '^[0-9]+% tests passed' "$log" || printf 'no test ran')$(
        grep -E '^Total Test time' "$log" | sed 's/^Total Test time (real) *=/,/' || true
    )")
    # What the experiments took, and what of them was left out: ctest shows no output of tests that pass.
    mapfile -t -O "${#summary[@]}" summary < <(grep -hs '^experiment ' "$folder/Testing/Temporary/LastTest.log" || true)
    local taken
    taken=$(time_of_experiments "$folder/Testing/Temporary/LastTest.log")
    if [[ -n $taken ]]; then
        summary+=("$taken")
    fi
    if ((status)); then
        failures+=("$log")
    fi
    return "$status"
}

# time_of_experiments LOG: what those in it took together; nothing if there is none
time_of_experiments() {
    awk '/^experiment / { taken += $3 + $7; ++count }
        END { if (count) printf "%d experiments: %d s in all, of 1200 meant\n", count, taken }' "$1" 2>/dev/null || true
}

# show_failures LOG: the end of what each failed test printed, once more, where
# a log that is cut off at its head still has it
show_failures() {
    awk -v keep=40 '
        function flush(   i) {
            for (i = count > keep ? count - keep + 1 : 1; i <= count; ++i)
                print lines[i]
            count = 0
        }
        /^ *Start +[0-9]+: / || /^[0-9]+% tests passed/ || / Test +#[0-9]+: / { flush(); on = 0 }
        / Test +#[0-9]+: .*\*\*\*/ && !/\*\*\*Skipped/ {
            gsub(/\.\.\.\.+/, " ")
            print
            on = 1
            next
        }
        on { lines[++count] = $0 }
        END { flush() }
    ' "$1"
}

summary=()
failures=()
failed=

scripts/install-packages.sh scripts/packages-build.txt scripts/packages-run.txt scripts/packages-test.txt || exit
use_ccache
# Python would leave compiled files beside the test scripts.
export PYTHONDONTWRITEBYTECODE=1
for preset in "${presets[@]}"; do
    build_preset "$preset"
    case $preset in
        dev | ci) run_tests "$preset" build/dev --label-exclude '^slow$' || failed=yes ;;
        asan) run_tests asan build/asan --label-regex '^(unit|sim)$' --parallel "$(build_jobs)" || failed=yes ;;
    esac
done

for log in "${failures[@]}"; do
    say "failed tests: $log"
    show_failures "$log"
done
say "summary"
printf '  %s\n' "${summary[@]}"
if [[ -n $failed ]]; then
    exit 1
fi
