// SPDX-License-Identifier: Apache-2.0
#pragma once

// The windows of random programs: some stay for all programs, the extra ones come and go within one.

#include <memory>
#include <optional>

#include "random_history.hpp"

namespace random_programs {

using namespace check;

/// All ranks of the programs: where some are spawned, of both worlds.
inline MPI_Comm& world() {
    static MPI_Comm comm = MPI_COMM_WORLD;
    return comm;
}
inline void barrier() { CHECK_MPI(MPI_Barrier(world())); }

/// The values of the setting `bypass`.
class States {
  public:
    static constexpr const char* key = "nearfetch_bypass";

    /// Finds out on a window which there are. All ranks do it together.
    explicit States(MPI_Win win) {
        const char* const name = std::getenv("NEARFETCH_BYPASS");
        first_ = name == nullptr ? "on" : name;
        CHECK_MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        for (const char* const value : {"off", "on", "sampling", "always", "passthrough"})
            if (set(win, value) == MPI_SUCCESS) values_.emplace_back(value);
        CHECK_MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
        reset(win);
    }

    const std::string& any(int variant) const {
        return values_[static_cast<std::size_t>(variant) % values_.size()];
    }
    void change(MPI_Win win, int variant) const { CHECK_MPI(set(win, any(variant).c_str())); }
    /// As the run wants it.
    void reset(MPI_Win win) const { CHECK_MPI(set(win, first_.c_str())); }

  private:
    static int set(MPI_Win win, const char* value) { return MPI_Win_set_info(win, Info{{key, value}}); }

    std::string first_;
    std::vector<std::string> values_;
};

/// One of the extra windows.
class MadeWindow {
  public:
    /// \param memory of the window `created`
    MadeWindow(const ExtraWindow& what, int window, std::uint64_t fill, unsigned char* memory,
               const States& states)
        : what_(what), bytes_(part_bytes(window, rank())) {
        const std::string& state = states.any(what.variant / 256);
        const Info off{{States::key, state.c_str()}, {"nearfetch_mode", "off"}};
        const Info as_all{{States::key, state.c_str()}};
        const MPI_Info info = what.is_off() ? off : as_all;
        const auto unit = static_cast<int>(what.unit(rank()));
        const auto size = static_cast<MPI_Aint>(bytes_);
        if (what.overlaps()) {
            base_ = memory + what.base;
        } else if (what.how != ExtraWindow::by_allocate) {
            memory_.resize(bytes_ / 8);
            base_ = reinterpret_cast<unsigned char*>(memory_.data());
            begin(fill);
        }
        if (what.how == ExtraWindow::by_allocate) {
            CHECK_MPI(MPI_Win_allocate(size, unit, info, world(), &base_, &win_));
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, win_));
            begin(fill);
            CHECK_MPI(MPI_Win_unlock(rank(), win_));
            barrier();
        } else if (what.is_dynamic()) {
            CHECK_MPI(MPI_Win_create_dynamic(info, world(), &win_));
            CHECK_MPI(MPI_Win_attach(win_, base_, size));
            MPI_Aint mine = 0;
            CHECK_MPI(MPI_Get_address(base_, &mine));
            CHECK_MPI(MPI_Allgather(&mine, 1, MPI_AINT, addresses_, 1, MPI_AINT, world()));
        } else {
            CHECK_MPI(MPI_Win_create(base_, size, unit, info, world(), &win_));
        }
        CHECK_MPI(MPI_Win_lock_all(0, win_));
    }
    MadeWindow(const MadeWindow&) = delete;
    MadeWindow& operator=(const MadeWindow&) = delete;
    ~MadeWindow() = default;

    /// After the end of its epoch. \return what is wrong with this rank's part then, or nothing
    std::string free(const History& history) {
        if (what_.is_dynamic() && what_.variant / 32 % 2 != 0) {
            barrier();
            CHECK_MPI(MPI_Win_detach(win_, base_));
        }
        CHECK_MPI(MPI_Win_free(&win_));
        if (what_.overlaps() || what_.how == ExtraWindow::by_allocate) return {};
        return history.check_part(what_.memory, rank(), base_, bytes_);
    }

    MPI_Win win() const { return win_; }
    MPI_Aint displacement(int target, std::uint64_t offset) const {
        if (what_.is_dynamic()) return MPI_Aint_add(addresses_[target], static_cast<MPI_Aint>(offset));
        return static_cast<MPI_Aint>(offset / what_.unit(target));
    }

  private:
    void begin(std::uint64_t fill) const {
        for (std::uint64_t at = 0; at < bytes_; ++at)
            base_[at] = byte_at_first(fill, what_.memory, rank(), at);
    }

    ExtraWindow what_;
    std::uint64_t bytes_;
    MPI_Win win_ = MPI_WIN_NULL;
    unsigned char* base_ = nullptr;
    std::vector<std::uint64_t> memory_;
    MPI_Aint addresses_[most_ranks] = {};
};

/// The windows of all programs: those whose bytes are read and written, and those of flags.
class Windows {
  public:
    explicit Windows(MPI_Info info) {
        for (int id = 0; id < windows; ++id)
            data.push_back(std::make_unique<Window>(
                static_cast<MPI_Aint>(part_bytes(id, rank()) + (id == allocated ? flag_bytes : 0)), 1,
                id == created ? Kind_::create : Kind_::allocate, info, world()));
        flags = std::make_unique<Window>(flag_bytes, 8, Kind_::allocate, info, world());
        lock_flags = std::make_unique<Window>(flag_bytes, 8, Kind_::allocate, info, world());
        states = std::make_unique<States>(*flags);
    }
    MPI_Win operator[](int id) const {
        if (id == flag_window) return *flags;
        return is_extra(id) ? made[id - extra]->win() : MPI_Win{*data[static_cast<std::size_t>(id)]};
    }
    unsigned char* bytes(int id) const { return data[static_cast<std::size_t>(id)]->bytes(); }
    MPI_Aint displacement(int id, int target, std::uint64_t offset) const {
        return is_extra(id) ? made[id - extra]->displacement(target, offset) : static_cast<MPI_Aint>(offset);
    }

    /// What the modes that forget nothing by themselves are owed after a synchronisation.
    void forget_all() const {
        for (const auto& window : data)
            forget(*window);
        for (const auto& window : made)
            if (window) forget(window->win());
        forget(*flags);
        forget(*lock_flags);
    }

    using Kind_ = check::Kind;
    static constexpr MPI_Aint flag_bytes = 8 * 2 * most_ranks * most_ranks;
    std::vector<std::unique_ptr<Window>> data;
    std::unique_ptr<Window> flags, lock_flags;
    std::unique_ptr<States> states;
    std::optional<MadeWindow> made[extra_windows];
    std::bitset<flag_window + 1> has_changed;  ///< whose settings are others than those of the run
};

}  // namespace random_programs
