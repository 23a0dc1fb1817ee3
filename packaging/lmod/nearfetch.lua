-- SPDX-License-Identifier: Apache-2.0
-- The module file for Lmod. It sets PATH only: the command finds its libraries from its own place.
help("nearfetch keeps remote memory near: `nearfetch run -- mpiexec -n 64 ./app`")
whatis("Name: nearfetch")
whatis("Version: " .. myModuleVersion())
whatis("Description: caching and prefetching for one-sided communication (MPI RMA and PGAS)")

-- It is installed as PREFIX/share/nearfetch/modulefiles/nearfetch/VERSION.lua.
local prefix = myFileName():match("^(.*)/share/nearfetch/modulefiles/")
prepend_path("PATH", pathJoin(prefix, "bin"))
