// SPDX-License-Identifier: Apache-2.0
//
// The native half of the Python package; python/nearfetch/arrays.py and program.py wrap it.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <nearfetch/detail/array/collective.hpp>
#include <nearfetch/detail/array/prefetch.hpp>
#include <nearfetch/pgas.hpp>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

#include "base/language.hpp"
#include "base/settings.hpp"
#include "python/array_binding.hpp"
#include "python/interrupt.hpp"
#include "python/keys.hpp"
#include "python/memory.hpp"
#include "python/named_collective.hpp"
#include "python/program.hpp"
#include "python/rank_state.hpp"
#include "python/session.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nearfetch::python {

namespace {

/// Copies entries of a dictionary into the options of the same names.
template <class T>
void take(const nb::dict& from, const char* name, T& to) {
    if (!from.contains(name)) return;
    const nb::object value = from[name];
    if (!nb::try_cast(value, to))
        throw Error(std::string(name) + " is " + nb::repr(value).c_str(),
                    std::is_same_v<T, std::string> ? "it is a word"
                    : std::is_same_v<T, bool>      ? "it is True or False"
                                                   : "it is a whole number that is not negative",
                    "use such a value");
}

constexpr std::string_view cache_prefix = "page_cache_";

/// A value in the syntax of settings: a number, a word, on or off. Its type has to match.
std::string text_of(const SettingInfo& setting, std::string_view name, nb::handle value) {
    if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value) ? "on" : "off";
    const bool is_number = !setting.unit.empty();
    const bool fits = is_number ? PyIndex_Check(value.ptr()) != 0 : nb::isinstance<nb::str>(value);
    if (!fits)
        throw Error(std::string(name) + " is " + nb::repr(value).c_str(),
                    is_number ? "it is a whole number" : "allowed: " + setting.allowed, "use such a value");
    return nb::str(value).c_str();
}

/// The library for the MPI family, that of MPI, and the address of a communicator or 0.
using Place = std::tuple<std::string, std::string, std::uintptr_t>;
MpiPlace mpi_place_of(const Place& place) {
    const auto& [library, libmpi, communicator] = place;
    return {library, libmpi, communicator};
}

PageCacheConfig cache_of(const nb::dict& from) {
    Settings settings = settings_of_environment();
    for (const SettingInfo& setting : settings_table()) {
        if (!setting.name.starts_with(cache_prefix)) continue;
        const std::string name(setting.name.substr(cache_prefix.size()));
        if (from.contains(name.c_str()))
            apply_setting(settings, setting.name, text_of(setting, name, from[name.c_str()]));
    }
    return settings.page_cache;
}

nb::list cache_settings() {
    nb::list names;
    for (const SettingInfo& setting : settings_table())
        if (setting.name.starts_with(cache_prefix))
            names.append(std::string(setting.name.substr(cache_prefix.size())));
    return names;
}

LaunchOptions options_of(const nb::dict& from) {
    LaunchOptions options;
    take(from, "ranks", options.ranks);
    take(from, "cached", options.cached);
    take(from, "network", options.network);
    take(from, "virtual_time", options.virtual_time);
    take(from, "seed", options.seed);
    take(from, "jitter_ns", options.jitter_ns);
    take(from, "access_ns", options.access_ns);
    take(from, "miss_ns", options.miss_ns);
    take(from, "overlapped_ns", options.overlapped_ns);
    take(from, "fence_ns", options.fence_ns);
    take(from, "copied_kib_ns", options.copied_kib_ns);
    options.cache = cache_of(from.contains("cache") ? nb::cast<nb::dict>(from["cache"]) : nb::dict());
    return options;
}

nb::dict statistics_dict() {
    nb::dict result;
    for (const auto& [name, value] : statistics().rows)
        result[nb::str(name.data(), name.size())] = value;
    const PrefetchStatistics prefetched = prefetch_statistics();
    result["prefetch_entries"] = prefetched.entries;
    result["prefetch_bytes"] = prefetched.bytes;
    result["prefetch_updates"] = prefetched.updates;
    result["prefetch_updated_bytes"] = prefetched.updated_bytes;
    result["prefetch_replica_reads"] = prefetched.replica_reads;
    result["prefetch_bytes_from_node"] = prefetched.bytes_from_node;
    result["prefetch_shared_bytes"] = prefetched.shared_bytes;
    return result;
}

/// The function, for threads that are ranks.
template <auto Function>
auto in_rank() {
    RankState::require();
    return Function();
}

void gather(const std::string& what, nb::handle own, nb::handle to) {
    RankState::require();
    const Buffer from(own, false), all(to, true);
    const nb::gil_scoped_release unlocked;
    const detail::Collective call(what.c_str(), {});
    detail::Agreement().check({});  // before memory is allocated
    detail::Gathering().all(from.bytes().data(), from.bytes().size(), all.bytes().data());
}

void define_program(nb::module_& module) {
    module.def(
        "launch_threads",
        [](const nb::dict& options, const nb::callable& main, const nb::callable& site) {
            launch_threads(options_of(options), main, site);
        },
        "options"_a, "main"_a, "site"_a, "Runs main() in ranks that are threads of this process.");
    module.def(
        "launch_processes",
        [](const nb::dict& options, const nb::callable& main, const nb::callable& site,
           const nb::callable& text, const Place& place) {
            launch_processes(options_of(options), main, site, text, mpi_place_of(place));
        },
        "options"_a, "main"_a, "site"_a, "text"_a, "place"_a,
        "Runs main() in this rank of an MPI job; text(exception) is printed when it fails.");
    module.def(
        "begin_session",
        [](const nb::dict& options, const nb::callable& site, const std::optional<Place>& place) {
            begin_session(options_of(options), site,
                          place ? std::optional(mpi_place_of(*place)) : std::nullopt);
        },
        "options"_a, "site"_a, "place"_a.none(), "Makes the calling thread a rank until end_session().");
    module.def("end_session", &end_session, "exits"_a, "Waits for all ranks and ends their program.");
    module.def("fail_session", &fail_session, "text"_a, "Prints it and ends the MPI job, if there is one.");
    module.def("notice_interrupt", &notice_interrupt, "Python handles what has interrupted it.");
    module.def("end_interrupted", &end_interrupted, "text"_a,
               "Prints it and ends the process as an interrupt does.");
    module.def(
        "finish_processes", [] { finish_processes(); }, nb::call_guard<nb::gil_scoped_release>(),
        "Ends MPI if a program of processes has started it.");
    module.def("load_globally", &load_globally, "library"_a,
               "Loads a library for all that are loaded later.");
    module.def("rank", in_rank<&rank>, "Of the calling thread's rank.");
    module.def("ranks", in_rank<&ranks>, "How many ranks the program has.");
    module.def(
        "is_running", [] { return RankState::here() != nullptr; },
        "Whether the calling thread is a rank of a launched program.");
    module.def("barrier", in_rank<[] { barrier(); }>,
               "Waits for all ranks, with a release before and an acquire after it.");
    module.def("gather", &gather, "what"_a, "own"_a, "to"_a,
               "Gathers each rank's bytes, of one size, for the collective function `what`.");
    module.def("acquire", in_rank<[] { acquire(); }>, "Later reads see nothing that was read earlier.");
    module.def("release", in_rank<[] { release(); }>, "All that was written is where it belongs.");
    module.def("fence", in_rank<&fence>, "A release, then an acquire.");
    module.def(
        "compute",
        [](std::uint64_t ns) {
            RankState::require();
            compute(ns);
        },
        "ns"_a, "The program computes for so long.");
    module.def("now_ns", in_rank<&now_ns>, "This rank's time.");
    module.def("statistics", in_rank<&statistics_dict>, "The counters of this rank.");
    module.def("cache_settings", &cache_settings, "The names of the page cache's settings.");
}

}  // namespace

NB_MODULE(_native, module) {
    // Objects in the traceback of an exception may outlive the interpreter; that is harmless.
    nb::set_leak_warnings(false);
    set_language(Language::python);
    module.doc() = "What nearfetch's Python package is made of; import nearfetch instead.";
    // A user's errors keep their text, and become the package's exception classes.
    nb::register_exception_translator([](const std::exception_ptr& problem, void*) {
        try {
            std::rethrow_exception(problem);
        } catch (const OutOfBounds& error) {
            PyErr_SetString(nb::module_::import_("nearfetch.errors").attr("IndexingError").ptr(),
                            error.what());
        } catch (const CollectiveError& error) {
            PyErr_SetString(nb::module_::import_("nearfetch.errors").attr("CollectiveError").ptr(),
                            error.what());
        } catch (const Error& error) {
            PyErr_SetString(nb::module_::import_("nearfetch.errors").attr("Error").ptr(), error.what());
        } catch (const std::bad_alloc&) {
            PyErr_SetString(PyExc_MemoryError, "this process has no memory for it: let go of arrays first");
        } catch (const std::length_error&) {
            PyErr_SetString(PyExc_MemoryError, "no process has memory for that many: use fewer");
        }
    });
    define_program(module);
    define_collective(module);
    define_arrays(module);
    define_sparse(module);
}

}  // namespace nearfetch::python
