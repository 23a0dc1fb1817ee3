// SPDX-License-Identifier: Apache-2.0
#include "python/named_collective.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <nearfetch/pgas.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace nearfetch::python {

namespace {

/// A `with` in which the thread is in a collective function. What is collective inside is a part of it.
class NamedCollective {
  public:
    /// \param arguments all ranks have to give the same
    NamedCollective(std::string what, std::vector<std::uint64_t> arguments)
        : what_(std::move(what)), arguments_(std::move(arguments)) {}

    void enter() {
        call_.emplace(what_.c_str(), Where{});
        detail::Collective::here().add(arguments_);
    }
    void leave() { call_.reset(); }

  private:
    std::string what_;
    std::vector<std::uint64_t> arguments_;
    std::optional<detail::Collective> call_;
};

}  // namespace

void define_collective(nb::module_& module) {
    nb::class_<NamedCollective> collective(module, "Collective");
    collective.def(nb::init<std::string, std::vector<std::uint64_t>>(), "what"_a, "arguments"_a);
    collective.def("__enter__", &NamedCollective::enter);
    collective.def("__exit__", [](NamedCollective& self, const nb::args&) { self.leave(); });
}

}  // namespace nearfetch::python
