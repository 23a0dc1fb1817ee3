// SPDX-License-Identifier: Apache-2.0
#include "pgas/minimd/data_file.hpp"

#include <fstream>
#include <nearfetch/detail/base/error.hpp>

#include "common/report.hpp"

namespace nearfetch::programs::minimd {

void write_data(const Crystal& crystal, const std::string& path) {
    std::ofstream file(path);
    const auto write = [&](std::int64_t id, const char* type, const Vector& v) {
        file << id + 1 << type << apps::exact(v.x) << ' ' << apps::exact(v.y) << ' ' << apps::exact(v.z)
             << '\n';
    };
    file << "Lennard-Jones atoms, units lj\n\n" << crystal.atoms() << " atoms\n1 atom types\n";
    for (const char* const bounds : {" xlo xhi\n", " ylo yhi\n", " zlo zhi\n"})
        file << "0 " << apps::exact(crystal.edge()) << bounds;
    file << "\nMasses\n\n1 1\n\nAtoms\n\n";
    crystal.for_each_atom(
        [&](std::int64_t id, const Vector& position, const Vector&) { write(id, " 1 ", position); });
    file << "\nVelocities\n\n";
    crystal.for_each_atom(
        [&](std::int64_t id, const Vector&, const Vector& velocity) { write(id, " ", velocity); });
    if (!file.flush())
        throw Error(path + " cannot be written", "it takes the first state",
                    "name another file by --write-data");
}

}  // namespace nearfetch::programs::minimd
