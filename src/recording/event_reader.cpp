// SPDX-License-Identifier: Apache-2.0
#include "recording/event_reader.hpp"

#include <cstring>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "recording/event_format.hpp"

namespace nearfetch {

using namespace event_format;

EventReader::EventReader(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error("cannot read '" + path + "': name a folder that nearfetch record has written");
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    begin_ = title.size();
    if (bytes_.size() < begin_ || std::memcmp(bytes_.data(), title.data(), begin_) != 0)
        throw Error("'" + path + "' is no recording of this version: record the run again");
    at_ = begin_;
}

void EventReader::rewind() noexcept {
    at_ = begin_;
    next_offset_ = 0;
}

bool EventReader::take(std::uint64_t& number) noexcept {
    number = 0;
    for (unsigned shift = 0; at_ < bytes_.size() && shift < 64; shift += 7) {
        const unsigned char byte = bytes_[at_++];
        number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

bool EventReader::next(Event& event) {
    if (at_ >= bytes_.size()) return false;
    const unsigned char head = bytes_[at_++];
    event.kind = static_cast<EventKind>(head & ~flag_bit);
    event.flag = (head & flag_bit) != 0;
    std::uint64_t window = 0, target = 0, offset = 0, count = 0;
    if (event.kind > EventKind::end || !take(event.gap_ns) || !take(event.took_ns) || !take(window) ||
        !take(target) || !take(offset) || !take(event.size) || !take(count) || count > bytes_.size() - at_)
        return false;
    event.values.resize(count);
    for (std::uint64_t& value : event.values)
        if (!take(value)) return false;
    event.window = static_cast<std::uint32_t>(window);
    event.target = static_cast<Rank>(target);
    event.offset = unfolded(offset) + next_offset_;
    if (event.is_access()) next_offset_ = event.offset + event.size;
    if (event.kind == EventKind::end) is_whole_ = true;
    return true;
}

}  // namespace nearfetch
