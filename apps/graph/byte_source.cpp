// SPDX-License-Identifier: Apache-2.0
#include "graph/byte_source.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "graph/graph_error.hpp"

namespace nearfetch::graph {

FileSource::FileSource(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) {
        throw GraphError(
            complaint("cannot be opened", std::strerror(errno), "check the path and its permissions"));
    }
}

std::size_t FileSource::read(char* buffer, std::size_t size) {
    const std::size_t got = std::fread(buffer, 1, size, file_.get());
    if (got == 0 && std::ferror(file_.get()) != 0) {
        throw GraphError(complaint("cannot be read", std::strerror(errno), "give a readable file"));
    }
    return got;
}

std::size_t MemorySource::read(char* buffer, std::size_t size) {
    const std::size_t got = std::min(size, rest_.size());
    if (got != 0) std::memcpy(buffer, rest_.data(), got);
    rest_.remove_prefix(got);
    return got;
}

namespace {

constexpr std::size_t kInputBytes = 64 * 1024;

/// Puts the bytes that were read to recognise the format back in front.
class RewoundSource : public ByteSource {
  public:
    RewoundSource(std::string head, std::unique_ptr<ByteSource> tail)
        : head_(std::move(head)), tail_(std::move(tail)) {}

    std::size_t read(char* buffer, std::size_t size) override {
        if (used_ == head_.size()) return tail_->read(buffer, size);
        const std::size_t got = head_.copy(buffer, size, used_);
        used_ += got;
        return got;
    }

  private:
    std::string head_;
    std::size_t used_ = 0;
    std::unique_ptr<ByteSource> tail_;
};

/// Decompresses gzip members one after another (RFC 1952 allows several per file).
class GzipSource : public ByteSource {
  public:
    explicit GzipSource(std::unique_ptr<ByteSource> raw) : raw_(std::move(raw)), input_(kInputBytes) {
        constexpr int kGzipOnly = 15 + 16;
        if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
    }
    ~GzipSource() override { inflateEnd(&stream_); }
    GzipSource(const GzipSource&) = delete;
    GzipSource& operator=(const GzipSource&) = delete;

    std::size_t read(char* buffer, std::size_t size) override {
        stream_.next_out = reinterpret_cast<Bytef*>(buffer);
        stream_.avail_out = static_cast<uInt>(std::min(size, kInputBytes));
        const uInt wanted = stream_.avail_out;
        while (stream_.avail_out == wanted && !finished_)
            step();
        return wanted - stream_.avail_out;
    }

  private:
    void step() {
        if (stream_.avail_in == 0 && !refill()) {
            if (!between_members_) {
                throw GraphError(
                    complaint("the gzip data ends early", "the file is truncated", "fetch it again"));
            }
            finished_ = true;
            return;
        }
        if (between_members_ && inflateReset(&stream_) != Z_OK) throw std::bad_alloc();
        between_members_ = false;
        const int status = inflate(&stream_, Z_NO_FLUSH);
        if (status == Z_STREAM_END) {
            between_members_ = true;
        } else if (status == Z_MEM_ERROR) {
            throw std::bad_alloc();
        } else if (status != Z_OK && status != Z_BUF_ERROR) {
            const char* why = stream_.msg != nullptr ? stream_.msg : "not valid gzip";
            throw GraphError(complaint("the gzip data is damaged", why, "fetch the file again"));
        }
    }

    bool refill() {
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(raw_->read(input_.data(), input_.size()));
        return stream_.avail_in != 0;
    }

    std::unique_ptr<ByteSource> raw_;
    std::vector<char> input_;
    z_stream stream_{};
    bool between_members_ = false;
    bool finished_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> raw) {
    std::string head;
    char byte = 0;
    while (head.size() < 2 && raw->read(&byte, 1) == 1)
        head.push_back(byte);
    const bool gzip = head == "\x1f\x8b";
    auto rewound = std::make_unique<RewoundSource>(std::move(head), std::move(raw));
    if (gzip) return std::make_unique<GzipSource>(std::move(rewound));
    return rewound;
}

}  // namespace nearfetch::graph
