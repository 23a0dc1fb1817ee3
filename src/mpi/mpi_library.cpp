// SPDX-License-Identifier: Apache-2.0
#include "mpi/mpi_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

// A function that every MPI library has, where the loader found it when it loaded the interposer. One that is
// not called here: what has its address taken is not looked for a second time.
extern "C" int found_at_load() __asm__("PMPI_Get_version") __attribute__((weak));

namespace nearfetch {

namespace {

constexpr const char* wanted = "PMPI_Get_version";

struct Title {
    std::string_view family;
    const char* text;
};
constexpr Title mpich{"mpich", "MPICH"}, openmpi{"openmpi", "Open MPI"},
    mpiabi{"mpiabi", "the MPI standard ABI"}, unknown{"", ""};
constexpr const Title& ours = std::string_view(NEARFETCH_MPI_FAMILY) == mpich.family     ? mpich
                              : std::string_view(NEARFETCH_MPI_FAMILY) == openmpi.family ? openmpi
                                                                                         : mpiabi;

/// The library that a function belongs to; null where that is not known.
const link_map* library_of(const void* function) noexcept {
    Dl_info info;
    void* library = nullptr;
    return dladdr1(function, &info, &library, RTLD_DL_LINKMAP) != 0 ? static_cast<const link_map*>(library)
                                                                    : nullptr;
}

std::string_view soname_of(const link_map& library) noexcept {
    const char* strings = nullptr;
    std::size_t at = 0;
    for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_SONAME) at = entry->d_un.d_val;
        if (entry->d_tag != DT_STRTAB) continue;
        // Some loaders leave the address as it stands in the file.
        const ElfW(Addr) address = entry->d_un.d_ptr;
        strings =
            reinterpret_cast<const char*>(address < library.l_addr ? address + library.l_addr : address);
    }
    return strings != nullptr && at != 0 ? std::string_view(strings + at) : std::string_view();
}

/// Whether a library says itself that it has the standard ABI (MPI-5.0, MPI_Abi_get_version).
bool has_standard_abi(const link_map& library) noexcept {
    using AbiVersion = int(int*, int*);
    void* const handle = dlopen(library.l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return false;
    auto* const abi_version = reinterpret_cast<AbiVersion*>(dlsym(handle, "MPI_Abi_get_version"));
    int major = -1, minor = -1;
    const bool known = abi_version != nullptr && abi_version(&major, &minor) == 0 && major > 0;
    dlclose(handle);
    return known;
}

/// The family that a library's soname tells, as families.py has it, or else the library itself.
const Title& family_of(const link_map* library) noexcept {
    const std::string_view soname = library != nullptr ? soname_of(*library) : std::string_view();
    const bool is_mpi = soname.starts_with("libmpi");
    if (is_mpi && soname.starts_with("libmpi_abi.")) return mpiabi;
    if (is_mpi && soname.ends_with(".so.40")) return openmpi;
    if (is_mpi && soname.ends_with(".so.12")) return mpich;
    return library != nullptr && has_standard_abi(*library) ? mpiabi : unknown;
}

/// What is of no known family may be the right one under another name.
bool may_serve(const Title& family) noexcept { return family.family.empty() || &family == &ours; }

[[noreturn]] void end_program(const std::string& problem, const std::string& why, const std::string& advice) {
    std::fprintf(stderr, "nearfetch: %s\n", Error(problem, why, advice).what());
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);
}

int note_name(dl_phdr_info* info, std::size_t, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(info->dlpi_name);
    return 0;
}

/// The function in a library that was loaded for somebody alone; of this family, if there is one.
void* find_private() {
    std::vector<std::string> names;
    dl_iterate_phdr(note_name, &names);
    void* other = nullptr;
    for (const std::string& name : names) {
        void* const library = name.empty() ? nullptr : dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) continue;
        void* const found = dlsym(library, wanted);
        dlclose(library);
        if (found != nullptr && may_serve(family_of(library_of(found)))) return found;
        if (found != nullptr) other = found;
    }
    return other;
}

/// Whether names that were not found when the interposer was loaded stay so.
bool binds_at_load() noexcept {
#if defined(NEARFETCH_MPI_OPENMPI)
    return true;
#else
    const char* const now = std::getenv("LD_BIND_NOW");
    return now != nullptr && *now != '\0';
#endif
}

void find_mpi_library() {
    void* found = reinterpret_cast<void*>(&found_at_load);
    const bool late = found == nullptr;
    if (late) found = dlsym(RTLD_DEFAULT, wanted);
    const bool is_private = found == nullptr;
    if (is_private) found = find_private();
    if (found == nullptr)
        end_program("the MPI library is missing", "the program calls MPI and has loaded no libmpi",
                    "link or load it, or run the program without nearfetch");
    const link_map* const library = library_of(found);
    const std::string file = library != nullptr ? library->l_name : "";
    if (const Title& family = family_of(library); !may_serve(family))
        end_program("the program uses " + file,
                    std::string("that is ") + family.text + "'s, and nearfetch came for " + ours.text,
                    "run it by nearfetch run --mpi " + std::string(family.family));
    if (late && binds_at_load())
        end_program("the program loads " + file + " too late",
                    "with LD_BIND_NOW functions are looked for only when nearfetch is loaded",
                    "unset LD_BIND_NOW, or put this library into LD_PRELOAD behind nearfetch's");
    if (is_private) dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
    if (late && dlsym(RTLD_DEFAULT, wanted) == nullptr)
        end_program("the functions of " + file + " cannot be called",
                    "the program has loaded it for itself alone",
                    "put this library into LD_PRELOAD behind nearfetch's");
}

}  // namespace

void need_mpi_library() noexcept {
    [[maybe_unused]] static const bool found = [] {
        find_mpi_library();
        return true;
    }();
}

}  // namespace nearfetch
