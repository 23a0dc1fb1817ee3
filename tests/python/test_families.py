# SPDX-License-Identifier: Apache-2.0
"""The MPI family of a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfetch import NearfetchError
from nearfetch.elf import dependencies, read_dynamic
from nearfetch.families import decide, linked_mpi
from nearfetch.launchers import find_launcher
from nearfetch.words import parts_of

ENV = {"PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("order", ["<", ">"])
def test_reads_elf_of_both_widths_and_byte_orders(elf, wide, order):
    path = elf(
        "a", "libmpi.so.40", "libc.so.6", soname="liba.so", runpath="/x:$ORIGIN/y", wide=wide, order=order
    )
    found = read_dynamic(path)
    assert found.needed == ("libmpi.so.40", "libc.so.6")
    assert found.soname == "liba.so"
    assert found.search == ("/x", str(path.parent / "y"))


def test_what_is_no_elf_file_is_none(tmp_path):
    for name, content in {"text": b"#!/bin/sh\n", "empty": b"", "cut": b"\x7fELF\x02\x01"}.items():
        (tmp_path / name).write_bytes(content)
        assert read_dynamic(tmp_path / name) is None
    assert read_dynamic(tmp_path / "missing") is None
    assert read_dynamic(tmp_path) is None


def test_truncated_elf_files_are_none_or_whole(elf):
    whole = elf("a", "libmpi.so.40").read_bytes()
    for length in range(len(whole)):
        path = elf("cut")
        path.write_bytes(whole[:length])
        found = read_dynamic(path)
        assert found is None or found.needed in ((), ("libmpi.so.40",))


def test_reads_real_programs():
    import sys

    assert "libc.so.6" in [name for name, _ in dependencies(Path(sys.executable).resolve(), ENV)]


@pytest.mark.parametrize(
    ("soname", "family"),
    [
        ("libmpi.so.12", "mpich"),
        ("libmpich.so.12", "mpich"),
        ("libmpi.so.40", "openmpi"),
        ("libmpi_abi.so.1", "mpiabi"),
        ("libmpi_usempif08.so.40", "openmpi"),
        ("libmpi_cray.so.12", "mpich"),
        ("libmpi_gnu_91.so.12", "mpich"),
        ("libmpifort_intel.so.12", "mpich"),
    ],
)
def test_family_of_a_linked_program(elf, soname, family):
    found, _ = linked_mpi(elf("app", "libm.so.6", soname), ENV)
    assert found == family


def test_family_through_a_library_of_the_program(elf, tmp_path):
    elf("lib/libphysics.so", "libmpi.so.12", runpath="$ORIGIN/mpi")
    libmpi = elf("lib/mpi/libmpi.so.12")
    assert linked_mpi(elf("app", "libphysics.so", runpath="$ORIGIN/lib"), ENV) == ("mpich", libmpi)


def test_libraries_in_a_circle_end(elf):
    elf("liba.so", "libb.so", runpath="$ORIGIN")
    elf("libb.so", "liba.so", runpath="$ORIGIN")
    assert linked_mpi(elf("app", "liba.so", runpath="$ORIGIN"), ENV) is None


def test_ld_library_path_is_searched(elf, tmp_path):
    libmpi = elf("elsewhere/libmpi.so.40")
    environ = {**ENV, "LD_LIBRARY_PATH": str(tmp_path / "elsewhere")}
    assert linked_mpi(elf("app", "libmpi.so.40"), environ) == ("openmpi", libmpi)


def test_the_program_wins_over_the_launcher(elf, launchers):
    app = elf("app", "libmpi_abi.so.1")
    decision = decide([str(launchers["mpich"]), "-n", "2", str(app)], ENV)
    assert decision.family == "mpiabi"
    assert decision.launcher.kind == "hydra"
    assert decision.program_links_mpi


def test_the_launcher_decides_for_scripts(launchers):
    for family, path in launchers.items():
        decision = decide([str(path), "-n", "2", "python3", "app.py"], ENV)
        assert decision.family == family
        assert not decision.program_links_mpi
        assert decision.libmpi.parent == path.parent.parent / "lib"


def test_a_launcher_is_found_through_links_and_path(launchers, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpirun").symlink_to(launchers["openmpi"])
    decision = decide(["mpirun", "python3"], {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"})
    assert decision.family == "openmpi"
    assert decision.libmpi == launchers["openmpi"].parent.parent / "lib" / "libmpi.so.40"


def test_a_launcher_is_found_behind_wrappers(launchers):
    command = ["env", "A=b", "timeout", "60", str(launchers["mpich"]), "-n", "1", "python3"]
    assert find_launcher(command, ENV).index == 4


def test_no_unknown_program_is_started(script, tmp_path):
    path = script("deploy.sh", f"touch {tmp_path}/started")
    with pytest.raises(NearfetchError):
        decide([str(path)], ENV)
    assert not (tmp_path / "started").exists()


def test_a_launcher_that_hangs_is_one_that_nobody_knows(script, elf, monkeypatch):
    monkeypatch.setattr("nearfetch.launchers._VERSION_TIMEOUT_S", 0.2)
    hanging = str(script("mpiexec", "exec sleep 60"))
    assert find_launcher([hanging], ENV) is None
    assert find_launcher([hanging, "-n", "2", str(elf("app"))], ENV).kind == "env"


def test_an_unknown_command_says_how_to_name_the_family(script):
    with pytest.raises(NearfetchError, match=r"--mpi mpich\|openmpi\|mpiabi"):
        decide([str(script("job.sh", "true"))], ENV)
    assert decide([str(script("job.sh", "true"))], ENV, named="openmpi").family == "openmpi"


def test_programs_of_two_families_are_an_error(elf, launchers):
    command = [str(launchers["mpich"]), str(elf("a", "libmpi.so.12")), ":", str(elf("b", "libmpi.so.40"))]
    with pytest.raises(NearfetchError, match="mpich and openmpi"):
        decide(command, ENV)
    assert decide(command, ENV, named="openmpi").family == "openmpi"


def test_mpi4py_variables_decide_for_python(elf, launchers):
    libmpi = elf("abi/libmpi_abi.so.1", soname="libmpi_abi.so.1")
    command = [str(launchers["mpich"]), "python3", "app.py"]
    decision = decide(command, {**ENV, "MPI4PY_LIBMPI": str(libmpi)})
    assert (decision.family, decision.libmpi) == ("mpiabi", libmpi)
    assert decide(command, {**ENV, "MPI4PY_MPIABI": "Open-MPI"}).family == "openmpi"


@pytest.mark.parametrize(
    ("environ", "family"),
    [
        ({"OMPI_COMM_WORLD_SIZE": "2"}, "openmpi"),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, "mpich"),
    ],
)
def test_who_has_started_this_process_is_a_hint(script, environ, family):
    assert decide([str(script("srun", "true")), "python3"], {**ENV, **environ}).family == family


@pytest.mark.parametrize(
    "environ",
    [
        {"OMPI_CC": "gcc", "OMPI_ALLOW_RUN_AS_ROOT": "1"},
        {"MPICH_VERSION": "5", "MPIR_CVAR_NOLOCAL": "1"},
        {"I_MPI_DEBUG": "1"},
        {"PMI_RANK": "0", "PMI_SIZE": "2", "SLURM_PROCID": "0"},
    ],
)
def test_settings_of_an_mpi_are_no_hint(script, environ):
    with pytest.raises(NearfetchError, match="cannot tell"):
        decide([str(script("srun", "true")), "python3"], {**ENV, **environ})


@pytest.mark.parametrize(
    "text", ["{} -n 2 python3 app.py", "cd /; A=b exec {} -n 2 python3 app.py >log 2>&1"]
)
def test_a_launcher_in_a_shells_string_decides(launchers, text):
    for family, path in launchers.items():
        environ = {**ENV, "OMPI_COMM_WORLD_SIZE": "2"}
        decision = decide(["env", "C=d", "bash", "-ec", text.format(path)], environ)
        assert (decision.family, decision.launcher) == (family, None)
    assert decide(["sh", "-c", "echo 'open"], environ).family == "openmpi"


def test_a_named_family_that_the_program_contradicts_is_an_error(elf, launchers):
    app = elf("app", "libmpi.so.12")
    with pytest.raises(NearfetchError) as raised:
        decide([str(launchers["mpich"]), "-n", "2", str(app)], ENV, named="openmpi")
    text = f"--mpi openmpi, but {app} links MPICH (libmpi.so.12): leave --mpi out"
    assert str(raised.value) == text


def test_a_launcher_that_the_program_contradicts_is_an_error(elf, launchers):
    command = [str(launchers["openmpi"]), "-x", "A", "env", "B=c", str(elf("app", "libmpi.so.12"))]
    with pytest.raises(NearfetchError, match=r"is Open MPI's, but .*app links MPICH .*: start it by MPICH's"):
        decide(command, ENV)
    assert decide(command, ENV, named="mpich").family == "mpich"


def test_what_a_script_is_given_does_not_contradict_the_launcher(elf, script, launchers):
    wrap, other = str(script("wrap.sh", 'exec "$@"')), str(elf("other", "libmpi.so.40"))
    for words in ([wrap, other], ["python3", "app.py", other], ["env", wrap, other]):
        decision = decide([str(launchers["mpich"]), "-n", "2", *words], ENV)
        assert (decision.family, decision.program_links_mpi) == ("mpich", False)
    assert decide([wrap, other], ENV).family == "openmpi"
    abi = str(elf("abi", "libmpi_abi.so.1"))
    assert decide([str(launchers["mpich"]), "-n", "2", wrap, abi], ENV).family == "mpiabi"


def test_the_value_of_an_option_is_no_program(elf, launchers, tmp_path):
    library = elf("libother.so", "libmpi.so.40")
    app = elf("app", "libmpi.so.12")
    command = [str(launchers["mpich"]), "-genv", "LD_PRELOAD", str(library), "-n", "2", str(app)]
    assert decide(command, ENV).family == "mpich"


def test_an_installation_named_in_the_environment_is_a_hint(script, launchers, tmp_path):
    environ = {**ENV, "MPI_HOME": str(tmp_path / "mpich")}
    decision = decide([str(script("srun", "true")), "python3"], environ)
    assert (decision.family, decision.libmpi) == ("mpich", tmp_path / "mpich" / "lib" / "libmpi.so.12")


def test_crays_mpich_is_preloaded_only_where_the_program_does_not_load_it(elf, script, tmp_path):
    libmpi = elf("cray/lib/libmpi_gnu_91.so.12", soname="libmpi_gnu_91.so.12")
    environ = {**ENV, "CRAY_MPICH_DIR": str(tmp_path / "cray")}
    app = elf("app", "libmpi_gnu_91.so.12", runpath=str(libmpi.parent))
    decision = decide([str(script("srun", "true")), str(app)], environ)
    assert (decision.family, decision.program_links_mpi, decision.libmpi) == ("mpich", True, libmpi)
    decision = decide([str(script("srun", "true")), "python3"], environ)
    assert (decision.family, decision.program_links_mpi, decision.libmpi) == ("mpich", False, libmpi)


def test_hints_that_disagree_are_none(script, launchers, tmp_path):
    environ = {**ENV, "MPI_HOME": str(tmp_path / "mpich"), "OPAL_PREFIX": str(tmp_path / "openmpi")}
    with pytest.raises(NearfetchError, match="cannot tell"):
        decide([str(script("srun", "true")), "python3"], environ)


@pytest.fixture
def python(elf, script, tmp_path):
    """Makes a virtual environment with these libraries; returns the path of its Python."""

    def make(name: str, *libraries: str, venv: bool = True) -> Path:
        for library in libraries:
            elf(f"{name}/lib/{library}", soname=library)
        if venv:
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / "pyvenv.cfg").write_text("")
        return script(f"{name}/bin/python3", "exec true")

    return make


def test_the_python_of_the_command_decides_where_no_launcher_does(python, script, tmp_path):
    venv = python("venv", "libmpi.so.12", "libmpi_abi.so.1")
    libmpi = tmp_path / "venv" / "lib" / "libmpi.so.12"
    srun, wrap = str(script("srun", "true")), str(script("wrap.sh", "true"))
    tool = str(script("venv/bin/tool", f"#!{venv}\n"))
    for words in (
        [str(venv), "app.py"],
        [srun, "-n", "2", str(venv), "app.py"],
        ["env", "A=b", str(venv), "app.py"],
        ["env", f"PATH={venv.parent}:/bin", "python3", "app.py"],
        ["bash", "-c", f"cd / && A=b exec {venv} app.py"],
        [wrap, "--verbose", str(venv), "app.py"],
        [srun, tool, "--flag"],
    ):
        decision = decide(words, ENV)
        assert (decision.family, decision.libmpi) == ("mpich", libmpi), words
        assert (decision.launcher.kind if decision.launcher else "") == ("env" if words[0] == srun else ""), (
            words
        )


def test_a_pythons_own_library_comes_before_the_launchers(python, launchers, tmp_path):
    venv = python("venv", "libmpi.so.40", "libmpi.so.12")
    for family, libmpi in (("mpich", "libmpi.so.12"), ("openmpi", "libmpi.so.40")):
        decision = decide([str(launchers[family]), "-n", "2", str(venv), "app.py"], ENV)
        assert (decision.family, decision.libmpi) == (family, tmp_path / "venv" / "lib" / libmpi)
    # Two candidates are no answer.
    with pytest.raises(NearfetchError, match="cannot tell"):
        decide([str(venv), "app.py"], ENV)
    assert decide([str(venv), "app.py"], ENV, "openmpi").libmpi == tmp_path / "venv" / "lib" / "libmpi.so.40"
    told = {**ENV, "MPI4PY_LIBMPI": str(launchers["mpich"].parent.parent / "lib" / "libmpi.so.12")}
    assert decide([str(venv), "app.py"], told).libmpi == Path(told["MPI4PY_LIBMPI"])


def test_a_python_without_an_environment_has_its_prefix_and_the_users(python, elf, tmp_path):
    alone = python("opt", "libmpi.so.40", venv=False)
    assert decide([str(alone), "app.py"], ENV).libmpi == tmp_path / "opt" / "lib" / "libmpi.so.40"
    # A link from elsewhere is the same Python.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(alone)
    assert decide(["python3", "app.py"], {"PATH": str(tmp_path / "bin")}).family == "openmpi"
    users = elf("home/.local/lib/libmpi.so.40", soname="libmpi.so.40")
    assert decide([str(alone), "app.py"], {**ENV, "HOME": str(tmp_path / "home")}).libmpi == users
    assert (
        decide([str(alone), "app.py"], {**ENV, "PYTHONUSERBASE": str(tmp_path / "home/.local")}).libmpi
        == users
    )


def test_no_library_is_a_guess(elf, script, launchers, tmp_path):
    # The loader's library is of the right family, but the program may load another one.
    environ = {**ENV, "LD_LIBRARY_PATH": str(elf("system/libmpi.so.12", soname="libmpi.so.12").parent)}
    for words in (["python3", "app.py"], [str(script("wrap.sh", "true"))]):
        assert decide(words, environ, named="mpich").libmpi is None


@pytest.mark.parametrize("word", ["sbatch", "qsub", "ssh", "docker"])
def test_what_hands_nothing_on_is_refused(script, elf, word):
    command = [str(script(word, "true")), "-n", "2", str(elf("app", "libmpi.so.12"))]
    with pytest.raises(NearfetchError, match=f"cannot follow .*{word} .*: write nearfetch run into the"):
        decide(command, ENV, named="mpich")


def test_a_program_into_which_nothing_can_be_loaded_is_refused(elf, launchers, script):
    run = [str(launchers["mpich"]), "-n", "2"]
    app = elf("app", "libmpi.so.12")
    with pytest.raises(NearfetchError, match="static is a static program"):
        decide([*run, str(elf("static"))], ENV)
    # What starts another program may be static.
    assert decide([*run, str(elf("starter")), str(app)], ENV).family == "mpich"
    assert decide([*run, str(elf("sh")), "-c", "true"], ENV).family == "mpich"
    app.chmod(0o4755)
    with pytest.raises(NearfetchError, match="app runs as another user"):
        decide([*run, str(app)], ENV)


def test_a_program_of_another_processor_is_refused(elf, launchers):
    for other in (elf("narrow", "libmpi.so.12", wide=False), elf("big", "libmpi.so.12", order=">")):
        with pytest.raises(NearfetchError, match=f"{other.name} is of another processor"):
            decide([str(launchers["mpich"]), "-n", "2", str(other)], ENV)
    libmpi = elf("arm/libmpi.so.12", soname="libmpi.so.12", order=">")
    app = elf("app", "libmpi.so.12", runpath=str(libmpi.parent))
    with pytest.raises(NearfetchError, match="libmpi.so.12 is of another processor"):
        decide([str(launchers["mpich"]), "-n", "2", str(app)], ENV)


@pytest.mark.parametrize(("version", "is_known"), [(1, True), (-1, False)])
def test_a_library_of_another_name_says_itself_that_it_has_the_standard_abi(
    compile_c, launchers, tmp_path, version, is_known
):
    library, app = tmp_path / "libvendormpi.so.3", tmp_path / "app"
    declared = "int MPI_Abi_get_version(int* major, int* minor)"
    source = f"{declared} {{ *major = {version}; *minor = 0; return 0; }}"
    compile_c(source, "-shared", "-fPIC", f"-Wl,-soname,{library.name}", "-o", library)
    compile_c(
        f"{declared}; int main(void) {{ int a, b; return MPI_Abi_get_version(&a, &b); }}",
        *("-o", app, library, f"-Wl,-rpath,{tmp_path}"),
    )
    found = linked_mpi(app, ENV)
    assert found == (("mpiabi", library) if is_known else None)
    if is_known:
        assert decide([str(launchers["mpich"]), "-n", "2", str(app)], ENV).libmpi == library


@pytest.mark.parametrize(
    ("name", "refused"),
    [("libmpi.so.40.10.4", True), ("libmpi.so.40.0.3", True), ("libmpi.so.40.20.1", False)],
)
def test_early_open_mpis_are_refused(elf, launchers, tmp_path, name, refused):
    elf(f"lib/{name}", soname="libmpi.so.40")
    (tmp_path / "lib" / "libmpi.so.40").symlink_to(name)
    command = [str(launchers["openmpi"]), str(elf("app", "libmpi.so.40", runpath=str(tmp_path / "lib")))]
    if refused:
        with pytest.raises(NearfetchError, match="is of Open MPI 3 or earlier"):
            decide(command, ENV)
    else:
        assert decide(command, ENV).family == "openmpi"


def test_an_open_mpi_with_the_soname_of_mpich_is_recognised(elf, launchers, tmp_path):
    libmpi = elf("lib/libmpi.so.12", soname="libmpi.so.12")
    command = [str(launchers["mpich"]), str(elf("app", "libmpi.so.12", runpath=str(tmp_path / "lib")))]
    assert decide(command, ENV).family == "mpich"
    libmpi.write_bytes(libmpi.read_bytes() + b"\0ompi_mpi_comm_world\0")
    with pytest.raises(NearfetchError, match="is of Open MPI 3 or earlier"):
        decide(command, ENV)


def test_mpitrampoline_is_refused(elf, launchers):
    with pytest.raises(NearfetchError, match="links MPItrampoline"):
        decide([str(launchers["mpich"]), str(elf("app", "libmpitrampoline.so.5"))], ENV)


def test_under_wi4mpi_the_programs_mpi_decides(elf, launchers):
    command = [str(launchers["mpich"]), "-n", "2", str(elf("app", "libmpi.so.40"))]
    assert decide(command, {**ENV, "WI4MPI_FROM": "OMPI"}).family == "openmpi"


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["srun", "-n", "2", "-J", "true", "APP"], 5),
        (["srun", "--ntasks=2", "--job-name", "true", "--label", "APP"], 5),
        (["flux", "run", "-n2", "--job-name", "true", "APP"], 5),
        (["flux", "--verbose", "submit", "-n", "2", "APP"], 5),
        (["jsrun", "-n", "2", "-a", "1", "APP"], 5),
        (["aprun", "-n", "2", "-cc", "true", "APP"], 5),
        (["ibrun", "APP"], 1),
    ],
)
def test_the_program_of_a_resource_managers_launcher(script, elf, tmp_path, words, program):
    script(f"bin/{words[0]}", "true")
    app = str(elf("app", "libmpi.so.40"))
    command = [app if word == "APP" else word for word in words]
    environ = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    launcher = find_launcher(command, environ)
    assert (launcher.index, launcher.kind) == (0, "env")
    assert parts_of(command, 0, environ)[0].program == program
    assert decide(command, environ).family == "openmpi"


def test_what_is_inside_of_a_container_is_not_looked_at(script, elf, launchers, tmp_path):
    script("bin/apptainer", "true")
    # The file of this machine says nothing about the one in the image.
    app, environ = str(elf("app", "libmpi.so.40")), {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    inside = ["apptainer", "--quiet", "exec", "--bind", "/data", "--nv", "image.sif", app]
    decision = decide([str(launchers["mpich"]), "-n", "2", *inside], environ)
    assert (decision.family, decision.program_links_mpi, decision.libmpi) == ("mpich", False, None)
    with pytest.raises(NearfetchError, match="cannot tell which MPI"):
        decide(inside, environ)
    assert decide(inside, environ, named="openmpi").libmpi is None
