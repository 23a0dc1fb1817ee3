// SPDX-License-Identifier: Apache-2.0
#include "lock_program.hpp"

#include <array>
#include <sstream>

#include "dice.hpp"
#include "kinds.hpp"

namespace nearfetch::simulation {

namespace {

using Kind = LockOp::Kind;

using Info = KindInfo<Kind>;
constexpr std::array kinds{
    Info{Kind::read, 40, "reads"},
    Info{Kind::read_two, 8, "reads in two epochs"},
    Info{Kind::read_flush, 8, "reads, with a flush"},
    Info{Kind::write, 6, "writes", true},
    Info{Kind::count, 4, "reads and writes", true},
    Info{Kind::store, 3, "stores", true},
    Info{Kind::tell, 6, "writes to its mailbox and tells", true},
    Info{Kind::hear, 2, "hears", true},
    Info{Kind::nap, 1, "naps"},
};

Settings make_settings(Dice& dice) {
    Settings s;
    s.mode = Mode::acquire;
    s.locks = "auto";
    s.buffer_bytes = dice.one_of<std::uint64_t>({1024, 1 << 16});
    s.index_entries = dice.one_of<std::uint64_t>({8, 64});
    s.adaptive = dice.one_in(2);
    s.bypass = dice.one_in(2) ? Bypass::on : Bypass::off;
    s.read_ahead_bytes = dice.one_of<std::uint64_t>({0, 0, 64});
    s.write_combining_bytes = dice.one_of<std::uint64_t>({0, 16, 1024});
    s.seed = dice.below(1000);
    return s;
}

}  // namespace

LockProgram make_lock_program(std::uint64_t seed) {
    Dice dice(seed);
    LockProgram program;
    program.chance = seed;
    program.settings = make_settings(dice);
    program.lease_ns = dice.one_of<std::uint64_t>({5'000, 50'000, 200'000});
    program.latency_ns = dice.one_of<std::uint64_t>({100, 500, 2'000});
    program.takes_locks_late = dice.one_in(2);
    std::array<std::uint64_t, kinds.size()> weights{};
    const auto reads_for_write = dice.one_of<std::uint64_t>({1, 8, 64});
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        weights[i] = kinds[i].weight * dice.one_of<std::uint64_t>({0, 1, 1, 4});
        if (kinds[i].kind == Kind::read) weights[i] += 20;
        if (!kinds[i].writes && kinds[i].kind != Kind::nap) weights[i] *= reads_for_write;
    }
    const std::uint64_t count = 20 + dice.below(150);
    std::uint64_t begin_ns = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::size_t which = dice.by_weight(weights);
        LockOp op;
        op.id = static_cast<std::uint32_t>(i);
        op.kind = kinds[which].kind;
        op.rank = static_cast<Rank>(dice.below(LockProgram::ranks));
        op.target = op.rank;
        if (op.kind != Kind::store && !dice.one_in(8))
            op.target =
                static_cast<Rank>((op.rank + 1 + static_cast<Rank>(dice.below(2))) % LockProgram::ranks);
        op.size_bytes = 1 + dice.below(dice.one_in(4) ? 64 : 16);
        op.offset = dice.below(4) * 48;
        begin_ns += dice.one_in(16) ? dice.below(2 * program.lease_ns) : dice.below(program.lease_ns / 16);
        op.begin_ns = begin_ns;
        program.ops.push_back(op);
    }
    return program;
}

std::string to_text(const LockProgram& program) {
    const Settings& s = program.settings;
    std::ostringstream text;
    text << LockProgram::ranks << " ranks of " << LockProgram::shared_bytes
         << " bytes, mode acquire, locks auto,\n  leases of " << program.lease_ns << " ns, latency "
         << program.latency_ns << " ns, locks are taken " << (program.takes_locks_late ? "late" : "at once")
         << ",\n  buffer_bytes " << s.buffer_bytes << ", index_entries " << s.index_entries << ", adaptive "
         << s.adaptive << ", bypass " << (s.bypass == Bypass::on ? "on" : "off") << ", read_ahead_bytes "
         << s.read_ahead_bytes << ", write_combining_bytes " << s.write_combining_bytes;
    return text.str();
}

std::string to_text(const LockOp& op) {
    std::ostringstream text;
    text << '#' << op.id << " rank " << op.rank << ' ';
    text << name_in(kinds, op.kind);
    if (op.kind != Kind::nap) text << ", target " << op.target;
    if (op.kind != Kind::tell && op.kind != Kind::hear && op.kind != Kind::nap)
        text << ": " << op.offset << '+' << op.size_bytes;
    text << ", at " << op.begin_ns << " ns";
    return text.str();
}

}  // namespace nearfetch::simulation
