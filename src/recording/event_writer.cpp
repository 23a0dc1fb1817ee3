// SPDX-License-Identifier: Apache-2.0
#include "recording/event_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "recording/event_format.hpp"

namespace nearfetch {

using namespace event_format;

EventWriter::EventWriter(const std::string& path) {
    file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file_ < 0)
        throw Error("cannot write '" + path + "' (" + std::strerror(errno) + "): name another folder");
    owner_ = getpid();
    std::memcpy(buffer_.data(), title.data(), title.size());
    used_ = title.size();
}

void EventWriter::flush() noexcept {
    for (std::size_t done = 0; file_ >= 0 && done < used_;) {
        const ssize_t written = ::write(file_, buffer_.data() + done, used_ - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            ::close(file_);
            file_ = -1;
            break;
        }
        done += static_cast<std::size_t>(written);
    }
    bytes_ += used_;
    used_ = 0;
}

void EventWriter::close() noexcept {
    // A process that was forked has the buffer, too, and it is none of its.
    if (owner_ == getpid()) flush();
    if (file_ >= 0) ::close(file_);
    file_ = -1;
}

void EventWriter::reserve(std::size_t bytes) noexcept {
    if (used_ + bytes > buffer_.size()) flush();
}

void EventWriter::put(std::uint64_t number) noexcept {
    for (; number >= 0x80; number >>= 7)
        buffer_[used_++] = static_cast<unsigned char>(number | 0x80);
    buffer_[used_++] = static_cast<unsigned char>(number);
}

void EventWriter::write(const Event& event) noexcept {
    reserve(1 + numbers * most_bytes);
    buffer_[used_++] =
        static_cast<unsigned char>(static_cast<unsigned char>(event.kind) | (event.flag ? flag_bit : 0u));
    put(event.gap_ns);
    put(event.took_ns);
    put(event.window);
    put(static_cast<std::uint32_t>(event.target));
    put(event.is_access() ? folded(event.offset - next_offset_) : 0);
    put(event.size);
    put(event.values.size());
    for (const std::uint64_t value : event.values) {
        reserve(most_bytes);
        put(value);
    }
    if (event.is_access()) next_offset_ = event.offset + event.size;
}

}  // namespace nearfetch
