# SPDX-License-Identifier: Apache-2.0
"""`nearfetch run` and `nearfetch settings`, with fake launchers and programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import DRIVER, PACKAGE

from nearfetch import NearfetchError, __version__
from nearfetch.cli import main
from nearfetch.families import Decision
from nearfetch.launchers import Launcher
from nearfetch.layout import Layout
from nearfetch.mpiexec import without_nearfetch
from nearfetch.run import inject, preload


def test_hydra_gets_the_preload_for_its_ranks_only(nearfetch, launchers, elf, layout):
    app = elf("app", "libmpi.so.12")
    result = nearfetch("run", "--mode", "off", "--", launchers["mpich"], "-n", "2", app, "--flag")
    preload_value = str(layout.interposer("mpich"))
    assert result.stdout.split("\n") == [
        *("-genv", "NEARFETCH_MODE", "off"),
        *("-genv", "LD_PRELOAD", preload_value),
        *("-n", "2", str(app), "--flag", ""),
    ]
    assert result.returncode == 7


def test_open_mpi_gets_its_options_for_each_program(nearfetch, launchers, elf, layout):
    app = elf("app", "libmpi.so.40")
    result = nearfetch(
        *("run", "--set", "buffer_bytes=4MiB", "--", launchers["openmpi"]),
        *("-n", "1", app, ":", "-n", "1", app),
    )
    options = ["-x", "NEARFETCH_BUFFER_BYTES=4MiB", "-x", f"LD_PRELOAD={layout.interposer('openmpi')}"]
    assert result.stdout.split("\n")[:-1] == [
        *options,
        *("-n", "1", str(app), ":"),
        *options,
        *("-n", "1", str(app)),
    ]


def test_settings_of_the_environment_reach_the_ranks(nearfetch, launchers, elf):
    command = ["run", "--", launchers["openmpi"], elf("app", "libmpi.so.40")]
    assert "NEARFETCH_MODE=off" in nearfetch(*command, NEARFETCH_MODE="off").stdout.split("\n")
    refused = nearfetch(*command, NEARFETCH_MODE="sometimes")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "mode=sometimes" in refused.stderr


def test_the_command_line_wins_over_the_environment(nearfetch, launchers, elf):
    words = ["run", "--mode", "transparent", "--", launchers["openmpi"], elf("app", "libmpi.so.40")]
    lines = nearfetch(*words, NEARFETCH_MODE="off").stdout.split("\n")
    assert "NEARFETCH_MODE=transparent" in lines
    assert "NEARFETCH_MODE=off" not in lines


def test_a_program_without_a_launcher_gets_the_environment(nearfetch, script, layout):
    job = script("job.sh", 'echo "$NEARFETCH_MODE"; echo "$LD_PRELOAD" >&2; exit 3')
    result = nearfetch("run", "--mode", "off", "--mpi", "mpich", "--", job)
    assert (result.returncode, result.stdout) == (3, "off\n")
    assert str(layout.interposer("mpich")) in result.stderr


def test_a_signal_is_passed_on(nearfetch, script):
    assert nearfetch("run", "--mpi", "mpich", "--", script("job.sh", "kill -TERM $$")).returncode == -15


def test_libmpi_stands_behind_the_interposer_only_where_it_has_to(nearfetch, launchers, layout, tmp_path):
    def preloaded(family: str, **environ: str) -> str:
        result = nearfetch("run", "--", launchers[family], "-n", "2", "python3", "app.py", **environ)
        return next(word for word in result.stdout.split("\n") if str(layout.interposer(family)) in word)

    # Open MPI's interposer would load any libmpi that the loader finds.
    libmpi = tmp_path / "openmpi" / "lib" / "libmpi.so.40"
    assert preloaded("openmpi").endswith(f"{layout.interposer('openmpi')}:{libmpi}")
    # The other one uses the program's libmpi, which need not be the launcher's.
    assert preloaded("mpich") == str(layout.interposer("mpich"))
    libmpi = tmp_path / "mpich" / "lib" / "libmpi.so.12"
    assert preloaded("mpich", LD_BIND_NOW="1") == f"{layout.interposer('mpich')}:{libmpi}"


def test_a_missing_command_is_127(nearfetch):
    result = nearfetch("run", "--", "no-such-command-here")
    assert result.returncode == 127
    assert "no-such-command-here" in result.stderr
    assert nearfetch("run", "--", "./no-such-file").returncode == 127


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["/etc/passwd"], 126, "it is not executable"),
        (["/tmp"], 126, "it is a folder"),
        (["mpiexec -n 1 true"], 127, "words in one pair of quotes?"),
        (["A=b", "mpiexec", "-n", "1"], 127, "write env A=b mpiexec"),
        (["env", "A=b", "./job.sh", "x"], 2, "('./job.sh' is no MPI launcher"),
    ],
)
def test_a_command_that_cannot_be_started_says_why(nearfetch, words, status, text):
    result = nearfetch("run", "--", *words)
    assert (result.returncode, result.stdout) == (status, "")
    assert text in result.stderr


def test_an_option_that_is_misspelt_names_the_nearest(nearfetch):
    result = nearfetch("run", "--sumary", "--", "true")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("usage: nearfetch run ")
    assert "unknown option --sumary" in result.stderr
    assert "do you mean --summary?" in result.stderr
    assert nearfetch("settings", "--jsn").stderr.startswith("usage: nearfetch settings ")


def test_two_modes_are_an_error(nearfetch, launchers, elf):
    command = ["--", launchers["openmpi"], elf("app", "libmpi.so.40")]
    refused = nearfetch("run", "--mode", "off", "--set", "mode=transparent", *command)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--mode off and --set mode=transparent" in refused.stderr
    assert nearfetch("run", "--mode", "off", "--set", "mode=off", *command).returncode == 7


def test_a_variable_that_is_misspelt_is_named(nearfetch, launchers, elf):
    command = ["run", "--", launchers["openmpi"], elf("app", "libmpi.so.40")]
    result = nearfetch(*command, NEARFETCH_BUFFER_BYTE="1MiB", NEARFETCH_BUILD="/x")
    assert result.returncode == 7
    assert result.stderr == (
        "nearfetch: the variable NEARFETCH_BUFFER_BYTE is ignored (no setting has this name): "
        "do you mean NEARFETCH_BUFFER_BYTES?\n"
    )


def test_the_old_name_of_a_setting_names_the_new_one(layout, monkeypatch, capsys):
    row = {"name": "passthrough_calls", "old_name": "recess_calls"}
    monkeypatch.setattr("nearfetch.cli._table", lambda layout: [row])
    monkeypatch.setenv("NEARFETCH_RECESS_CALLS", "1")
    assert main(["run", "--", "true"], layout) == 2
    assert "NEARFETCH_PASSTHROUGH_CALLS" in capsys.readouterr().err
    monkeypatch.setenv("NEARFETCH_RECESS_CALLS", "")
    main(["run", "--", "true"], layout)
    assert "use that name" not in capsys.readouterr().err


def test_no_command_is_an_error(nearfetch):
    for words in (["run"], ["run", "--"], ["run", "--mode", "off"]):
        result = nearfetch(*words)
        assert result.returncode == 2
        assert "nothing to run" in result.stderr


def test_bad_use_is_2(nearfetch):
    for words in ([], ["fly"], ["run", "--fly", "--", "true"], ["run", "--mpi", "mvapich1", "--", "true"]):
        assert nearfetch(*words).returncode == 2


def test_a_bad_setting_stops_before_anything_starts(nearfetch, launchers, tmp_path):
    for words in (["--mode", "x"], ["--set", "y=1"], ["--set", "novalue"], ["--stats", ""]):
        result = nearfetch("run", *words, "--", launchers["mpich"], "true")
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr
    assert not (tmp_path / "mpich.log").exists()


def test_a_family_that_was_not_built_names_the_built_ones(nearfetch, launchers, elf):
    result = nearfetch("run", "--", launchers["mpich"], elf("app", "libmpi_abi.so.1"))
    assert result.returncode == 2
    assert "mpiabi" in result.stderr
    assert "built for: mpich, openmpi" in result.stderr


def test_stats_makes_the_folder_and_passes_its_full_path(nearfetch, launchers, elf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--stats", "out/deep", "--summary", "--", launchers["openmpi"], elf("app", "libmpi.so.40")]
    lines = nearfetch("run", *words).stdout.split("\n")
    assert (tmp_path / "out" / "deep").is_dir()
    assert f"NEARFETCH_STATS_DIR={tmp_path}/out/deep" in lines
    assert "NEARFETCH_SUMMARY=on" in lines


def test_stats_that_cannot_be_made_is_an_error(nearfetch, launchers, elf, tmp_path):
    (tmp_path / "file").write_text("")
    words = ["--stats", tmp_path / "file" / "out", "--", launchers["openmpi"], elf("app", "libmpi.so.40")]
    result = nearfetch("run", *words)
    assert (result.returncode, result.stdout) == (2, "")
    assert "--stats" in result.stderr


def test_a_stats_folder_of_the_environment_is_made(nearfetch, launchers, elf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = elf("app", "libmpi.so.40")
    lines = nearfetch("run", "--", launchers["openmpi"], app, NEARFETCH_STATS_DIR="new").stdout.split("\n")
    assert (tmp_path / "new").is_dir()
    assert f"NEARFETCH_STATS_DIR={tmp_path}/new" in lines


def test_stats_that_cannot_be_written_is_an_error(nearfetch, launchers, elf):
    # Root may write to any folder except the kernel's.
    result = nearfetch("run", "--stats", "/proc", "--", launchers["openmpi"], elf("app", "libmpi.so.40"))
    assert (result.returncode, result.stdout) == (2, "")
    assert "cannot write in the folder '/proc'" in result.stderr


def test_what_an_earlier_run_has_written_is_removed(nearfetch, launchers, elf, tmp_path):
    written = ("rank-7.json", "world-0123456789ab-rank-0.json", ".world-0123456789ab-rank-1.json.part")
    others = ("rank-x.json", "world-cup-rank-0.json", "my-rank-7.json")
    for name in (*written, *others):
        (tmp_path / name).write_text("{}")
    nearfetch("run", "--stats", tmp_path, "--", launchers["openmpi"], elf("app", "libmpi.so.40"))
    assert [name for name in written if (tmp_path / name).exists()] == []
    assert [name for name in others if (tmp_path / name).exists()] == list(others)


def test_each_run_with_stats_is_a_job_of_its_own(nearfetch, launchers, elf, tmp_path):
    def job(*words: object, **environ: str) -> list[str]:
        lines = nearfetch(
            "run", *words, "--", launchers["openmpi"], elf("app", "libmpi.so.40"), **environ
        ).stdout
        return [line for line in lines.split("\n") if line.startswith("NEARFETCH_JOB=")]

    stats = ("--stats", tmp_path / "out")
    assert job() == []
    assert len({*job(*stats), *job(*stats), "NEARFETCH_JOB="}) == 3
    assert job(*stats, "--set", "job=mine") == ["NEARFETCH_JOB=mine"]
    assert job(*stats, NEARFETCH_JOB="ours") == ["NEARFETCH_JOB=ours"]


def test_two_runs_do_not_write_into_one_folder(nearfetch, script, tmp_path):
    folder = tmp_path / "out"
    places = f"{tmp_path}/nf/lib {tmp_path}/nf/bin/nearfetch-settings"
    run = f"{sys.executable} -c '{DRIVER}' {places} run --mpi mpich"
    inner = script("inner.sh", 'touch "$NEARFETCH_STATS_DIR/rank-1.json"')
    # Not even if the environment names the folder: another job does not join.
    outer = script(
        "outer.sh",
        f'touch {folder}/rank-0.json\n[ "$1" = other ] && unset NEARFETCH_JOB\n{run} -- {inner}',
    )
    words = ["run", "--mpi", "mpich", "--stats", folder, "--", outer]
    refused = nearfetch(*words, "other")
    assert refused.returncode == 2
    assert f"cannot write in the folder '{folder}' (another run by nearfetch writes" in refused.stderr
    assert [file.name for file in folder.iterdir()] == ["rank-0.json"]
    # What the job itself starts is part of it, and removes nothing.
    joined = nearfetch(*words, "inside")
    assert (joined.returncode, joined.stderr) == (0, "")
    assert sorted(file.name for file in folder.iterdir()) == ["rank-0.json", "rank-1.json"]


def test_a_run_of_which_no_rank_has_written_says_so(nearfetch, script, tmp_path):
    words = ["run", "--mpi", "mpich", "--stats", tmp_path / "out", "--"]
    silent = nearfetch(*words, script("silent.sh", "true"))
    assert (silent.returncode, silent.stdout) == (0, "")
    assert silent.stderr.startswith("nearfetch: no rank has used nearfetch (")
    assert silent.stderr.count("\n") == 1
    # A command that fails reports the reason itself.
    assert nearfetch(*words, script("fails.sh", "exit 5")).stderr == ""
    assert nearfetch(*words, script("writes.sh", 'touch "$NEARFETCH_STATS_DIR/rank-0.json"')).stderr == ""


def test_with_stats_the_exit_code_is_the_commands(nearfetch, script, tmp_path):
    words = ["run", "--mpi", "mpich", "--stats", tmp_path / "out", "--"]
    assert nearfetch(*words, script("fails.sh", "exit 5")).returncode == 5
    assert nearfetch(*words, script("killed.sh", "kill -KILL $$")).returncode == -9


def test_with_stats_a_signal_is_passed_on(layout, script, tmp_path):
    job = script("caught.sh", f"trap 'exit 3' TERM\n: > {tmp_path}/ready\nwhile :; do sleep 0.1; done")
    words = ["run", "--mpi", "mpich", "--stats", tmp_path / "out", "--", job]
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *layout[:2], *map(str, words)],
        env={**without_nearfetch(os.environ), "PYTHONPATH": str(PACKAGE)},
    )
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    assert process.wait(30) == 3


def test_a_program_without_mpi_is_doubted(nearfetch, launchers, elf, script):
    run = ["run", "--", launchers["openmpi"], "-n", "1"]
    assert "links no libmpi" in nearfetch(*run, elf("lone", "libc.so.6")).stderr
    app = elf("app", "libmpi.so.40")
    for words in (["python3", "x.py"], [script("a.sh", "")], [elf("tool", "libc.so.6"), app], ["env", app]):
        assert nearfetch(*run, *words).stderr == ""
    assert nearfetch(*run, elf("other", "libmissing.so.1")).stderr == ""


def test_an_empty_variable_is_as_if_unset(nearfetch, launchers, elf):
    command = ["run", "--", launchers["openmpi"], elf("app", "libmpi.so.40")]
    result = nearfetch(*command, NEARFETCH_MODE="")
    assert (result.returncode, result.stderr) == (7, "")


def decision(links: bool = True) -> Decision:
    return Decision("mpich", None, links, Path("/mpi/libmpi.so.12"))


def test_the_users_preload_is_kept(elf):
    interposer = elf("libnearfetch_mpi_mpich.so", "libc.so.6")
    assert preload(interposer, decision(), "/a.so /b.so:/c.so") == f"{interposer}:/a.so:/b.so:/c.so"
    assert (
        preload(interposer, decision(links=False), "/a.so", True) == f"{interposer}:/mpi/libmpi.so.12:/a.so"
    )


def test_a_sanitizers_runtime_comes_first(elf):
    interposer = elf("libnearfetch_mpi_mpich.so", "libasan.so.8", "libubsan.so.1")
    assert preload(interposer, decision(), "/a.so") == f"libasan.so.8:{interposer}:/a.so"
    assert preload(interposer, decision(), "/x/libasan.so.8") == f"/x/libasan.so.8:{interposer}"


def test_a_path_that_ld_preload_cannot_carry_is_an_error(elf):
    with pytest.raises(NearfetchError, match="LD_PRELOAD"):
        preload(elf("with space/lib.so"), decision(), "")


def test_options_go_right_behind_the_launcher():
    found = Decision("mpich", Launcher(2, "hydra", Path("/x/mpiexec")), True, None)
    words = inject(["env", "A=b", "mpiexec", "-n", "1", "app"], found, {"V": "1"}, {}).command
    assert words == ["env", "A=b", "mpiexec", "-genv", "V", "1", "-n", "1", "app"]


def injected(kind: str, *words: object) -> list[str]:
    found = Decision("mpich", Launcher(0, kind, Path("/x/mpiexec")), True, None)
    return inject(
        ["mpiexec", *map(str, words)], found, {"V": "1", "LD_PRELOAD": "/nf.so"}, os.environ
    ).command


def test_open_mpis_own_preload_option_is_merged(elf):
    app = str(elf("app"))
    words = injected("openmpi", "-x", "LD_PRELOAD=/a.so", "-n", "1", app, ":", "-x", "LD_PRELOAD", app)
    assert words == [
        *("mpiexec", "-x", "V=1", "-x", "LD_PRELOAD=/nf.so:/a.so", "-n", "1", app),
        *(":", "-x", "V=1", "-x", "LD_PRELOAD=/nf.so", app),
    ]
    # After the program it is an argument.
    assert injected("openmpi", app, "-x", "LD_PRELOAD=/a.so")[-3:] == [app, "-x", "LD_PRELOAD=/a.so"]


def test_hydras_own_preload_options_are_merged(elf):
    app = str(elf("app"))
    words = injected(
        "hydra", "-genv", "LD_PRELOAD", "/a.so", app, ":", "-env", "LD_PRELOAD=/b/libasan.so.8", app
    )
    assert words == [
        *("mpiexec", "-genv", "V", "1", "-genv", "LD_PRELOAD", "/nf.so"),
        *("-genv", "LD_PRELOAD", "/nf.so:/a.so", app),
        *(":", "-env", "LD_PRELOAD=/b/libasan.so.8:/nf.so", app),
    ]


def test_the_preload_of_env_is_merged(elf):
    app = str(elf("app"))
    assert injected("hydra", "env", "LD_PRELOAD=/a.so", app)[-2:] == ["LD_PRELOAD=/nf.so:/a.so", app]
    alone = Decision("mpich", None, True, None)
    words = inject(["env", "LD_PRELOAD=/a.so", app], alone, {"LD_PRELOAD": "/nf.so"}, os.environ).command
    assert words == ["env", "LD_PRELOAD=/nf.so:/a.so", app]


def test_a_file_of_programs_is_refused(nearfetch, launchers, tmp_path):
    for option in ("--app", "-app"):
        result = nearfetch("run", "--", launchers["openmpi"], option, tmp_path / "file")
        assert (result.returncode, result.stdout) == (2, "")
        assert f"{option} names a file of programs" in result.stderr


def test_settings_are_listed(layout, capsys):
    assert main(["settings"], layout) == 0
    text = capsys.readouterr().out
    for word in (
        "mode",
        "transparent",
        "when to forget",
        "buffer_bytes",
        "32MiB",
        "a size",
        "NEARFETCH_BUFFER_BYTES",
    ):
        assert word in text
    assert main(["settings", "--json"], layout) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == [
        "mode",
        "buffer_bytes",
        "stats_dir",
        "job",
    ]


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"nearfetch {__version__}\n"


def test_a_nearfetch_that_is_not_built_says_so(tmp_path, capsys):
    assert main(["settings"], Layout.of_build(tmp_path)) == 2
    assert "not built" in capsys.readouterr().err
    with pytest.raises(NearfetchError, match="not built"):
        Layout.of_build(tmp_path).interposer("mpich")
