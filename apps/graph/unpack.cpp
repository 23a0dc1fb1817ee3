// SPDX-License-Identifier: Apache-2.0
#include "graph/unpack.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/archive_source.hpp"
#include "graph/graph_error.hpp"

namespace nearfetch::graph {

using namespace std::string_view_literals;

namespace {

/// What a file is by its first bytes. With a remedy: nothing that can be read.
struct Kind {
    std::size_t offset;
    std::string_view bytes;
    std::string_view name;
    std::string_view remedy = {};
};

constexpr std::string_view kConvert =
    "write its edges as text: networkx.write_edgelist(graph, FILE, data=False)";
constexpr std::array kKinds = {
    Kind{0, "\x1f\x8b"sv, "gzip"},
    Kind{0, "BZh"sv, "bzip2"},
    Kind{0,
         "\xfd"
         "7zXZ\0"sv,
         "xz"},
    Kind{0, "\x28\xb5\x2f\xfd"sv, "zstd"},
    Kind{0, "PK\x03\x04"sv, "zip"},
    Kind{0, "PK\x05\x06"sv, "zip"},
    Kind{257, "ustar"sv, "tar"},
    Kind{0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "unpack it: 7z x FILE"},
    Kind{0, "Rar!\x1a\x07"sv, "a RAR archive", "unpack it: unrar x FILE"},
    Kind{0, "\x1f\x9d"sv, "compressed by compress", "unpack it: uncompress FILE"},
    Kind{0, "\x89HDF\r\n\x1a\n"sv, "HDF5", kConvert},
    Kind{0, "\x93NUMPY"sv, "a numpy array", "write it as text: numpy.savetxt(FILE, a, '%d')"},
    Kind{0, "MATLAB 5.0 MAT-file"sv, "a MATLAB file", "write it as Matrix Market: scipy.io.mmwrite"},
    Kind{0, "%PDF-"sv, "a PDF", "give an edge list"},
    Kind{0, "\xff\xfe"sv, "text in UTF-16", "write it in UTF-8: iconv -f UTF-16 -t UTF-8 FILE"},
    Kind{0, "<"sv, "XML or HTML", "write its edges as text, or fetch it again if it is a web page"},
    Kind{0, "graph ["sv, "GML", kConvert},
    Kind{0, "*Vertices"sv, "Pajek's format", kConvert},
};
constexpr std::size_t kHeadBytes = 262;
constexpr std::size_t kInputBytes = 64 * 1024;
/// Files may be packed so that they unpack to themselves.
constexpr int kMostLayers = 5;

const Kind* kind_of(std::string_view head) {
    for (const Kind& kind : kKinds)
        if (head.size() > kind.offset && head.substr(kind.offset).starts_with(kind.bytes)) return &kind;
    return nullptr;
}

/// Puts the bytes that were read to recognise the kind back in front.
class PeekedSource : public ByteSource {
  public:
    explicit PeekedSource(std::unique_ptr<ByteSource> tail) : tail_(std::move(tail)) {
        std::array<char, kHeadBytes> bytes;
        while (head_.size() < bytes.size()) {
            const std::size_t got = tail_->read(bytes.data(), bytes.size() - head_.size());
            if (got == 0) return;
            head_.append(bytes.data(), got);
        }
    }

    std::string_view head() const { return head_; }

    std::size_t read(char* buffer, std::size_t size) override {
        if (used_ == head_.size()) return tail_->read(buffer, size);
        const std::size_t got = head_.copy(buffer, size, used_);
        used_ += got;
        return got;
    }

    bool rewind() override {
        if (!tail_->rewind()) return false;
        used_ = head_.size();
        return true;
    }

  private:
    std::string head_;
    std::size_t used_ = 0;
    std::unique_ptr<ByteSource> tail_;
};

/// Decompresses gzip members one after another (RFC 1952 allows several per file), and holds them to their
/// checksums. libarchive reads gzip, too, but does not look at these.
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

    bool rewind() override {
        if (!raw_->rewind()) return false;
        if (inflateReset(&stream_) != Z_OK) throw std::bad_alloc();
        stream_.avail_in = 0;
        between_members_ = false;
        finished_ = false;
        return true;
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

Content unpacked(std::unique_ptr<ByteSource> file, const std::string& name, const std::string& member) {
    Content content{std::move(file), name};
    bool in_archive = false;
    try {
        for (int layer = 0;; ++layer) {
            auto peeked = std::make_unique<PeekedSource>(std::move(content.bytes));
            const Kind* kind = kind_of(peeked->head());
            content.bytes = std::move(peeked);
            if (kind == nullptr) break;
            if (!kind->remedy.empty()) {
                throw GraphError(complaint("the file is " + std::string(kind->name),
                                           "edge lists and Matrix Market files are read", kind->remedy));
            }
            if (layer == kMostLayers) {
                throw GraphError(complaint("the file is packed again and again",
                                           std::to_string(kMostLayers) + " times are allowed",
                                           "unpack it by hand"));
            }
            if (kind->name == "gzip") {
                content.bytes = std::make_unique<GzipSource>(std::move(content.bytes));
                continue;
            }
            // The name chooses in the outermost archive.
            auto opened = std::make_unique<ArchiveSource>(std::move(content.bytes), in_archive ? "" : member);
            if (!opened->member().empty()) {
                in_archive = true;
                content.name += ":" + opened->member();
            }
            content.bytes = std::move(opened);
        }
        if (!member.empty() && !in_archive) {
            throw GraphError(
                complaint("the file is no archive", "--member names a file of one", "leave --member out"));
        }
    } catch (const GraphError& error) {
        throw GraphError(content.name + ": " + error.what());
    }
    return content;
}

}  // namespace nearfetch::graph
