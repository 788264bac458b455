#!/bin/bash
# usage: scripts/tidy.sh [SOURCE...]
#
# Runs clang-tidy with the checks of .clang-tidy over the C++ sources given, or
# else over those that differ from the last commit or are not in one yet. Not
# part of continuous integration: some sources take a minute each.
#
# Needs the packages of packages-test.txt and a configured build, whose compile
# commands it takes: build/dev, or the folder named by KAB_BUILD_DIR. Headers
# are checked with the sources that include them.
#
# exit codes: 0 nothing found, 1 something found, 2 usage, 3 no clang-tidy or
# no build

set -euo pipefail

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

sources=()
for arg; do
    case $arg in
        -h | --help)
            usage
            exit 0
            ;;
        -*) fail 2 "unknown option $arg (see --help)" ;;
    esac
    [[ -r $arg ]] || fail 2 "cannot read $arg"
    sources+=("$(realpath "$arg")")
done
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${KAB_BUILD_DIR:-build/dev}
command -v clang-tidy >/dev/null || fail 3 "no clang-tidy: scripts/install-packages.sh scripts/packages-test.txt"
[[ -r $build/compile_commands.json ]] ||
    fail 3 "no $build/compile_commands.json: cmake --preset dev, or set KAB_BUILD_DIR"

if ((!${#sources[@]})); then
    mapfile -t sources < <({
        git diff --name-only --diff-filter=d HEAD -- '*.cpp'
        git ls-files --others --exclude-standard -- '*.cpp'
    } | sort)
    if ((!${#sources[@]})); then
        say "tidy: no source has changed"
        exit 0
    fi
fi

say "tidy: ${#sources[@]} sources, $(build_jobs) at a time"
if ! printf '%s\0' "${sources[@]}" |
    xargs -0 -n 1 -P "$(build_jobs)" clang-tidy --quiet --warnings-as-errors='*' -p "$build"; then
    fail 1 "clang-tidy found something; see above"
fi
say "tidy: nothing found"
