# shellcheck shell=bash
# What the scripts of this folder share. Sourced, not run.

# say TEXT: a progress line, with the seconds since the script started
say() {
    printf '[%4ds] %s\n' "$SECONDS" "$*"
}

# fail CODE TEXT: one line on stderr, then exit CODE
fail() {
    local code=$1
    shift
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit "$code"
}

# usage: print the comment block at the head of the running script
usage() {
    awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0"
}

# The cache folder of kab. All that the scripts write outside the checkout
# and its build folder lies below it.
cache_dir() {
    if [[ -z ${XDG_CACHE_HOME:-${HOME-}} ]]; then
        fail 2 "HOME is not set: set it, or XDG_CACHE_HOME to a folder for kernels and compiled objects"
    fi
    printf '%s/kab\n' "${XDG_CACHE_HOME:-$HOME/.cache}"
}

# Compile through ccache where it is installed, with kab's own cache folder.
use_ccache() {
    if command -v ccache >/dev/null; then
        CCACHE_DIR=$(cache_dir)/ccache
        export CCACHE_DIR
        export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    fi
}

# build_jobs: one compiler per CPU, as far as memory goes. A source that
# includes Boost.Beast takes some 1.5 GB.
build_jobs() {
    local cpus memory
    cpus=$(nproc)
    memory=$(awk '/^MemAvailable:/ { print int($2 / 1500000) }' /proc/meminfo)
    if ((memory < 1)); then
        memory=1
    fi
    printf '%d\n' $((memory < cpus ? memory : cpus))
}

# build_preset PRESET [CMAKE-BUILD-ARG...]: configure and build. The log of a
# configure step that works is of no interest, that of one that fails is.
build_preset() {
    local preset=$1 log
    shift
    mkdir -p build
    log=build/configure-$preset.log
    say "configure: cmake --preset $preset"
    if ! cmake --preset "$preset" >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        fail 3 "cannot configure preset $preset; the whole log is $log"
    fi
    say "build: preset $preset, $(build_jobs) at a time"
    if ! cmake --build --preset "$preset" --parallel "$(build_jobs)" "$@"; then
        fail 3 "cannot build preset $preset; the first error is above"
    fi
}
