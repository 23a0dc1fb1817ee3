// SPDX-License-Identifier: Apache-2.0
#pragma once

// A cached window over a network that is a few arrays: transfers arrive when the test says so, and are
// counted.

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "rma/window_cache.hpp"

namespace nearfetch::testing {

/// That all rigs are in.
inline ProcessState process;

/// Starts a put as a front end's library would.
class PutWhole final : public PutStarter {
  public:
    PutWhole(WindowTransfers& transfers, Rank target, std::span<const ByteRun> whole)
        : transfers_(transfers), target_(target), whole_(whole) {}
    int start() override { return transfers_.start_put(target_, whole_); }

  private:
    WindowTransfers& transfers_;
    Rank target_;
    std::span<const ByteRun> whole_;
};

class Rig : public WindowTransfers, public WindowListener {
  public:
    Rig(const Settings& settings, Rank ranks, std::size_t bytes_per_rank, bool threaded = false,
        ProcessState& of = process)
        : window(settings, ranks, 0, threaded, of, *this, *this), memory(static_cast<std::size_t>(ranks)) {
        for (auto& m : memory)
            m.resize(bytes_per_rank);
        window.locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::passive); });
    }

    static Settings settings(Mode mode) {
        Settings s;
        s.mode = mode;
        s.bypass = Bypass::off;
        s.adaptive = false;
        s.buffer_bytes = 1 << 20;
        s.index_entries = 1024;
        return s;
    }

    /// As a front end does it: a plain hit, or the engine's general way.
    int get(Rank target, std::span<const ByteRun> runs, RequestId request = 0) {
        begun = Begun::started;
        if (runs.size() == 1) {
            const Served served = look(target, runs[0].offset, runs[0].size, runs[0].origin);
            if (served == Served::hit) begun = Begun::served;
            if (served == Served::hit) {
                if (request == 0 && window.gets().is_check_due())
                    window.gets().check(target, runs[0].offset, {runs[0].origin, runs[0].size}, call_site);
                return 0;
            }
            if (served == Served::bypass) {
                const int result = start_get(target, runs);
                if (result == 0) window.gets().record_bypassed_get(range_get_of(target, runs[0]));
                return result;
            }
        }
        std::uint64_t size = 0;
        for (const ByteRun& p : runs)
            size += p.size;
        Starter starter(*this, target, runs, request);
        const int result = window.gets().get({target, runs, size, request}, starter, begun);
        if (begun == Begun::leader) leaders[window.completions().now()] = request;
        if (is_complete(begun) && runs.size() == 1 && request == 0 && window.gets().is_check_due())
            window.gets().check(target, runs[0].offset, {runs[0].origin, size}, call_site,
                                begun == Begun::from_node);
        return result;
    }
    int get(Rank target, std::uint64_t offset, std::uint64_t size, void* origin, RequestId request = 0) {
        const ByteRun run{offset, size, static_cast<std::byte*>(origin)};
        return get(target, {&run, 1}, request);
    }

    static RangeGet range_get_of(Rank target, const ByteRun& run) {
        return {target, run.offset, run.size, run.origin};
    }

    /// As a front end does it when the program waits for a request: what it waits for arrives first.
    void finish(Rank target, RequestId request) {
        if (const auto awaited = waiting.find(request); awaited != waiting.end())
            window.completions().complete_request(target, leaders.at(awaited->second), true);
        window.completions().complete_request(target, request, true);
    }
    /// Or frees it: at once, where others wait for it or it waits itself.
    void free(Rank target, RequestId request) {
        if (leads(request) || waiting.contains(request))
            finish(target, request);
        else
            window.completions().complete_request(target, request, false);
    }
    /// Whether the request is one of a leader.
    bool leads(RequestId request) const {
        return std::ranges::any_of(leaders, [=](const auto& one) { return one.second == request; });
    }

    /// A hit or nothing.
    bool hits(Rank target, std::uint64_t offset, std::uint64_t size, void* origin) {
        return look(target, offset, size, origin) == Served::hit;
    }
    /// The fast path.
    Served try_get(Rank target, std::uint64_t offset, std::uint64_t size, void* origin) {
        const std::byte* const data =
            window.gets().find({target, offset, size, static_cast<std::byte*>(origin)});
        if (data == nullptr) return Served::miss;
        std::memcpy(origin, data, size);
        return Served::hit;
    }
    Served look(Rank target, std::uint64_t offset, std::uint64_t size, void* origin) {
        if (window.bypass().is_bypassed(target) && window.gets().try_bypass(target, size))
            return Served::bypass;
        if (try_get(target, offset, size, origin) == Served::hit) return Served::hit;
        return window.gets().try_get({target, offset, size, static_cast<std::byte*>(origin)});
    }

    /// As a front end does it: combined at once, or the engine's general way.
    int put(Rank target, std::span<const ByteRun> runs, bool* started = nullptr) {
        if (started != nullptr) *started = false;
        const ByteRun& first = runs.front();
        if (runs.size() == 1 && window.updates().bypass_put(target)) {
            if (started != nullptr) *started = true;
            return start_put(target, runs);
        }
        if (runs.size() == 1 && window.updates().try_combine(target, first.offset, first.size, first.origin))
            return 0;
        PutWhole starter(*this, target, runs);
        return window.updates().put(target, runs, starter, true, started);
    }
    int put(Rank target, std::uint64_t offset, std::uint64_t size, void* origin, bool* started = nullptr) {
        const ByteRun run{offset, size, static_cast<std::byte*>(origin)};
        return put(target, {&run, 1}, started);
    }
    /// Before what has to come after them.
    int send_combined(Rank target) { return window.updates().send_combined(target); }

    void flush(Rank target, FlushKind kind = FlushKind::full) {
        switch (window.completions().try_flush(target, kind)) {
            case Served::hit:
                return;
            case Served::bypass:
                window.completions().bypass_flush(target, kind, [&] {
                    ++library_flushes;
                    arrive(target);
                    if (kind == FlushKind::full) land(target);
                    return 0;
                });
                return;
            default:
                break;
        }
        const Flush flush = window.completions().flush(target, kind);
        if (flush == Flush::elided || flush == Flush::elided_progress) return;
        ++library_flushes;
        const auto since = window.completions().now();
        if (kind == FlushKind::full && !keeps_puts) window.updates().send_combined(target);
        arrive(target);
        if (kind == FlushKind::full) land(target);
        if (flush == Flush::needed_bypassed)
            window.completions().complete_bypassed_flush(target, since, kind);
        else
            window.completions().complete(target, since, kind, 0, network_ticks);
    }
    void flush_all(FlushKind kind = FlushKind::full) {
        if (window.completions().flush_all(kind) != Flush::needed) return;
        ++library_flushes;
        const auto since = window.completions().now();
        if (kind == FlushKind::full && !keeps_puts) window.updates().send_combined(all_targets);
        for (Rank t = 0; t < window.ranks(); ++t) {
            arrive(t);
            if (kind == FlushKind::full) land(t);
        }
        window.completions().complete_all(since, kind, 0, 0);
    }

    /// The bytes of what was started come in.
    void arrive(Rank target) {
        std::erase_if(transfers, [&](const Transfer& t) {
            if (t.target != target) return false;
            for (const ByteRun& p : t.runs)
                std::memcpy(p.origin, memory[static_cast<std::size_t>(target)].data() + p.offset, p.size);
            return true;
        });
    }

    /// What was put is there.
    void land(Rank target) {
        std::erase_if(puts, [&](const Put& put) {
            if (put.target != target) return false;
            std::memcpy(memory[static_cast<std::size_t>(target)].data() + put.offset, put.bytes.data(),
                        put.bytes.size());
            return true;
        });
    }

    int start_get(Rank target, std::span<const ByteRun> runs) override {
        if (status != 0) return status;
        ++messages;
        for (const ByteRun& p : runs)
            bytes += p.size;
        transfers.push_back({target, {runs.begin(), runs.end()}});
        if (delivers_at_once) arrive(target);
        return 0;
    }
    int start_put(Rank target, std::span<const ByteRun> runs) override {
        if (put_status != 0) return put_status;
        if (on_put) on_put();
        ++put_messages;
        for (const ByteRun& p : runs) {
            const auto* const from = reinterpret_cast<const unsigned char*>(p.origin);
            puts.push_back({target, p.offset, {from, from + p.size}});
        }
        if (!late_puts) land(target);
        return 0;
    }
    int flush_local(Rank target) override {
        ++local_flushes;
        arrive(target);
        return 0;
    }
    void progress() override {}
    bool wait_a_moment() override { return while_waiting != nullptr && while_waiting(); }
    void arrived(RequestId request) noexcept override { waiting.erase(request); }
    void stale_hit(const StaleHit& stale) noexcept override {
        if (on_stale_hit) on_stale_hit(stale);
    }

    struct Transfer {
        Rank target;
        std::vector<ByteRun> runs;
    };

    struct Put {
        Rank target;
        std::uint64_t offset;
        std::vector<unsigned char> bytes;
    };

    WindowCache window;
    Begun begun = Begun::served;          ///< the last get
    std::map<Moment, RequestId> leaders;  ///< all that ever were
    std::map<RequestId, Moment> waiting;  ///< for which of these
    std::vector<std::vector<unsigned char>> memory;
    std::vector<Transfer> transfers;
    std::vector<Put> puts;
    std::vector<void*> call_site;  ///< of hits that are checked
    std::function<void(const StaleHit&)> on_stale_hit;
    std::function<bool()> while_waiting;  ///< none: a process cannot wait
    std::function<void()> on_put;         ///< before the network takes one
    bool delivers_at_once = false;        ///< as many libraries do on one node
    bool late_puts = false;               ///< they land when they are flushed: gets overtake them
    bool keeps_puts = false;              ///< a faulty front end: flushes do not send what is combined
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t put_messages = 0;
    std::uint64_t library_flushes = 0;
    std::uint64_t local_flushes = 0;  ///< that the window has made itself
    std::uint64_t network_ticks = 0;  ///< what a completing call is said to take
    int status = 0;                   ///< what the next gets report
    int put_status = 0;               ///< what the next puts report

  private:
    class Starter final : public GetStarter {
      public:
        Starter(Rig& rig, Rank target, std::span<const ByteRun> whole, RequestId request)
            : rig_(rig), target_(target), whole_(whole), request_(request) {}
        int start_whole() override { return rig_.start_get(target_, whole_); }
        int start_runs(std::span<const ByteRun> runs) override { return rig_.start_get(target_, runs); }
        int start_waiting(Moment leader) override {
            if (rig_.status == 0) rig_.waiting[request_] = leader;
            return rig_.status;
        }

      private:
        Rig& rig_;
        Rank target_;
        std::span<const ByteRun> whole_;
        RequestId request_;
    };
};

}  // namespace nearfetch::testing
