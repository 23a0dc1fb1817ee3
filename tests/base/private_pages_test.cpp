// SPDX-License-Identifier: Apache-2.0
#include "base/private_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <span>
#include <vector>

namespace nearfetch {
namespace {

constexpr std::uint64_t part_bytes = std::uint64_t{1} << 17;

/// Two parts of 1s and 2s.
class File {
  public:
    File() : descriptor_(memfd_create("pages", MFD_CLOEXEC)) {
        for (const char value : {1, 2}) {
            const std::vector<char> part(part_bytes, value);
            EXPECT_EQ(write(descriptor_, part.data(), part.size()), static_cast<ssize_t>(part.size()));
        }
    }
    ~File() { close(descriptor_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    FilePlace part(std::uint64_t number) const { return {descriptor_, number * part_bytes}; }

  private:
    int descriptor_;
};

std::span<std::byte> all_of(const PrivatePages& pages) { return {pages.data(), part_bytes}; }

bool all_are(std::span<const std::byte> bytes, int value) {
    return std::ranges::all_of(bytes,
                               [value](std::byte byte) { return byte == static_cast<std::byte>(value); });
}
bool all_are(const PrivatePages& pages, int value) { return all_are(all_of(pages), value); }

TEST(PrivatePages, ShowAFileAtAnAddressThatStays) {
    const File file;
    PrivatePages pages(part_bytes);
    std::byte* const place = pages.data();
    EXPECT_TRUE(all_are(pages, 0));
    std::fill_n(place, part_bytes, std::byte{9});
    for (const int part : {0, 1, 0}) {
        ASSERT_TRUE(show_file(all_of(pages), file.part(static_cast<std::uint64_t>(part))));
        EXPECT_EQ(pages.data(), place);
        EXPECT_TRUE(all_are(pages, part + 1));
    }
}

TEST(PrivatePages, WhatIsWrittenIsNobodyElses) {
    const File file;
    PrivatePages one(part_bytes), other(part_bytes);
    ASSERT_TRUE(show_file(all_of(one), file.part(0)));
    ASSERT_TRUE(show_file(all_of(other), file.part(0)));
    one.data()[5000] = std::byte{7};
    EXPECT_EQ(one.data()[5001], std::byte{1});
    EXPECT_TRUE(all_are(other, 1));
    ASSERT_TRUE(show_file(all_of(one), file.part(0)));
    EXPECT_TRUE(all_are(one, 1)) << "it is gone when the file is shown again";
}

TEST(PrivatePages, ShowAFileInPart) {
    const File file;
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    PrivatePages pages(part_bytes);
    std::ranges::fill(all_of(pages), std::byte{9});
    const std::span<std::byte> within = all_of(pages).subspan(page, part_bytes - 2 * page);
    FilePlace place = file.part(1);
    place.offset += page;
    ASSERT_TRUE(show_file(within, place));
    EXPECT_TRUE(all_are(within, 2));
    EXPECT_TRUE(all_are(all_of(pages).first(page), 9));
    EXPECT_TRUE(all_are(all_of(pages).last(page), 9));
}

TEST(PrivatePages, WholeOnesAreWhatLiesBetweenTheirBounds) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    PrivatePages pages(part_bytes);
    const std::span<std::byte> all = all_of(pages);
    const auto whole = [&](std::uint64_t begin, std::uint64_t end) {
        return whole_pages(all.subspan(begin, end - begin));
    };
    EXPECT_EQ(whole(0, 2 * page).data(), all.data());
    EXPECT_EQ(whole(0, 2 * page).size(), 2 * page);
    EXPECT_EQ(whole(1, 3 * page + 1).data(), all.data() + page);
    EXPECT_EQ(whole(1, 3 * page + 1).size(), 2 * page);
    EXPECT_EQ(whole(page - 1, 2 * page + 1).size(), page);
    EXPECT_TRUE(whole(1, 2 * page - 1).empty());
    EXPECT_TRUE(whole(5, 5).empty());
    EXPECT_TRUE(whole(1, page).empty());
    EXPECT_EQ(offset_in_page(all.data() + 5), 5u);
}

// The kernel's limit is 65,530 by default. Protection that alternates needs a mapping for each page.
TEST(PrivatePages, WithoutMoreMappingsNothingChanges) {
    const File file;
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    PrivatePages pages(part_bytes);
    std::ranges::fill(all_of(pages), std::byte{9});
    constexpr std::uint64_t most = 1 << 21;
    void* const many =
        mmap(nullptr, most * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(many, MAP_FAILED);
    std::uint64_t made = 0;
    while (made < most && mprotect(static_cast<std::byte*>(many) + made * page, page, PROT_READ) == 0)
        made += 2;
    if (made >= most) {
        munmap(many, most * page);
        GTEST_SKIP() << "the system has no limit of mappings that can be reached";
    }
    const std::span<std::byte> within = all_of(pages).subspan(page, part_bytes - 2 * page);
    const bool is_shown = show_file(within, file.part(1));
    const bool all_as_before = all_are(pages, 9);
    munmap(many, most * page);
    EXPECT_FALSE(is_shown);
    EXPECT_TRUE(all_as_before);
    ASSERT_TRUE(show_file(within, file.part(1)));
    EXPECT_TRUE(all_are(within, 2));
}

TEST(PrivatePages, WhatCannotBeShownChangesNothing) {
    const File file;
    PrivatePages pages(part_bytes);
    ASSERT_TRUE(show_file(all_of(pages), file.part(1)));
    pages.data()[1] = std::byte{7};
    EXPECT_FALSE(show_file(all_of(pages), {-1, 0}));
    EXPECT_FALSE(show_file(all_of(pages), {file.part(0).descriptor, 1})) << "no whole page";
    EXPECT_EQ(pages.data()[0], std::byte{2});
    EXPECT_EQ(pages.data()[1], std::byte{7});
}

TEST(PrivatePages, ReturnedOnesOfAFileAreZeroEverywhere) {
    const File file;
    PrivatePages pages(part_bytes);
    ASSERT_TRUE(show_file(all_of(pages), file.part(1)));
    const FilePlace place = file.part(1);
    void* const shared = mmap(nullptr, part_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, place.descriptor,
                              static_cast<off_t>(place.offset));
    ASSERT_NE(shared, MAP_FAILED);
    struct stat before{}, after{};
    fstat(place.descriptor, &before);
    return_file_pages({static_cast<std::byte*>(shared), part_bytes});
    fstat(place.descriptor, &after);
    EXPECT_EQ((before.st_blocks - after.st_blocks) * 512, static_cast<blkcnt_t>(part_bytes));
    EXPECT_TRUE(all_are(pages, 0));
    munmap(shared, part_bytes);
}

TEST(PrivatePages, MoreThanThereIsIsRefused) {
    EXPECT_THROW(PrivatePages(~std::uint64_t{0} / 4), std::bad_alloc);
}

}  // namespace
}  // namespace nearfetch
