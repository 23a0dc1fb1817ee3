// SPDX-License-Identifier: Apache-2.0
#include "graph/line_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/graph_error.hpp"

namespace nearfetch::graph {

namespace {
constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr std::size_t kLongestLine = 64 * 1024;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
}  // namespace

std::string quoted(std::string_view text) {
    constexpr std::size_t kShown = 40;
    std::string result = "'";
    for (const char c : text.substr(0, kShown))
        result.push_back(c >= ' ' && c <= '~' ? c : '?');
    if (text.size() > kShown) result += "...";
    result.push_back('\'');
    return result;
}

LineReader::LineReader(std::unique_ptr<ByteSource> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)), buffer_(kBufferBytes) {}

void LineReader::fail(std::string_view problem, std::string_view why, std::string_view remedy) const {
    const std::uint64_t shown = std::max<std::uint64_t>(line_number_, 1);
    throw GraphError(name_ + ":" + std::to_string(shown) + ": " + complaint(problem, why, remedy));
}

bool LineReader::refill() {
    begin_ = 0;
    try {
        end_ = source_->read(buffer_.data(), buffer_.size());
    } catch (const GraphError& error) {
        throw GraphError(name_ + ":" + std::to_string(line_number_) + ": " + error.what());
    }
    return end_ != 0;
}

bool LineReader::next(std::string_view& line) {
    line_.clear();
    ++line_number_;
    for (;;) {
        if (begin_ == end_ && !refill()) {
            if (line_.empty()) {
                --line_number_;
                return false;
            }
            break;
        }
        const char* start = buffer_.data() + begin_;
        const void* stop = std::memchr(start, '\n', end_ - begin_);
        const std::size_t length = stop != nullptr
                                       ? static_cast<std::size_t>(static_cast<const char*>(stop) - start)
                                       : end_ - begin_;
        line_.append(start, length);
        begin_ += length + (stop != nullptr ? 1 : 0);
        if (line_.size() > kLongestLine) {
            fail("the line is longer than 64 KiB", "no edge needs that much",
                 "check that this is a text file with an edge per line");
        }
        if (stop != nullptr) break;
    }
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    line = line_;
    if (line_number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    return true;
}

}  // namespace nearfetch::graph
