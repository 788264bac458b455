#!/bin/bash
# usage: scripts/install-packages.sh [--check] LISTFILE...
#
# Installs the Debian packages named in the list files (one name a line, '#'
# starts a comment). Never removes a package: if one that is installed is in
# the way, says which and stops. When everything is there already, apt is not
# touched at all. Uses sudo when not root.
#
#   --check   only say what is missing
#
# exit codes: 0 all packages are installed, 2 usage, 3 something is missing
# and could not be installed

set -euo pipefail

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Waits for another apt instead of failing; never asks a question.
readonly APT=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -o DPkg::Lock::Timeout=300)
readonly INSTALL=(install -y --no-install-recommends --no-remove)

# read_lists FILE...: the names in the list files, each once
read_lists() {
    sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$@" | sort -u
}

is_installed() {
    local status
    # One line for each architecture the package is known for.
    status=$(dpkg-query -W -f='${db:Status-Status},' "$1" 2>/dev/null) && [[ ,$status == *,installed,* ]]
}

# no_candidate NAME...: those of the names that apt has no version of
no_candidate() {
    local name policy
    for name; do
        policy=$(LC_ALL=C apt-cache policy "$name")
        if [[ $policy != *'Candidate: '[!\(]* ]]; then
            printf '%s\n' "$name"
        fi
    done
}

# excluded_by NAME: packages that NAME refuses to be installed beside
excluded_by() {
    LC_ALL=C apt-cache show --no-all-versions "$1" 2>/dev/null |
        sed -n -E 's/^(Conflicts|Breaks): //p' | tr ',' '\n' |
        sed -E 's/^ *([^ (:]+).*/\1/'
}

# excludes A B: true if A and B cannot be installed together
excludes() {
    grep -qxF -- "$2" <<<"$(excluded_by "$1")" || grep -qxF -- "$1" <<<"$(excluded_by "$2")"
}

# explain_conflict NAME...: which installed packages stand against the names;
# true if there are any. Asks apt what it would do, without doing it: it either
# removes packages ("Remv X") or gives up ("X : Conflicts: Y").
explain_conflict() {
    local plan removals name removal found
    plan=$("${APT[@]}" -s install --no-install-recommends "$@" 2>&1) || true
    removals=$(
        {
            awk '$1 == "Remv" { print $2 }' <<<"$plan"
            sed -n -E 's/^ *([^ ]+) : (Conflicts|Breaks): ([^ ]+) .*/\1\n\3/p' <<<"$plan" |
                while read -r name; do
                    if is_installed "$name"; then printf '%s\n' "$name"; fi
                done
        } | sort -u
    )
    if [[ -z $removals ]]; then
        return 1
    fi
    {
        printf 'Some packages cannot be installed beside what this machine has:\n'
        for removal in $removals; do
            found=
            for name; do
                if excludes "$name" "$removal"; then
                    printf '  %s (installed) is in the way of %s (needed): Debian does not allow both.\n' "$removal" "$name"
                    found=yes
                fi
            done
            if [[ -z $found ]]; then
                printf '  %s (installed) would have to go too: it needs one of the above, or excludes what a needed package needs.\n' "$removal"
            fi
        done
        printf 'Nothing was installed and nothing was removed. If this machine can do without them:\n'
        printf '  sudo apt-get remove %s\n' "${removals//$'\n'/ }"
        printf 'and run this again; otherwise use another machine, a container or a chroot.\n'
    } >&2
    return 0
}

# try_install NAME...: true if apt installed them. Its output goes to the
# terminal and to $log.
try_install() {
    "${ROOT[@]}" "${APT[@]}" "${INSTALL[@]}" "$@" 2>&1 | tee "$log"
}

main() {
    local check=
    while (($#)); do
        case $1 in
            -h | --help)
                usage
                exit 0
                ;;
            --check) check=yes ;;
            -*) fail 2 "unknown option $1 (see --help)" ;;
            *) break ;;
        esac
        shift
    done
    if ((!$#)); then
        fail 2 "no list file given (see --help)"
    fi
    local file
    for file; do
        [[ -r $file ]] || fail 2 "cannot read the package list $file"
    done
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        fail 3 "this is not a Debian system (no apt-get): install the equivalents of the packages in $* by hand"
    fi

    local name names missing=()
    mapfile -t names < <(read_lists "$@")
    if ((${#names[@]} == 0)); then
        fail 2 "no package is named in $*"
    fi
    for name in "${names[@]}"; do
        is_installed "$name" || missing+=("$name")
    done
    if ((${#missing[@]} == 0)); then
        say "packages: all ${#names[@]} are installed"
        return 0
    fi
    say "packages: ${#missing[@]} of ${#names[@]} are missing: ${missing[*]}"
    if [[ -n $check ]]; then
        exit 3
    fi

    ROOT=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null || fail 3 "not root and no sudo: run as root  $0 $*"
        ROOT=(sudo)
    fi

    local unknown updated=
    unknown=$(no_candidate "${missing[@]}")
    if [[ -n $unknown ]]; then
        say "packages: apt-get update"
        "${ROOT[@]}" "${APT[@]}" -q update || fail 3 "apt-get update failed: is the network up?"
        updated=yes
        unknown=$(no_candidate "${missing[@]}")
        if [[ -n $unknown ]]; then
            fail 3 "apt knows no package named ${unknown//$'\n'/, }: kab is made for Debian 12 (bookworm)"
        fi
    fi

    if explain_conflict "${missing[@]}"; then
        exit 3
    fi
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    say "packages: apt-get install"
    if ! try_install "${missing[@]}"; then
        # Lists that are older than the archive name files that are gone.
        if [[ -n $updated ]] || ! grep -q '404  *Not Found' "$log"; then
            fail 3 "apt-get could not install the packages; its messages are above"
        fi
        say "packages: the package lists are out of date: apt-get update, then again"
        "${ROOT[@]}" "${APT[@]}" -q update || fail 3 "apt-get update failed: is the network up?"
        try_install "${missing[@]}" || fail 3 "apt-get could not install the packages; its messages are above"
    fi
    say "packages: done"
}

ROOT=()
log=
main "$@"
