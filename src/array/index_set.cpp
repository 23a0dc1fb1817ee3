// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nearfetch/detail/cache/index_set.hpp>
#include <utility>

namespace nearfetch::detail {

bool IndexSet::insert_bits(std::int64_t number, std::uint64_t bits, std::uint64_t most_bytes) {
    std::size_t at = find(number);
    if (words_[at].bits == 0) {
        if (4 * (used_ + 1) > 3 * words_.size()) {
            if (3 * memory() > most_bytes) return false;  // the old table, and one of twice the size
            std::vector<Word> fewer(2 * words_.size());
            fewer.swap(words_);
            for (const Word& word : fewer)
                if (word.bits != 0) words_[find(word.number)] = word;
            at = find(number);
        }
        ++used_;
        words_[at].number = number;
    }
    size_ += std::popcount(bits & ~words_[at].bits);
    words_[at].bits |= bits;
    return true;
}

void IndexSet::insert_run(std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first, end = first + count; i < end;) {
        const std::int64_t here = std::min(end - i, 64 - i % 64);
        const std::uint64_t bits = here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
        insert_bits(i / 64, bits << (i % 64), ~std::uint64_t{0});
        i += here;
    }
}

void IndexSet::complete() {
    if (!encoded_.empty()) return;
    std::vector<Word*> ordered;
    for (Word& word : words_)
        if (word.bits != 0) ordered.push_back(&word);
    std::sort(ordered.begin(), ordered.end(),
              [](const Word* a, const Word* b) { return a->number < b->number; });
    runs_ = 0;
    std::int64_t before = 0;
    std::int64_t first = 0, end = 0, written = 0;  // of the open run; the end of the last written run
    const auto write_run = [&] {
        if (first == end) return;
        encode_number(first - written);
        encode_number(end - first);
        written = end;
        ++runs_;
    };
    for (Word* const word : ordered) {
        word->before = before;
        before += std::popcount(word->bits);
        std::int64_t i = 64 * word->number;
        for (std::uint64_t bits = word->bits; bits != 0;) {
            const int skip = std::countr_zero(bits);
            bits >>= skip;
            i += skip;
            const int run = std::countr_one(bits);
            bits = run == 64 ? 0 : bits >> run;
            if (i != end) {
                write_run();
                first = i;
            }
            i += run;
            end = i;
        }
    }
    write_run();
    encoded_.shrink_to_fit();
    build_positions();
}

void IndexSet::close_gaps(std::int64_t most) {
    std::vector<std::pair<std::int64_t, std::int64_t>> gaps;
    std::int64_t end = -1;  // of the previous run
    for_each_run([&](std::int64_t first, std::int64_t count) {
        if (end != -1 && first - end <= most) gaps.emplace_back(end, first - end);
        end = first + count;
    });
    if (gaps.empty()) return;
    IndexSet closed;
    for_each_run([&](std::int64_t first, std::int64_t count) { closed.insert_run(first, count); });
    for (const auto& [first, count] : gaps)
        closed.insert_run(first, count);
    closed.complete();
    *this = std::move(closed);
}

void IndexSet::build_positions() {
    constexpr std::int64_t most_each = 4;
    if (size_ == 0 || size_ > INT32_MAX) return;
    std::int64_t end = 0;
    first_ = UINT64_MAX;
    for_each_run([&](std::int64_t first, std::int64_t count) {
        first_ = std::min(first_, static_cast<std::uint64_t>(first));
        end = first + count;
    });
    const auto first_number = static_cast<std::int64_t>(first_);
    if ((end - first_number) / most_each > size_) return;
    positions_.assign(static_cast<std::size_t>(end - first_number), -1);
    std::int32_t place = 0;
    for_each_run([&](std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count; ++i)
            positions_[static_cast<std::size_t>(i - first_number)] = place++;
    });
    words_ = {};
}

void IndexSet::encode_number(std::int64_t number) {
    auto rest = static_cast<std::uint64_t>(number);
    for (; rest >= 128; rest >>= 7)
        encoded_.push_back(static_cast<std::byte>(rest % 128 + 128));
    encoded_.push_back(static_cast<std::byte>(rest));
}

}  // namespace nearfetch::detail
