#!/bin/bash
# usage: scripts/quickstart.sh [KAB-RUN-ARG...]
#
# From a fresh checkout on Debian 12 to a verdict on real kernels: installs
# the packages that building and running need (with sudo when not root;
# nothing is ever removed), builds kab into build/release, and runs the
# experiment configs/experiments/ipc-ns.yaml. The first time it builds three
# kernels and their debug variants; later runs reuse all that has not changed.
#
# Arguments are handed on to "kab run", after the experiment.
#
# exit codes: those of kab. 0 done and nothing regressed, 1 done and something
# regressed, 4 done but inconclusive or invalid, 2 a usage error, 3 a fault:
# a package, a build, a host; 130 interrupted.

set -euo pipefail

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1-} in
    -h | --help)
        usage
        exit 0
        ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say "step 1 of 3: Debian packages"
scripts/install-packages.sh scripts/packages-build.txt scripts/packages-run.txt || exit

say "step 2 of 3: build kab"
use_ccache
build_preset release

say "kab is in build/release/bin. To use it from your shell: export PATH=$PWD/build/release/bin:\$PATH"

say "step 3 of 3: kab run configs/experiments/ipc-ns.yaml"
# The report is the last thing seen, and kab's verdict is the exit code.
exec build/release/bin/kab run configs/experiments/ipc-ns.yaml "$@"
