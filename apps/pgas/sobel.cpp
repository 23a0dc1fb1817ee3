// SPDX-License-Identifier: Apache-2.0
//
// Edge detection by Sobel's operator (LAPPS, section 6.3): a pixel is bright if its neighbours differ from
// left to right and from top to bottom. Border pixels, which lack neighbours, become black.

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nearfetch/stencil.hpp>

#include "pgas/arrays.hpp"
#include "pgas/padded.hpp"
#include "pgas/program.hpp"
#include "pgas/versions.hpp"
#include "picture/picture.hpp"

using namespace nearfetch;

namespace {

using Pixels = BlockArray<std::uint8_t, 2>;
using Padded = programs::PaddedBlock<std::uint8_t, 2>;

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

void detect(const Pixels& from, Pixels& to) {
    for_each_stencil(to, from, inside(to.bounds()), 1,
                     [](const Index<2>&, std::uint8_t& pixel, const auto& at) { pixel = edge(at); });
}

/// With ghosts by hand. \param to own pixels
void detect_by_hand(const Padded& from, const View<std::uint8_t, 2>& to) {
    const Box<2>& own = from.own();
    const Box<2> pixels = intersection(own, inside(from.layout().bounds()));
    const std::int64_t width = from.strides()[0];
    for (std::int64_t i = pixels.lower[0]; i < pixels.upper[0]; ++i) {
        const std::uint8_t* centre = from.at({i, pixels.lower[1]});
        std::uint8_t* pixel = &to(i - own.lower[0], pixels.lower[1] - own.lower[1]);
        for (std::int64_t j = pixels.lower[1]; j < pixels.upper[1]; ++j, ++centre)
            *pixel++ =
                edge([&](std::int64_t rows, std::int64_t columns) { return centre[rows * width + columns]; });
    }
}

/// \param found found(index) is an own pixel of the result
template <class Found>
bool is_right(const Box<2>& own, const apps::Picture& picture, const Found& found) {
    const Box<2> bounds({0, 0}, {picture.rows, picture.columns});
    bool right = true;
    for_each_index(own, [&](const Index<2>& i) {
        const auto at = [&](int rows, int columns) { return picture(i[0] + rows, i[1] + columns); };
        const int expected = inside(bounds).contains(i) ? edge(at) : 0;
        right = right && found(i) == expected;
    });
    return right;
}

/// Reports what a run computed. \param found found(index) is an own pixel of the result
template <class Found>
void report(programs::Run& run, const Options& options, const apps::Picture& picture, const Layout<2>& layout,
            const Box<2>& own, const Found& found) {
    run.result(programs::checksum(own, layout.bounds(), found), is_right(own, picture, found));
    options.version.note(run);
    programs::Needed needed;
    if (!own.empty()) needed.add<std::uint8_t>(layout, programs::with_ghosts(own));
    run.least(needed.traffic());
}

void write(const Pixels& edges, const std::string& path) {
    apps::Picture picture{edges.bounds().extent(0), edges.bounds().extent(1), {}};
    picture.pixels.resize(static_cast<std::size_t>(edges.bounds().size()));
    edges.get(edges.bounds(), picture.pixels);
    apps::write_pgm(picture, path);
}

void run_on_arrays(programs::Run& run, const Options& options, const apps::Picture& picture) {
    Pixels pixels({picture.rows, picture.columns});
    Pixels edges({picture.rows, picture.columns});
    pixels.for_each([&](const Index<2>& i, std::uint8_t& pixel) { pixel = picture(i[0], i[1]); });
    edges.fill(0);  // its pages are there before the time is taken

    run.begin();
    if (options.version.is_prefetched()) pixels.prefetch_stencil(1, true, options.version.prefetch());
    detect(pixels, edges);
    options.version.worked(run, edges.own_box().size());
    run.end();

    report(run, options, picture, edges.layout(), edges.own_box(),
           [&](const Index<2>& i) { return std::as_const(edges)[i]; });
    if (rank() == 0 && !options.output.empty()) write(edges, options.output);
}

void run_by_hand(programs::Run& run, const Options& options, const apps::Picture& picture) {
    Padded pixels({{0, 0}, {picture.rows, picture.columns}}, true);
    const Box<2> own = pixels.own();
    for_each_index(own, [&](const Index<2>& i) { *pixels.at(i) = picture(i[0], i[1]); });
    std::vector<std::uint8_t> found(static_cast<std::size_t>(own.size()));
    const View<std::uint8_t, 2> edges(found.data(), own.shape());

    run.begin();
    pixels.exchange();
    detect_by_hand(pixels, edges);
    options.version.worked(run, own.size());
    run.end();

    report(run, options, picture, pixels.layout(), own,
           [&](const Index<2>& i) { return edges(i[0] - own.lower[0], i[1] - own.lower[1]); });
    if (options.output.empty()) return;
    Pixels all({picture.rows, picture.columns});
    std::ranges::copy(found, all.local().data());
    barrier();
    if (rank() == 0) write(all, options.output);
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
    const auto main = [&](programs::Run& run) {
        if (options.version.is_by_hand())
            run_by_hand(run, options, picture);
        else
            run_on_arrays(run, options, picture);
    };
    return program.run(argc, argv, main, [&] { picture = options.picture(); });
}
