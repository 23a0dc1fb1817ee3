// SPDX-License-Identifier: Apache-2.0
// A table that never changes, read at random 20,000 times: the case that always-cache is for.
#include "check.hpp"

using namespace check;

namespace {

void random_reads() {
    constexpr std::uint64_t table_bytes = 1u << 18;
    const int gets = crowded() ? 5000 : 20000;
    const Info info{{"nearfetch_mode", "always-cache"}};
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(table_bytes, 8, kind, info);
        fill(window.bytes(), table_bytes, rank());
        const LockAll epoch(window);
        publish(window, "always-cache");
        state().seed = 42;
        Random random(42 + static_cast<std::uint64_t>(rank()));
        std::vector<unsigned char> buffer(4096);
        // Created windows need their target's help for each get: fewer of them where ranks share cores.
        const int number = kind == Kind::allocate ? gets : crowded() ? 300 : 3000;
        std::uint64_t requested = 0;
        for (int i = 0; i < number; ++i) {
            const int target = static_cast<int>(random.below(static_cast<std::uint64_t>(size())));
            const std::uint64_t bytes = 8u << random.below(8);
            // Popular places come often, as hubs of a graph do.
            const std::uint64_t slots = (table_bytes - 4096) / 8;
            const std::uint64_t disp = random.below(4) ? random.below(40) * 97 : random.below(slots);
            const int words = static_cast<int>(bytes / 8);
            CHECK_MPI(MPI_Get(buffer.data(), words, MPI_UINT64_T, target, static_cast<MPI_Aint>(disp), words,
                              MPI_UINT64_T, window));
            CHECK_MPI(MPI_Win_flush(target, window));
            CHECK_BYTES(buffer.data(), bytes, target, disp * 8);
            requested += bytes;
        }
        if (counts_hits() && size() > 1) {
            CHECK_EQ(counter(window, "gets"), number);
            CHECK_EQ(counter(window, "bytes_requested"), requested);
            CHECK_EQ(counter(window, "bytes_from_cache") + counter(window, "bytes_from_network"), requested);
            CHECK(counter(window, "hits") > static_cast<unsigned long long>(number < 3000 ? 10 : number / 4));
        }
        barrier();
    }
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    random_reads();
    return program.finish();
}
