// SPDX-License-Identifier: Apache-2.0
#pragma once

// A public header, because programs catch it.
#include <nearfetch/detail/base/error.hpp>
