// SPDX-License-Identifier: Apache-2.0
#include "tasking.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace nearfetch::testing {

namespace {

constexpr std::size_t stack_bytes = 128 * 1024;

[[noreturn]] void broken(const char* promise) {
    std::fprintf(stderr, "the cache broke a promise: %s\n", promise);
    std::abort();
}

}  // namespace

nearfetch_cache_settings settings_with(const std::function<void(nearfetch_cache_settings&)>& change) {
    nearfetch_cache_settings settings;
    if (nearfetch_cache_settings_default(&settings, sizeof settings) != NEARFETCH_OK)
        broken("there are defaults");
    change(settings);
    return settings;
}

// --- tasks

struct Tasks::Fibre {
    std::function<void()> body;
    std::unique_ptr<char[]> stack;
    ucontext_t context{};
    void* sanitizer = nullptr;
    bool begun = false;
    bool ended = false;
};

Tasks::Tasks(std::uint64_t seed) : random_(seed) {}

Tasks::~Tasks() {
#if defined(__SANITIZE_THREAD__)
    for (const auto& fibre : fibres_)
        if (fibre->sanitizer != nullptr) __tsan_destroy_fiber(fibre->sanitizer);
#endif
}

void Tasks::add(std::function<void()> body) {
    fibres_.push_back(std::make_unique<Fibre>());
    fibres_.back()->body = std::move(body);
}

void Tasks::enter(unsigned high, unsigned low) {
    auto& tasks = *reinterpret_cast<Tasks*>((std::uintptr_t{high} << 32) | low);
    Fibre& self = *tasks.running_;
    self.body();
    self.ended = true;
    tasks.switch_to(*tasks.scheduler_);
}

void Tasks::switch_to(Fibre& to) {
    Fibre& from = *running_;
    if (&to == &from) return;
    running_ = &to;
    if (!to.begun && to.body) {
        to.begun = true;
        to.stack = std::make_unique<char[]>(stack_bytes);
        getcontext(&to.context);
        to.context.uc_stack.ss_sp = to.stack.get();
        to.context.uc_stack.ss_size = stack_bytes;
        to.context.uc_link = nullptr;
        const auto self = reinterpret_cast<std::uintptr_t>(this);
        makecontext(&to.context, reinterpret_cast<void (*)()>(&Tasks::enter), 2,
                    static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
#if defined(__SANITIZE_THREAD__)
        to.sanitizer = __tsan_create_fiber(0);
#endif
    }
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to.sanitizer, 0);
#endif
    swapcontext(&from.context, &to.context);
}

Tasks::Fibre* Tasks::pick() {
    std::vector<Fibre*> ready;
    for (const auto& fibre : fibres_)
        if (!fibre->ended && (!fibre->begun || fibre->stack != nullptr)) ready.push_back(fibre.get());
    return ready.empty() ? nullptr : ready[random_() % ready.size()];
}

void Tasks::run() {
    scheduler_ = std::make_unique<Fibre>();
#if defined(__SANITIZE_THREAD__)
    scheduler_->sanitizer = __tsan_get_current_fiber();
#endif
    running_ = scheduler_.get();
    while (Fibre* const next = pick())
        switch_to(*next);
#if defined(__SANITIZE_THREAD__)
    scheduler_->sanitizer = nullptr;
#endif
}

void Tasks::yield() {
    if (Fibre* const next = running_ != nullptr ? pick() : nullptr) switch_to(*next);
}

bool Tasks::run_on_top() {
    for (const auto& fibre : fibres_) {
        if (fibre->begun) continue;
        fibre->begun = true;
        fibre->body();
        fibre->ended = true;
        return true;
    }
    return false;
}

// --- the network

SimulatedNetwork::SimulatedNetwork(const Behaviour& behaviour, int ranks, std::uint64_t segment_bytes)
    : behaviour_(behaviour),
      random_(behaviour.seed),
      memories_(static_cast<std::size_t>(ranks), std::vector<std::byte>(segment_bytes)),
      regions_(static_cast<std::size_t>(ranks), {{0, segment_bytes}}) {}

nearfetch_transport SimulatedNetwork::table() {
    nearfetch_transport table{};
    table.size = sizeof table;
    table.context = this;
    table.start_get = [](void* context, std::int32_t rank, std::uint64_t address, std::uint64_t bytes,
                         void* to, nearfetch_operation* operation) {
        return of(context).start({operation,
                                  true,
                                  rank,
                                  address,
                                  bytes,
                                  static_cast<std::byte*>(to),
                                  nullptr,
                                  0,
                                  0,
                                  false,
                                  false,
                                  {}});
    };
    table.start_put = [](void* context, std::int32_t rank, std::uint64_t address, std::uint64_t bytes,
                         const void* from, nearfetch_operation* operation) {
        return of(context).start({operation,
                                  false,
                                  rank,
                                  address,
                                  bytes,
                                  nullptr,
                                  static_cast<const std::byte*>(from),
                                  0,
                                  0,
                                  false,
                                  false,
                                  {}});
    };
    table.wait_some = [](void* context, nearfetch_operation* const* operations, std::size_t count) {
        of(context).wait_some(operations, count);
    };
    table.try_some = [](void* context, nearfetch_operation* const* operations, std::size_t count) {
        of(context).tick();
        for (std::size_t i = 0; i < count; ++i)
            of(context).look(operations[i]);
    };
    table.readable = [](void* context, std::int32_t rank, std::uint64_t address, std::uint64_t bytes,
                        std::uint64_t* begin, std::uint64_t* end) -> int {
        ++of(context).questions;
        if (bytes == 0) broken("accesses have bytes");
        return of(context).readable(rank, address, *begin, *end);
    };
    table.now_ns = [](void* context) { return of(context).now_ * 100; };
    table.status_text = [](void*, int status) -> const char* {
        if (status == refused) return "the simulated network is closed";
        return status == failed ? "the simulated network lost it" : nullptr;
    };
    return table;
}

void SimulatedNetwork::set_regions(int rank, std::vector<Region> regions) {
    for (const Flight& flight : slots_) {
        if (flight.operation == nullptr || flight.rank != rank) continue;
        const auto old = std::move(regions_[static_cast<std::size_t>(rank)]);
        regions_[static_cast<std::size_t>(rank)] = regions;
        if (!registered(rank, flight.address, flight.bytes))
            broken("nothing is under way in memory that is unregistered");
        regions_[static_cast<std::size_t>(rank)] = old;
    }
    regions_[static_cast<std::size_t>(rank)] = std::move(regions);
}

/// Adjacent regions may be accessed as one.
bool SimulatedNetwork::registered(int rank, std::uint64_t address, std::uint64_t bytes) const {
    for (const Region& region : regions_[static_cast<std::size_t>(rank)]) {
        if (address < region.begin || address >= region.end) continue;
        const std::uint64_t here = region.end - address;
        return bytes <= here || registered(rank, region.end, bytes - here);
    }
    return false;
}

int SimulatedNetwork::readable(int rank, std::uint64_t address, std::uint64_t& begin,
                               std::uint64_t& end) const {
    if (rank < 0 || static_cast<std::size_t>(rank) >= regions_.size()) return 0;
    for (const Region& region : regions_[static_cast<std::size_t>(rank)])
        if (region.known && region.begin <= address && address < region.end) {
            begin = region.begin;
            end = region.end;
            return 1;
        }
    return 0;
}

int SimulatedNetwork::start(Flight flight) {
    starting_most = std::max(starting_most, ++starting);
    while_starting();
    const int status = start_now(std::move(flight));
    while_starting();
    --starting;
    return status;
}

int SimulatedNetwork::start_now(Flight flight) {
    if (flight.bytes == 0) broken("operations have bytes");
    if (flight.rank < 0 || static_cast<std::size_t>(flight.rank) >= memories_.size())
        return NEARFETCH_TRANSPORT_BAD_RANK;
    if (!registered(flight.rank, flight.address, flight.bytes)) {
        ++outside;
        return NEARFETCH_TRANSPORT_OUTSIDE;
    }
    // They may take effect in any order. (A GET concurrent with a PUT may not be used, which shows in the
    // data.)
    for (const Flight& other : slots_)
        if (other.operation != nullptr && !other.get && !flight.get && other.rank == flight.rank &&
            other.address < flight.address + flight.bytes && flight.address < other.address + other.bytes)
            broken("no two PUTs of the same bytes are under way");
    if (chance(behaviour_.refusals_percent)) {
        ++refusals;
        return refused;
    }
    ++(flight.get ? gets : puts);
    (flight.get ? bytes_got : bytes_put) += flight.bytes;
    flight.number = ++started_;
    flight.due = now_ + 1 + random_() % behaviour_.delay_max;
    flight.fails = chance(behaviour_.failures_percent);
    flight.early = chance(50);
    if (flight.early && !(flight.fails && chance(50))) effect(flight);
    if (spare_.empty()) {
        spare_.push_back(slots_.size());
        slots_.emplace_back();
    }
    const std::size_t slot = spare_.back();
    spare_.pop_back();
    flight.operation->handle = reinterpret_cast<void*>(slot + 1);
    slots_[slot] = std::move(flight);
    return 0;
}

void SimulatedNetwork::effect(Flight& flight) {
    std::byte* const there = memory(flight.rank).data() + flight.address;
    if (flight.get)
        flight.taken.assign(there, there + flight.bytes);
    else
        std::memcpy(there, flight.from, flight.bytes);
}

/// Marks the operation as done; its handle is reused from now on.
void SimulatedNetwork::finish(std::size_t slot) {
    Flight& flight = slots_[slot];
    for (const Flight& other : slots_)
        if (other.operation != nullptr && other.number < flight.number) {
            ++overtaken;
            break;
        }
    if (!flight.early && !flight.fails) effect(flight);
    if (flight.get && !flight.taken.empty()) std::memcpy(flight.to, flight.taken.data(), flight.bytes);
    flight.operation->status = flight.fails ? failed : 0;
    flight.operation->done = 1;
    failures += flight.fails;
    flight = {};
    spare_.push_back(slot);
}

bool SimulatedNetwork::look(nearfetch_operation* operation) {
    if (operation->done) return true;
    const std::size_t slot = reinterpret_cast<std::uintptr_t>(operation->handle) - 1;
    if (slot >= slots_.size() || slots_[slot].operation != operation) broken("handles are those of a start");
    if (slots_[slot].due > now_) return false;
    finish(slot);
    return true;
}

void SimulatedNetwork::wait_some(nearfetch_operation* const* operations, std::size_t count) {
    if (count > 64 || (count == 0 && starting == 0)) broken("somebody waits for 1 to 64 operations");
    if (count == 0) {
        ++waits_for_starts;
        return while_waiting();
    }
    waiting_most = std::max(waiting_most, ++waiting);
    for (bool any = false; !any;) {
        tick();
        while_waiting();
        for (std::size_t i = 0; i < count; ++i)
            any |= look(operations[i]);
    }
    --waiting;
}

void SimulatedNetwork::tick() {
    ++now_;
    at_tick();
    if (!behaviour_.push) return;
    for (std::size_t slot = 0; slot < slots_.size(); ++slot)
        if (slots_[slot].operation != nullptr && slots_[slot].due <= now_) finish(slot);
}

}  // namespace nearfetch::testing
