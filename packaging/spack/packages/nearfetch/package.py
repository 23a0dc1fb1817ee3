# SPDX-License-Identifier: Apache-2.0
"""The recipe for Spack: `spack repo add packaging/spack`, then `spack install nearfetch`."""

from spack.package import *


class Nearfetch(CMakePackage):
    """Caching and prefetching for one-sided communication (MPI RMA and PGAS)."""

    homepage = "https://github.com/nearfetch/nearfetch"
    git = "https://github.com/nearfetch/nearfetch.git"

    license("Apache-2.0", checked_by="nearfetch")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("mpich", default=True, description="The interposer for MPICH and libraries with its ABI")
    variant("openmpi", default=False, description="The interposer for Open MPI 4 and 5")
    variant("mpiabi", default=False, description="The interposer for the MPI standard ABI")
    variant("python", default=False, description="The native module of the Python arrays")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("boost@1.66:", type="build")
    depends_on("nlohmann-json@3.9:", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-nanobind@2:", type="build", when="+python")
    depends_on("py-numpy", type="run", when="+python")
    depends_on("mpich@3.4:", when="+mpich")
    depends_on("mpich@5:", when="+mpiabi")
    depends_on("openmpi@4:", when="+openmpi")

    conflicts("~mpich~openmpi~mpiabi", msg="no MPI: at least one family has to be built")
    conflicts("%gcc@:10", msg="nearfetch is written in C++20")

    def cmake_args(self):
        """The wrapper of each family, or OFF."""
        wrappers = {
            "mpich": ("mpich", "mpicc"),
            "openmpi": ("openmpi", "mpicc"),
            "mpiabi": ("mpich", "mpicc_abi"),
        }
        args = [self.define("NEARFETCH_TESTS", False), self.define("NEARFETCH_APPS", False)]
        for family, (package, wrapper) in wrappers.items():
            wanted = self.spec.satisfies(f"+{family}")
            path = join_path(self.spec[package].prefix.bin, wrapper) if wanted else "OFF"
            args.append(self.define(f"NEARFETCH_MPICC_{family.upper()}", path))
        return args

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        """The command runs, and knows its settings."""
        Executable(self.prefix.bin.nearfetch)("settings", "--json")

    def test_settings(self):
        """`nearfetch settings` names the mode."""
        out = Executable(self.prefix.bin.nearfetch)("settings", output=str, error=str)
        assert "acquire" in out
