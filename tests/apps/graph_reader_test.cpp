// SPDX-License-Identifier: Apache-2.0
//
// The readers: the meaning of each format, and errors with their line for malformed input.

#include <gtest/gtest.h>
#include <zlib.h>

#include <memory>
#include <string>
#include <vector>

#include "graph_texts.hpp"

namespace nearfetch::graph {
namespace {

std::string gzipped(const std::string& text) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string result(deflateBound(&stream, text.size()) + 64, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    result.resize(stream.total_out);
    deflateEnd(&stream);
    return result;
}

const std::vector<Edge> kTriangle = {{0, 1}, {0, 2}, {1, 2}};

TEST(EdgeReader, ReadsTheSameTriangleInEveryFormat) {
    const std::vector<std::string> texts = {
        "0,1\n1,2\n2,0\n",
        "id_1,id_2\n0,1\n1,2\n2,0",
        "\xef\xbb\xbf\"from\",\"to\"\r\n0 , 1\r\n1,2\r\n2,0\r\n",
        "# FromNodeId\tToNodeId\n0\t1\n1\t2\n\n2\t0\n",
        "% a comment\n  0   1 \n1 2\n2 0\n",
        "%%MatrixMarket matrix coordinate pattern symmetric\n% comment\n\n3 3 3\n2 1\n3 1\n3 2\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 1.5\n2 3 -1e-3\n3 1 +0\n",
        "%%matrixmarket MATRIX Coordinate Integer General\n3 3 3\n1 2 4\n2 3 -5\n3 1 +6\n",
        "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 3\n2 1 1.5\n3 1 -1\n3 2 4\n",
        "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 3\n2 1 1\n3 1 -1\n3 2 4\n",
        "%%MatrixMarket matrix coordinate complex general\n3 3 3\n1 2 1.5 -1\n2 3 0 1e3\n3 1 1 0\n",
        "%%MatrixMarket matrix coordinate complex Hermitian\n3 3 3\n2 1 1 2\n3 1 0 1\n3 2 4 4\n",
    };
    for (const std::string& text : texts) {
        for (const std::string& bytes : {text, gzipped(text)}) {
            const EdgeList graph = read(bytes);
            EXPECT_EQ(graph.vertices, 3U) << text;
            EXPECT_EQ(graph.edges, kTriangle) << text;
            EXPECT_TRUE(graph.labels.empty()) << text;
        }
    }
}

TEST(EdgeReader, RemovesAndCountsLoopsAndDuplicates) {
    const EdgeList graph = read("0 1\n1 0\n0 1\n1 1\n1 2\n");
    EXPECT_EQ(graph.edges, (std::vector<Edge>{{0, 1}, {1, 2}}));
    EXPECT_EQ(graph.duplicates, 2U);
    EXPECT_EQ(graph.self_loops, 1U);
}

TEST(EdgeReader, VerticesAreTheIdsThatOccur) {
    const EdgeList graph = read("70 5\n5 4294967294\n9 9\n");
    EXPECT_EQ(graph.vertices, 4U);
    EXPECT_EQ(graph.labels, (std::vector<std::uint32_t>{5, 9, 70, 4294967294U}));
    EXPECT_EQ(graph.edges, (std::vector<Edge>{{0, 2}, {0, 3}}));
}

TEST(EdgeReader, VerticesCanBeGiven) {
    const EdgeList graph = read("7 5\n", {.vertices = 10});
    EXPECT_EQ(graph.vertices, 10U);
    EXPECT_EQ(graph.edges, (std::vector<Edge>{{5, 7}}));
    EXPECT_TRUE(graph.labels.empty());
    EXPECT_EQ(error_of("7 5\n", {.vertices = 7}),
              "graph:1: vertex id '7' is too large (the largest allowed is 6): renumber the vertices");
    EXPECT_NE(error_of("7 5\n", {.vertices = 0}).find("graph: a graph of 0 vertices ("), std::string::npos);
}

TEST(EdgeReader, MatrixMarketKeepsVerticesWithoutAnEdge) {
    const EdgeList graph = read("%%MatrixMarket matrix coordinate pattern general\n5 5 1\n4 2\n");
    EXPECT_EQ(graph.vertices, 5U);
    EXPECT_EQ(graph.edges, (std::vector<Edge>{{1, 3}}));
}

TEST(EdgeReader, TheFormatCanBeForced) {
    EXPECT_EQ(read("0 1\n", {.format = Format::snap}).edges.size(), 1U);
    EXPECT_NE(error_of("0 1\n", {.format = Format::csv}).find("graph:1: a vertex id is missing ("),
              std::string::npos);
    EXPECT_NE(
        error_of("0 1\n", {.format = Format::matrix_market}).find("graph:1: the first line is not that of a"),
        std::string::npos);
}

TEST(EdgeReader, GzipMembersFollowEachOther) {
    EXPECT_EQ(read(gzipped("0 1\n1 ") + gzipped("2\n2 0\n")).edges, kTriangle);
}

TEST(EdgeReader, GzipCutAnywhereIsAnError) {
    const std::string whole = gzipped("0,1\n1,2\n2,0\n");
    for (std::size_t kept = 2; kept < whole.size(); ++kept) {
        const std::string error = error_of(whole.substr(0, kept));
        EXPECT_NE(error.find("the gzip data ends early (the file is truncated): fetch it again"),
                  std::string::npos)
            << kept << ": " << error;
    }
}

TEST(EdgeReader, DamagedGzipIsAnError) {
    std::string damaged = gzipped("0,1\n1,2\n2,0\n");
    damaged[damaged.size() - 6] ^= 1;  // in the checksum
    EXPECT_NE(error_of(damaged).find("the gzip data is damaged (incorrect data check)"), std::string::npos);
    const std::string followed = gzipped("0,1\n") + "0,1\n";
    EXPECT_NE(error_of(followed).find("the gzip data is damaged"), std::string::npos);
}

TEST(EdgeReader, LinesAcrossBufferEndsAreWhole) {
    std::string text;
    constexpr unsigned kEdges = 30000;
    for (unsigned v = 0; v < kEdges; ++v)
        text += std::to_string(v) + "," + std::to_string(v + 1) + "\n";
    ASSERT_GT(text.size(), 4 * 64U * 1024);
    const EdgeList graph = read(text);
    ASSERT_EQ(graph.edges.size(), kEdges);
    for (unsigned v = 0; v < kEdges; ++v)
        ASSERT_EQ(graph.edges[v], (Edge{v, v + 1}));
}

TEST(EdgeReader, RefusesMalformedInputWithItsLine) {
    const std::string banner = "%%MatrixMarket matrix coordinate ";
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "graph:1: there is no edge in the file (it is empty): give an edge list"},
        {"id_1,id_2\n", "graph:1: there is no edge in the file (it ends without one): give an edge list"},
        {"# nothing\n\n", "graph:2: there is no edge in the file (it ends without one): give an edge list"},
        {"0,1\n1\n",
         "graph:2: a vertex id is missing (an edge needs two columns): write it as id,id or remove the line"},
        {"0,1\n,2\n", "graph:2: a vertex id is missing"},
        {"0 1\n\n1\n", "graph:3: a vertex id is missing (an edge needs two columns): write it as two ids"},
        {"0,1\n-1,2\n", "graph:2: vertex id '-1' is negative (counting starts at 0): renumber it"},
        {"0,1\n1,4294967295\n",
         "graph:2: vertex id '4294967295' is too large (the largest allowed is 4294967294)"},
        {"0,1\n1,99999999999999999999999\n", "graph:2: vertex id '99999999999999999999999' is too large"},
        {"0,1\nx,2\n", "graph:2: vertex id 'x' is not a whole number (only digits are allowed)"},
        {"0,1\n1.0,2\n", "graph:2: vertex id '1.0' is not a whole number"},
        {"0,1\nid_1,id_2\n", "graph:2: vertex id 'id_1' is not a whole number"},
        {"0,1\n+1,2\n", "graph:2: vertex id '+1' is not a whole number"},
        {"0,1\n1,2,3\n",
         "graph:2: unexpected text '3' in column 3 (an edge has two ids, and no header names "
         "more columns): give --ignore-columns if it is a weight, a sign or a time"},
        {"0 1\n1 2 x\n", "graph:2: unexpected text 'x' in column 3 (an edge has two ids, "},
        {std::string("0 1\n1 2\0\n", 9), "graph:2: vertex id '2?' is not a whole number"},
        {std::string(70000, '1'), "graph:1: the line is longer than 64 KiB"},
        {"%%MatrixMarket matrix array real general\n2 2\n",
         "graph:1: unsupported Matrix Market kind 'matrix array'"},
        {banner + "quaternion general\n1 1 0\n",
         "graph:1: unsupported Matrix Market field 'quaternion' (pattern, real, integer and complex are "
         "read)"},
        {banner + "pattern skew-symmetric\n1 1 0\n",
         "graph:1: unsupported Matrix Market symmetry 'skew-symmetric' of field 'pattern' ("},
        {banner + "real hermitian\n1 1 0\n",
         "graph:1: unsupported Matrix Market symmetry 'hermitian' of field 'real'"},
        {banner + "complex general\n2 2 1\n1 2 1.5\n",
         "graph:3: a value is missing (the first line declares "
         "one for each entry, or two of a complex one): add it"},
        {banner + "complex general\n2 2 1\n1 2 1 2 3\n", "graph:3: unexpected text '3' after the entry"},
        {banner + "pattern general\n", "graph:1: the size line is missing"},
        {banner + "pattern general\n2 3 0\n", "graph:2: the matrix is not square (2 rows, 3 columns)"},
        {banner + "pattern general\n0 0 0\n", "graph:2: the matrix is empty"},
        {"%%MatrixMarket\n1 1 0\n",
         "graph:1: the first line has too few words (it reads %%MatrixMarket matrix coordinate FIELD "
         "SYMMETRY)"},
        {banner + "pattern\n1 1 0\n", "graph:1: the first line has too few words"},
        {banner + "pattern general\n-3 -3 1\n",
         "graph:2: number of rows '-3' is negative (counting starts at 0): correct the size line"},
        {banner + "pattern general\n4294967296 4294967296 1\n",
         "graph:2: number of rows '4294967296' is too large (the largest allowed is 4294967295): "
         "correct the size line"},
        {banner + "pattern general\n2 2\n", "graph:2: number of entries '' is not a whole number"},
        {banner + "pattern general\n2 2 1 9\n", "graph:2: unexpected text '9' after the number of entries"},
        {banner + "pattern general\n2 2 2\n1 2\n", "graph:3: only 1 entry (the size line declares 2)"},
        {banner + "pattern general\n2 2 1\n1 2\n2 1\n",
         "graph:4: more entries than declared (the size line declares 1)"},
        {banner + "pattern general\n2 2 1\n1 3\n",
         "graph:3: index 3 is outside of the matrix (the declared size is 2"},
        {banner + "pattern general\n2 2 1\n0 1\n", "graph:3: index 0 is outside of the matrix"},
        {banner + "pattern general\n2 2 1\n1\n", "graph:3: an index is missing"},
        {banner + "pattern general\n2 2 1\n1 2 3\n", "graph:3: unexpected text '3' after the entry"},
        {banner + "real general\n2 2 1\n1 2\n", "graph:3: a value is missing"},
        {banner + "real general\n2 2 1\n1 2 x\n",
         "graph:3: value 'x' is not a number (the first line declares decimals)"},
        {banner + "integer general\n2 2 1\n1 2 1.5\n", "graph:3: value '1.5' is not a number"},
    };
    for (const auto& [text, expected] : cases) {
        const std::string error = error_of(text);
        EXPECT_EQ(error.substr(0, expected.size()), expected) << "for: " << text.substr(0, 60);
        EXPECT_NE(error.find("): "), std::string::npos) << error;
    }
}

TEST(EdgeReader, RefusesFilesThatCannotBeRead) {
    const auto error_of_file = [](const std::string& path) -> std::string {
        try {
            read_edge_file(path);
        } catch (const GraphError& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(error_of_file("/nonexistent/graph.csv"),
              "/nonexistent/graph.csv: cannot be opened (No such file or directory): check the path and its "
              "permissions");
    EXPECT_NE(error_of_file("/").find("/: cannot be read (Is a directory): "), std::string::npos);
}

TEST(EdgeReader, ReadsTheRealGraph) {
    const EdgeList graph = read_edge_file(NEARFETCH_TEST_DATA "/../../data/musae-github-edges.csv.gz");
    EXPECT_EQ(graph.vertices, 37700U);
    EXPECT_EQ(graph.edges.size(), 289003U);
    EXPECT_EQ(graph.self_loops + graph.duplicates, 0U);
    EXPECT_TRUE(graph.labels.empty());
}

}  // namespace
}  // namespace nearfetch::graph
