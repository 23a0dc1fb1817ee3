// SPDX-License-Identifier: Apache-2.0
//
// Command lines of the programs: valid ones, and errors with exit status 2 and a reason.

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "assimilation/options.hpp"
#include "barnes_hut/options.hpp"
#include "common/report.hpp"
#include "lcc/options.hpp"

namespace nearfetch {
namespace {

template <typename Options, typename Parse>
apps::Parsed parse(Parse parse_options, Options& options, std::vector<const char*> words) {
    words.insert(words.begin(), "program");
    return parse_options(static_cast<int>(words.size()), words.data(), options);
}

TEST(LccOptions, AllAreUnderstood) {
    lcc::Options options;
    const auto parsed = parse(lcc::parse_options, options, {"g.csv",      "--format",    "snap",
                                                            "--vertices", "9",           "--window",
                                                            "create",     "--info",      "a=b",
                                                            "--info",     "c=d=e",       "--max-vertices",
                                                            "0",          "--repeat",    "3",
                                                            "--json",     "o",           "--per-vertex",
                                                            "p",          "--lock-each", "--ignore-columns",
                                                            "--member",   "e.csv",       "--max-ranks",
                                                            "1"});
    ASSERT_TRUE(parsed.run) << parsed.text;
    EXPECT_EQ(options.file, "g.csv");
    EXPECT_EQ(options.reading.format, graph::Format::snap);
    EXPECT_EQ(options.reading.vertices, 9U);
    EXPECT_TRUE(options.reading.ignore_columns);
    EXPECT_EQ(options.reading.member, "e.csv");
    EXPECT_FALSE(options.common.window.allocate);
    const std::vector<std::pair<std::string, std::string>> infos = {{"a", "b"}, {"c", "d=e"}};
    EXPECT_EQ(options.common.window.infos, infos);
    EXPECT_EQ(options.max_vertices, 0U);
    EXPECT_EQ(options.max_ranks, 1U);
    EXPECT_EQ(options.repeat, 3);
    EXPECT_TRUE(options.lock_each);
    EXPECT_EQ(options.common.json_path, "o");
    EXPECT_EQ(options.per_vertex_path, "p");
}

TEST(LccOptions, BadOnesAreRefused) {
    const std::vector<std::vector<const char*>> bad = {
        {},
        {"g.csv", "--rmat-scale", "3"},
        {"g.csv", "--format", "xml"},
        {"g.csv", "--nonsense"},
        {"g.csv", "--info", "novalue"},
        {"g.csv", "--info", "=v"},
        {"g.csv", "--window", "shared"},
        {"g.csv", "--repeat", "0"},
        {"g.csv", "--vertices", "0"},
        {"g.csv", "--max-vertices", "-1"},
        {"g.csv", "--max-ranks", "-1"},
        {"--rmat-scale", "0"},
        {"--rmat-scale", "32"},
        {"--rmat-scale", "x"},
        {"--rmat-scale", "3", "--edge-factor", "0"},
        {"--edge-factor", "4"},
        {"g.csv", "--shuffle"},
        {"--rmat-scale", "3", "--ignore-columns"},
        {"--rmat-scale", "3", "--member", "e.csv"},
    };
    for (const auto& words : bad) {
        lcc::Options options;
        const auto parsed = parse(lcc::parse_options, options, words);
        EXPECT_FALSE(parsed.run);
        EXPECT_EQ(parsed.exit_code, apps::kBadUse) << parsed.text;
        EXPECT_EQ(parsed.text.substr(0, 5), "lcc: ");
        EXPECT_NE(parsed.text.find(" ("), std::string::npos) << parsed.text;
        EXPECT_NE(parsed.text.find("): "), std::string::npos) << parsed.text;
    }
}

TEST(LccOptions, HelpIsNotAnError) {
    lcc::Options options;
    const auto parsed = parse(lcc::parse_options, options, {"--help"});
    EXPECT_FALSE(parsed.run);
    EXPECT_EQ(parsed.exit_code, 0);
    EXPECT_NE(parsed.text.find("--rmat-scale"), std::string::npos);
}

TEST(BarnesHutOptions, AllAreUnderstood) {
    barnes_hut::Options options;
    const auto parsed =
        parse(barnes_hut::parse_options, options,
              {"--bodies", "100",           "--steps",      "2",    "--theta", "0.25",        "--seed",
               "5",        "--check",       "--max-bodies", "7",    "--cache", "block",       "--cache-bytes",
               "2MiB",     "--block-bytes", "512",          "--dt", "0.5",     "--softening", "0"});
    ASSERT_TRUE(parsed.run) << parsed.text;
    EXPECT_EQ(options.bodies, 100);
    EXPECT_EQ(options.steps, 2);
    EXPECT_EQ(options.force.theta, 0.25);
    EXPECT_TRUE(options.force.bounds);
    EXPECT_EQ(options.seed, 5U);
    EXPECT_EQ(options.max_bodies, 7U);
    EXPECT_TRUE(options.cache.enabled);
    EXPECT_EQ(options.cache.capacity_bytes, 2U << 20);
    EXPECT_EQ(options.cache.block_bytes, 512U);
    EXPECT_EQ(options.time_step, 0.5);
    EXPECT_EQ(options.force.softening, 0.0);
}

TEST(BarnesHutOptions, BadOnesAreRefused) {
    const std::vector<std::vector<const char*>> bad = {
        {"--bodies", "0"},
        {"--bodies", "-3"},
        {"--bodies", "many"},
        {"--steps", "0"},
        {"--theta", "-0.1"},
        {"--theta", "2.1"},
        {"--theta", "nan"},
        {"--cache", "lru"},
        {"--cache", "block", "--first-gets"},
        {"--block-bytes", "0"},
        {"--cache-bytes", "2 parsecs"},
        {"--dt", "-1"},
        {"word"},
        {"--cache-bytes", "512", "--block-bytes", "1024"},
    };
    for (const auto& words : bad) {
        barnes_hut::Options options;
        const auto parsed = parse(barnes_hut::parse_options, options, words);
        EXPECT_FALSE(parsed.run) << words.front() << ' ' << words.back();
        EXPECT_EQ(parsed.exit_code, apps::kBadUse) << parsed.text;
        EXPECT_EQ(parsed.text.substr(0, 12), "barnes_hut: ");
        EXPECT_NE(parsed.text.find("): "), std::string::npos) << parsed.text;
    }
}

TEST(AssimilationOptions, AllAreUnderstood) {
    assimilation::Options options;
    const auto parsed =
        parse(assimilation::parse_options, options,
              {"--elements", "80", "--members",   "7",   "--observations", "9",        "--span",  "3",
               "--cycles",   "2",  "--steps",     "4",   "--cutoff",       "2.5",      "--error", "2",
               "--seed",     "0",  "--inflation", "1.5", "--no-check",     "--window", "create"});
    ASSERT_TRUE(parsed.run) << parsed.text;
    EXPECT_EQ(options.elements, 80);
    EXPECT_EQ(options.members, 7);
    EXPECT_EQ(options.observations, 9);
    EXPECT_EQ(options.span, 3);
    EXPECT_EQ(options.cycles, 2);
    EXPECT_EQ(options.steps, 4);
    EXPECT_EQ(options.cutoff, 2.5);
    EXPECT_EQ(options.error, 2);
    EXPECT_EQ(options.inflation, 1.5);
    EXPECT_EQ(options.seed, 0U);
    EXPECT_FALSE(options.check);
    EXPECT_FALSE(options.common.window.allocate);
}

TEST(AssimilationOptions, BadOnesAreRefused) {
    const std::vector<std::vector<const char*>> bad = {
        {"--elements", "3"},
        {"--members", "1"},
        {"--observations", "0"},
        {"--observations", "-5"},
        {"--span", "0"},
        {"--elements", "20", "--span", "21"},
        {"--elements", "20", "--cutoff", "5.1"},
        {"--elements", "10000000", "--members", "27"},
        {"--observations", "1000000", "--members", "269"},
        {"--cutoff", "nan"},
        {"--error", "0"},
        {"--inflation", "0.9"},
        {"--seed", "-1"},
        {"word"},
    };
    for (const auto& words : bad) {
        assimilation::Options options;
        const auto parsed = parse(assimilation::parse_options, options, words);
        EXPECT_FALSE(parsed.run) << words.front() << ' ' << words.back();
        EXPECT_EQ(parsed.exit_code, apps::kBadUse) << parsed.text;
        EXPECT_EQ(parsed.text.substr(0, 14), "assimilation: ");
        EXPECT_NE(parsed.text.find("): "), std::string::npos) << parsed.text;
    }
}

TEST(Report, WritesLinesAndJson) {
    apps::Report report;
    report.add("average", 0.1);
    report.add("triangles", std::uint64_t{18446744073709551615U});
    report.add("name", std::string("a \"b\"\\\n"));
    report.add("list", std::vector<double>{1.5, 1.0 / 0.0});
    report.add("gets", std::vector<std::uint64_t>{});
    std::ostringstream lines;
    report.write_lines(lines);
    EXPECT_EQ(lines.str(), "average 0.10000000000000001\ntriangles 18446744073709551615\nname a \"b\"\\\n\n");
    std::ostringstream json;
    report.write_json(json);
    EXPECT_EQ(json.str(),
              "{\n  \"average\": 0.10000000000000001,\n  \"triangles\": 18446744073709551615,\n"
              "  \"name\": \"a \\\"b\\\"\\\\\\u000a\",\n  \"list\": [1.5, null],\n  \"gets\": []\n}\n");
}

}  // namespace
}  // namespace nearfetch
