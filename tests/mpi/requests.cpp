// SPDX-License-Identifier: Apache-2.0
// Requests of RMA calls complete as the standard says (MPI-3.1, 11.3.5): alone, in arrays, among requests of
// messages; also when the bytes come from the cache. Freeing such a request is erroneous and not tried.
#include <memory>

#include "request_ways.hpp"

using namespace check;

namespace {

constexpr int bytes = 320;
constexpr int number = 12;

using Buffers = std::vector<std::vector<unsigned char>>;

std::uint64_t offset_of(int i) { return static_cast<std::uint64_t>(i % 7) * 200; }

/// Rgets, some of them of the same bytes; as soon as one is complete its buffer is checked and overwritten,
/// which must not reach what is cached.
void gets(const Window& window, const Way& way, int version) {
    part(way.name);
    for (int pass = 0; pass < 2; ++pass) {
        Buffers buffers(number, std::vector<unsigned char>(bytes, 0x11));
        std::vector<MPI_Request> requests(number, MPI_REQUEST_NULL);
        for (int i = 0; i < number; ++i)
            CHECK_MPI(MPI_Rget(buffers[static_cast<std::size_t>(i)].data(), bytes, MPI_BYTE,
                               (rank() + i % 3) % size(), static_cast<MPI_Aint>(offset_of(i)), bytes,
                               MPI_BYTE, window, &requests[static_cast<std::size_t>(i)]));
        int completed = 0;
        way.complete(requests, [&](int i) {
            auto& buffer = buffers[static_cast<std::size_t>(i)];
            CHECK_BYTES(buffer.data(), bytes, (rank() + i % 3) % size(), offset_of(i), version);
            std::fill(buffer.begin(), buffer.end(), static_cast<unsigned char>(0xEE));
            ++completed;
        });
        CHECK_EQ(completed, number);
        for (const MPI_Request r : requests)
            CHECK(r == MPI_REQUEST_NULL);
        CHECK_MPI(MPI_Win_flush_all(window));
        for (const auto& buffer : buffers)
            for (const unsigned char byte : buffer)
                if (byte != 0xEE) {
                    CHECK_EQ(byte, 0xEE);  // written to after it was complete
                    break;
                }
    }
}

/// Rget, Isend and Irecv in one array, with a null request in between.
void mixed(const Window& window, const Way& way, int version) {
    part("mixed with messages");
    const int left = (rank() + size() - 1) % size();
    for (int pass = 0; pass < 2; ++pass) {
        Buffers buffers(6, std::vector<unsigned char>(bytes, 0x11));
        std::vector<unsigned char> sent(bytes);
        fill(sent.data(), bytes, rank(), 77);
        std::vector<MPI_Request> requests(6, MPI_REQUEST_NULL);
        CHECK_MPI(MPI_Irecv(buffers[0].data(), bytes, MPI_BYTE, left, pass, MPI_COMM_WORLD, &requests[0]));
        CHECK_MPI(
            MPI_Rget(buffers[1].data(), bytes, MPI_BYTE, right(), 0, bytes, MPI_BYTE, window, &requests[1]));
        CHECK_MPI(MPI_Isend(sent.data(), bytes, MPI_BYTE, right(), pass, MPI_COMM_WORLD, &requests[2]));
        CHECK_MPI(
            MPI_Rget(buffers[3].data(), bytes, MPI_BYTE, right(), 0, bytes, MPI_BYTE, window, &requests[3]));
        CHECK_MPI(MPI_Rget(buffers[4].data(), 0, MPI_BYTE, right(), 0, 0, MPI_BYTE, window, &requests[4]));
        CHECK_MPI(
            MPI_Rget(buffers[5].data(), bytes, MPI_BYTE, rank(), 100, bytes, MPI_BYTE, window, &requests[5]));
        int completed = 0;
        way.complete(requests, [&](int i) {
            ++completed;
            const auto& buffer = buffers[static_cast<std::size_t>(i)];
            if (i == 0) CHECK_BYTES(buffer.data(), bytes, left, 0, 77);
            if (i == 1 || i == 3) CHECK_BYTES(buffer.data(), bytes, right(), 0, version);
            if (i == 5) CHECK_BYTES(buffer.data(), bytes, rank(), 100, version);
        });
        CHECK_EQ(completed, 6);
    }
    // A request of a message may be freed although Rgets are under way.
    std::vector<unsigned char> sent(8, 5), received(8), got(bytes);
    MPI_Request send, get;
    CHECK_MPI(MPI_Rget(got.data(), bytes, MPI_BYTE, right(), 0, bytes, MPI_BYTE, window, &get));
    CHECK_MPI(MPI_Isend(sent.data(), 8, MPI_BYTE, right(), 9, MPI_COMM_WORLD, &send));
    CHECK_MPI(MPI_Request_free(&send));
    CHECK(send == MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Recv(received.data(), 8, MPI_BYTE, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Wait(&get, MPI_STATUS_IGNORE));
    CHECK_BYTES(got.data(), bytes, right(), 0, version);
    barrier();
}

/// The completed Rput's buffer is the program's again; the bytes are at the target after the flush.
void updates(const Window& window, const Way& way) {
    part("Rput, Raccumulate, Rget_accumulate");
    const int target = right();
    const MPI_Aint mine = 2048;  // only the left neighbour updates a rank's second half
    std::vector<std::int64_t> first(8), second(8), old(8), seen(8), before(8);
    CHECK_MPI(MPI_Get(before.data(), 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_flush(target, window));
    for (int i = 0; i < 8; ++i)
        first[static_cast<std::size_t>(i)] = rank() * 1000 + i;
    std::vector<MPI_Request> requests(1);
    CHECK_MPI(MPI_Rput(first.data(), 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T, window, &requests[0]));
    way.complete(requests, [&](int) { std::fill(first.begin(), first.end(), -1); });
    CHECK_MPI(MPI_Win_flush(target, window));
    std::fill(second.begin(), second.end(), 10);
    requests.assign(1, MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Raccumulate(second.data(), 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T, MPI_SUM, window,
                              &requests[0]));
    way.complete(requests, [&](int) { std::fill(second.begin(), second.end(), 5); });
    requests.assign(1, MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Rget_accumulate(second.data(), 8, MPI_INT64_T, old.data(), 8, MPI_INT64_T, target, mine, 8,
                                  MPI_INT64_T, MPI_SUM, window, &requests[0]));
    way.complete(requests, [&](int) {
        for (int i = 0; i < 8; ++i)
            CHECK_EQ(old[static_cast<std::size_t>(i)], rank() * 1000 + i + 10);
    });
    CHECK_MPI(MPI_Win_flush(target, window));
    requests.assign(1, MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Rget(seen.data(), 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T, window, &requests[0]));
    way.complete(requests, [&](int) {
        for (int i = 0; i < 8; ++i)
            CHECK_EQ(seen[static_cast<std::size_t>(i)], rank() * 1000 + i + 15);
    });
    CHECK_MPI(MPI_Put(before.data(), 8, MPI_INT64_T, target, mine, 8, MPI_INT64_T, window));
    CHECK_MPI(MPI_Win_flush(target, window));
    barrier();
    forget(window);
}

/// Requests that nobody waits for before the epoch ends: unlock completes the transfer, a later wait the
/// request.
void after_the_epoch(const Window& window, int version) {
    part("wait after unlock");
    unsigned char buffer[64] = {};
    MPI_Request request;
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
    CHECK_MPI(MPI_Rget(buffer, 64, MPI_BYTE, right(), 0, 64, MPI_BYTE, window, &request));
    CHECK_MPI(MPI_Win_unlock(right(), window));
    CHECK_BYTES(buffer, 64, right(), 0, version);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
}

void nobody(const Window& window) {
    part("MPI_PROC_NULL");
    unsigned char byte = 3;
    MPI_Request request;
    CHECK_MPI(MPI_Rget(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, window, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Rput(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, window, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(byte, 3);
}

void counted() {
    part("counted");
    const Info info{{"nearfetch_mode", "always-cache"}};
    const Window window(1024, 1, Kind::create, info);
    fill(window.bytes(), 1024, rank());
    const LockAll epoch(window);
    publish(window, "always-cache");
    if (size() > 1) {
        unsigned char buffer[100] = {};
        MPI_Request request;
        // What the first one brings is not kept: nobody has seen that it completes.
        CHECK_MPI(MPI_Rget(buffer, 8, MPI_BYTE, right(), 512, 8, MPI_BYTE, window, &request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < 5; ++i) {
            std::fill_n(buffer, 100, static_cast<unsigned char>(0));
            CHECK_MPI(MPI_Rget(buffer, 100, MPI_BYTE, right(), 8, 100, MPI_BYTE, window, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_BYTES(buffer, 100, right(), 8);
            if (i == 0) CHECK_MPI(MPI_Win_flush(right(), window));
        }
        if (counts_hits()) CHECK_EQ(counter(window, "hits"), 4u);
    }
    barrier();
}

/// What has been read stays when requests complete that say nothing about what others have written: those of
/// gets, served or not, of puts and of accumulates.
void kept(const Way& way) {
    part(way.name);
    const Info info{{"nearfetch_mode", "acquire"}, {"nearfetch_read_ahead_bytes", "0"}};
    const Window window(8192, 1, Kind::allocate, info);
    fill(window.bytes(), 4096, rank());
    const LockAll epoch(window);
    publish(window);
    constexpr int rounds = 3;
    if (size() > 1) {
        Buffers buffers(number, std::vector<unsigned char>(100));
        const std::vector<unsigned char> sent(100, 7);
        const std::int64_t one = 1;
        std::vector<MPI_Request> requests;
        for (int round = 0; round < rounds; ++round) {
            requests.assign(number, MPI_REQUEST_NULL);
            for (std::size_t i = 0; i < number; ++i)
                CHECK_MPI(MPI_Rget(buffers[i].data(), 100, MPI_BYTE, right(), static_cast<MPI_Aint>(i) * 200,
                                   100, MPI_BYTE, window, &requests[i]));
            way.complete(requests, [&](int i) {
                CHECK_BYTES(buffers[static_cast<std::size_t>(i)].data(), 100, right(),
                            static_cast<std::uint64_t>(i) * 200);
            });
            requests.assign(2, MPI_REQUEST_NULL);
            CHECK_MPI(
                MPI_Rput(sent.data(), 100, MPI_BYTE, right(), 4096, 100, MPI_BYTE, window, &requests[0]));
            CHECK_MPI(MPI_Raccumulate(&one, 1, MPI_INT64_T, right(), 4224, 1, MPI_INT64_T, MPI_SUM, window,
                                      &requests[1]));
            way.complete(requests, [](int) {});
        }
        if (counts_hits()) CHECK_EQ(counter(window, "hits"), (rounds - 1) * number);
    }
    barrier();
}

/// A window over memory of the program's own that begins with a page, as the blocks do that are read ahead.
class PageWindow {
  public:
    PageWindow(std::size_t bytes, MPI_Info info) : memory_(bytes + page) {
        void* base = memory_.data();
        std::size_t room = memory_.size();
        base_ = static_cast<unsigned char*>(std::align(page, bytes, base, room));
        CHECK_MPI(MPI_Win_create(base_, static_cast<MPI_Aint>(bytes), 1, info, MPI_COMM_WORLD, &win_));
    }
    ~PageWindow() { CHECK_MPI(MPI_Win_free(&win_)); }
    PageWindow(const PageWindow&) = delete;
    PageWindow& operator=(const PageWindow&) = delete;
    operator MPI_Win() const { return win_; }
    unsigned char* bytes() const { return base_; }

  private:
    static constexpr std::size_t page = 4096;
    std::vector<unsigned char> memory_;
    unsigned char* base_ = nullptr;
    MPI_Win win_ = MPI_WIN_NULL;
};

/// Gets of elements that lie near each other: most of them start nothing, and their requests are complete
/// when what another one brings is there; or they hit, where the library delivers that at once.
void carried(const Way& way) {
    part(way.name);
    if (!can_create()) return;
    const Info info{{"nearfetch_mode", "acquire"}, {"nearfetch_bypass", "false"}};
    const PageWindow window(65536, info);
    fill(window.bytes(), 65536, rank());
    const LockAll epoch(window);
    publish(window);
    constexpr int gets = 60, rounds = 6;
    const int left = (rank() + size() - 1) % size();
    const auto offset = [](int round, std::size_t i) {
        return static_cast<MPI_Aint>(round * 8192) + static_cast<MPI_Aint>(i % 2 * 4096 + i * 40);
    };
    for (int round = 0; size() > 1 && round < rounds; ++round) {
        Buffers buffers(gets, std::vector<unsigned char>(8, 0x11));
        std::vector<MPI_Request> requests(2 + gets, MPI_REQUEST_NULL);
        std::uint64_t sent = 7, received = 0;
        CHECK_MPI(MPI_Irecv(&received, 8, MPI_BYTE, left, round, MPI_COMM_WORLD, &requests[0]));
        for (std::size_t i = 0; i < gets; ++i)
            CHECK_MPI(MPI_Rget(buffers[i].data(), 8, MPI_BYTE, right(), offset(round, i), 8, MPI_BYTE, window,
                               &requests[2 + i]));
        CHECK_MPI(MPI_Isend(&sent, 8, MPI_BYTE, right(), round, MPI_COMM_WORLD, &requests[1]));
        int completed = 0;
        const auto done = [&](int which) {
            ++completed;
            if (which < 2) return;
            const auto i = static_cast<std::size_t>(which - 2);
            CHECK_BYTES(buffers[i].data(), 8, right(), static_cast<std::uint64_t>(offset(round, i)));
            buffers[i].assign(8, 0xEE);
        };
        if (round == 1) CHECK_MPI(MPI_Win_flush_local(right(), window));
        for (int i = gets + 1; round == 2 && i > gets - 4; --i) {
            CHECK_MPI(MPI_Wait(&requests.back(), MPI_STATUS_IGNORE));
            requests.pop_back();
            done(i);
        }
        way.complete(requests, done);
        CHECK_EQ(completed, 2 + gets);
        CHECK_EQ(received, 7u);
        CHECK_MPI(MPI_Win_flush_all(window));
        for (const auto& buffer : buffers)
            CHECK(buffer == std::vector<unsigned char>(8, 0xEE));  // not written to after it was complete
    }
    if (counts_hits() && size() > 1) {
        constexpr std::uint64_t blocks = 2 * rounds;
        CHECK_EQ(counter(window, "read_aheads"), blocks);
        CHECK_EQ(counter(window, "pending_hits") + counter(window, "hits"), rounds * gets - 2 * blocks);
    }
    barrier();
}

/// As where another tool catches the calls that complete requests. \pre no call of these has come by
/// nearfetch
void completed_unseen() {
    part("completed by PMPI");
    const Window window(4096, 1, Kind::create, Info{{"nearfetch_bypass", "false"}});
    fill(window.bytes(), 4096, rank());
    const LockAll epoch(window);
    publish(window);
    for (int round = 0; round < 2; ++round) {
        constexpr std::size_t gets = 40;
        Buffers buffers(gets, std::vector<unsigned char>(8, 0x11));
        std::vector<MPI_Request> requests(gets);
        for (std::size_t i = 0; i < gets; ++i)
            CHECK_MPI(MPI_Rget(buffers[i].data(), 8, MPI_BYTE, right(), static_cast<MPI_Aint>(i * 72), 8,
                               MPI_BYTE, window, &requests[i]));
        CHECK_MPI(PMPI_Waitall(gets, requests.data(), MPI_STATUSES_IGNORE));
        for (std::size_t i = 0; i < gets; ++i) {
            CHECK_BYTES(buffers[i].data(), 8, right(), i * 72);
            buffers[i].assign(8, 0xEE);
        }
        CHECK_MPI(MPI_Win_flush_all(window));  // completes nothing that anybody may look at
        for (std::size_t i = 0; i < gets; ++i) {
            CHECK_MPI(MPI_Get(buffers[i].data(), 8, MPI_BYTE, right(), static_cast<MPI_Aint>(i * 72), 8,
                              MPI_BYTE, window));
            CHECK_MPI(MPI_Win_flush(right(), window));
            CHECK_BYTES(buffers[i].data(), 8, right(), i * 72);
        }
    }
    barrier();
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    completed_unseen();
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(4096, 1, kind);
        {
            const LockAll epoch(window);
            int version = 0;
            for (const Way& way : all_ways()) {
                if (version < 4 || !crowded()) store_all(window, ++version);
                gets(window, way, version);
                mixed(window, way, version);
                updates(window, way);
            }
            nobody(window);
            store_all(window, 50);
        }
        after_the_epoch(window, 50);
        barrier();
    }
    counted();
    for (const Way& way : all_ways())
        kept(way);
    for (const Way& way : all_ways())
        carried(way);
    return program.finish();
}
