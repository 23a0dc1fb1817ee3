// SPDX-License-Identifier: Apache-2.0
//
// Edge detection by Sobel's operator (LAPPS, section 6.3): a pixel is bright if its neighbours differ from
// left to right and from top to bottom. Border pixels, which lack neighbours, become black.

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nearfetch/stencil.hpp>

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

/// \param at at(rows, columns) is the pixel at that distance
template <class Accessor>
std::uint8_t edge(const Accessor& at) {
    const int across = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
    const int down = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
    return static_cast<std::uint8_t>(std::min(255, std::abs(across) + std::abs(down)));
}

Box<2> inside(const Box<2>& bounds) {
    return {{bounds.lower[0] + 1, bounds.lower[1] + 1}, {bounds.upper[0] - 1, bounds.upper[1] - 1}};
}

/// Own pixels and their halo.
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
    for_each_stencil(to, from, inside(to.bounds()), 1,
                     [](const Index<2>&, std::uint8_t& pixel, const auto& at) { pixel = edge(at); });
}

/// With a contiguous local copy of the halo.
void detect_by_hand(const Pixels& from, Pixels& to) {
    const Box<2> box = with_halo(from);
    std::vector<std::uint8_t> copy(static_cast<std::size_t>(box.size()));
    from.get(box, copy);
    const View<std::uint8_t, 2> result = to.local();
    const Box<2> own = to.own_box();
    const Box<2> pixels = intersection(own, inside(to.bounds()));
    const std::int64_t width = box.extent(1);
    for (std::int64_t i = pixels.lower[0]; i < pixels.upper[0]; ++i) {
        const std::uint8_t* centre =
            copy.data() + (i - box.lower[0]) * width + pixels.lower[1] - box.lower[1];
        std::uint8_t* pixel = &result(i - own.lower[0], pixels.lower[1] - own.lower[1]);
        for (std::int64_t j = pixels.lower[1]; j < pixels.upper[1]; ++j, ++centre)
            *pixel++ =
                edge([&](std::int64_t rows, std::int64_t columns) { return centre[rows * width + columns]; });
    }
}

bool is_right(const Pixels& edges, const apps::Picture& picture) {
    bool right = true;
    for_each_index(edges.own_box(), [&](const Index<2>& i) {
        const auto at = [&](int rows, int columns) { return picture(i[0] + rows, i[1] + columns); };
        const int expected = inside(edges.bounds()).contains(i) ? edge(at) : 0;
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
    apps::add_number(app, "--rows", options.rows, 1, std::int64_t{1} << 15, "of the picture");
    apps::add_number(app, "--columns", options.columns, 1, std::int64_t{1} << 15, "of the picture");
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
