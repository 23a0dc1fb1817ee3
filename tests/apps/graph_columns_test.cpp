// SPDX-License-Identifier: Apache-2.0
//
// Edge lists with more columns than two, and the networks of collections: each is read as its edges alone
// would be, or refused with what to do.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph_texts.hpp"

namespace nearfetch::graph {
namespace {

/// A text of the edges 3-5, 3-7, 5-7 and 7-9, with so many columns beside the ids.
struct Case {
    std::string text;
    std::uint64_t columns_ignored;
};

void expect_same_graph(const Case& tried, const ReadOptions& options = {}) {
    SCOPED_TRACE(tried.text);
    const EdgeList plain = read("3 5\n3 7\n5 7\n7 9\n");
    const EdgeList graph = read(tried.text, options);
    EXPECT_EQ(graph.vertices, plain.vertices);
    EXPECT_EQ(graph.labels, plain.labels);
    EXPECT_EQ(graph.edges, plain.edges);
    EXPECT_EQ(graph.columns_ignored, tried.columns_ignored);
}

TEST(Columns, AHeaderNamesThem) {
    const std::vector<Case> cases = {
        {"Source,Target,Type,Weight\n3,5,Undirected,1.0\n3,7,Directed,2\n5,7,,\n7,9\n", 2},
        {"Source,Target,Type,Id,Label,timeset,Weight\n3,5,Directed,0,\"a, b\",,1\n3,7,Directed,1,\"say "
         "\"\"no\"\"\",,1\n5,7,Directed,2,,,1\n7,9,Directed,3,,,1\n",
         5},
        {"Source;Target;Label\n3;5;\"one; two\"\n3;7;x\n5;7;y\n7;9;z\n", 1},
        {"source\ttarget\tlabel\n3\t5\ttwo words\n3\t7\t\n5\t7\tx\n7\t9\ty\n", 1},
        {"\"id_1\",\"id_2\"\n\"3\",\"5\"\n\"3\",\"7\"\n\"5\",\"7\"\n\"7\",\"9\"\n", 0},
        {",source,target\n0,3,5\n1,3,7\n2,5,7\n3,7,9\n", 1},
        {"\tsource\ttarget\n0\t3\t5\n1\t3\t7\n2\t5\t7\n3\t7\t9\n", 1},
        {"weight,to,from\n1,3,5\n1,3,7\n1,5,7\n1,7,9\n", 1},
        {"Weight Src Dst\n1 3 5\n1 3 7\n1 5 7\n1 7 9\n", 1},
        {"one,other\n3,5\n3,7\n5,7\n7,9\n", 0},
        {"# made by hand\nFromNodeId,ToNodeId,Sign\n3,5,-1\n3,7,1\n5,7,1\n7,9,-1\n", 1},
    };
    for (const Case& each : cases)
        expect_same_graph(each);
}

TEST(Columns, ACommentNamesThem) {
    const std::vector<Case> cases = {
        {"# Nodes: 4 Edges: 4\n# FromNodeId\tToNodeId\tSign\n3\t5\t1\n3\t7\t-1\n5\t7\t1\n7\t9\t-1\n", 1},
        {"# FromNodeId\tToNodeId\n3\t5\n3\t7\n5\t7\n7\t9\n", 0},
        {"#source,target,rating,time\n3,5,4,1.5\n3,7,-2,2.5\n5,7,1,3\n7,9,10,4\n", 2},
        {"# an edge goes from one id to another\n3 5\n3 7\n5 7\n7 9\n", 0},
        {"# \"it's\n3 5\n3 7\n5 7\n7 9\n", 0},
    };
    for (const Case& each : cases)
        expect_same_graph(each);
}

TEST(Columns, AFileOfKonectHasUpToFour) {
    const std::vector<Case> cases = {
        {"% sym unweighted\n% 4 4 4\n3 5 \n3 7 \n5 7\n7 9\n", 0},
        {"% sym posweighted\n3 5 1\n3 7 2.5\n5 7 3\n7 9 4\n", 1},
        {"% asym positive\n3\t5 1\t1082008561\n3\t7 1\t1082008562\n5\t7 1\t1082008563\n7\t9 1\t1082008564\n",
         2},
        {"% asym signed\n3 5 -1\n3 7 1\n5 7 -1\n7 9 1\n", 1},
        {"% asym multiweighted\n3 5 0\n3 7 -1.5\n5 7 1\n7 9 1\n", 1},
    };
    for (const Case& each : cases)
        expect_same_graph(each);
}

TEST(Columns, AreIgnoredWhereAskedFor) {
    const std::vector<Case> cases = {
        {"3 5 1082008561\n3 7 1082008562\n5 7 1082008563\n7 9 1082008564\n", 1},
        {"3,5,4,1289241911.7\n3,7,-2,1289241911.7\n5,7,1,1289241911.7\n7,9,10,1289241911.7\n", 2},
        {"3 5 a b c\n3 7\n5 7 x\n7 9\n", 3},
        {"a,b,weight\n3,5,1\n3,7,1\n5,7,1\n7,9,1\n", 1},
        {"weight,source,target\n1,3,5\n1,3,7\n1,5,7\n1,7,9\n", 1},
        {"% asym dynamic\n3 5 1 10\n3 7 1 11\n5 7 1 12\n7 9 1 13\n7 9 -1 14\n", 2},
        {"3 5\n3 7\n5 7\n7 9\n", 0},
    };
    for (const Case& each : cases)
        expect_same_graph(each, {.ignore_columns = true});
}

TEST(Columns, EdgesSeenAgainAreDuplicates) {
    const EdgeList graph = read("% asym positive\n1 2 1 10\n1 2 1 11\n2 1 1 12\n2 2 1 13\n");
    EXPECT_EQ(graph.edges.size(), 1U);
    EXPECT_EQ(graph.duplicates, 2U);
    EXPECT_EQ(graph.self_loops, 1U);
}

TEST(Columns, OthersAreRefusedWithTheirLine) {
    const std::string ignore = "): give --ignore-columns if it is a weight, a sign or a time";
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"0 1 1082008561\n",
         "graph:1: unexpected text '1082008561' in column 3 (an edge has two ids, and no "
         "header names more columns" +
             ignore},
        {"0,1,4,1289241911.7\n",
         "graph:1: unexpected text '4' in column 3 (an edge has two ids, and no header "
         "names more columns" +
             ignore},
        {"# FromNodeId ToNodeId\n0 1\n1 2 -1\n",
         "graph:3: unexpected text '-1' in column 3 (a comment names 2" + ignore},
        {"Source,Target,Weight\n0,1,1\n1,2,1,5\n",
         "graph:3: unexpected text '5' in column 4 (the header names 3" + ignore},
        {"% sym weighted\n1 2 3 4 5\n",
         "graph:2: unexpected text '5' in column 5 (a file of KONECT has up to 4" + ignore},
        {"\nname,other,weight\n0,1,1\n",
         "graph:2: the header names 3 columns, and not which two have the ids (known are source and target, "
         "from "
         "and to, id_1 and id_2, and the like): name them so, or give --ignore-columns if they are the first "
         "two"},
        {"weight,source,target\n1,2\n",
         "graph:2: a vertex id is missing (an edge needs two columns): write it as id,id or remove the line"},
        {"Source;Target\n1;2\n3\n",
         "graph:3: a vertex id is missing (an edge needs two columns): write it as id;id or remove the line"},
        {"0,1\n\"1,2\n",
         "graph:2: a quote is not closed (a field ends in the line in which it begins): close it, "
         "or write the field without a line break"},
        {"0,1\n\"1\"x,2\n",
         "graph:2: text 'x' after a closing quote (a separator has to follow it): double the "
         "quotes within a field"},
        {"0,1\n\"\",2\n", "graph:2: a vertex id is missing ("},
        {"0,1\n\"a\"\"b\",2\n", "graph:2: vertex id 'a\"\"b' is not a whole number ("},
        {"source,target\nalice,bob\n", "graph:2: vertex id 'alice' is not a whole number ("},
    };
    for (const auto& [text, expected] : cases) {
        const std::string error = error_of(text);
        EXPECT_EQ(error.substr(0, expected.size()), expected);
    }
}

TEST(Columns, NetworksThatAreNoSimpleGraphAreRefused) {
    EXPECT_EQ(
        error_of("% bip unweighted\n% 2 2 1\n1 1\n2 1\n"),
        "graph:1: the network is bipartite (KONECT numbers its left and its right vertices apart, so that an "
        "id means two vertices): tell them apart: awk '!/^%/ {print $1, $2 + N}' FILE, with N left vertices");
    // No option makes one vertex of two.
    for (const ReadOptions& options :
         {ReadOptions{.format = Format::snap}, ReadOptions{.ignore_columns = true}})
        EXPECT_NE(error_of("% bip weighted\n1 1 5\n", options).find("graph:1: the network is bipartite ("),
                  std::string::npos);
    EXPECT_EQ(
        error_of("\n% sym dynamic\n1 2 1 10\n1 2 -1 20\n"),
        "graph:2: the network is dynamic (a row of it adds an edge or removes it again): write the edges of "
        "one moment to a file, or take all by --ignore-columns");
}

TEST(Columns, CommentsAfterTheFirstRowSayNothing) {
    EXPECT_EQ(read("1 2\n% bip unweighted\n2 3\n").edges.size(), 2U);
    EXPECT_NE(error_of("1 2\n# FromNodeId ToNodeId Sign\n2 3 1\n").find("graph:3: unexpected text '1'"),
              std::string::npos);
}

TEST(Columns, ValuesOfAMatrixAreCounted) {
    const std::string banner = "%%MatrixMarket matrix coordinate ";
    EXPECT_EQ(read(banner + "pattern general\n2 2 1\n1 2\n").columns_ignored, 0U);
    EXPECT_EQ(read(banner + "real general\n2 2 1\n1 2 5\n").columns_ignored, 1U);
    EXPECT_EQ(read(banner + "complex general\n2 2 1\n1 2 5 5\n").columns_ignored, 2U);
}

}  // namespace
}  // namespace nearfetch::graph
