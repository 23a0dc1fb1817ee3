// SPDX-License-Identifier: Apache-2.0
//
// Compressed files and archives: which file of an archive is read, and what is said of damaged ones and of
// files of other kinds.

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/archive_source.hpp"
#include "graph_texts.hpp"

namespace nearfetch::graph {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

/// Adds a format and a filter to a new archive.
using Form = std::function<void(archive*)>;

const Form kTar = [](archive* a) { archive_write_set_format_ustar(a); };
const Form kZip = [](archive* a) { archive_write_set_format_zip(a); };
const Form kStoredZip = [](archive* a) {
    archive_write_set_format_zip(a);
    archive_write_zip_set_compression_store(a);
};
const Form kTarGzip = [](archive* a) {
    archive_write_add_filter_gzip(a);
    archive_write_set_format_ustar(a);
};
const Form kTarBzip2 = [](archive* a) {
    archive_write_add_filter_bzip2(a);
    archive_write_set_format_pax(a);
};
const Form kTarXz = [](archive* a) {
    archive_write_add_filter_xz(a);
    archive_write_set_format_gnutar(a);
};
const Form kTarZstd = [](archive* a) {
    archive_write_add_filter_zstd(a);
    archive_write_set_format_ustar(a);
};
const Form kGzip = [](archive* a) {
    archive_write_add_filter_gzip(a);
    archive_write_set_format_raw(a);
};
const Form kBzip2 = [](archive* a) {
    archive_write_add_filter_bzip2(a);
    archive_write_set_format_raw(a);
};
const Form kXz = [](archive* a) {
    archive_write_add_filter_xz(a);
    archive_write_set_format_raw(a);
};
const Form kZstd = [](archive* a) {
    archive_write_add_filter_zstd(a);
    archive_write_set_format_raw(a);
};

std::string packed(const Form& form, const Files& files) {
    archive* const writing = archive_write_new();
    form(writing);
    std::string buffer(1 << 20, '\0');
    std::size_t used = 0;
    EXPECT_EQ(archive_write_open_memory(writing, buffer.data(), buffer.size(), &used), ARCHIVE_OK);
    for (const auto& [path, text] : files) {
        archive_entry* const entry = archive_entry_new();
        archive_entry_set_pathname(entry, path.c_str());
        archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
        archive_entry_set_filetype(entry, path.ends_with('/') ? AE_IFDIR : AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        EXPECT_EQ(archive_write_header(writing, entry), ARCHIVE_OK) << archive_error_string(writing);
        EXPECT_EQ(archive_write_data(writing, text.data(), text.size()),
                  static_cast<la_ssize_t>(text.size()));
        archive_entry_free(entry);
    }
    EXPECT_EQ(archive_write_close(writing), ARCHIVE_OK);
    archive_write_free(writing);
    buffer.resize(used);
    return buffer;
}

const std::string kEdges = "0 1\n1 2\n2 0\n";
const std::vector<Edge> kTriangle = {{0, 1}, {0, 2}, {1, 2}};

TEST(Archives, TheOnlyFileIsRead) {
    for (const Form& form : {kTar, kZip, kStoredZip, kTarGzip, kTarBzip2, kTarXz, kTarZstd}) {
        const std::string bytes = packed(form, {{"folder/", ""}, {"folder/edges.txt", kEdges}});
        EXPECT_EQ(read(bytes).edges, kTriangle);
        EXPECT_EQ(read(bytes, {.member = "edges.txt"}).edges, kTriangle);
        EXPECT_EQ(read(bytes, {.member = "folder/edges.txt"}).edges, kTriangle);
    }
    for (const Form& form : {kGzip, kBzip2, kXz, kZstd})
        EXPECT_EQ(read(packed(form, {{"data", kEdges}})).edges, kTriangle);
}

TEST(Archives, AreUnpackedInEachOther) {
    const std::string inner = packed(kBzip2, {{"data", kEdges}});
    EXPECT_EQ(read(packed(kTarGzip, {{"edges.bz2", inner}})).edges, kTriangle);
    const std::string tar = packed(kTarGzip, {{"a.txt", "5 6\n"}, {"out.b", kEdges}});
    EXPECT_EQ(read(packed(kZip, {{"a.tar.gz", tar}})).edges, kTriangle);
    std::string often = kEdges;
    for (int i = 0; i < 6; ++i)
        often = packed(kGzip, {{"data", often}});
    EXPECT_EQ(error_of(often),
              "graph: the file is packed again and again (5 times are allowed): unpack it by hand");
}

TEST(Archives, CollectionsNameTheirEdgeList) {
    const Files konect = {
        {"n/README.n", "It has 3 edges.\n"}, {"n/meta.n", "name: N\n"}, {"n/out.n", kEdges}};
    EXPECT_EQ(read(packed(kTarBzip2, konect)).edges, kTriangle);
    const std::string matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 1\n3 2\n";
    const Files suitesparse = {{"G/G_coord.mtx", "%%MatrixMarket matrix array real general\n"},
                               {"G/G.mtx", matrix}};
    EXPECT_EQ(read(packed(kTarGzip, suitesparse)).edges, kTriangle);
    const Files from_mac = {
        {"edges.csv", "0,1\n1,2\n2,0\n"}, {"__MACOSX/._edges.csv", "x"}, {"sub/.DS_Store", "x"}};
    EXPECT_EQ(read(packed(kZip, from_mac)).edges, kTriangle);
}

TEST(Archives, AFileCanBeNamed) {
    const std::string bytes = packed(
        kZip,
        {{"a/edges.csv", "7,8\n"}, {"b/edges.csv", "0,1\n1,2\n2,0\n"}, {"README", "text"}, {"b/more", "x"}});
    EXPECT_EQ(read(bytes, {.member = "b/edges.csv"}).edges, kTriangle);
    EXPECT_EQ(
        error_of(bytes, {.member = "edges.csv"}),
        "graph: more than one file 'edges.csv' in the archive (it has 'a/edges.csv', 'b/edges.csv'): give "
        "--member one of these");
    EXPECT_EQ(
        error_of(bytes, {.member = "edges"}),
        "graph: no file 'edges' in the archive (it has 'a/edges.csv', 'b/edges.csv', 'README', 'b/more'): "
        "give --member one of these");
    EXPECT_EQ(error_of(bytes),
              "graph: the archive has 4 files ('a/edges.csv', 'b/edges.csv', 'README', "
              "'b/more'): name the edge list by --member");
    EXPECT_EQ(
        error_of(bytes, {.member = "README"}),
        "graph:README:1: a vertex id is missing (an edge needs two columns): write it as two ids or remove "
        "the line");
    EXPECT_EQ(error_of(kEdges, {.member = "a"}),
              "graph: the file is no archive (--member names a file of one): leave --member out");
    EXPECT_EQ(error_of(packed(kGzip, {{"data", kEdges}}), {.member = "a"}).substr(0, 29),
              "graph: the file is no archive");
}

TEST(Archives, ManyFilesAreNotAllListed) {
    std::vector<std::string> files;
    for (int i = 0; i < 11; ++i)
        files.push_back(std::to_string(i));
    try {
        choose_member(files, "");
        FAIL();
    } catch (const GraphError& error) {
        EXPECT_STREQ(error.what(),
                     "the archive has 11 files ('0', '1', '2', '3', '4', '5', '6', '7' and 3 more): name "
                     "the edge list by --member");
    }
    EXPECT_EQ(choose_member({"out.a", "b"}, ""), "out.a");
    EXPECT_THROW(choose_member({"x/out.a", "out.b"}, ""), GraphError);
    EXPECT_THROW(choose_member({"A/A.mtx", "B/B.mtx"}, ""), GraphError);
    EXPECT_THROW(choose_member({"A.mtx", "B/C.mtx"}, ""), GraphError);
    EXPECT_EQ(choose_member({"x/A/A.mtx", "x/A/A_b.mtx"}, ""), "x/A/A.mtx");
}

TEST(Archives, WithoutAFileAreRefused) {
    const std::string why =
        "the archive has no file (there is no edge list in it): give an archive with an edge list";
    EXPECT_EQ(error_of(packed(kTar, {{"folder/", ""}})), "graph: " + why);
    EXPECT_EQ(error_of(packed(kZip, {{"folder/", ""}})), "graph: " + why);
}

TEST(Archives, MessagesNameTheFileAndTheMember) {
    const std::string bytes = packed(kTarXz, {{"a/edges.txt", "0 1\n1 x\n"}});
    EXPECT_EQ(error_of(bytes).substr(0, 59), "graph:a/edges.txt:2: vertex id 'x' is not a whole number (o");
}

TEST(Archives, CutAnywhereAreAnError) {
    // Compressed, the bytes of the text differ, so that each cut loses something of it.
    std::string text;
    for (unsigned v = 0; v < 400; ++v)
        text += std::to_string(v * v % 9973) + " " + std::to_string(v * 31 % 1009) + "\n";
    const std::array<std::pair<Form, std::size_t>, 7> forms = {
        {{kBzip2, 0}, {kXz, 0}, {kZstd, 0}, {kTarBzip2, 0}, {kTarXz, 0}, {kTarGzip, 0}, {kZip, 200}}};
    for (std::size_t form = 0; form < forms.size(); ++form) {
        const auto& [make, directory] = forms[form];
        const std::string whole = packed(make, {{"edges", text}});
        ASSERT_EQ(error_of(whole), "no error");
        // A zip file's directory at its end says nothing that is not in front of each file, too.
        for (std::size_t kept = 6; kept + directory < whole.size(); kept += 7) {
            const std::string error = error_of(whole.substr(0, kept));
            EXPECT_NE(error.find("): "), std::string::npos) << form << " " << kept << ": " << error;
            EXPECT_TRUE(error.starts_with("graph:")) << error;
        }
    }
}

TEST(Archives, DamagedOnesAreAnError) {
    std::string text;
    for (unsigned v = 0; v < 400; ++v)
        text += std::to_string(v * v % 9973) + " " + std::to_string(v * 31 % 1009) + "\n";
    for (const Form& form : {kBzip2, kXz, kTarBzip2, kTarXz, kTarGzip, kZip, kStoredZip}) {
        std::string damaged = packed(form, {{"edges", text}});
        damaged[damaged.size() / 2] ^= 1;
        EXPECT_NE(error_of(damaged).find("): "), std::string::npos) << error_of(damaged);
    }
    std::string header = packed(kTar, {{"edges", kEdges}});
    header[3] ^= 1;
    EXPECT_NE(error_of(header).find("graph: the archive cannot be read ("), std::string::npos)
        << error_of(header);
}

/// Bytes that come once, as from a pipe.
class PipeSource : public MemorySource {
  public:
    using MemorySource::MemorySource;
    bool rewind() override { return false; }
};

TEST(Archives, NeedAFileThatCanBeReadTwice) {
    const auto piped = [](const std::string& bytes) {
        return read_edges(std::make_unique<PipeSource>(bytes), "pipe").edges;
    };
    EXPECT_EQ(piped(kEdges), kTriangle);
    EXPECT_EQ(piped(packed(kGzip, {{"data", kEdges}})), kTriangle);
    EXPECT_EQ(piped(packed(kXz, {{"data", kEdges}})), kTriangle);
    try {
        piped(packed(kTarGzip, {{"edges", kEdges}}));
        FAIL();
    } catch (const GraphError& error) {
        EXPECT_STREQ(error.what(),
                     "pipe: an archive cannot be read from a pipe (its list of files is read first): "
                     "save it as a file");
    }
}

TEST(Kinds, ThatAreNotReadAreNamed) {
    using namespace std::string_literals;
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"7z\xbc\xaf\x27\x1c\0\4"s,
         "a 7z archive (edge lists and Matrix Market files are read): unpack it: 7z x FILE"},
        {"Rar!\x1a\x07\x01\0"s,
         "a RAR archive (edge lists and Matrix Market files are read): unpack it: unrar x FILE"},
        {"\x1f\x9d\x90"s, "compressed by compress ("},
        {"\x89HDF\r\n\x1a\n\0"s,
         "HDF5 (edge lists and Matrix Market files are read): write its edges as text: "
         "networkx.write_edgelist(graph, FILE, data=False)"},
        {"\x93NUMPY\1\0"s, "a numpy array ("},
        {"MATLAB 5.0 MAT-file, Platform: GLNXA64"s, "a MATLAB file ("},
        {"%PDF-1.5\n"s, "a PDF ("},
        {"\xff\xfe"
         "0\0,\0"
         "1\0\n\0"s,
         "text in UTF-16 ("},
        {"<?xml version=\"1.0\"?>\n<graphml>\n"s, "XML or HTML ("},
        {"<!doctype html>\n<html>404</html>\n"s, "XML or HTML ("},
        {"graph [\n  node [ id 1 ]\n]\n"s, "GML ("},
        {"*Vertices 3\n"s, "Pajek's format ("},
    };
    for (const auto& [bytes, expected] : cases) {
        EXPECT_EQ(error_of(bytes).substr(0, 19 + expected.size()), "graph: the file is " + expected);
        EXPECT_EQ(error_of(packed(kGzip, {{"data", bytes}})), error_of(bytes));
    }
}

}  // namespace
}  // namespace nearfetch::graph
