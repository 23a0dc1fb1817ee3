// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace nearfetch {

/// Under what this process runs, for its statistics: the version of nearfetch and of the MPI library, the
/// command, the host, and the settings that the environment has. MPI has to be initialized.
nlohmann::ordered_json describe_environment();

}  // namespace nearfetch
