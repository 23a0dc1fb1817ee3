// SPDX-License-Identifier: Apache-2.0
#include "range_program.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "cache/eviction/eviction_policy.hpp"
#include "cache/eviction/policies.hpp"
#include "dice.hpp"
#include "kinds.hpp"

namespace nearfetch::simulation {

namespace {

using Kind = RangeOp::Kind;

using Info = KindInfo<Kind>;
constexpr std::array kinds{
    Info{Kind::get, 50, "get"},
    Info{Kind::get_runs, 12, "get of a datatype"},
    Info{Kind::get_refused, 2, "refused get"},
    Info{Kind::get_request, 10, "get with a request"},
    Info{Kind::finish_request, 6, "wait for a request"},
    Info{Kind::free_request, 2, "free a request"},
    Info{Kind::abandon_request, 1, "abandon a request"},
    Info{Kind::flush, 9, "flush"},
    Info{Kind::flush_local, 5, "flush_local"},
    Info{Kind::flush_all, 2, "flush_all"},
    Info{Kind::flush_fails, 1, "failed flush"},
    Info{Kind::arrive, 4, "arrival"},
    Info{Kind::put, 8, "put", true},
    Info{Kind::puts, 3, "neighbouring puts", true},
    Info{Kind::accumulate, 4, "accumulate", true},
    Info{Kind::change, 6, "change by another process", true},
    Info{Kind::poll, 2, "poll"},
    Info{Kind::record, 3, "header and record"},
    Info{Kind::state, 1, "change of `bypass`"},
    Info{Kind::prefetch, 4, "prefetch"},
    Info{Kind::invalidate, 1, "invalidate"},
    Info{Kind::lock, 3, "get under a lock"},
    Info{Kind::neighbour_get, 20, "get by a neighbour"},
    Info{Kind::neighbour_flush, 6, "flush by a neighbour"},
    Info{Kind::neighbour_acquire, 6, "acquire by a neighbour"},
};

Settings make_settings(Dice& dice, bool read_only) {
    Settings s;
    s.locks = "access";  // whether what follows may hit decides
    s.mode = dice.one_of({Mode::always_cache, Mode::always_cache, Mode::always_cache, Mode::user_defined,
                          Mode::user_defined, Mode::user_defined, Mode::transparent, Mode::transparent,
                          Mode::acquire, Mode::acquire, Mode::acquire});
    if (dice.one_in(20)) s.mode = Mode::off;
    const auto policies = eviction_policy_names();
    do
        s.policy = policies[dice.below(policies.size())];
    while (s.policy == "application");
    s.storage = scores_free_space(s.policy) || dice.one_in(3) ? "best_fit" : "log";
    s.buffer_bytes = dice.one_of<std::uint64_t>({1024, 4096, 8192, 1 << 20});
    s.memory_bytes = dice.one_of<std::uint64_t>({16384, 65536, 1 << 21});
    s.index_entries = dice.one_of<std::uint64_t>({8, 16, 32, 64, 1024});
    s.exact_match = dice.one_in(4);
    s.keep_on_resize = !dice.one_in(3);
    s.adaptive = dice.one_in(2);
    s.adapt_interval_gets = 50;
    s.bypass = dice.one_in(8) ? Bypass::on : Bypass::off;
    s.read_ahead_bytes = dice.one_of<std::uint64_t>({0, 256, 512, 1000});
    s.read_only_phases = read_only;
    s.write_combining_bytes = dice.one_of<std::uint64_t>({0, 16, 1024, 1024});
    s.combining_buffer_bytes = dice.one_of<std::uint64_t>({2048, 6144, 65536});
    s.check_hits = dice.one_in(4) ? 1 + dice.below(4) : 0;
    s.seed = dice.below(1000);
    s.node_buffer_bytes = dice.one_of<std::uint64_t>({0, 1 << 16, 1 << 20});
    return s;
}

class Generator {
  public:
    explicit Generator(std::uint64_t seed) : dice_(seed) { p_.chance = seed; }

    RangeProgram make() {
        const bool read_only = dice_.one_in(3);
        p_.settings = make_settings(dice_, read_only);
        std::array<std::uint64_t, kinds.size()> weights{};
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            weights[i] = kinds[i].weight * dice_.one_of<std::uint64_t>({0, 1, 1, 1, 4});
            if (read_only && kinds[i].writes && kinds[i].kind != Kind::change) weights[i] = 0;
            if (kinds[i].kind == Kind::get || kinds[i].kind == Kind::flush) weights[i] += 5;
        }
        const std::uint64_t count = dice_.one_in(12) ? 4000 : 60 + dice_.below(800);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::size_t which = dice_.by_weight(weights);
            add(kinds[which].kind);
        }
        return std::move(p_);
    }

  private:
    void add(Kind kind) {
        RangeOp op;
        op.id = static_cast<std::uint32_t>(p_.ops.size());
        op.kind = kind;
        op.target = static_cast<Rank>(dice_.below(RangeProgram::ranks));
        // Few addresses and small sizes, so that ranges overlap, touch and repeat.
        op.size_bytes = dice_.one_in(4) ? 1 + dice_.below(700) : 1 + dice_.below(64);
        op.offset = dice_.one_in(2) ? dice_.below(64) * 48 : dice_.below(RangeProgram::memory_bytes - 700);
        op.offset = std::min(op.offset, RangeProgram::memory_bytes - op.size_bytes);
        // What both processes of a node ask for is the same range.
        if (kind == Kind::neighbour_get) shared_ = op;
        const bool may_share = kind == Kind::get || kind == Kind::get_request || kind == Kind::change;
        if (may_share && shared_.size_bytes != 0 && dice_.one_in(2)) {
            op.target = shared_.target;
            op.offset = shared_.offset;
            op.size_bytes = shared_.size_bytes;
        }
        switch (kind) {
            case Kind::finish_request:
            case Kind::free_request:
            case Kind::abandon_request:
            case Kind::flush_all:
            case Kind::invalidate:
            case Kind::neighbour_flush:
            case Kind::neighbour_acquire:
            case Kind::state:
            case Kind::flush:
            case Kind::flush_local:
            case Kind::flush_fails:
            case Kind::arrive:
                op.size_bytes = 0;
                break;
            default:
                break;
        }
        p_.ops.push_back(op);
    }

    Dice dice_;
    RangeProgram p_;
    RangeOp shared_;  ///< what the neighbour asked for last
};

}  // namespace

RangeProgram make_range_program(std::uint64_t seed) { return Generator(seed).make(); }

std::string to_text(const RangeProgram& program) {
    const Settings& s = program.settings;
    std::ostringstream text;
    text << RangeProgram::ranks << " ranks of " << RangeProgram::memory_bytes << " bytes, mode "
         << mode_name(s.mode) << ",\n  policy " << s.policy << ", buffer_bytes " << s.buffer_bytes
         << ", index_entries " << s.index_entries << ", exact_match " << s.exact_match << ", storage "
         << s.storage << ", keep_on_resize " << s.keep_on_resize << ", adaptive " << s.adaptive
         << ",\n  bypass " << (s.bypass == Bypass::on ? "on" : "off") << ", read_ahead_bytes "
         << s.read_ahead_bytes << ", read_only_phases " << s.read_only_phases << ", check_hits "
         << s.check_hits << ",\n  write_combining_bytes " << s.write_combining_bytes
         << ", combining_buffer_bytes " << s.combining_buffer_bytes << ", node_buffer_bytes "
         << s.node_buffer_bytes;
    if (s.bypass == Bypass::on)
        text << " (with bypass, decisions depend on measured times: it may not fail every time)";
    return text.str();
}

std::string to_text(const RangeOp& op) {
    std::ostringstream text;
    text << '#' << op.id << " ";
    text << name_in(kinds, op.kind);
    if (op.kind != Kind::flush_all && op.kind != Kind::invalidate && op.kind != Kind::state &&
        op.kind != Kind::neighbour_acquire)
        text << ", target " << op.target;
    if (op.size_bytes != 0) text << ": " << op.offset << '+' << op.size_bytes;
    return text.str();
}

}  // namespace nearfetch::simulation
