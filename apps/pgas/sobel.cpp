// SPDX-License-Identifier: Apache-2.0
//
// Edge detection by Sobel's operator (LAPPS, section 6.3): a pixel becomes the brighter, the more the shades
// of its eight neighbours differ from left to right and from top to bottom. The outermost pixels, which do
// not have eight, become black.

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nearfetch/array.hpp>

#include "pgas/arrays.hpp"
#include "pgas/program.hpp"
#include "pgas/versions.hpp"
#include "picture/picture.hpp"

using namespace nearfetch;

namespace {

using Pixels = BlockArray<std::uint8_t, 2>;

struct Options {
    std::int64_t rows = 600;
    std::int64_t columns = 800;
    std::uint64_t picture_seed = 1;
    std::string input;
    std::string output;
    programs::Version version;

    apps::Picture picture() const {
        return input.empty() ? apps::drawn_picture(rows, columns, picture_seed) : apps::read_pgm(input);
    }
};

/// \param pixel anything that gives the pixel in a row and column
template <class Pixel>
std::uint8_t edge(const Pixel& pixel, std::int64_t i, std::int64_t j) {
    const int above_left = pixel(i - 1, j - 1), above = pixel(i - 1, j), above_right = pixel(i - 1, j + 1);
    const int left = pixel(i, j - 1), right = pixel(i, j + 1);
    const int below_left = pixel(i + 1, j - 1), below = pixel(i + 1, j), below_right = pixel(i + 1, j + 1);
    const int across = above_right + 2 * right + below_right - above_left - 2 * left - below_left;
    const int down = below_left + 2 * below + below_right - above_left - 2 * above - above_right;
    return static_cast<std::uint8_t>(std::min(255, std::abs(across) + std::abs(down)));
}

Box<2> inside(const Box<2>& bounds) {
    return {{bounds.lower[0] + 1, bounds.lower[1] + 1}, {bounds.upper[0] - 1, bounds.upper[1] - 1}};
}

/// Own pixels, and those around them.
Box<2> with_halo(const Pixels& pixels) {
    Box<2> box = pixels.own_box();
    if (box.empty()) return {};
    for (std::size_t d = 0; d < 2; ++d) {
        --box.lower[d];
        ++box.upper[d];
    }
    return intersection(box, pixels.bounds());
}

void detect(const Pixels& from, Pixels& to) {
    to.for_each(inside(to.bounds()),
                [&](const Index<2>& i, std::uint8_t& pixel) { pixel = edge(from, i[0], i[1]); });
}

/// With what is needed side by side in a local array.
void detect_by_hand(const Pixels& from, Pixels& to) {
    const Box<2> box = with_halo(from);
    std::vector<std::uint8_t> copy(static_cast<std::size_t>(box.size()));
    from.get(box, copy);
    const View<const std::uint8_t, 2> local(copy.data(), box.shape());
    const View<std::uint8_t, 2> result = to.local();
    const Box<2> own = to.own_box();
    const Box<2> pixels = intersection(own, inside(to.bounds()));
    for (std::int64_t i = pixels.lower[0]; i < pixels.upper[0]; ++i)
        for (std::int64_t j = pixels.lower[1]; j < pixels.upper[1]; ++j)
            result(i - own.lower[0], j - own.lower[1]) = edge(local, i - box.lower[0], j - box.lower[1]);
}

bool is_right(const Pixels& edges, const apps::Picture& picture) {
    bool right = true;
    for_each_index(edges.own_box(), [&](const Index<2>& i) {
        const int expected = inside(edges.bounds()).contains(i) ? edge(picture, i[0], i[1]) : 0;
        right = right && edges[i] == expected;
    });
    return right;
}

void write(const Pixels& edges, const std::string& path) {
    apps::Picture picture{edges.bounds().extent(0), edges.bounds().extent(1), {}};
    picture.pixels.resize(static_cast<std::size_t>(edges.bounds().size()));
    edges.get(edges.bounds(), picture.pixels);
    apps::write_pgm(picture, path);
}

void add_options(CLI::App& app, Options& options) {
    const CLI::Range sizes(std::int64_t{1}, std::int64_t{1} << 15);
    app.add_option("--rows", options.rows, "of the picture")->check(sizes)->capture_default_str();
    app.add_option("--columns", options.columns, "of the picture")->check(sizes)->capture_default_str();
    app.add_option("--picture-seed", options.picture_seed, "of a picture that is drawn")
        ->check(apps::whole_number())
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--input", options.input, "a picture in place of that: a binary PGM file")
        ->type_name("FILE");
    app.add_option("--output", options.output, "write the edges to this PGM file")->type_name("FILE");
    options.version.add_options(app);
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("sobel", "Finds the edges in a picture.");
    Options options;
    add_options(program.options(), options);
    apps::Picture picture;
    const auto segment_bytes = [&] {
        picture = options.picture();
        return 2 * picture.pixels.size() + 4096;
    };
    return program.run(argc, argv, segment_bytes, [&](programs::Run& run) {
        Pixels pixels({picture.rows, picture.columns});
        Pixels edges({picture.rows, picture.columns});
        pixels.for_each([&](const Index<2>& i, std::uint8_t& pixel) { pixel = picture(i[0], i[1]); });

        run.begin();
        if (options.version.is_prefetched()) pixels.prefetch_stencil(1, true, options.version.prefetch());
        if (options.version.is_by_hand())
            detect_by_hand(pixels, edges);
        else
            detect(pixels, edges);
        options.version.worked(run, edges.own_box().size());
        run.end();

        run.result(programs::checksum(edges), is_right(edges, picture));
        options.version.note(run);
        programs::Needed needed;
        needed.add(pixels, with_halo(pixels));
        run.least(needed.traffic());
        if (rank() == 0 && !options.output.empty()) write(edges, options.output);
    });
}
