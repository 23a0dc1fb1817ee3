// SPDX-License-Identifier: Apache-2.0
#include "capi/table_transport.hpp"

#include <algorithm>
#include <array>

#include "base/clock.hpp"

namespace nearfetch::capi {

void TableTransport::reserve(std::size_t operations) {
    active_.reserve(operations);
    grow(operations);
}

/// Reported records may still be in a caller's list, so there may be more records than operations.
void TableTransport::grow(std::size_t count) {
    spare_.reserve(records_.size() + count);
    for (std::size_t i = 0; i < count; ++i)
        spare_.push_back(&records_.emplace_back());
}

template <class Start>
int TableTransport::begin(Token token, const Start& start) {
    if (spare_.empty()) grow(list_max);
    Record& record = *spare_.back();
    spare_.pop_back();
    record = Record{{nullptr, 0, 0}, token};
    // Other tasks may run now. Nobody is given the record before the start has returned.
    ++starting_;
    const int status = start(&record.operation);
    --starting_;
    if (status == 0)
        active_.push_back(&record);
    else
        spare_.push_back(&record);
    return status;
}

int TableTransport::start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                              Token token) {
    return begin(token, [&](nearfetch_operation* operation) {
        return table_.start_get(table_.context, target, address, size, to, operation);
    });
}

int TableTransport::start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                              Token token) {
    return begin(token, [&](nearfetch_operation* operation) {
        return table_.start_put(table_.context, target, address, size, from, operation);
    });
}

void TableTransport::give_back(Record& record) {
    if (record.reported && record.lists == 0) spare_.push_back(&record);
}

/// Passes outstanding operations to the table's function, the oldest first. The set may change during the
/// call.
void TableTransport::ask(Ask function, bool without_any) {
    std::array<nearfetch_operation*, list_max> list{};
    std::array<Record*, list_max> listed;
    std::size_t count = 0;
    for (Record* record : active_) {
        if (record->operation.done || count == list_max) continue;
        ++record->lists;
        listed[count] = record;
        list[count++] = &record->operation;
    }
    if (count == 0 && !without_any) return;
    ++calls_;
    function(table_.context, list.data(), count);
    --calls_;
    for (std::size_t i = 0; i < count; ++i) {
        --listed[i]->lists;
        give_back(*listed[i]);
    }
}

std::size_t TableTransport::report(std::span<Completion> out) {
    std::size_t count = 0;
    std::erase_if(active_, [&](Record* record) {
        if (count == out.size() || !record->operation.done) return false;
        out[count++] = {record->token, record->operation.status};
        record->reported = true;
        give_back(*record);
        return true;
    });
    return count;
}

std::size_t TableTransport::test(std::span<Completion> out) {
    ask(table_.try_some, false);
    return report(out);
}

std::size_t TableTransport::wait(std::span<Completion> out) {
    const std::size_t count = report(out);
    if (count != 0) return count;
    // Without any: what is waited for is being started by another task.
    ask(table_.wait_some, starting_ != 0);
    return report(out);
}

ByteRange TableTransport::readable_with(Rank target, ByteRange access) const noexcept {
    ByteRange range;
    if (!table_.readable(table_.context, target, access.begin, access.size(), &range.begin, &range.end))
        return {};
    return range.begin < range.end ? range : ByteRange{};
}

std::uint64_t TableTransport::now_ns() {
    if (table_.now_ns != nullptr) return table_.now_ns(table_.context);
    return steady_ns();
}

std::string TableTransport::status_text(int status) const {
    if (status == NEARFETCH_TRANSPORT_BAD_RANK) return "the transport knows no such rank";
    if (status == NEARFETCH_TRANSPORT_OUTSIDE) return "not all of these bytes are addressable";
    const char* const text =
        table_.status_text != nullptr ? table_.status_text(table_.context, status) : nullptr;
    return text != nullptr ? text : Transport::status_text(status);
}

}  // namespace nearfetch::capi
