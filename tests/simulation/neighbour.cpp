// SPDX-License-Identifier: Apache-2.0
#include "neighbour.hpp"

#include "base/clock.hpp"

namespace nearfetch::simulation {

namespace {

Settings settings_for(Settings settings) {
    settings.bypass = Bypass::off;
    settings.check_hits = 0;
    return settings;
}

}  // namespace

Neighbour::Neighbour(const Settings& settings, Rank ranks, std::uint64_t memory_bytes)
    : shared_(settings.node_buffer_bytes),
      rig_(settings_for(settings), ranks, memory_bytes, false, process_) {
    process_.memory.set_limit(settings.memory_bytes);
    rig_.window.describe_memory(
        std::vector<TargetMemory>(static_cast<std::size_t>(ranks), {.extent_bytes = memory_bytes}));
    rig_.window.open_node_level(buffer());
}

void Neighbour::execute(const RangeOp& op, const Memory& memory, Fault fault) {
    rig_.memory = memory;
    if (fault == Fault::late_records && !last_.bytes.empty())
        buffer().offer(last_.target, last_.range.begin, last_.range, steady_ns(), last_.bytes.data());
    if (op.kind == RangeOp::Kind::neighbour_acquire) return process_.acquires.acquire();
    if (op.kind == RangeOp::Kind::neighbour_get) get(op.target, op.range());
    if (op.kind == RangeOp::Kind::neighbour_get && op.id % 2 == 0) return;  // it is flushed later
    rig_.flush(op.target);
    if (rig_.transfers.empty()) origins_.clear();
}

void Neighbour::get(Rank target, ByteRange range) {
    const auto* const there =
        reinterpret_cast<const std::byte*>(rig_.memory[static_cast<std::size_t>(target)].data());
    last_ = {target, range, {there + range.begin, there + range.end}};
    origins_.emplace_back(range.size());
    rig_.get(target, range.begin, range.size(), origins_.back().data());
}

}  // namespace nearfetch::simulation
