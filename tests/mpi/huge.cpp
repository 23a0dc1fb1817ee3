// SPDX-License-Identifier: Apache-2.0
// One transfer of more than 2^31 bytes: by one MPI_Get of a derived type, by MPI_Get_c where there is one,
// and as the missing rest of a range whose beginning is cached already, which nearfetch has to fetch in
// runs that MPI can count. What the MPI library cannot do by itself (PMPI_Get, past nearfetch) is skipped
// and says so.
#include <sys/mman.h>

#include "check.hpp"

using namespace check;

namespace {

constexpr std::uint64_t element_bytes = 1 << 20;
constexpr int elements = 2049;  ///< 2^31 bytes and one element more
constexpr std::uint64_t huge_bytes = element_bytes * elements;
constexpr MPI_Aint place = 4096;  ///< of the transfer in the window
constexpr int target = 1;
constexpr int version = 5;

unsigned char* map(std::uint64_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<unsigned char*>(memory);
}

/// By words, a byte at a time would take half a minute.
void fill_words(unsigned char* memory) {
    auto* words = reinterpret_cast<std::uint64_t*>(memory);
    for (std::uint64_t i = 0; i < huge_bytes / 8; ++i)
        words[i] = pattern(target, i, version);
}

/// The number of words that differ from what rank `target` holds; every `stride`-th is looked at.
std::uint64_t wrong_words(const unsigned char* memory, std::uint64_t stride = 1) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(memory);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < huge_bytes / 8; i += stride)
        wrong += words[i] != pattern(target, i, version);
    return wrong;
}

/// The origin, of which every page is wrong before each transfer.
class Origin {
  public:
    explicit Origin(unsigned char* memory) : memory_(memory) {}
    unsigned char* spoiled() {
        for (std::uint64_t page = 0; page < huge_bytes; page += 4096)
            memory_[page] = static_cast<unsigned char>(memory_[page] + 1);
        memory_[huge_bytes - 1] = static_cast<unsigned char>(memory_[huge_bytes - 1] + 1);
        return memory_;
    }
    bool right() const { return wrong_words(memory_) == 0; }

  private:
    unsigned char* memory_;
};

/// Whether the MPI library brings the bytes by itself: a word in 64 KiB tells.
bool library_can(MPI_Win win, MPI_Datatype type, Origin& origin) {
    unsigned char* const memory = origin.spoiled();
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    const bool done = PMPI_Get(memory, elements, type, target, place, elements, type, win) == MPI_SUCCESS &&
                      PMPI_Win_flush(target, win) == MPI_SUCCESS;
    MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
    return done && wrong_words(memory, 8192) == 0;
}

void read(MPI_Win win, MPI_Datatype type, Origin& origin) {
    part("the beginning alone");
    unsigned char* memory = origin.spoiled();
    CHECK_MPI(MPI_Get(memory, 8192, MPI_BYTE, target, place, 8192, MPI_BYTE, win));
    CHECK_MPI(MPI_Win_flush(target, win));
    for (std::uint64_t i = 0; i < 1024; ++i)
        CHECK_EQ(reinterpret_cast<const std::uint64_t*>(memory)[i], pattern(target, i, version));
    part("derived type");
    CHECK_MPI(MPI_Get(origin.spoiled(), elements, type, target, place, elements, type, win));
    CHECK_MPI(MPI_Win_flush(target, win));
    CHECK(origin.right());
#if MPI_VERSION >= 4
    part("large count");
    constexpr auto count = static_cast<MPI_Count>(huge_bytes);
    CHECK_MPI(MPI_Get_c(origin.spoiled(), count, MPI_BYTE, target, place, count, MPI_BYTE, win));
    CHECK_MPI(MPI_Win_flush(target, win));
    CHECK(origin.right());
#endif
    if (!counts_hits()) return;
    CHECK(counter(win, "bytes_requested") > huge_bytes);
    CHECK_EQ(counter(win, "bytes_from_cache") + counter(win, "bytes_from_network"),
             counter(win, "bytes_requested"));
    if (!never_forgets(mode())) return;
    // The beginning was there: only what followed came from the network, in one transfer of many runs.
    CHECK_EQ(counter(win, "partial_hits") + counter(win, "hits"), counter(win, "gets") - 1);
    CHECK(counter(win, "partial_hits") >= 1);
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, 110);
    if (size() != 2) return program.skip("for two processes");
    unsigned char* const memory = map(huge_bytes + place);
    int have = memory != nullptr, all_have = 0;
    MPI_Allreduce(&have, &all_have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all_have) return program.skip("no memory for 2 GiB per process");
    // Rank 1 holds the window, rank 0 the buffer.
    const bool owner = rank() == target;
    MPI_Win win;
    CHECK_MPI(MPI_Win_create(memory, owner ? static_cast<MPI_Aint>(huge_bytes) + place : 0, 1, MPI_INFO_NULL,
                             MPI_COMM_WORLD, &win));
    if (owner) fill_words(memory + place);
    MPI_Datatype type;
    MPI_Type_contiguous(static_cast<int>(element_bytes), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    publish(win);
    int can = 1;
    if (!owner) {
        part("the library by itself");
        Origin origin(memory);
        can = library_can(win, type, origin);
        if (can) read(win, type, origin);
    }
    MPI_Bcast(&can, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK_MPI(MPI_Win_unlock_all(win));
    MPI_Type_free(&type);
    CHECK_MPI(MPI_Win_free(&win));
    munmap(memory, huge_bytes + place);
    if (!can) return program.skip("this MPI itself does not transfer 2^31 bytes with one MPI_Get");
    return program.finish();
}
