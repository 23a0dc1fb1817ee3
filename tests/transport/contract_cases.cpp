// SPDX-License-Identifier: Apache-2.0
#include "contract_cases.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "random_operations.hpp"
#include "rig.hpp"

namespace nearfetch::test {
namespace {

/// Not written by any PUT: the last bytes of each segment.
std::uint64_t counters(Job& job) { return job.segment().size() - 4096; }

/// Sets the counter at this address of each rank to zero.
void reset(Job& job, std::uint64_t counter) {
    job.atomic(job.rank(), counter, AtomicOp::store, 0, 0);
    job.barrier();
}

std::uint64_t load(Job& job, Rank target, std::uint64_t counter) {
    return job.atomic(target, counter, AtomicOp::load, 0, 0);
}

std::uint64_t number_of(Rank rank) { return static_cast<std::uint64_t>(rank); }

Rank after(const Job& job) { return (job.rank() + 1) % job.ranks(); }
Rank before(const Job& job) { return (job.rank() + job.ranks() - 1) % job.ranks(); }

/// Ranks may outnumber the processors.
bool oversubscribed(const Job& job) { return job.ranks() > 2; }

// --- identity

void what_may_be_read_is_the_segment(Job& job) {
    const auto transport = job.endpoint();
    const std::uint64_t end = job.segment().size();
    EXPECT_EQ(transport->readable(job.ranks() - 1, 0), (ByteRange{0, end}));
    EXPECT_EQ(transport->readable(0, end - 1), (ByteRange{0, end}));
    EXPECT_TRUE(transport->readable(0, end).empty());
    EXPECT_TRUE(transport->readable(job.ranks(), 0).empty());
    EXPECT_TRUE(transport->readable(-1, 0).empty());
}

void time_never_goes_back(Job& job) {
    const auto transport = job.endpoint();
    std::uint64_t last_ns = transport->now_ns();
    for (int i = 0; i < 20; ++i) {
        if (i % 3 == 0) job.compute(1000);
        if (i % 3 == 1) get_value(*transport, job.ranks() - 1, 0);
        if (i % 3 == 2) transport->yield();
        const std::uint64_t now_ns = transport->now_ns();
        EXPECT_GE(now_ns, last_ns + (i % 3 == 0 ? 1000 : 0));
        last_ns = now_ns;
    }
    job.compute(200'000);
    transport->yield();
    EXPECT_GE(transport->now_ns(), last_ns + 200'000);
}

void bad_arguments_are_refused(Job& job) {
    const auto transport = job.endpoint();
    std::uint64_t value = 0;
    auto* const bytes = reinterpret_cast<std::byte*>(&value);
    const Rank n = job.ranks();
    const std::uint64_t end = job.segment().size();
    constexpr std::uint64_t last = ~std::uint64_t{0};
    EXPECT_EQ(transport->start_get(n, 0, 8, bytes, 1), transport_status::bad_rank);
    EXPECT_EQ(transport->start_put(-1, 0, 8, bytes, 1), transport_status::bad_rank);
    EXPECT_EQ(transport->start_get(n - 1, end - 7, 8, bytes, 1), transport_status::outside);
    EXPECT_EQ(transport->start_put(n - 1, end, 1, bytes, 1), transport_status::outside);
    EXPECT_EQ(transport->start_get(n - 1, last - 3, 8, bytes, 1), transport_status::outside);
    EXPECT_EQ(transport->start_get(n - 1, 16, last - 7, bytes, 1), transport_status::outside);
    EXPECT_EQ(transport->start_put(n - 1, 16, last - 7, bytes, 1), transport_status::outside);
    std::array<Completion, 1> done;
    EXPECT_EQ(transport->test(done), 0U);
    const auto contains = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    contains(transport->status_text(transport_status::bad_rank), "0 to " + std::to_string(n - 1));
    contains(transport->status_text(transport_status::outside), "in one segment");

    contains(error_of([&] { job.atomic(n, 0, AtomicOp::add, 1, 0); }), "rank " + std::to_string(n));
    contains(error_of([&] { job.atomic(0, 4, AtomicOp::add, 1, 0); }), "address 4");
    for (const std::uint64_t outside : {end, last - 7})
        contains(error_of([&] { job.atomic(0, outside, AtomicOp::load, 0, 0); }), std::to_string(outside));
    contains(error_of([&] { send_value(job, -1, 0, 1); }), "rank -1");
    contains(error_of([&] { send_value(job, 0, 40'000, 1); }), "port 40000");
    Message message;
    contains(error_of([&] { job.receive(40'000, message, false); }), "port 40000");
}

// --- PUTs and GETs

void puts_are_there_and_gets_fetch_them(Job& job) {
    const auto transport = job.endpoint();
    const Rank next = after(job);
    put_value(*transport, next, 64, 100 + number_of(job.rank()));
    job.barrier();
    std::uint64_t mine = 0;
    std::memcpy(&mine, job.segment().data() + 64, 8);
    EXPECT_EQ(mine, 100 + number_of(before(job)));
    EXPECT_EQ(get_value(*transport, next, 64), 100 + number_of(job.rank()));
    // Also the owner's own stores, after a barrier.
    job.barrier();
    mine = 200 + number_of(job.rank());
    std::memcpy(job.segment().data() + 64, &mine, 8);
    job.barrier();
    EXPECT_EQ(get_value(*transport, next, 64), 200 + number_of(next));
}

void large_transfers_of_odd_sizes_arrive_whole(Job& job) {
    const auto transport = job.endpoint();
    const Rank next = after(job);
    const std::size_t address = job.segment().size() / 8 + 3;
    const std::size_t size = job.segment().size() / 4 * 3 + 1;
    std::fill(job.segment().begin(), job.segment().end() - 4096, std::byte{0});
    job.barrier();
    const std::vector<std::byte> there = pattern(size, number_of(job.rank()));
    ASSERT_EQ(transport->start_put(next, address, size, there.data(), 1), 0);
    EXPECT_EQ(finish(*transport).status, 0);
    std::vector<std::byte> back(size);
    ASSERT_EQ(transport->start_get(next, address, size, back.data(), 2), 0);
    EXPECT_EQ(finish(*transport).status, 0);
    EXPECT_TRUE(back == there);
    job.barrier();
    EXPECT_EQ(job.segment()[address - 1], std::byte{0});
    EXPECT_EQ(job.segment()[address + size], std::byte{0});
    const std::vector<std::byte> here = pattern(size, number_of(before(job)));
    EXPECT_TRUE(
        std::equal(here.begin(), here.end(), job.segment().begin() + static_cast<std::ptrdiff_t>(address)));
}

void each_is_reported_once_however_small_the_span(Job& job) {
    const auto transport = job.endpoint();
    std::vector<std::uint64_t> values(100);
    for (Token token = 0; token < 100; ++token) {
        auto* const to = reinterpret_cast<std::byte*>(&values[token]);
        ASSERT_EQ(transport->start_get(after(job), 8 * token, 8, to, token), 0);
    }
    std::set<Token> seen;
    std::array<Completion, 3> done;
    while (seen.size() < 100) {
        const std::size_t count = transport->wait(done);
        ASSERT_GE(count, 1U);
        ASSERT_LE(count, 3U);
        for (std::size_t i = 0; i < count; ++i)
            EXPECT_TRUE(seen.insert(done[i].token).second);
    }
    EXPECT_EQ(transport->test(done), 0U);
}

/// A thread that never waits sees its PUTs complete.
void test_reports_without_waiting(Job& job) {
    const auto transport = job.endpoint();
    std::array<Completion, 3> done;
    EXPECT_EQ(transport->test(done), 0U);
    std::array<std::uint64_t, 20> values{};
    const auto start = [&](Token token) {
        auto* const from = reinterpret_cast<std::byte*>(&values[token]);
        ASSERT_EQ(transport->start_put(after(job), 8 * token, 8, from, token), 0);
    };
    start(3);
    std::size_t count = 0;
    while (count == 0)
        count = transport->test(done);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(done[0].token, 3U);
    for (Token token = 0; token < values.size(); ++token)
        start(token);
    std::set<Token> seen;
    while (seen.size() < values.size()) {
        count = transport->test(done);
        for (std::size_t i = 0; i < count; ++i)
            EXPECT_TRUE(seen.insert(done[i].token).second);
        if (count == 0) transport->yield();
    }
}

/// Complete means visible to every reader: one puts, another is told and gets it from the third. (Two ranks:
/// the owner puts and gets.)
void complete_means_there(Job& job) {
    const auto transport = job.endpoint();
    const Rank writer = 0, reader = 1 % job.ranks(), owner = job.ranks() - 1;
    constexpr Port port = 5;
    for (std::uint64_t i = 1; i <= (oversubscribed(job) ? 100U : 500U); ++i) {
        if (job.rank() == writer) {
            put_value(*transport, owner, 128, i);
            send_value(job, reader, port, i);
        }
        if (job.rank() == reader) {
            EXPECT_EQ(receive_value(job, port), i);
            EXPECT_EQ(get_value(*transport, owner, 128), i);
            send_value(job, writer, port + 1, i);
        }
        if (job.rank() == writer) {
            EXPECT_EQ(receive_value(job, port + 1), i);
        }
    }
}

void many_operations_under_way(Job& job) {
    for (const std::size_t most : {1, 6, 40})
        RandomOperations(job, number_of(job.rank()), most).run(oversubscribed(job) ? 300 : 1000);
}

// --- atomic operations

void atomics_do_what_they_say_and_tell_what_was_there(Job& job) {
    const auto transport = job.endpoint();
    const Rank target = after(job);
    const std::uint64_t address = counters(job) + 32;
    reset(job, address + 8);
    const auto apply = [&](AtomicOp op, std::uint64_t operand, std::uint64_t compare = 0) {
        return job.atomic(target, address, op, operand, compare);
    };
    apply(AtomicOp::store, 5);
    EXPECT_EQ(apply(AtomicOp::store, 12), 5U);
    EXPECT_EQ(apply(AtomicOp::load, 99), 12U);
    EXPECT_EQ(apply(AtomicOp::add, 3), 12U);
    EXPECT_EQ(apply(AtomicOp::bit_and, 0b1101), 15U);
    EXPECT_EQ(apply(AtomicOp::bit_or, 0b0010), 13U);
    EXPECT_EQ(apply(AtomicOp::bit_xor, 0b0001), 15U);
    EXPECT_EQ(apply(AtomicOp::swap, 70), 14U);
    EXPECT_EQ(apply(AtomicOp::compare_swap, 71, 1), 70U);
    EXPECT_EQ(apply(AtomicOp::compare_swap, 72, 70), 70U);
    EXPECT_EQ(apply(AtomicOp::load, 0), 72U);
    EXPECT_EQ(get_value(*transport, target, address), 72U);
    EXPECT_EQ(apply(AtomicOp::add, ~std::uint64_t{0}), 72U);
    EXPECT_EQ(apply(AtomicOp::load, 0), 71U);
    EXPECT_EQ(get_value(*transport, target, address), 71U);
    EXPECT_EQ(get_value(*transport, target, address + 8), 0U);
}

void doubles_of_all_ranks_add_up(Job& job) {
    const std::uint64_t address = counters(job) + 48;
    reset(job, address);
    constexpr Rank each = 50;
    const auto add = [&](double amount) {
        return std::bit_cast<double>(
            job.atomic(0, address, AtomicOp::add_double, std::bit_cast<std::uint64_t>(amount), 0));
    };
    // Halves and quarters have exact sums, in any order.
    for (Rank i = 0; i < each; ++i)
        add(i % 2 == 0 ? 0.75 : -0.25);
    job.barrier();
    const double sum = 0.25 * each * job.ranks();
    EXPECT_EQ(std::bit_cast<double>(load(job, 0, address)), sum);
    job.barrier();
    if (job.rank() == 0) {
        EXPECT_EQ(add(-1e300), sum) << "it tells what was there";
        EXPECT_EQ(add(0), sum - 1e300);
    }
    job.barrier();
}

/// Of all ranks and threads, to all, with and without results.
void additions_are_in_effect_when_they_are_finished(Job& job) {
    const std::uint64_t sums = counters(job) + 56, doubles = sums + 8;
    reset(job, sums);
    reset(job, doubles);
    job.finish_additions();
    constexpr Rank each = 200;
    const auto add = [&job, sums, doubles] {
        const auto transport = job.endpoint();
        for (Rank i = 0; i < each * job.ranks(); ++i) {
            job.start_addition(i % job.ranks(), sums, AtomicOp::add, 1);
            job.start_addition(i % job.ranks(), doubles, AtomicOp::add_double,
                               std::bit_cast<std::uint64_t>(0.25));
            if (i % 50 == 0) job.atomic(i % job.ranks(), sums, AtomicOp::add, 1, 0);
            if (i % 70 == 0) job.finish_additions();
        }
        job.finish_additions();
    };
    std::uint64_t threads = 1;
    if (job.threads()) {
        ++threads;
        const auto other = job.start_thread(add);
        add();
        other->join();
    } else {
        add();
    }
    job.barrier();
    std::uint64_t here = each;
    for (Rank i = 0; i < each * job.ranks(); i += 50)
        here += i % job.ranks() == after(job) ? 1 : 0;
    EXPECT_EQ(load(job, after(job), sums), threads * here * number_of(job.ranks()));
    EXPECT_EQ(std::bit_cast<double>(load(job, after(job), doubles)),
              0.25 * each * static_cast<double>(threads) * job.ranks());
    EXPECT_THROW(job.start_addition(job.ranks(), sums, AtomicOp::add, 1), Error);
    EXPECT_THROW(job.start_addition(0, sums + 1, AtomicOp::add, 1), Error);
    EXPECT_THROW(job.start_addition(0, job.segment().size(), AtomicOp::add, 1), Error);
}

void atomics_of_all_ranks_add_up(Job& job) {
    const Rank n = job.ranks();
    const std::uint64_t sums = counters(job), swaps = sums + 8;
    constexpr Rank each = 50;
    reset(job, sums);
    reset(job, swaps);
    for (Rank i = 0; i < each * n; ++i)
        job.atomic(i % n, sums, AtomicOp::add, 1, 0);
    for (Rank i = 0; i < each; ++i) {
        for (std::uint64_t seen = 0;;) {
            const std::uint64_t was = job.atomic(n - 1, swaps, AtomicOp::compare_swap, seen + 1, seen);
            if (was == seen) break;
            seen = was;
        }
    }
    job.barrier();
    EXPECT_EQ(load(job, after(job), sums), number_of(each * n));
    EXPECT_EQ(load(job, n - 1, swaps), number_of(each * n));
}

void nobody_leaves_a_barrier_before_all_have_come(Job& job) {
    const std::uint64_t arrived = counters(job) + 16;
    reset(job, arrived);
    for (Rank round = 1; round <= 30; ++round) {
        if (job.rank() == round % job.ranks()) job.compute(500);
        job.atomic(0, arrived, AtomicOp::add, 1, 0);
        job.barrier();
        EXPECT_EQ(load(job, 0, arrived), number_of(round * job.ranks()));
        job.barrier();
    }
}

void ranks_that_come_to_a_barrier_with_different_calls_are_told(Job& job) {
    if (job.ranks() == 1) return;
    for (Rank odd = 0; odd < job.ranks(); ++odd) {
        const auto told = [&](std::uint64_t id, const char* what) {
            try {
                job.barrier({id, [what] { return std::string(what); }});
            } catch (const CollectiveError& error) {
                return std::string(error.what());
            }
            return std::string("nothing");
        };
        const std::string text = job.rank() == odd ? told(1, "one thing") : told(2, "another");
        EXPECT_NE(text.find("rank " + std::to_string(odd) + " in one thing"), std::string::npos) << text;
        EXPECT_NE(text.find(" in another"), std::string::npos) << text;
        EXPECT_EQ(told(3, odd == job.rank() ? "here" : "there"), "nothing");
    }
}

// --- messages

void messages_to_a_port_arrive_in_order_of_each_sender(Job& job) {
    constexpr std::uint64_t count = 50;
    for (std::uint64_t i = 0; i < count; ++i) {
        for (Rank target = 0; target < job.ranks(); ++target) {
            send_value(job, target, 1, i);
            send_value(job, target, port_max, 1000 + i);
        }
    }
    for (const Port port : {port_max, Port{1}}) {
        const std::uint64_t first = port == 1 ? 0 : 1000;
        std::vector<std::uint64_t> next(static_cast<std::size_t>(job.ranks()), first);
        for (std::uint64_t i = 0; i < count * next.size(); ++i) {
            Message message;
            ASSERT_TRUE(job.receive(port, message, true));
            EXPECT_EQ(value_of(message), next[static_cast<std::size_t>(message.source)]++);
        }
        Message none;
        EXPECT_FALSE(job.receive(port, none, false));
        EXPECT_EQ(next, std::vector<std::uint64_t>(next.size(), first + count));
    }
}

void ports_are_apart_and_empty_messages_are_messages(Job& job) {
    const Rank receiver = job.ranks() - 1;
    if (job.rank() == 0) {
        job.send(receiver, 1, {});
        send_value(job, receiver, 2, 22);
        send_value(job, receiver, port_max, 33);
    }
    if (job.rank() != receiver) return;
    EXPECT_EQ(receive_value(job, port_max), 33U);
    EXPECT_EQ(receive_value(job, 2), 22U);
    Message message;
    EXPECT_FALSE(job.receive(2, message, false));
    ASSERT_TRUE(job.receive(1, message, true));
    EXPECT_TRUE(message.bytes.empty());
    EXPECT_EQ(message.source, 0);
}

/// Large messages to all before anybody receives, with a barrier in between: sending does not wait for
/// receivers.
void sending_waits_for_no_receiver_whatever_the_size(Job& job) {
    const std::array<std::size_t, 5> sizes{0, 1, 100, 70'000, 3'000'000};
    const auto bytes_to = [](std::size_t size, Rank source, Rank target) {
        return pattern(size, 1000 * number_of(source) + number_of(target));
    };
    for (const std::size_t size : sizes) {
        for (Rank target = 0; target < job.ranks(); ++target)
            job.send(target, 2, bytes_to(size, job.rank(), target));
    }
    job.barrier();
    std::vector<std::size_t> seen(static_cast<std::size_t>(job.ranks()));
    for (std::size_t i = 0; i < sizes.size() * seen.size(); ++i) {
        Message message;
        ASSERT_TRUE(job.receive(2, message, true));
        const std::size_t size = sizes.at(seen[static_cast<std::size_t>(message.source)]++);
        EXPECT_TRUE(message.bytes == bytes_to(size, message.source, job.rank())) << size;
    }
}

// --- threads

void threads_of_a_rank_have_endpoints_of_their_own(Job& job) {
    if (!job.threads()) return;
    const std::uint64_t counter = counters(job) + 24;
    const Rank next = after(job);
    reset(job, counter);
    std::vector<std::unique_ptr<Job::Thread>> started;
    for (std::uint64_t t = 0; t < 3; ++t) {
        started.push_back(job.start_thread([&job, next, counter, t] {
            const auto transport = job.endpoint();
            put_value(*transport, next, counters(job) + 64 + 8 * t, 1000 + t);
            EXPECT_EQ(get_value(*transport, next, counters(job) + 64 + 8 * t), 1000 + t);
            job.compute(100);
            RandomOperations(job, 3 * number_of(job.rank()) + t, 8).run(oversubscribed(job) ? 100 : 400);
            for (int i = 0; i < 30; ++i)
                job.atomic(0, counter, AtomicOp::add, 1, 0);
            send_value(job, job.rank(), static_cast<Port>(10 + t), t);
        }));
    }
    for (std::uint64_t t = 0; t < 3; ++t)
        EXPECT_EQ(receive_value(job, static_cast<Port>(10 + t)), t);
    for (const auto& thread : started)
        thread->join();
    job.barrier();
    EXPECT_EQ(load(job, 0, counter), 90 * number_of(job.ranks()));
    const auto transport = job.endpoint();
    for (std::uint64_t t = 0; t < 3; ++t)
        EXPECT_EQ(get_value(*transport, job.rank(), counters(job) + 64 + 8 * t), 1000 + t);
}

void a_service_thread_answers_while_its_rank_computes(Job& job) {
    if (!job.threads()) return;
    constexpr Port requests = 0;
    constexpr Port answers = 1;
    const auto service = job.start_thread([&job] {
        while (true) {
            Message request;
            job.receive(requests, request, true);
            if (request.bytes.empty()) return;
            send_value(job, request.source, answers, 2 * value_of(request));
        }
    });
    for (std::uint64_t i = 0; i < 20; ++i) {
        send_value(job, after(job), requests, i);
        Message answer;
        ASSERT_TRUE(job.receive(answers, answer, true));
        EXPECT_EQ(answer.source, after(job));
        EXPECT_EQ(value_of(answer), 2 * i);
    }
    job.barrier();
    job.send(job.rank(), requests, {});
    service->join();
}

#define NF_CASE(function) \
    ContractCase { #function, function }

constexpr ContractCase cases[] = {
    NF_CASE(what_may_be_read_is_the_segment),
    NF_CASE(time_never_goes_back),
    NF_CASE(bad_arguments_are_refused),
    NF_CASE(puts_are_there_and_gets_fetch_them),
    NF_CASE(large_transfers_of_odd_sizes_arrive_whole),
    NF_CASE(each_is_reported_once_however_small_the_span),
    NF_CASE(test_reports_without_waiting),
    NF_CASE(complete_means_there),
    NF_CASE(many_operations_under_way),
    NF_CASE(atomics_do_what_they_say_and_tell_what_was_there),
    NF_CASE(atomics_of_all_ranks_add_up),
    NF_CASE(additions_are_in_effect_when_they_are_finished),
    NF_CASE(doubles_of_all_ranks_add_up),
    NF_CASE(nobody_leaves_a_barrier_before_all_have_come),
    NF_CASE(ranks_that_come_to_a_barrier_with_different_calls_are_told),
    NF_CASE(messages_to_a_port_arrive_in_order_of_each_sender),
    NF_CASE(ports_are_apart_and_empty_messages_are_messages),
    NF_CASE(sending_waits_for_no_receiver_whatever_the_size),
    NF_CASE(threads_of_a_rank_have_endpoints_of_their_own),
    NF_CASE(a_service_thread_answers_while_its_rank_computes),
    NF_CASE(added_segments_are_as_the_first),
    NF_CASE(too_much_memory_is_refused_alike),
};

}  // namespace

std::span<const ContractCase> contract_cases() { return cases; }

}  // namespace nearfetch::test
