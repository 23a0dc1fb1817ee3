// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <fstream>
#include <nearfetch/detail/base/error.hpp>
#include <sstream>

#include "pgas/lulesh/mesh.hpp"

namespace nearfetch::lulesh {

namespace {

/// The words of a file, with the lines they stand in.
class Words {
  public:
    explicit Words(const std::string& path) : path_(path), file_(path) {
        if (!file_.is_open())
            throw Error(path + " cannot be read", "it takes the mesh", "name another file by --mesh");
    }

    /// \param what of the file's contents it is
    std::int64_t whole_number(const char* what, std::int64_t least, std::int64_t most) {
        std::int64_t value = 0;
        const std::string word = next(what);
        if (!parse(word, value) || value < least || value > most)
            fail("'" + word + "' is not " + what + " from " + std::to_string(least) + " to " +
                 std::to_string(most));
        return value;
    }
    double coordinate() {
        double value = 0;
        const std::string word = next("a coordinate");
        if (!parse(word, value) || !std::isfinite(value)) fail("'" + word + "' is not a coordinate");
        return value;
    }
    void end() {
        std::string word;
        if (find(word)) fail("'" + word + "' stands behind the last node set");
    }
    [[noreturn]] void fail(const std::string& why) const {
        throw Error(path_ + ", line " + std::to_string(number_) + ": " + why, "it is no mesh of hexahedra",
                    "use an .lmesh file of LULESH");
    }

  private:
    template <class T>
    static bool parse(const std::string& word, T& value) {
        const char* const end = word.data() + word.size();
        const auto [stop, status] = std::from_chars(word.data(), end, value);
        return status == std::errc{} && stop == end;
    }
    bool find(std::string& word) {
        while (!(line_ >> word)) {
            std::string text;
            if (!std::getline(file_, text)) return false;
            ++number_;
            line_ = std::istringstream(text);
        }
        return true;
    }
    std::string next(const char* what) {
        std::string word;
        if (!find(word)) fail(std::string("the file ends where ") + what + " should be");
        return word;
    }

    std::string path_;
    std::ifstream file_;
    std::istringstream line_;
    std::int64_t number_ = 0;
};

}  // namespace

Mesh read_mesh(const std::string& path) {
    constexpr std::int64_t most = 100'000'000;
    Words words(path);
    Mesh mesh;
    const std::int64_t elements = words.whole_number("a number of elements", 1, most);
    const std::int64_t nodes = words.whole_number("a number of nodes", 8, most);
    // Grows as it is read: the counts of a bad file cost no memory.
    for (std::int64_t i = 0; i < nodes; ++i) {
        Vector& position = mesh.positions.emplace_back();
        for (double* const value : {&position.x, &position.y, &position.z})
            *value = words.coordinate();
    }
    for (std::int64_t i = 0; i < elements; ++i)
        for (std::int64_t& node : mesh.nodes.emplace_back())
            node = words.whole_number("a node", 0, nodes - 1);
    for (std::int64_t i = 0; i < elements; ++i)
        for (std::int64_t& neighbour : mesh.neighbours.emplace_back())
            neighbour = words.whole_number("an element", 0, elements - 1);
    for (NodeSet* const set : {&mesh.symmetry[0], &mesh.symmetry[1], &mesh.symmetry[2], &mesh.free_surface}) {
        const std::int64_t size = words.whole_number("a size of a node set", 1, nodes);
        for (std::int64_t i = 0; i < size; ++i)
            set->push_back(words.whole_number("a node", 0, nodes - 1));
    }
    words.end();
    return mesh;
}

}  // namespace nearfetch::lulesh
