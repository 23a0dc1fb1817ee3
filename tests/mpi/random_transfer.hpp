// SPDX-License-Identifier: Apache-2.0
#pragma once

// The MPI call of one get or put of a random program, and the library's own answer to the question what a get
// has brought when it returns.

#include "random_windows.hpp"

namespace random_programs {

/// One side of a transfer, as MPI is told.
class Side {
  public:
    Side(const Strides& strides, std::uint64_t size_bytes, int variant) {
        if (strides.block == 0) {
            count_ = static_cast<int>(size_bytes);
            return;
        }
        const std::uint64_t last = (size_bytes - 1) / strides.block, rest = size_bytes % strides.block;
        const auto length = static_cast<int>(strides.block);
        const auto stride = static_cast<int>(strides.block + strides.gap);
        count_ = 1;
        own_ = true;
        if (rest == 0 && variant % 4 < 2) {
            shift_ = strides.reversed ? last * static_cast<std::uint64_t>(stride) : 0;
            CHECK_MPI(MPI_Type_vector(static_cast<int>(last + 1), length, strides.reversed ? -stride : stride,
                                      MPI_BYTE, &type_));
        } else {
            std::vector<int> lengths(last + 1, length);
            if (rest != 0) lengths.back() = static_cast<int>(rest);
            std::vector<MPI_Aint> places;
            for (std::uint64_t i = 0; i <= last; ++i)
                places.push_back(static_cast<MPI_Aint>(strides.place(i * strides.block, size_bytes)));
            CHECK_MPI(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(),
                                               places.data(), MPI_BYTE, &type_));
        }
        CHECK_MPI(MPI_Type_commit(&type_));
    }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;
    ~Side() {
        if (own_) MPI_Type_free(&type_);
    }

    MPI_Datatype type() const { return type_; }
    int count() const { return count_; }
    /// Where the type's address is, from the first byte on.
    std::uint64_t shift() const { return shift_; }

  private:
    MPI_Datatype type_ = MPI_BYTE;
    int count_ = 0;
    std::uint64_t shift_ = 0;
    bool own_ = false;
};

/// \param buffer where the first byte of the origin is
inline void transfer(const Step& step, unsigned char* buffer, MPI_Aint displacement, MPI_Win win,
                     MPI_Request* request) {
    const Side here(step.origin, step.size_bytes, step.variant),
        there(step.target, step.size_bytes, step.variant / 4);
    buffer += here.shift();
    if (step.kind == Kind::get)
        CHECK_MPI(MPI_Get(buffer, here.count(), here.type(), step.peer, displacement, there.count(),
                          there.type(), win));
    else if (step.kind == Kind::rget)
        CHECK_MPI(MPI_Rget(buffer, here.count(), here.type(), step.peer, displacement, there.count(),
                           there.type(), win, request));
    else if (step.kind == Kind::put)
        CHECK_MPI(MPI_Put(buffer, here.count(), here.type(), step.peer, displacement, there.count(),
                          there.type(), win));
    else
        CHECK_MPI(MPI_Rput(buffer, here.count(), here.type(), step.peer, displacement, there.count(),
                           there.type(), win, request));
}

/// Windows like those of the programs that nothing is cached of. The same get of one of them tells whether
/// the library delivers at once: then whoever looks at a buffer when the get has returned relies on it.
class Twins {
  public:
    Twins() {
        const Info off{{"nearfetch_mode", "off"}};
        for (int id = 0; id < twins; ++id) {
            const std::uint64_t bytes = part_bytes(id, rank());
            windows_[id] = std::make_unique<Window>(
                static_cast<MPI_Aint>(bytes), 1, id == created ? check::Kind::create : check::Kind::allocate,
                off, world());
            fill(windows_[id]->bytes(), bytes, rank(), version);
        }
        barrier();
        for (const int id : {allocated, created})
            CHECK_MPI(MPI_Win_lock_all(0, *windows_[id]));
        find_out();
        barrier();
    }
    Twins(const Twins&) = delete;
    Twins& operator=(const Twins&) = delete;
    ~Twins() {
        for (const int id : {allocated, created})
            CHECK_MPI(MPI_Win_unlock_all(*windows_[id]));
    }

    /// Whether all such gets have been delivered at once until now.
    bool are_prompt(const Step& step) const {
        return step.window < twins && step.peer != rank() && !late_[shape(step)];
    }

    bool is_prompt_somewhere() const { return std::find(late_.begin(), late_.end(), false) != late_.end(); }

    /// Gets the same. \return whether all its bytes are there when the get has returned
    bool delivers(const Step& step) {
        const MPI_Win win = *windows_[step.window];
        std::vector<unsigned char> buffer(step.origin.span(step.size_bytes));
        // No byte is right before it has come.
        for (std::uint64_t i = 0; i < step.size_bytes; ++i)
            buffer[step.origin.place(i, step.size_bytes)] = static_cast<unsigned char>(~byte(step, i));
        MPI_Request request = MPI_REQUEST_NULL;
        if (step.window == locked) CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, step.peer, 0, win));
        transfer(step, buffer.data(), static_cast<MPI_Aint>(step.offset), win, &request);
        bool all = true;
        for (std::uint64_t i = 0; i < step.size_bytes; ++i)
            all = all && buffer[step.origin.place(i, step.size_bytes)] == byte(step, i);
        if (request != MPI_REQUEST_NULL) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_MPI(step.window == locked ? MPI_Win_unlock(step.peer, win) : MPI_Win_flush(step.peer, win));
        late_[shape(step)] = late_[shape(step)] || !all;
        return all;
    }

  private:
    static constexpr int twins = locked + 1, version = 77, shapes = 4;

    static std::size_t shape(const Step& step) {
        return static_cast<std::size_t>(shapes * step.window + (step.kind == Kind::rget ? 1 : 0) +
                                        (step.origin.block + step.target.block != 0 ? 2 : 0));
    }
    static unsigned char byte(const Step& step, std::uint64_t i) {
        return pattern_byte(step.peer, step.place(i), version);
    }

    /// Now and then a slow answer is quick by chance, so each is asked for often before it counts.
    void find_out() {
        for (int i = 0; i < 32 * twins * shapes; ++i) {
            Step step;
            step.window = i % twins;
            step.kind = i / twins % 2 == 0 ? Kind::get : Kind::rget;
            step.peer = (rank() + 1 + i % (size() - 1)) % size();
            step.offset = 8 * static_cast<std::uint64_t>(i % 50);
            step.size_bytes = 24;
            if (i / twins / 2 % 2 != 0) (i / twins / 4 % 2 != 0 ? step.origin : step.target) = {4, 4};
            if (are_prompt(step)) delivers(step);
        }
    }

    std::unique_ptr<Window> windows_[twins];
    std::array<bool, twins * shapes> late_{};
};

}  // namespace random_programs
