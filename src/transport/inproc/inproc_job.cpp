// SPDX-License-Identifier: Apache-2.0
#include "transport/inproc/inproc_job.hpp"

#include <atomic>
#include <bit>
#include <exception>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/inproc/inproc_transport.hpp"
#include "transport/job_thread.hpp"

namespace nearfetch {
namespace {

std::uint64_t add_double(const std::atomic_ref<std::uint64_t>& value, double amount) {
    std::uint64_t before = value.load();
    while (!value.compare_exchange_weak(
        before, std::bit_cast<std::uint64_t>(std::bit_cast<double>(before) + amount))) {
    }
    return before;
}

std::uint64_t apply(std::uint64_t& there, AtomicOp op, std::uint64_t operand, std::uint64_t compare) {
    const std::atomic_ref<std::uint64_t> value(there);
    switch (op) {
        case AtomicOp::load:
            return value.load();
        case AtomicOp::store:
        case AtomicOp::swap:
            return value.exchange(operand);
        case AtomicOp::add:
            return value.fetch_add(operand);
        case AtomicOp::bit_and:
            return value.fetch_and(operand);
        case AtomicOp::bit_or:
            return value.fetch_or(operand);
        case AtomicOp::bit_xor:
            return value.fetch_xor(operand);
        case AtomicOp::compare_swap:
            value.compare_exchange_strong(compare, operand);
            return compare;
        case AtomicOp::add_double:
            return add_double(value, std::bit_cast<double>(operand));
    }
    throw Error("an unknown atomic operation", "number " + std::to_string(static_cast<int>(op)),
                "use one of AtomicOp's");
}

}  // namespace

std::unique_ptr<Transport> InprocJob::endpoint() { return std::make_unique<InprocTransport>(world_); }

std::uint64_t InprocJob::atomic(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                                std::uint64_t compare) {
    world_.throw_if_failed();
    check_rank(target, "an atomic operation");
    const std::span<std::byte> there = world_.segments().at(target, address);
    if (address % 8 != 0 || there.size() < 8) {
        throw Error("an atomic operation on address " + std::to_string(address),
                    address % 8 != 0 ? "integers begin at multiples of 8" : "no segment has 8 bytes there",
                    "use the address of a 64-bit integer in a segment");
    }
    return apply(*reinterpret_cast<std::uint64_t*>(there.data()), op, operand, compare);
}

void InprocJob::start_addition(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t amount) {
    atomic(target, address, op, amount, 0);
}

void InprocJob::send(Rank target, Port port, std::span<const std::byte> bytes) {
    world_.throw_if_failed();
    check_rank(target, "a message");
    check_port(port);
    world_.post(target, port, {.source = rank_, .bytes = {bytes.begin(), bytes.end()}});
}

bool InprocJob::receive(Port port, Message& message, bool wait) {
    check_port(port);
    return world_.take(rank_, port, message, wait);
}

void InprocJob::compute(std::uint64_t ns) { compute_for(ns); }

std::unique_ptr<Job::Thread> InprocJob::start_thread(std::function<void()> body) {
    return std::make_unique<JobThread>(
        pool_, std::move(body),
        [&world = world_](const std::exception_ptr& failure) { world.fail(failure); });
}

void InprocJob::check_rank(Rank target, const char* operation) const {
    if (world_.has_rank(target)) return;
    throw Error(std::string(operation) + " for rank " + std::to_string(target),
                "there are ranks 0 to " + std::to_string(ranks() - 1), "use one of these");
}

void InprocJob::check_port(Port port) {
    if (port <= port_max) return;
    throw Error("a message for port " + std::to_string(port),
                "there are ports 0 to " + std::to_string(port_max), "use one of these");
}

}  // namespace nearfetch
