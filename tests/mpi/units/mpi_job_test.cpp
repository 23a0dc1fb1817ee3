// SPDX-License-Identifier: Apache-2.0

// What every transport and job promises, on MPI. Without an argument all that has to work; with one, an end
// that the launcher is to see: `throws` an exception in the last rank, `thread-throws` one in a thread of its
// that nobody joins, `too-much` a segment that no machine has, `unequal` one size per rank.

#include "transport/mpi/mpi_job.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"

using namespace check;
using namespace nearfetch;

namespace {

constexpr std::uint64_t segment_bytes = 4 << 20;
constexpr std::uint64_t counters = segment_bytes - 4096;  ///< where no PUT goes
constexpr std::uint64_t stripe_bytes = 1 << 14;  ///< each rank writes one of its own in everybody's segment

std::byte* bytes_of(std::uint64_t& value) { return reinterpret_cast<std::byte*>(&value); }

Completion finish(Transport& transport) {
    std::array<Completion, 4> done;
    CHECK_EQ(transport.wait(done), 1u);
    return done[0];
}

void put_value(Transport& transport, Rank target, std::uint64_t address, std::uint64_t value) {
    CHECK_EQ(transport.start_put(target, address, 8, bytes_of(value), 7), 0);
    const Completion done = finish(transport);
    CHECK_EQ(done.token, 7u);
    CHECK_EQ(done.status, 0);
}

std::uint64_t get_value(Transport& transport, Rank target, std::uint64_t address) {
    std::uint64_t value = 0;
    CHECK_EQ(transport.start_get(target, address, 8, bytes_of(value), 9), 0);
    const Completion done = finish(transport);
    CHECK_EQ(done.token, 9u);
    CHECK_EQ(done.status, 0);
    return value;
}

void send_value(Job& job, Rank target, Port port, std::uint64_t value) {
    job.send(target, port, std::as_bytes(std::span(&value, 1)));
}

std::uint64_t value_of(const Message& message) {
    std::uint64_t value = 0;
    CHECK_EQ(message.bytes.size(), sizeof value);
    std::memcpy(&value, message.bytes.data(), std::min(message.bytes.size(), sizeof value));
    return value;
}

std::uint64_t receive_value(Job& job, Port port) {
    Message message;
    CHECK(job.receive(port, message, true));
    return value_of(message);
}

template <class Work>
void check_error(Work&& work, std::string_view part_of_text) {
    try {
        work();
        report(__FILE__, __LINE__, "no error where one has to say " + std::string(part_of_text));
    } catch (const Error& error) {
        if (std::string_view(error.what()).find(part_of_text) == std::string_view::npos)
            report(__FILE__, __LINE__, error.what());
    }
}

// --- what there is

void segment_and_ranks(Job& job) {
    part("segment");
    const std::span<std::byte> segment = job.segment();
    CHECK_EQ(segment.size(), segment_bytes);
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(segment.data()) % 4096, 0u);
    CHECK(std::all_of(segment.begin(), segment.end(), [](std::byte b) { return b == std::byte{0}; }));
    CHECK(!job.virtual_time());
    const auto transport = job.endpoint();
    const ByteRange all{0, segment_bytes};
    CHECK(transport->readable(job.ranks() - 1, 0) == all);
    CHECK(transport->readable(0, segment_bytes - 1) == all);
    CHECK(transport->readable(0, segment_bytes).empty());
    CHECK(transport->readable(job.ranks(), 0).empty());
    CHECK(transport->readable(-1, 0).empty());
    const std::uint64_t before_ns = transport->now_ns();
    job.compute(200'000);
    transport->yield();
    CHECK(transport->now_ns() >= before_ns + 200'000);
    job.barrier();
}

void bad_arguments(Job& job) {
    part("bad arguments");
    const auto transport = job.endpoint();
    std::uint64_t value = 0;
    CHECK_EQ(transport->start_get(job.ranks(), 0, 8, bytes_of(value), 1), transport_status::bad_rank);
    CHECK_EQ(transport->start_put(-1, 0, 8, bytes_of(value), 1), transport_status::bad_rank);
    CHECK_EQ(transport->start_get(0, segment_bytes - 7, 8, bytes_of(value), 1), transport_status::outside);
    CHECK_EQ(transport->start_put(0, segment_bytes, 1, bytes_of(value), 1), transport_status::outside);
    CHECK_EQ(transport->start_get(0, ~std::uint64_t{0} - 3, 8, bytes_of(value), 1),
             transport_status::outside);
    std::array<Completion, 1> done;
    CHECK_EQ(transport->test(done), 0u);
    CHECK(transport->status_text(transport_status::bad_rank).find("0 to ") != std::string::npos);
    CHECK(transport->status_text(transport_status::outside).find("4194304") != std::string::npos);
    CHECK(!transport->status_text(MPI_ERR_WIN).empty());
    check_error([&] { job.atomic(job.ranks(), 0, AtomicOp::add, 1, 0); }, "ranks): name one of them");
    check_error([&] { job.atomic(0, 4, AtomicOp::add, 1, 0); }, "address 4");
    check_error([&] { job.atomic(0, segment_bytes, AtomicOp::load, 0, 0); }, "4194304 bytes");
    check_error([&] { send_value(job, -1, 0, 1); }, "rank -1");
    check_error([&] { send_value(job, 0, 40'000, 1); }, "port 40000");
    Message message;
    check_error([&] { job.receive(40'000, message, false); }, "port 40000");
    check_error([&] { launch_mpi({}, nullptr, nullptr, [](Job&) {}); }, "leave MPI_Init");
    job.barrier();
}

// --- PUTs and GETs

void neighbours(Job& job) {
    part("neighbours");
    const auto transport = job.endpoint();
    const Rank n = job.ranks(), next = (job.rank() + 1) % n, previous = (job.rank() + n - 1) % n;
    put_value(*transport, next, 64, 100 + static_cast<std::uint64_t>(job.rank()));
    job.barrier();
    std::uint64_t mine = 0;
    std::memcpy(&mine, job.segment().data() + 64, 8);
    CHECK_EQ(mine, 100u + static_cast<std::uint64_t>(previous));
    CHECK_EQ(get_value(*transport, next, 64), 100u + static_cast<std::uint64_t>(job.rank()));
    // The owner's own stores, too, once there was a barrier.
    job.barrier();
    mine = 200 + static_cast<std::uint64_t>(job.rank());
    std::memcpy(job.segment().data() + 64, &mine, 8);
    job.barrier();
    CHECK_EQ(get_value(*transport, next, 64), 200u + static_cast<std::uint64_t>(next));
    job.barrier();
}

/// Random operations of one thread in bytes that it alone writes, `most` at a time, and a model of them.
class Actor {
  public:
    Actor(Job& job, std::uint64_t number, std::uint64_t count)
        : transport_(job.endpoint()),
          random_(number + 1),
          first_(number * stripe_bytes),
          most_(1 + count % 40) {
        for (Rank r = 0; r < job.ranks(); ++r)
            model_[r].assign(stripe_bytes, std::byte{0});
    }

    void run(int operations) {
        // What earlier tests left there.
        for (auto& [target, bytes] : model_)
            start(true, target, {0, stripe_bytes});
        while (!under_way_.empty())
            report_some(true);
        for (int i = 0; i < operations; ++i) {
            const auto target = static_cast<Rank>(random_.below(model_.size()));
            const std::uint64_t size = 1 + random_.below(random_.below(8) == 0 ? 4000 : 100);
            const std::uint64_t begin = random_.below(stripe_bytes - size);
            const ByteRange range{begin, begin + size};
            const bool put = random_.below(2) == 0;
            while (under_way_.size() >= most_ || conflicts(put, target, range))
                report_some(random_.below(2) == 0);
            start(put, target, range);
            if (random_.below(3) == 0) report_some(false);
        }
        while (!under_way_.empty())
            report_some(random_.below(2) == 0);
        std::array<Completion, 2> none;
        CHECK_EQ(transport_->test(none), 0u);
    }

  private:
    struct UnderWay {
        bool put;
        Rank target;
        ByteRange range;
        std::vector<std::byte> bytes;
    };

    bool conflicts(bool put, Rank target, ByteRange range) const {
        return std::any_of(under_way_.begin(), under_way_.end(), [&](const auto& entry) {
            const UnderWay& other = entry.second;
            return other.target == target && (put || other.put) && other.range.overlaps(range);
        });
    }

    void start(bool put, Rank target, ByteRange range) {
        UnderWay& op = under_way_[++last_] = {put, target, range, std::vector<std::byte>(range.size())};
        if (put)
            for (std::uint64_t i = 0; i < range.size(); ++i)
                model_[target][range.begin + i] = op.bytes[i] = static_cast<std::byte>(random_.next());
        const std::uint64_t address = first_ + range.begin;
        CHECK_EQ(put ? transport_->start_put(target, address, range.size(), op.bytes.data(), last_)
                     : transport_->start_get(target, address, range.size(), op.bytes.data(), last_),
                 0);
    }

    void report_some(bool wait) {
        std::array<Completion, 3> done;
        const std::size_t count = wait ? transport_->wait(done) : transport_->test(done);
        CHECK(count > 0 || !wait);
        for (std::size_t i = 0; i < count; ++i) {
            CHECK_EQ(done[i].status, 0);
            const auto found = under_way_.find(done[i].token);
            CHECK(found != under_way_.end());  // else reported twice
            if (found == under_way_.end()) continue;
            const UnderWay& op = found->second;
            const auto there = model_[op.target].begin() + static_cast<std::ptrdiff_t>(op.range.begin);
            CHECK(std::equal(op.bytes.begin(), op.bytes.end(), there));
            under_way_.erase(found);
        }
    }

    std::unique_ptr<Transport> transport_;
    Random random_;
    std::uint64_t first_;
    std::size_t most_;
    std::map<Rank, std::vector<std::byte>> model_;
    std::map<Token, UnderWay> under_way_;
    Token last_ = 0;
};

void random_operations(Job& job) {
    part("random operations");
    const auto number = static_cast<std::uint64_t>(job.rank());
    for (const std::uint64_t most : {0, 5, 39})
        Actor(job, number, most).run(crowded() ? 300 : 1000);
    job.barrier();
}

void large_ones(Job& job) {
    part("large ones");
    const auto transport = job.endpoint();
    const Rank next = (job.rank() + 1) % job.ranks();
    constexpr std::uint64_t size = 3'000'001, address = 1'000'003;
    std::vector<std::byte> there(size), back(size);
    fill(there.data(), size, job.rank(), 3);
    CHECK_EQ(transport->start_put(next, address, size, there.data(), 1), 0);
    CHECK_EQ(finish(*transport).status, 0);
    CHECK_EQ(transport->start_get(next, address, size, back.data(), 2), 0);
    CHECK_EQ(finish(*transport).status, 0);
    CHECK_BYTES(back.data(), size, job.rank(), 0, 3);
    job.barrier();
    CHECK_BYTES(job.segment().data() + address, size, (job.rank() + job.ranks() - 1) % job.ranks(), 0, 3);
    job.barrier();
}

/// A thread that never waits sees its PUTs complete.
void testing_alone(Job& job) {
    part("testing alone");
    const auto transport = job.endpoint();
    std::array<std::uint64_t, 20> values{};
    for (Token i = 0; i < values.size(); ++i)
        CHECK_EQ(transport->start_put((job.rank() + 1) % job.ranks(), 8 * i, 8, bytes_of(values[i]), i), 0);
    std::set<Token> seen;
    for (std::array<Completion, 3> done; seen.size() < values.size();) {
        const std::size_t count = transport->test(done);
        for (std::size_t i = 0; i < count; ++i)
            CHECK(seen.insert(done[i].token).second);
        if (count == 0) transport->yield();
    }
    job.barrier();
}

/// Complete means there, for every reader: one puts, another is told and gets it from the third. (Two ranks:
/// the owner puts and gets.)
void complete_means_there(Job& job) {
    part("complete means there");
    const auto transport = job.endpoint();
    const Rank writer = 0, reader = 1 % job.ranks(), owner = job.ranks() - 1;
    constexpr Port port = 5;
    for (std::uint64_t i = 1; i <= (crowded() ? 100u : 500u); ++i) {
        if (job.rank() == writer) {
            put_value(*transport, owner, 128, i);
            send_value(job, reader, port, i);
        }
        if (job.rank() == reader) {
            CHECK_EQ(receive_value(job, port), i);
            CHECK_EQ(get_value(*transport, owner, 128), i);
            send_value(job, writer, port + 1, i);
        }
        if (job.rank() == writer) CHECK_EQ(receive_value(job, port + 1), i);
    }
    job.barrier();
}

void ended_under_way(Job& job) {
    part("ended under way");
    const Rank next = (job.rank() + 1) % job.ranks();
    std::vector<std::uint64_t> from(100), to(100);
    for (std::uint64_t i = 0; i < from.size(); ++i)
        from[i] = pattern(job.rank(), i);
    for (const bool put : {true, false}) {
        const auto transport = job.endpoint();
        for (std::uint64_t i = 0; i < from.size(); ++i)
            CHECK_EQ(put ? transport->start_put(next, 8 * i, 8, bytes_of(from[i]), i)
                         : transport->start_get(next, 8 * i, 8, bytes_of(to[i]), i),
                     0);
    }
    CHECK(from == to);
    job.barrier();
}

// --- atomics

void atomic_values(Job& job) {
    part("atomic operations");
    const Rank target = (job.rank() + 1) % job.ranks();
    const auto apply = [&](AtomicOp op, std::uint64_t operand, std::uint64_t compare = 0) {
        return job.atomic(target, counters + 32, op, operand, compare);
    };
    apply(AtomicOp::store, 12);
    CHECK_EQ(apply(AtomicOp::load, 99), 12u);
    CHECK_EQ(apply(AtomicOp::add, 3), 12u);
    CHECK_EQ(apply(AtomicOp::bit_and, 0b1101), 15u);
    CHECK_EQ(apply(AtomicOp::bit_or, 0b0010), 13u);
    CHECK_EQ(apply(AtomicOp::bit_xor, 0b0001), 15u);
    CHECK_EQ(apply(AtomicOp::swap, 70), 14u);
    CHECK_EQ(apply(AtomicOp::compare_swap, 71, 1), 70u);
    CHECK_EQ(apply(AtomicOp::compare_swap, 72, 70), 70u);
    CHECK_EQ(apply(AtomicOp::add, ~std::uint64_t{0}), 72u);
    CHECK_EQ(apply(AtomicOp::load, 0), 71u);
    const auto transport = job.endpoint();
    CHECK_EQ(get_value(*transport, target, counters + 32), 71u);
    job.barrier();
}

void atomics_add_up(Job& job) {
    part("atomics of all add up");
    const auto n = static_cast<std::uint64_t>(job.ranks());
    constexpr std::uint64_t each = 50;
    for (std::uint64_t i = 0; i < each; ++i) {
        job.atomic(0, counters, AtomicOp::add, 1, 0);
        for (std::uint64_t seen = 0;;) {
            const std::uint64_t was =
                job.atomic(job.ranks() - 1, counters + 8, AtomicOp::compare_swap, seen + 1, seen);
            if (was == seen) break;
            seen = was;
        }
    }
    job.barrier();
    CHECK_EQ(job.atomic(0, counters, AtomicOp::load, 0, 0), each * n);
    CHECK_EQ(job.atomic(job.ranks() - 1, counters + 8, AtomicOp::load, 0, 0), each * n);
    job.barrier();
}

void barriers(Job& job) {
    part("barriers");
    const auto n = static_cast<std::uint64_t>(job.ranks());
    for (std::uint64_t round = 1; round <= 30; ++round) {
        job.atomic(0, counters + 16, AtomicOp::add, 1, 0);
        job.barrier();
        CHECK_EQ(job.atomic(0, counters + 16, AtomicOp::load, 0, 0), round * n);
        job.barrier();
    }
}

// --- messages

void messages_in_order(Job& job) {
    part("messages in order");
    constexpr std::uint64_t count = 50;
    for (std::uint64_t i = 0; i < count; ++i)
        for (Rank to = 0; to < job.ranks(); ++to) {
            send_value(job, to, 1, i);
            send_value(job, to, port_max, 1000 + i);
        }
    for (const Port port : {port_max, Port{1}}) {
        std::vector<std::uint64_t> next(static_cast<std::size_t>(job.ranks()), port == 1 ? 0 : 1000);
        for (std::uint64_t i = 0; i < count * next.size(); ++i) {
            Message message;
            CHECK(job.receive(port, message, true));
            CHECK_EQ(value_of(message), next[static_cast<std::size_t>(message.source)]++);
        }
        Message none;
        CHECK(!job.receive(port, none, false));
    }
    job.barrier();
}

/// Large ones to everybody before anybody receives, with a barrier between: sending waits for no receiver.
void messages_of_all_sizes(Job& job) {
    part("messages of all sizes");
    const std::array<std::uint64_t, 5> sizes{0, 1, 100, 70'000, 3'000'000};
    for (const std::uint64_t size : sizes)
        for (Rank to = 0; to < job.ranks(); ++to) {
            std::vector<std::byte> bytes(size);
            fill(bytes.data(), size, job.rank(), to);
            job.send(to, 2, bytes);
        }
    job.barrier();
    std::map<Rank, std::size_t> seen;
    for (std::size_t i = 0; i < sizes.size() * static_cast<std::size_t>(job.ranks()); ++i) {
        Message message;
        CHECK(job.receive(2, message, true));
        CHECK_EQ(message.bytes.size(), sizes[seen[message.source]++]);
        CHECK_BYTES(message.bytes.data(), message.bytes.size(), message.source, 0, job.rank());
    }
    job.barrier();
}

// --- threads

void threads(Job& job) {
    part("threads");
    if (!job.threads()) {
        check_error([&] { job.start_thread([] {}); }, "MPI_THREAD_MULTIPLE");
        return;
    }
    const auto first = static_cast<std::uint64_t>(job.rank() * 2);
    std::vector<std::unique_ptr<Job::Thread>> started;
    for (std::uint64_t t = 0; t < 2; ++t)
        started.push_back(job.start_thread([&job, first, t] {
            Actor(job, first + t, 7).run(crowded() ? 100 : 400);
            for (int i = 0; i < 30; ++i)
                job.atomic(0, counters + 24, AtomicOp::add, 1, 0);
            send_value(job, job.rank(), static_cast<Port>(10 + t), t);
        }));
    for (std::uint64_t t = 0; t < 2; ++t)
        CHECK_EQ(receive_value(job, static_cast<Port>(10 + t)), t);
    for (const auto& thread : started)
        thread->join();
    job.barrier();
    CHECK_EQ(job.atomic(0, counters + 24, AtomicOp::load, 0, 0),
             60u * static_cast<std::uint64_t>(job.ranks()));
    const auto failing = job.start_thread([] { throw Error("a thread's own error"); });
    check_error([&] { failing->join(); }, "a thread's own");
    job.barrier();
}

void everything(Job& job) {
    state().rank = job.rank();
    state().size = job.ranks();
    segment_and_ranks(job);
    bad_arguments(job);
    neighbours(job);
    random_operations(job);
    large_ones(job);
    testing_alone(job);
    complete_means_there(job);
    ended_under_way(job);
    atomic_values(job);
    atomics_add_up(job);
    barriers(job);
    messages_in_order(job);
    messages_of_all_sizes(job);
    threads(job);
    part("an end with messages that nobody receives");
    job.send((job.rank() + 1) % job.ranks(), 3, std::vector<std::byte>(2'000'000));
}

}  // namespace

int main(int argc, char** argv) {
    signal(SIGALRM, on_alarm);
    alarm(100);
    const std::string_view end = argc > 1 ? argv[1] : "";
    if (end == "too-much") return launch_mpi({.segment_bytes = 1ull << 60}, &argc, &argv, [](Job&) {});
    if (end == "absurd") return launch_mpi({.segment_bytes = ~0ull}, &argc, &argv, [](Job&) {});
    if (end == "unequal") {
        const char* const number = std::getenv("OMPI_COMM_WORLD_RANK") ? std::getenv("OMPI_COMM_WORLD_RANK")
                                                                       : std::getenv("PMI_RANK");
        return launch_mpi({.segment_bytes = number && *number == '1' ? 8192u : 4096u}, &argc, &argv,
                          [](Job&) {});
    }
    if (end == "thread-throws")
        return launch_mpi({.segment_bytes = 64}, &argc, &argv, [](Job& job) {
            if (job.rank() == job.ranks() - 1)
                job.start_thread([] { throw std::runtime_error("thrown by a thread"); });
            job.barrier();
        });
    if (end == "throws")
        return launch_mpi({.segment_bytes = 64}, &argc, &argv, [](Job& job) {
            if (job.rank() == job.ranks() - 1) throw std::runtime_error("thrown by the last");
            job.barrier();
        });
    launch_mpi({.segment_bytes = segment_bytes}, &argc, &argv, everything);
    if (state().rank == 0) std::cout << (state().failures ? "FAILED" : "passed") << std::endl;
    return state().failures != 0;
}
