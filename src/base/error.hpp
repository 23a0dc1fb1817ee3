// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs catch it, too, so it stands with what they may include.
#include <nearfetch/detail/base/error.hpp>
