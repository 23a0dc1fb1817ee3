// SPDX-License-Identifier: Apache-2.0
#include "graph/archive_source.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>

#include "graph/graph_error.hpp"

namespace nearfetch::graph {

namespace {

constexpr std::size_t kInputBytes = 64 * 1024;

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// What macOS adds to archives.
bool is_finder_file(std::string_view path) {
    return path.starts_with("__MACOSX/") || last_part(path).starts_with("._") ||
           last_part(path) == ".DS_Store";
}

/// `NAME/NAME.mtx`, at any depth.
bool is_main_matrix(std::string_view path) {
    constexpr std::string_view kEnd = ".mtx";
    const std::string_view file = last_part(path);
    if (!file.ends_with(kEnd) || file.size() == path.size()) return false;
    const std::string_view folder = last_part(path.substr(0, path.size() - file.size() - 1));
    return file.substr(0, file.size() - kEnd.size()) == folder;
}

template <typename Predicate>
std::vector<std::string> those(const std::vector<std::string>& files, Predicate predicate) {
    std::vector<std::string> chosen;
    std::copy_if(files.begin(), files.end(), std::back_inserter(chosen), predicate);
    return chosen;
}

std::string listed(const std::vector<std::string>& files) {
    constexpr std::size_t kShown = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(files.size(), kShown); ++i)
        text += (i == 0 ? "" : ", ") + quoted(files[i]);
    if (files.size() > kShown) text += " and " + std::to_string(files.size() - kShown) + " more";
    return text;
}

}  // namespace

std::string choose_member(const std::vector<std::string>& files, const std::string& wanted) {
    if (files.empty()) {
        throw GraphError(complaint("the archive has no file", "there is no edge list in it",
                                   "give an archive with an edge list"));
    }
    if (!wanted.empty()) {
        if (std::find(files.begin(), files.end(), wanted) != files.end()) return wanted;
        const auto named = those(files, [&](const std::string& path) { return last_part(path) == wanted; });
        if (named.size() == 1) return named.front();
        throw GraphError(complaint(
            (named.empty() ? "no file " : "more than one file ") + quoted(wanted) + " in the archive",
            "it has " + listed(named.empty() ? files : named), "give --member one of these"));
    }
    if (files.size() == 1) return files.front();
    const auto konect =
        those(files, [](const std::string& path) { return last_part(path).starts_with("out."); });
    if (konect.size() == 1) return konect.front();
    const auto matrices = those(files, is_main_matrix);
    if (matrices.size() == 1) return matrices.front();
    throw GraphError(complaint("the archive has " + std::to_string(files.size()) + " files", listed(files),
                               "name the edge list by --member"));
}

ArchiveSource::ArchiveSource(std::unique_ptr<ByteSource> raw, const std::string& wanted)
    : raw_(std::move(raw)), input_(kInputBytes) {
    open();
    std::vector<std::string> files;
    Header header;
    while (next_header(header)) {
        if (archive_format(archive_.get()) == ARCHIVE_FORMAT_RAW) {
            // One filter is that of bytes as they are.
            if (archive_filter_count(archive_.get()) < 2) fail();
            return;
        }
        if (header.is_file && !is_finder_file(header.path)) files.push_back(header.path);
    }
    // What follows the last file has a checksum, where the archive is compressed.
    while (raw_->read(input_.data(), input_.size()) != 0) {
    }
    member_ = choose_member(files, wanted);
    if (!rewind()) {
        throw GraphError(complaint("an archive cannot be read from a pipe", "its list of files is read first",
                                   "save it as a file"));
    }
}

ArchiveSource::~ArchiveSource() = default;

void ArchiveSource::Free::operator()(archive* opened) const { archive_read_free(opened); }

void ArchiveSource::open() {
    archive_.reset(archive_read_new());
    if (!archive_) throw std::bad_alloc();
    archive* const opened = archive_.get();
    archive_read_support_filter_bzip2(opened);
    archive_read_support_filter_xz(opened);
    archive_read_support_filter_zstd(opened);
    archive_read_support_format_tar(opened);
    archive_read_support_format_zip_streamable(opened);
    archive_read_support_format_raw(opened);
    const auto read_raw = [](archive* reading, void* self, const void** bytes) -> la_ssize_t {
        auto& source = *static_cast<ArchiveSource*>(self);
        try {
            *bytes = source.input_.data();
            return static_cast<la_ssize_t>(source.raw_->read(source.input_.data(), source.input_.size()));
        } catch (...) {
            source.failure_ = std::current_exception();
            archive_set_error(reading, EIO, "the file cannot be read");
            return ARCHIVE_FATAL;
        }
    };
    if (archive_read_open(opened, this, nullptr, read_raw, nullptr) != ARCHIVE_OK) fail();
}

bool ArchiveSource::next_header(Header& header) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(archive_.get(), &entry);
    if (status == ARCHIVE_EOF) return false;
    // A warning is about something else than the bytes, as a path in an unknown character set.
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) fail();
    const char* path = archive_entry_pathname(entry);
    if (path == nullptr) path = archive_entry_pathname_utf8(entry);
    header.path = path != nullptr ? path : "?";
    if (header.path.starts_with("./")) header.path.erase(0, 2);
    header.is_file = archive_entry_filetype(entry) == AE_IFREG;
    return true;
}

std::size_t ArchiveSource::read(char* buffer, std::size_t size) {
    const la_ssize_t got = archive_read_data(archive_.get(), buffer, size);
    if (got < 0) fail();
    return static_cast<std::size_t>(got);
}

bool ArchiveSource::rewind() {
    if (!raw_->rewind()) return false;
    open();
    Header header;
    while (next_header(header)) {
        if (member_.empty() || (header.is_file && header.path == member_)) return true;
    }
    throw GraphError(complaint("the archive has changed", "a file of it is gone", "try again"));
}

void ArchiveSource::fail() {
    if (failure_) std::rethrow_exception(failure_);
    const char* why = archive_error_string(archive_.get());
    throw GraphError(complaint("the archive cannot be read", why != nullptr ? why : "it may be damaged",
                               "fetch it again, or unpack it by hand"));
}

}  // namespace nearfetch::graph
