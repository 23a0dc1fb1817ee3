# SPDX-License-Identifier: Apache-2.0
"""Options of launchers and containers whose value is the next word, which might look like a program."""

from __future__ import annotations

import os
from typing import Mapping


def _with_values(options: str, words: int = 1) -> dict[str, int]:
    return dict.fromkeys(options.split(), words)


_HYDRA_AND_OPEN_MPI: Mapping[str, int] = {
    **_with_values(
        """
        n np c H N f x host hosts hostfile machinefile wdir wd path ppn perhost npernode genvlist envlist
        configfile app bind-to map-by rank-by membind topolib rmk launcher launcher-exec demux iface prefix
        output-filename timeout tune preload-files stdin am rankfile personality
        """
    ),
    **_with_values("genv env mca gmca omca pmixmca prtemca", 2),
}

_SRUN = """
    A B b c C D d e G i J L M m N n o p q r S T t w W x account begin cluster-constraint comment constraint
    container core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task dependency distribution
    error exclude export export-file extra-node-info gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket
    gpus-per-task gres hint input job-name jobid licenses mem mem-bind mem-per-cpu mem-per-gpu mpi network
    nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode
    output partition priority profile prolog epilog qos relative reservation signal sockets-per-node
    task-epilog task-prolog threads threads-per-core time time-min tmp uid wckey chdir
"""
_FLUX = """
    n N c g q t B o S O ntasks nodes cores-per-task gpus-per-task tasks-per-node tasks-per-core cores
    gpus-per-node queue time-limit bank job-name setopt setattr dependency requires begin-time urgency cwd
    input output error env env-file rlimit
"""
_JSRUN = """
    n a c g b d r l p e f i o t k h m E F P D K L X Z nrs np tasks_per_rs cpu_per_rs gpu_per_rs bind
    launch_distribution rs_per_host latency_priority env exit_on_error erf_input stdio_input stdio_stdout
    stdio_stderr stdio_mode chdir smpiargs
"""
_APRUN = """
    n N d S e m p r t j L l E F D cc cp sn sl ss
"""
_CLUSTER = {
    "srun": _SRUN,
    "flux": _FLUX,
    "jsrun": _JSRUN,
    "lrun": _JSRUN,
    "aprun": _APRUN,
    "palsrun": "n c d l cpu-bind mem-bind env hosts hostfile ppn depth wdir umask",
    "ibrun": "n o",
}
CLUSTER_LAUNCHERS: Mapping[str, Mapping[str, int]] = {
    name: _with_values(options) for name, options in _CLUSTER.items()
}
"""Launchers of resource managers, and their options: with how many words each is followed."""

FLUX_VERBS = ("run", "submit", "bulksubmit")
"""What flux has to be told to start ranks."""

CONTAINERS = ("apptainer", "singularity")
CONTAINER_OPTIONS: Mapping[str, int] = _with_values(
    """
    B H W o S c bind mount env env-file home workdir overlay scratch pwd cwd network network-args security
    add-caps drop-caps apply-cgroups app dns hostname fusemount cpus memory pem-path config
    """
)
"""Options of `apptainer exec` and before `exec`: with how many words each is followed."""


def options_with_values(launcher: str) -> Mapping[str, int]:
    """The options of `launcher`, by their names without dashes: with how many words each is followed."""
    return CLUSTER_LAUNCHERS.get(os.path.basename(launcher), _HYDRA_AND_OPEN_MPI)
