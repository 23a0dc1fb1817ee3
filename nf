#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The one door to nearfetch: installs what is missing, builds, and hands over. Quick when there is nothing to do.
set -euo pipefail

root="$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)"
build="$root/build/release"
python="$root/.venv/bin/python"

# What the build and the tests need from Debian or Ubuntu (libcoarrays-openmpi-dev: the coarray program); libmpich-dev would
# add MPICH's Fortran tests.
packages=(build-essential ccache cmake ninja-build pkg-config python3-dev python3-venv git openmpi-bin libopenmpi-dev gfortran
    libcoarrays-openmpi-dev libboost-dev libcli11-dev libgtest-dev nlohmann-json3-dev zlib1g-dev)
# Real programs that are tested and measured where they can be had.
programs=(nwchem-openmpi)

usage() {
    cat <<'END'
usage: ./nf COMMAND

  setup                          install what is missing and build build/release
  demo                           a real program, with and without nearfetch, in under 3 minutes
  test [--preset P] [-R REGEX]   checks of the source and all tests (presets: release dev asan tsan)
  bench --list                   the benchmarks
  bench NAME [--json PATH]       run one, or `all`; status 1 where a claim does not hold
  results                        make docs/results.md from the measurements in docs/results
  run [OPTIONS] -- COMMAND...    run COMMAND with nearfetch in its ranks (./nf run --help)
  settings [--json]              the settings
  docs                           the documents and the API reference as a site, in build/docs/html
  which NAME [--mpi FAMILY]      the path of a program of the project (FAMILY: openmpi, mpich, mpiabi; inproc: none)
  simulate [--cache pages|ranges|both] [--seconds S | --operations N] [--seed N] [--fault NAME] [--preset asan]
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
    local missing=() as_root=() tool
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        for tool in c++ gfortran cmake ninja pkg-config python3 git; do
            command -v "$tool" >/dev/null || missing+=("$tool")
        done
        command -v mpicc.openmpi >/dev/null || command -v mpicc >/dev/null || missing+=("Open MPI")
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
    [ -x "$python" ] || python3 -m venv "$root/.venv"
    echo "nf: installing Python packages into .venv"
    "$python" -m pip install --quiet --disable-pip-version-check -r "$root/$1" ||
        fail "pip could not install $1 (its messages stand above): check the network and try again"
    cp "$root/$1" "$stamp"
    changed=1
}

# need_space PRESET: ends before a first build for which there is no room.
need_space() {
    local needed=4 free
    { read -r _ && read -r _ _ _ free _; } < <(df -Pk -- "$root") || return 0
    [ "$((free >> 20))" -ge "$needed" ] ||
        fail "$((free >> 10)) MiB are free for build/$1 (a first build takes up to $needed GiB): make room, and try again"
}

# configure_and_build PRESET [TARGET...]
configure_and_build() {
    local folder="$root/build/$1" targets=("${@:2}")
    [ -e "$folder/build.ninja" ] || need_space "$1"
    if [ ! -e "$folder/build.ninja" ] || [ "$changed" -eq 1 ]; then
        echo "nf: configuring build/$1"
        (cd "$root" && cmake --preset "$1" --log-level=WARNING >/dev/null)
    fi
    # ninja's dry run costs a tenth of a real one that finds nothing to do, and keeps the quiet case quiet.
    if ! (cd "$folder" && ninja -n "${targets[@]}" | grep -q 'no work to do'); then
        echo "nf: building build/$1"
        cmake --build "$folder" -j "${NF_JOBS:-$(nproc)}" ${targets[0]:+--target "${targets[@]}"}
    fi
}

# setup [PRESET [TARGET...]]: everything up to date. Talks on stderr: the output of what follows stays clean.
setup() {
    mkdir -p "$root/build"
    changed=0
    {
        flock 9
        need_packages "${packages[@]}"
        need_python requirements.txt
        configure_and_build "${@:-release}"
    } 9>"$root/build/.lock" >&2
}

# setup_tools: what the site and the checks of the source need beside a build.
setup_tools() {
    mkdir -p "$root/build"
    changed=0
    {
        flock 9
        need_packages doxygen python3-venv
        need_python requirements.txt
        need_python requirements-dev.txt
    } 9>"$root/build/.lock" >&2
}

# which_program NAME [--mpi FAMILY]
which_program() {
    local name="" family="" folder
    while [ $# -gt 0 ]; do
        case "$1" in
        --mpi)
            [ $# -ge 2 ] || fail "--mpi has no value (it names a family): openmpi, mpich or mpiabi" 2
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
demo)
    setup
    exec "$python" "$root/examples/demo.py" "$@"
    ;;
test)
    setup
    (setup_tools) || echo "nf: going on without the tools of some checks" >&2
    want_packages "${programs[@]}"
    exec "$python" "$root/tests/run_tests.py" "$@"
    ;;
bench)
    [ $# -ge 1 ] || { usage >&2; exit 2; }
    setup
    want_packages "${programs[@]}"
    PYTHONPATH="$root:$root/python" exec "$python" -m bench "$@"
    ;;
results)
    mkdir -p "$root/build"
    changed=0
    need_python requirements.txt >&2
    PYTHONPATH="$root:$root/python" exec "$python" -m bench.results "$@"
    ;;
run | settings)
    setup
    exec "$python" "$build/bin/nearfetch" "$command" "$@"
    ;;
docs)
    [ $# -eq 0 ] || fail "docs is given '$1' (it takes nothing): write ./nf docs" 2
    setup_tools
    exec "$python" "$root/docs/site/build.py"
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
