// SPDX-License-Identifier: Apache-2.0
// Mode acquire with threads: what one thread has received, another gets. An acquire counts for every thread
// that it happens before.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "litmus.hpp"

using namespace litmus;

namespace {

/// A thread that receives a message for others who wait for it.
void by_another_thread(Data& data) {
    run(data, {"MPI_Recv", [] {
                   if (writes()) tell();
                   if (!reads()) return;
                   std::mutex mutex;
                   std::condition_variable changed;
                   bool received = false;
                   std::thread receiver([&] {
                       told();
                       const std::lock_guard guard(mutex);
                       received = true;
                       changed.notify_one();
                   });
                   {
                       std::unique_lock guard(mutex);
                       changed.wait(guard, [&] { return received; });
                   }
                   receiver.join();
               }});
}

/// While a thread gets again and again, another learns of a change; once it has said so, no get is old.
void while_others_get(const Data& data, int rounds) {
    part("while others get");
    for (int round = 0; round < rounds; ++round) {
        barrier();
        if (writes()) {
            CHECK_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, reader(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            const std::int64_t value = round;
            CHECK_MPI(MPI_Accumulate(&value, 1, MPI_INT64_T, writer, 32, 1, MPI_INT64_T, MPI_REPLACE, data));
            CHECK_MPI(MPI_Win_flush(writer, data));
            tell();
        }
        if (reads()) {
            std::atomic<bool> received{false};
            std::thread getter([&] {
                // The value may change at any time until it was received.
                for (bool last = false; !last;) {
                    last = received.load(std::memory_order_acquire);
                    const std::int64_t seen = get(data, writer, 32);
                    get(data, writer, 40);
                    if (last) CHECK_EQ(seen, round);
                }
            });
            CHECK_MPI(MPI_Send(nullptr, 0, MPI_BYTE, writer, 1, MPI_COMM_WORLD));
            told();
            received.store(true, std::memory_order_release);
            getter.join();
        }
    }
    barrier();
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, 100, MPI_THREAD_MULTIPLE);
    if (program.provided() < MPI_THREAD_MULTIPLE) return program.skip("it has no MPI_THREAD_MULTIPLE");
    return program.run_with_others([] {
        Data data;
        by_another_thread(data);
        while_others_get(data, crowded() ? 5 : 50);
    });
}
