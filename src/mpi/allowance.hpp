// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a recess (recess.hpp) lets pass, and to where.

#include <dlfcn.h>

#include <cstdint>
#include <utility>

namespace nearfetch {

/// The library's call in a recess: where it is, once that has been looked up. Until then, and where it cannot
/// be found, by the table of procedures' addresses, which is a jump more.
template <auto* call>
class LibraryCall;
template <class... Arguments, int (*call)(Arguments...)>
class LibraryCall<call> {
  public:
    using Function = int (*)(Arguments...);

    int operator()(Arguments... arguments) const { return now_(arguments...); }
    const Function& now() const noexcept { return now_; }
    /// \param name "PMPI_Get"
    void look_up(const char* name) noexcept {
        if (void* const found = dlsym(RTLD_DEFAULT, name)) now_ = reinterpret_cast<Function>(found);
    }

  private:
    static int by_table(Arguments... arguments) { return call(arguments...); }

    Function now_ = by_table;
};

/// How many calls of one kind pass in the recess that is on.
class Allowance {
  public:
    /// Counts one that does. Writes nothing where none does.
    bool passes() noexcept {
        if (left_ == 0) return false;
        --left_;
        return true;
    }
    /// The same of a call of the program: where it goes on, to the library or to where it is seen.
    template <auto* call>
    auto way(const LibraryCall<call>& library, decltype(call) seen) noexcept {
#if defined(__x86_64__)
        // Where it sees a branch GCC 12 loads the arguments that are on the stack, and stores them again
        // where they were: 1 ns of a get's 30.
        asm("cmpl $0, %[left]\n\t"
            "je 1f\n\t"
            "subl $1, %[left]\n\t"
            "movq %[library], %[seen]\n"
            "1:"
            : [seen] "+r"(seen), [left] "+m"(left_)
            : [library] "m"(library.now())
            : "cc");
        return seen;
#else
        return passes() ? library.now() : seen;
#endif
    }
    /// The same of a call that comes here only while the recess is on, which the first one that does not pass
    /// ends.
    template <auto* call>
    auto way_until_used_up(const LibraryCall<call>& library, decltype(call) seen) noexcept {
#if defined(__x86_64__)
        asm("subl $1, %[left]\n\t"
            "cmovnc %[library], %[seen]"
            : [seen] "+r"(seen), [left] "+m"(left_)
            : [library] "m"(library.now())
            : "cc");
        return seen;
#else
        return left_-- != 0 ? library.now() : seen;
#endif
    }
    void begin(std::uint32_t calls) noexcept { left_ = calls; }
    std::uint32_t left() const noexcept { return left_ != used_up ? left_ : 0; }
    /// \return how many were left
    std::uint32_t end() noexcept {
        const std::uint32_t were_left = left();
        left_ = 0;
        return were_left;
    }

  private:
    static constexpr std::uint32_t used_up = ~std::uint32_t{0};  ///< one more has come

    std::uint32_t left_ = 0;
};

/// Whether calls of one kind pass in the recess that is on, of which it matters only whether there were any:
/// then there are no more writes, of which the library's own might have to wait.
class Permission {
  public:
    /// Notes one that does.
    bool passes() noexcept {
        if (state_ == State::used) [[likely]]
            return true;
        if (state_ == State::none) return false;
        state_ = State::used;
        return true;
    }
    bool given() const noexcept { return state_ != State::none; }
    bool was_used() const noexcept { return state_ == State::used; }
    void begin(bool pass) noexcept { state_ = pass ? State::given : State::none; }
    /// \return whether one has passed
    bool end() noexcept { return std::exchange(state_, State::none) == State::used; }

  private:
    enum class State : std::uint8_t { none, given, used } state_ = State::none;
};

}  // namespace nearfetch
