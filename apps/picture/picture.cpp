// SPDX-License-Identifier: Apache-2.0
#include "picture/picture.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nearfetch/detail/base/error.hpp>

#include "common/random.hpp"

namespace nearfetch::apps {

namespace {

constexpr std::int64_t most_pixels = std::int64_t{1} << 31;

void draw_disc(Picture& picture, Random& random) {
    const double radius =
        (0.03 + 0.12 * random.uniform()) * static_cast<double>(std::min(picture.rows, picture.columns));
    const double row = random.uniform() * static_cast<double>(picture.rows);
    const double column = random.uniform() * static_cast<double>(picture.columns);
    const auto shade = static_cast<std::uint8_t>(random.next() % 256);
    const auto first = [](double centre, double size) {
        return std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - size));
    };
    for (std::int64_t i = first(row, radius); i < picture.rows && i <= row + radius; ++i)
        for (std::int64_t j = first(column, radius); j < picture.columns && j <= column + radius; ++j) {
            const double down = static_cast<double>(i) - row;
            const double across = static_cast<double>(j) - column;
            if (down * down + across * across <= radius * radius) picture(i, j) = shade;
        }
}

/// The numbers of the header, with white space and comments from # to the end of a line.
class Header {
  public:
    Header(std::istream& file, const std::string& path) : file_(file), path_(path) {}

    std::int64_t number(const char* what, std::int64_t most) {
        while (std::isspace(file_.peek()) != 0 || file_.peek() == '#') {
            if (file_.get() != '#') continue;
            while (file_.good() && file_.get() != '\n') {
            }
        }
        std::int64_t value = 0;
        bool any = false;
        for (; std::isdigit(file_.peek()) != 0 && value <= most; any = true)
            value = 10 * value + file_.get() - '0';
        if (!any || value < 1 || value > most)
            throw Error(path_ + ": no " + what + " from 1 to " + std::to_string(most),
                        "the header of a PGM file has its columns, its rows and its whitest shade",
                        "use a binary PGM file of 8 bits per pixel");
        return value;
    }

  private:
    std::istream& file_;
    const std::string& path_;
};

}  // namespace

Picture drawn_picture(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    Picture picture{rows, columns, std::vector<std::uint8_t>(static_cast<std::size_t>(rows * columns))};
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
            picture(i, j) = static_cast<std::uint8_t>(220 - 80 * i / rows);
    Random random(seed);
    for (int disc = 0; disc < 25; ++disc)
        draw_disc(picture, random);
    for (std::uint8_t& pixel : picture.pixels)
        pixel = static_cast<std::uint8_t>(std::min<std::uint64_t>(255, pixel + random.next() % 6));
    return picture;
}

Picture read_pgm(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    char magic[2] = {};
    file.read(magic, 2);
    if (!file.is_open() || (file.fail() && !file.eof()))
        throw Error(path + ": cannot be read", "it is to be the picture", "name a PGM file");
    if (magic[0] != 'P' || magic[1] != '5')
        throw Error(path + ": not a binary PGM file", "it does not begin with P5",
                    "convert the picture to one of 8 bits per pixel");
    Header header(file, path);
    Picture picture;
    picture.columns = header.number("number of columns", most_pixels);
    picture.rows = header.number("number of rows", most_pixels / picture.columns);
    const std::int64_t white = header.number("whitest shade", 255);
    file.get();
    const auto size = picture.rows * picture.columns;
    // A wrong header alone must not allocate much memory.
    for (std::int64_t done = 0, next = 0; done < size && file.good(); done += next) {
        next = std::min<std::int64_t>(size - done, 1 << 20);
        picture.pixels.resize(static_cast<std::size_t>(done + next));
        file.read(reinterpret_cast<char*>(picture.pixels.data()) + done, next);
    }
    if (!file.good())
        throw Error(path + ": ends too early",
                    "it says that it has " + std::to_string(picture.rows) + " rows of " +
                        std::to_string(picture.columns) + " pixels",
                    "use a file that is whole");
    for (std::uint8_t& pixel : picture.pixels)
        pixel = static_cast<std::uint8_t>(std::min<std::int64_t>(pixel, white) * 255 / white);
    return picture;
}

void write_pgm(const Picture& picture, const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    file << "P5\n" << picture.columns << ' ' << picture.rows << "\n255\n";
    file.write(reinterpret_cast<const char*>(picture.pixels.data()),
               static_cast<std::streamsize>(picture.pixels.size()));
    if (!file.flush()) throw Error(path + ": cannot be written", "it takes the picture", "name another file");
}

}  // namespace nearfetch::apps
