// SPDX-License-Identifier: Apache-2.0
//
// What single gets and puts of 8 bytes cost through the interface where the network takes no time: hits in
// one page, hits in the whole cache, misses, puts into pages that are dirty already, fences with nothing to
// write. And what arrays copy when they move elements: 1 KiB, of rows and of columns.

#include <CLI/CLI.hpp>
#include <nearfetch/array.hpp>
#include <vector>

#include "common/validators.hpp"
#include "pgas/program.hpp"

using namespace nearfetch;

namespace {

constexpr std::int64_t in_page = 128;         // elements of 8 bytes
constexpr std::int64_t in_cache = 64 * 1024;  // half of the default cache
constexpr std::int64_t anywhere = 8 << 20;

// Not inlined: callgrind finds them by name.

[[gnu::noinline]] std::int64_t get_in_order(GlobalPtr<std::int64_t> array, std::int64_t count) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i)
        sum += get(array + i % in_page);
    return sum;
}

[[gnu::noinline]] std::int64_t get_by_chance(GlobalPtr<std::int64_t> array, std::int64_t elements,
                                             std::int64_t count) {
    std::int64_t sum = 0;
    std::uint64_t place = 1;
    for (std::int64_t i = 0; i < count; ++i) {
        place = place * 6364136223846793005u + 1442695040888963407u;
        sum += get(array + static_cast<std::int64_t>(place >> 33) % elements);
    }
    return sum;
}

[[gnu::noinline]] void put_in_order(GlobalPtr<std::int64_t> array, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        put(array + i % in_page, i);
}

[[gnu::noinline]] void fence_often(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        fence();
}

// Matrix of an array's own elements, of which narrow boxes are copied.
constexpr std::int64_t matrix_rows = 1024;
constexpr std::int64_t matrix_columns = 4096;
constexpr std::int64_t kib_elements = 1024 / sizeof(double);

/// Copies `count` KiB from boxes that are so many elements wide, each from other memory than the last.
[[gnu::noinline]] void copy_boxes(const BlockArray<double, 2>& matrix, std::int64_t width,
                                  std::int64_t count) {
    std::vector<double> copy(static_cast<std::size_t>(matrix_rows * width));
    const std::int64_t each = matrix_rows * width / kib_elements;
    for (std::int64_t done = 0, column = 0; done < count; done += each, column += kib_elements) {
        const std::int64_t first = column % matrix_columns;
        matrix.get(Box<2>({0, first}, {matrix_rows, first + width}), copy);
    }
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("page_cache_cost",
                              "Times single gets and puts where the network takes no time.");
    std::string pattern = "hit";
    std::int64_t count = 10'000'000;
    program.options()
        .add_option("--pattern", pattern, "what is timed")
        ->check(CLI::IsMember({"hit", "hit-anywhere", "miss", "put", "fence", "copy-rows", "copy-columns"}))
        ->capture_default_str();
    apps::add_number(program.options(), "--count", count, 1, std::int64_t{1} << 40, "times");
    return program.run(argc, argv, [&](programs::Run& run) {
        const auto array = allocate<std::int64_t>(anywhere).at_rank(programs::other_rank());
        const std::int64_t rows = pattern.starts_with("copy") ? matrix_rows : 1;
        BlockArray<double, 2> matrix(Box<2>({}, {rows * ranks(), matrix_columns}), {ranks(), 1});
        matrix.for_each([](const Index<2>&, double& element) { element = 1; });  // pages of its own
        const std::int64_t elements = pattern == "miss" ? anywhere : in_cache;
        run.begin();
        if (rank() == 0) {
            std::int64_t sum = 0;
            for (std::int64_t i = 0; i < in_cache; ++i)
                sum += get(array + i);
            put(array, sum);
            if (pattern == "fence") release();
            const std::uint64_t begin_ns = now_ns();
            if (pattern == "hit") sum = get_in_order(array, count);
            if (pattern == "put") put_in_order(array, count);
            if (pattern == "fence") fence_often(count);
            if (pattern == "hit-anywhere" || pattern == "miss") sum = get_by_chance(array, elements, count);
            if (pattern == "copy-rows") copy_boxes(matrix, kib_elements, count);
            if (pattern == "copy-columns") copy_boxes(matrix, 1, count);
            run.note("ns_each", static_cast<double>(now_ns() - begin_ns) / static_cast<double>(count));
            run.result(0, sum == 0);
        } else {
            run.result(0, true);
        }
        run.end();
    });
}
