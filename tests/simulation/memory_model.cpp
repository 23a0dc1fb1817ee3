// SPDX-License-Identifier: Apache-2.0
#include "memory_model.hpp"

#include <algorithm>
#include <bitset>
#include <sstream>

namespace nearfetch::simulation {

MemoryModel::MemoryModel(Rank ranks, std::uint64_t memory_bytes,
                         const std::vector<std::vector<std::byte>>& memory)
    : memory_bytes_(memory_bytes), newest_(static_cast<std::size_t>(ranks) * memory_bytes, none) {
    base_.reserve(newest_.size());
    for (const auto& bytes : memory)
        for (const std::byte byte : bytes)
            base_.push_back(static_cast<std::uint8_t>(byte));
}

MemoryModel::WriteId MemoryModel::issue(Rank writer, std::uint32_t op, Rank target, std::uint64_t offset,
                                        std::uint64_t size, const std::byte* bytes) {
    const auto id = static_cast<WriteId>(writes_.size());
    Write write;
    write.issued = ++now_;
    write.rank = writer;
    write.target = target;
    write.range = {offset, offset + size};
    write.op = op;
    for (const WriteId other : dangerous_)
        if (writes_[other].rank == writer && writes_[other].target == target &&
            writes_[other].range.overlaps(write.range))
            write.doubtful = true;
    writes_.push_back(write);
    incomplete_[writer].push_back(id);
    for (std::uint64_t i = 0; i < size; ++i) {
        std::uint32_t& newest = newest_[index(target, offset + i)];
        nodes_.push_back({id, newest, static_cast<std::uint8_t>(bytes[i])});
        newest = static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    return id;
}

void MemoryModel::endanger(WriteId id) {
    dangerous_.push_back(id);
    discredit(id);
}

void MemoryModel::finish(WriteId id) noexcept {
    writes_[id].finished = ++now_;
    std::erase(dangerous_, id);
}

/// What its rank has written there becomes uncertain.
void MemoryModel::discredit(WriteId id) noexcept {
    const Write& write = writes_[id];
    doubts_ = true;
    for (std::uint64_t at = write.range.begin; at < write.range.end; ++at)
        for (std::uint32_t node = newest_[index(write.target, at)]; node != none; node = nodes_[node].older)
            if (nodes_[node].write != id && writes_[nodes_[node].write].rank == write.rank)
                writes_[nodes_[node].write].doubtful = true;
}

void MemoryModel::doubt(WriteId id) noexcept {
    discredit(id);
    writes_[id].doubtful = true;
    finish(id);
}

void MemoryModel::write_through(Rank writer, std::uint32_t op, Rank target, std::uint64_t offset,
                                std::uint64_t size, const std::byte* bytes, Time issued) {
    Write& write = writes_[issue(writer, op, target, offset, size, bytes)];
    incomplete_[writer].pop_back();
    write.issued = issued;
    write.finished = write.complete = ++now_;
    write.path = Path::bypassing;
}

void MemoryModel::released(Rank rank, Time begun, Rank target, ByteRange range) noexcept {
    const Time now = ++now_;
    std::erase_if(incomplete_[rank], [&](WriteId id) {
        Write& write = writes_[id];
        // A write partly in the range is not assumed released.
        const bool concerned = range.empty() || (write.target == target && range.contains(write.range));
        if (write.finished > begun || !concerned) return false;
        write.complete = now;
        return true;
    });
}

void MemoryModel::acquired(Rank rank, Rank target, ByteRange range) {
    acquired_[rank].push_back({++now_, target, range});
}

MemoryModel::View MemoryModel::look(Rank rank, Time acquired, Rank target, ByteRange range) const {
    View view{rank, now_, acquired, {}};
    for (const Acquired& one : acquired_[rank])
        if (one.time > acquired && one.target == target && one.range.overlaps(range))
            view.ranges.push_back(one);
    return view;
}

MemoryModel::Limits MemoryModel::limits(const View& view, Rank target, std::uint64_t offset) const noexcept {
    Time bound = view.acquired;
    for (const Acquired& one : view.ranges)
        if (one.range.begin <= offset && offset < one.range.end) bound = std::max(bound, one.time);
    Limits limits;
    for (std::uint32_t node = newest_[index(target, offset)]; node != none; node = nodes_[node].older) {
        const Write& write = writes_[nodes_[node].write];
        if (write.doubtful) continue;
        if (write.complete <= bound) {
            limits.complete = std::max(limits.complete, write.issued);
            limits.of_rank[write.rank] = std::max(limits.of_rank[write.rank], write.issued);
        }
        if (write.rank == view.rank && write.path == Path::cached && write.finished <= view.begun)
            limits.own = std::max(limits.own, write.issued);
    }
    return limits;
}

bool MemoryModel::ruled_out(const Limits& limits, const View& view, const Write& write) const noexcept {
    if (write.complete < limits.complete || write.complete < limits.own) return true;
    if (write.rank == nobody) return false;
    return write.finished < limits.of_rank[write.rank] ||
           (write.rank == view.rank && write.finished < limits.own);
}

/// Calls visit(value, write) for each write that the read may see; the initial value has no writer.
template <class Visitor>
void MemoryModel::for_each_allowed(const View& view, Rank target, std::uint64_t offset,
                                   Visitor&& visit) const {
    const Limits limit = limits(view, target, offset);
    for (std::uint32_t node = newest_[index(target, offset)]; node != none; node = nodes_[node].older) {
        const Write& write = writes_[nodes_[node].write];
        if (!ruled_out(limit, view, write)) visit(nodes_[node].value, write);
    }
    Write beginning;
    beginning.finished = beginning.complete = 0;
    if (!ruled_out(limit, view, beginning)) visit(base_[index(target, offset)], beginning);
}

std::string MemoryModel::check(const View& view, Rank target, std::uint64_t offset, std::uint64_t size,
                               const std::byte* bytes) const {
    for (std::uint64_t i = 0; i < size; ++i) {
        const auto value = static_cast<std::uint8_t>(bytes[i]);
        const std::uint32_t newest = newest_[index(target, offset + i)];
        // The last issued write is always allowed.
        if (value == (newest == none ? base_[index(target, offset + i)] : nodes_[newest].value)) continue;
        bool allowed = false;
        for_each_allowed(view, target, offset + i,
                         [&](std::uint8_t one, const Write&) { allowed = allowed || one == value; });
        if (!allowed) return complaint(view, target, offset + i, value);
    }
    return {};
}

std::size_t MemoryModel::choices(const View& view, Rank target, std::uint64_t offset) const {
    std::bitset<256> values;
    for_each_allowed(view, target, offset, [&](std::uint8_t value, const Write&) { values.set(value); });
    return values.count();
}

std::string MemoryModel::complaint(const View& view, Rank target, std::uint64_t offset,
                                   std::uint8_t value) const {
    const auto writer = [](const Write& write) {
        if (write.rank == nobody) return std::string("there at the beginning");
        return "by #" + std::to_string(write.op) + " of rank " + std::to_string(write.rank);
    };
    std::ostringstream text;
    text << "byte " << offset << " of " << target << " is " << int{value};
    for (std::uint32_t node = newest_[index(target, offset)]; node != none; node = nodes_[node].older)
        if (nodes_[node].value == value) text << " (written " << writer(writes_[nodes_[node].write]) << ')';
    if (base_[index(target, offset)] == value) text << " (there at the beginning)";
    text << ". Allowed:";
    for_each_allowed(view, target, offset, [&](std::uint8_t one, const Write& write) {
        text << ' ' << int{one} << " (" << (write.rank == nobody ? "" : "written ") << writer(write)
             << (write.complete == never ? ", not released)" : ")");
    });
    return text.str();
}

std::string MemoryModel::check_and_reset(const std::vector<std::vector<std::byte>>& memory, bool race_free) {
    const View view = look_there();
    std::string wrong;
    for (const Write& write : writes_)
        for (std::uint64_t at = write.range.begin; at < write.range.end; ++at) {
            const std::size_t i = index(write.target, at);
            if (newest_[i] == none) continue;
            const std::byte* const byte = &memory[static_cast<std::size_t>(write.target)][at];
            if (wrong.empty()) wrong = check(view, write.target, at, 1, byte);
            if (wrong.empty() && race_free && !doubts_ && choices(view, write.target, at) != 1)
                wrong = "the program is not race-free at byte " + std::to_string(at) + " of " +
                        std::to_string(write.target) + ": " +
                        complaint(view, write.target, at, static_cast<std::uint8_t>(*byte));
            base_[i] = static_cast<std::uint8_t>(*byte);
            newest_[i] = none;
        }
    doubts_ = false;
    writes_.clear();
    nodes_.clear();
    for (auto& list : incomplete_)
        list.clear();
    for (auto& list : acquired_)
        list.clear();
    return wrong;
}

}  // namespace nearfetch::simulation
