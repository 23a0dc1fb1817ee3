// SPDX-License-Identifier: Apache-2.0
// Communication after main(): an object with static storage, or a handler of atexit(), may be what reads last
// and ends MPI. What the main thread had of its own has gone by then.
#include <array>
#include <memory>

#include "check.hpp"

using namespace check;

namespace {

constexpr int elements = 32768;

/// What the program owns at the time; nobody else may write there.
class Blocks {
  public:
    Blocks() {
        for (std::size_t size = 16; size <= 4096; size += 16)
            for (int i = 0; i < 4; ++i)
                blocks_.emplace_back(size, mark);
    }
    void check() const {
        for (const auto& block : blocks_)
            for (const unsigned char byte : block)
                if (byte != mark) return report(__FILE__, __LINE__, "memory of the program was written to");
    }

  private:
    static constexpr unsigned char mark = 0xab;
    std::vector<std::vector<unsigned char>> blocks_;
};

/// All there is; in the order in which it is used it ends.
class Work {
  public:
    void begin() {
        window_ = std::make_unique<Window>(elements * sizeof(int), sizeof(int));
        MPI_Type_vector(16, 1, 3, MPI_INT, &spread_);
        MPI_Type_commit(&spread_);
        for (int i = 0; i < elements; ++i)
            window_->as<int>()[i] = rank() * elements + i;
        MPI_Win_lock_all(0, *window_);
        publish(*window_);
    }
    void read(int first) {
        for (int k = 0; k < 20; ++k) {
            read_spread(first + 600 * k);
            read_one(first + 600 * k + 100);
            read_one(first + 600 * k + 130);
            write(first + 600 * k + 200);
        }
        unsigned char byte = 0;
        CHECK_MPI(MPI_Win_set_errhandler(*window_, MPI_ERRORS_RETURN));
        CHECK(MPI_Get(&byte, 1, MPI_BYTE, size(), 0, 1, MPI_BYTE, *window_) != MPI_SUCCESS);
    }
    /// As the process's last work.
    void end() {
        if (window_ == nullptr) return;
        const Blocks blocks;
        read(elements / 2);
        blocks.check();
        MPI_Win_unlock_all(*window_);
        MPI_Type_free(&spread_);
        window_.reset();
        MPI_Finalize();
        if (state().failures != 0) _exit(1);
    }

  private:
    void read_spread(int at) {
        std::array<int, 16> seen{};
        CHECK_MPI(MPI_Get(seen.data(), 16, MPI_INT, right(), at, 1, spread_, *window_));
        CHECK_MPI(MPI_Win_flush(right(), *window_));
        for (int i = 0; i < 16; ++i)
            CHECK_EQ(seen[static_cast<std::size_t>(i)], right() * elements + at + 3 * i);
    }
    void read_one(int at) {
        int seen = 0;
        CHECK_MPI(MPI_Get(&seen, 1, MPI_INT, right(), at, 1, MPI_INT, *window_));
        CHECK_MPI(MPI_Win_flush(right(), *window_));
        CHECK_EQ(seen, right() * elements + at);
    }
    /// What is there already.
    void write(int at) {
        const int value = right() * elements + at;
        const std::array<int, 16> zeros{};
        CHECK_MPI(MPI_Put(&value, 1, MPI_INT, right(), at, 1, MPI_INT, *window_));
        CHECK_MPI(MPI_Win_flush(right(), *window_));
        CHECK_MPI(MPI_Accumulate(zeros.data(), 16, MPI_INT, right(), at, 1, spread_, MPI_SUM, *window_));
        CHECK_MPI(MPI_Win_flush(right(), *window_));
    }

    std::unique_ptr<Window> window_;
    MPI_Datatype spread_ = MPI_DATATYPE_NULL;
};

struct Last : Work {
    ~Last() { end(); }
};

State& state_that_stays = state();  // it goes after what is made later
#if defined(OPEN_MPI)
Last made_before_init;
#endif

/// An object with static storage that goes as late as the library allows. MPICH tells its launcher that MPI
/// has ended from a handler that MPI_Init has left with atexit(): what was made before goes after it, and
/// then the launcher takes the first process to exit for one that has failed, and kills the others (5.0.2).
Work& object() {
#if defined(OPEN_MPI)
    return made_before_init;
#else
    static Last made_after_init;
    return made_after_init;
#endif
}

auto& handled = *new Work;

}  // namespace

int main(int argc, char** argv) {
    const Program program(argc, argv);
    const bool by_handler = argc > 1;
    Work& work = by_handler ? handled : object();
    if (by_handler) std::atexit([] { handled.end(); });
    work.begin();
    work.read(0);
    return 0;
}
