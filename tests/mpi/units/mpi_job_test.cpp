// SPDX-License-Identifier: Apache-2.0

// What every transport and job promises, on MPI. Without an argument all that has to work; `modelled` what
// has to over a modelled network; any other names an end that the launcher is to see: `throws` an exception
// in the last rank, `thread-throws` one in a thread of its that nobody joins, `too-much` a segment that no
// machine has, `absurd` one that cannot be addressed, `unequal` one size per rank. `started` starts MPI
// itself, with the level of threads that follows, and `left` lets the first program do so for the second.
// `communicators` runs programs on parts of the processes.

#include "transport/mpi/mpi_job.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "../../transport/contract_cases.hpp"
#include "../../transport/rig.hpp"
#include "check.hpp"
#include "transport/model/model_job.hpp"

using namespace nearfetch;

namespace {

constexpr std::uint64_t segment_bytes = 4 << 20;

void segments_are_zero_at_the_start(Job& job) {
    const std::span<std::byte> segment = job.segment();
    EXPECT_EQ(segment.size(), segment_bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.data()) % 4096, 0U);
    EXPECT_TRUE(
        std::all_of(segment.begin(), segment.end(), [](std::byte byte) { return byte == std::byte{0}; }));
    EXPECT_FALSE(job.virtual_time());
}

void what_is_wrong_is_said(Job& job) {
    EXPECT_FALSE(job.endpoint()->status_text(MPI_ERR_WIN).empty());
    const std::string text = test::error_of([&] { job.atomic(job.ranks(), 0, AtomicOp::add, 1, 0); });
    EXPECT_NE(text.find("ranks): name one of them"), std::string::npos) << text;
}

bool mpi_has_ended() {
    int ended = 0;
    MPI_Finalized(&ended);
    return ended != 0;
}

using Program = std::function<void(Job&)>;

/// One program after the other, with messages and memory of its own.
void run_twice(const std::function<void(const Program&)>& run, bool threads) {
    for (const std::uint64_t round : {1, 2}) {
        run([&](Job& job) {
            check::state().rank = job.rank();
            EXPECT_EQ(job.threads(), threads);
            const Rank next = (job.rank() + 1) % job.ranks();
            EXPECT_EQ(job.atomic(next, 8, AtomicOp::add, round, 0), 0U);
            job.barrier();
            EXPECT_EQ(job.atomic(job.rank(), 8, AtomicOp::load, 0, 0), round);
        });
        EXPECT_FALSE(mpi_has_ended());
    }
}

void run_started(const MpiJobConfig& config, const Program& program) {
    const std::unique_ptr<MpiProgram> started = start_mpi_program(config);
    program(started->job());
    started->finish();
}

void mpi_that_is_started_is_used_and_left(int wanted) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, wanted, &provided);
    run_twice(
        [](const Program& program) {
            EXPECT_EQ(launch_mpi({.segment_bytes = 4096}, nullptr, nullptr, program), 0);
        },
        provided == MPI_THREAD_MULTIPLE);
    finish_mpi();
    EXPECT_FALSE(mpi_has_ended());
    MPI_Finalize();
}

void mpi_that_is_left_is_ended_once() {
    run_twice([](const Program& program) { run_started({.segment_bytes = 4096, .threads = false}, program); },
              false);
    finish_mpi();
    EXPECT_TRUE(mpi_has_ended());
    finish_mpi();
}

/// Programs on the even and the odd processes at the same time, and then one on all of them in another order.
void processes_of_communicators_are_ranks() {
    setenv("OMPI_MCA_osc_rdma_priority", "90", 0);  // as docs/python-programs.md says of two communicators
    MPI_Init(nullptr, nullptr);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check::state().rank = rank;
    const auto run = [&](int colour, int key, const Program& program) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, colour, key, &comm);
        const std::unique_ptr<MpiProgram> started =
            start_mpi_program({.segment_bytes = 4096, .communicator = &comm});
        MPI_Comm_free(&comm);
        program(started->job());
        started->finish();
    };
    run(rank % 2, rank, [&](Job& job) {
        EXPECT_EQ(job.rank(), rank / 2);
        EXPECT_EQ(job.ranks(), (ranks + (rank % 2 == 0 ? 1 : 0)) / 2);
        job.atomic(0, 8, AtomicOp::add, static_cast<std::uint64_t>(rank), 0);
        job.barrier();
        std::uint64_t sum = 0;
        for (int each = rank % 2; each < ranks; each += 2)
            sum += static_cast<std::uint64_t>(each);
        EXPECT_EQ(job.atomic(0, 8, AtomicOp::load, 0, 0), sum);
    });
    run(0, -rank, [&](Job& job) { EXPECT_EQ(job.rank(), ranks - 1 - rank); });
    MPI_Finalize();
}

void mpi_is_not_started_again() {
    const std::string text = test::error_of([] { launch_mpi({}, nullptr, nullptr, [](Job&) {}); });
    EXPECT_NE(text.find("it has ended"), std::string::npos) << text;
}

/// Beside what every endpoint promises: MPI's requests do not outlive it.
void an_endpoint_completes_what_is_under_way(Job& job) {
    const Rank next = (job.rank() + 1) % job.ranks();
    std::vector<std::byte> from = test::pattern(800, static_cast<std::uint64_t>(job.rank())), to(800);
    for (const bool put : {true, false}) {
        const auto transport = job.endpoint();
        for (std::uint64_t at = 0; at < from.size(); at += 8)
            EXPECT_EQ(put ? transport->start_put(next, at, 8, &from[at], at)
                          : transport->start_get(next, at, 8, &to[at], at),
                      0);
    }
    EXPECT_TRUE(from == to);
}

void threads_fail_or_are_refused_with_words(Job& job) {
    if (!job.threads()) {
        const std::string text = test::error_of([&] { job.start_thread([] {}); });
        EXPECT_NE(text.find("MPI_THREAD_MULTIPLE"), std::string::npos) << text;
        return;
    }
    const auto failing = job.start_thread([] { throw Error("a thread's own error"); });
    const std::string text = test::error_of([&] { failing->join(); });
    EXPECT_NE(text.find("a thread's own"), std::string::npos) << text;
}

/// A large message whose sender is busy elsewhere, which MPI may need for its bytes: until the signal, which
/// comes from who only looks for the message.
void looking_for_a_message_waits_for_nobody(Job& job) {
    constexpr Port port = 4;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    if (job.rank() == 0) {
        test::send_value(job, job.ranks() - 1, port, static_cast<std::uint64_t>(getpid()));
        job.send(job.ranks() - 1, port + 1, std::vector<std::byte>(30'000'000));
        job.send(job.ranks() - 1, port + 1, {});
    }
    Message large;
    bool found = false;
    if (job.rank() == job.ranks() - 1) {
        const auto sender = static_cast<pid_t>(test::receive_value(job, port));
        for (int looks = 0; looks < 20'000 && !found; ++looks)
            found = job.receive(port + 1, large, false);
        EXPECT_EQ(kill(sender, SIGUSR1), 0);
    }
    if (job.rank() == 0) {
        const timespec limit{.tv_sec = 20, .tv_nsec = 0};
        EXPECT_EQ(sigtimedwait(&signals, nullptr, &limit), SIGUSR1);
    }
    if (job.rank() < job.ranks() - 1) return;
    if (!found) {
        EXPECT_TRUE(job.receive(port + 1, large, true));
    }
    EXPECT_EQ(large.bytes.size(), 30'000'000U);
    EXPECT_TRUE(job.receive(port + 1, large, true));  // not overtaken
    EXPECT_TRUE(large.bytes.empty());
}

void run(const test::ContractCase& which, Job& job) {
    check::part(which.name);
    which.run(job);
    job.barrier();
}

void know_rank(const Job& job) {
    check::state().rank = job.rank();
    check::state().size = job.ranks();
}

void everything(Job& job) {
    know_rank(job);
    run({"segments", segments_are_zero_at_the_start}, job);
    for (const test::ContractCase& which : test::contract_cases())
        run(which, job);
    run({"words", what_is_wrong_is_said}, job);
    run({"an endpoint's end", an_endpoint_completes_what_is_under_way}, job);
    run({"looking for a message", looking_for_a_message_waits_for_nobody}, job);
    run({"threads", threads_fail_or_are_refused_with_words}, job);
    check::part("an end with messages that nobody receives");
    job.send((job.rank() + 1) % job.ranks(), 3, std::vector<std::byte>(2'000'000));
}

/// A GET of another rank's bytes is counted, and not complete before the network's time.
void takes_the_models_time(Job& job) {
    const auto transport = job.endpoint();
    const Traffic before = traffic_of(job);
    const std::uint64_t begin_ns = transport->now_ns();
    test::get_value(*transport, job.rank(), 0);
    EXPECT_EQ(traffic_of(job).get_messages, before.get_messages);
    test::get_value(*transport, (job.rank() + 1) % job.ranks(), 0);
    EXPECT_EQ(traffic_of(job).get_messages, before.get_messages + 1);
    EXPECT_GE(transport->now_ns() - begin_ns, network_of(job)->get_ns(8));
}

void over_a_modelled_network(Job& job) {
    know_rank(job);
    const ModelSettings unruly{.seed = 5, .jitter_ns = 20'000, .late_effects = true};
    for (const auto& [name, settings] : {std::pair("10gbe", ModelSettings()), std::pair("aries", unruly)}) {
        WallClock clock(true);
        Network network(network_model(name), job.ranks());
        ModelJob modelled(job, settings, network, clock, nullptr);
        run({"the model's time", takes_the_models_time}, modelled);
        for (const test::ContractCase& which : test::contract_cases())
            run(which, modelled);
    }
}

}  // namespace

int main(int argc, char** argv) {
    signal(SIGALRM, check::on_alarm);
    alarm(100);
    // Before there are threads: none of them takes it.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    const std::string_view end = argc > 1 ? argv[1] : "";
    if (end == "too-much") return launch_mpi({.segment_bytes = 1ull << 43}, &argc, &argv, [](Job&) {});
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
    if (end == "started")
        mpi_that_is_started_is_used_and_left(argc > 2 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
    else if (end == "left")
        mpi_that_is_left_is_ended_once();
    else if (end == "communicators")
        processes_of_communicators_are_ranks();
    else
        launch_mpi({.segment_bytes = segment_bytes}, &argc, &argv,
                   end == "modelled" ? over_a_modelled_network : everything);
    mpi_is_not_started_again();
    const bool failed = testing::UnitTest::GetInstance()->Failed();
    if (failed || check::rank() == 0)
        std::cout << "rank " << check::rank() << (failed ? " FAILED" : " passed") << std::endl;
    return failed;
}
