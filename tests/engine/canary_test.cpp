// SPDX-License-Identifier: Apache-2.0

// The canary of the random test: the same programs over a rig that lies to the engine. What the lie leaves in
// the cache is wrong, and the random test has to see it. This program succeeds if each of its tests fails by
// a wrong byte, but for those without a cache, where the lie does no harm and nothing may fail.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "rig.hpp"

namespace nearfetch::testing {

/// Lies as the name of the running test says.
class LyingRig : public Rig {
  public:
    using Rig::Rig;

    /// OneFlushCompletesAll: a flush of one target is taken for a flush of all, as the published CLaMPI does.
    /// The program's own buffers still fill as they should; only what the engine takes from them too early is
    /// wrong.
    void flush(Rank target, FlushKind kind = FlushKind::full) {
        const std::uint64_t flushes = library_flushes;
        Rig::flush(target, kind);
        if (!lies("OneFlushCompletesAll")) return;
        if (library_flushes != flushes) window.complete_all(window.now(), kind, 0, 0);
        arrive(target);
    }

    /// PutUnseen: nobody tells the engine of a put.
    void put(Rank target, std::uint64_t offset, std::uint64_t size, void* origin) {
        if (!lies("PutUnseen")) return Rig::put(target, offset, size, origin);
        std::memcpy(memory[static_cast<std::size_t>(target)].data() + offset, origin, size);
    }

  private:
    static bool lies(std::string_view how) {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        return std::string_view(test->test_suite_name()).find(how) != std::string_view::npos;
    }
};

}  // namespace nearfetch::testing

#define Rig LyingRig
#include "random_test.cpp"
#undef Rig

namespace nearfetch {
namespace {

constexpr Case always{Mode::always_cache, "density", 1 << 20, 1024, false, false, false};
constexpr Case small{Mode::always_cache, "lru", 4096, 64, false, false, false};
constexpr Case user_defined{Mode::user_defined, "density", 1 << 20, 1024, false, false, false};
constexpr Case transparent{Mode::transparent, "density", 1 << 20, 1024, false, false, false};
constexpr Case off{Mode::off, "density", 1 << 20, 1024, false, false, false};

INSTANTIATE_TEST_SUITE_P(OneFlushCompletesAll, EngineRandom,
                         ::testing::Values(always, small, user_defined, transparent));
INSTANTIATE_TEST_SUITE_P(PutUnseen, EngineRandom, ::testing::Values(always, small, user_defined));
INSTANTIATE_TEST_SUITE_P(HarmlessOneFlushCompletesAll, EngineRandom, ::testing::Values(off));
INSTANTIATE_TEST_SUITE_P(HarmlessPutUnseen, EngineRandom, ::testing::Values(off));

/// Which tests saw a wrong byte, against which had to.
class Verdict : public ::testing::EmptyTestEventListener {
  public:
    bool good() const { return caught_ == 7 && unhurt_ == 2 && wrong_ == 0; }

  private:
    void OnTestStart(const ::testing::TestInfo&) override { wrong_bytes_ = other_failures_ = 0; }
    void OnTestPartResult(const ::testing::TestPartResult& result) override {
        if (!result.failed()) return;
        const bool byte = std::string_view(result.summary()).find(" offset ") != std::string_view::npos;
        ++(byte ? wrong_bytes_ : other_failures_);
    }
    void OnTestEnd(const ::testing::TestInfo& test) override {
        const bool harmless = std::string_view(test.test_suite_name()).find("Harmless") == 0;
        const bool as_expected = other_failures_ == 0 && (wrong_bytes_ == 0) == harmless;
        ++(!as_expected ? wrong_ : harmless ? unhurt_ : caught_);
        std::printf("canary: %s.%s %s\n", test.test_suite_name(), test.name(),
                    !as_expected ? "NOT AS EXPECTED"
                    : harmless   ? "does no harm"
                                 : "is caught");
    }

    int wrong_bytes_ = 0;
    int other_failures_ = 0;
    int caught_ = 0;
    int unhurt_ = 0;
    int wrong_ = 0;
};

}  // namespace
}  // namespace nearfetch

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    ::testing::GTEST_FLAG(filter) = "OneFlush*:PutUnseen*:Harmless*";
    auto* verdict = new nearfetch::Verdict;
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());  // its failures would be misread
    listeners.Append(verdict);
    const bool failed = RUN_ALL_TESTS() != 0;
    return failed && verdict->good() ? 0 : 1;
}
