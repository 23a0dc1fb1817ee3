// SPDX-License-Identifier: Apache-2.0
#include "base/private_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>
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

bool all_are(const PrivatePages& pages, std::uint64_t bytes, int value) {
    return std::all_of(pages.data(), pages.data() + bytes,
                       [value](std::byte byte) { return byte == static_cast<std::byte>(value); });
}

TEST(PrivatePages, ShowAFileAtAnAddressThatStays) {
    const File file;
    PrivatePages pages(part_bytes);
    std::byte* const place = pages.data();
    EXPECT_TRUE(all_are(pages, part_bytes, 0));
    std::fill_n(place, part_bytes, std::byte{9});
    for (const int part : {0, 1, 0}) {
        ASSERT_TRUE(pages.show(file.part(static_cast<std::uint64_t>(part))));
        EXPECT_EQ(pages.data(), place);
        EXPECT_TRUE(all_are(pages, part_bytes, part + 1));
    }
}

TEST(PrivatePages, WhatIsWrittenIsNobodyElses) {
    const File file;
    PrivatePages one(part_bytes), other(part_bytes);
    ASSERT_TRUE(one.show(file.part(0)));
    ASSERT_TRUE(other.show(file.part(0)));
    one.data()[5000] = std::byte{7};
    EXPECT_EQ(one.data()[5001], std::byte{1});
    EXPECT_TRUE(all_are(other, part_bytes, 1));
    ASSERT_TRUE(one.show(file.part(0)));
    EXPECT_TRUE(all_are(one, part_bytes, 1)) << "it is gone when the file is shown again";
}

TEST(PrivatePages, WhatCannotBeShownChangesNothing) {
    const File file;
    PrivatePages pages(part_bytes);
    ASSERT_TRUE(pages.show(file.part(1)));
    pages.data()[1] = std::byte{7};
    EXPECT_FALSE(pages.show({-1, 0}));
    EXPECT_FALSE(pages.show({file.part(0).descriptor, 1})) << "no whole page";
    EXPECT_EQ(pages.data()[0], std::byte{2});
    EXPECT_EQ(pages.data()[1], std::byte{7});
}

TEST(PrivatePages, ReturnedOnesOfAFileAreZeroEverywhere) {
    const File file;
    PrivatePages pages(part_bytes);
    ASSERT_TRUE(pages.show(file.part(1)));
    const FilePlace place = file.part(1);
    void* const shared = mmap(nullptr, part_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, place.descriptor,
                              static_cast<off_t>(place.offset));
    ASSERT_NE(shared, MAP_FAILED);
    struct stat before{}, after{};
    fstat(place.descriptor, &before);
    return_file_pages({static_cast<std::byte*>(shared), part_bytes});
    fstat(place.descriptor, &after);
    EXPECT_EQ((before.st_blocks - after.st_blocks) * 512, static_cast<blkcnt_t>(part_bytes));
    EXPECT_TRUE(all_are(pages, part_bytes, 0));
    munmap(shared, part_bytes);
}

TEST(PrivatePages, MoreThanThereIsIsRefused) {
    EXPECT_THROW(PrivatePages(~std::uint64_t{0} / 4), std::bad_alloc);
}

}  // namespace
}  // namespace nearfetch
