// SPDX-License-Identifier: Apache-2.0
#include "pgas/lulesh/domain.hpp"

#include <algorithm>
#include <string>

#include "pgas/lulesh/forces.hpp"

namespace nearfetch::lulesh {

namespace {

/// Fills an array's own elements with those of a vector.
template <class T>
void copy_own(BlockArray<T, 1>& to, const std::vector<T>& from) {
    to.for_each([&](const Index<1>& i, T& value) { value = from[static_cast<std::size_t>(i[0])]; });
}

std::int64_t size_of(const auto& container) { return static_cast<std::int64_t>(container.size()); }

/// Marks the faces whose nodes are all in one of the sets.
void mark(Boundaries& boundaries, const std::vector<char>& is_in_set, const Nodes& nodes, Boundary as) {
    for (std::size_t side = 0; side < side_count; ++side)
        if (std::ranges::all_of(faces[side], [&](std::size_t corner) {
                return is_in_set[static_cast<std::size_t>(nodes[corner])] != 0;
            }))
            boundaries[side] = as;
}

}  // namespace

void fail_volume(std::int64_t element, double volume) {
    throw Error("element " + std::to_string(element) + " has the volume " + std::to_string(volume),
                "the mesh is tangled, or the time step too long", "use another mesh or a shorter first step");
}

CornerForces::CornerForces(const Mesh& mesh, std::int64_t elements, std::int64_t nodes)
    : x(Box<2>({}, {elements, corner_count}), {ranks(), 1}),
      y(Box<2>({}, {elements, corner_count}), {ranks(), 1}),
      z(Box<2>({}, {elements, corner_count}), {ranks(), 1}),
      first({nodes}),
      end({nodes}),
      corners({elements * static_cast<std::int64_t>(corner_count)}) {
    if (elements == 0) return;
    // Counting sort of all corners by their nodes.
    std::vector<std::int64_t> ends(static_cast<std::size_t>(nodes) + 1);
    for (const Nodes& of : mesh.nodes)
        for (const std::int64_t node : of)
            ++ends[static_cast<std::size_t>(node) + 1];
    for (std::size_t node = 0; node + 1 < ends.size(); ++node)
        ends[node + 1] += ends[node];
    first.for_each(
        [&](const Index<1>& i, std::int64_t& place) { place = ends[static_cast<std::size_t>(i[0])]; });
    end.for_each(
        [&](const Index<1>& i, std::int64_t& place) { place = ends[static_cast<std::size_t>(i[0]) + 1]; });
    std::int64_t corner = 0;
    for (const Nodes& of : mesh.nodes)
        for (const std::int64_t node : of) {
            std::int64_t* const own = corners.own({ends[static_cast<std::size_t>(node)]++});
            if (own != nullptr) *own = corner;
            ++corner;
        }
}

Domain::Domain(const Mesh& mesh, const Options& options)
    : elements(size_of(mesh.nodes)),
      nodes_in_all(size_of(mesh.positions)),
      nodes({elements}),
      neighbours({elements}),
      boundaries({elements}),
      energy({elements}),
      pressure({elements}),
      viscosity({elements}),
      linear_part({elements}),
      quadratic_part({elements}),
      volume({elements}),
      new_volume({elements}),
      volume_step({elements}),
      first_volume({elements}),
      mass({elements}),
      expansion({elements}),
      length({elements}),
      sound_speed({elements}),
      velocity_gradient(elements),
      size_along(elements),
      position(nodes_in_all),
      velocity(nodes_in_all),
      acceleration(nodes_in_all),
      force(nodes_in_all),
      node_mass({nodes_in_all}),
      fixed_in_x({size_of(mesh.symmetry[0])}),
      fixed_in_y({size_of(mesh.symmetry[1])}),
      fixed_in_z({size_of(mesh.symmetry[2])}),
      corner_forces(mesh, options.keeps_corner_forces() ? elements : 0,
                    options.keeps_corner_forces() ? nodes_in_all : 0) {
    fill(mesh);
    find_boundaries(mesh);
    barrier();
    find_origin();
    find_masses(options);
    if (energy.own({origin}) != nullptr) energy(origin) = options.origin_energy();
    barrier();
}

void Domain::fill(const Mesh& mesh) {
    copy_own(nodes, mesh.nodes);
    copy_own(neighbours, mesh.neighbours);
    copy_own(fixed_in_x, mesh.symmetry[0]);
    copy_own(fixed_in_y, mesh.symmetry[1]);
    copy_own(fixed_in_z, mesh.symmetry[2]);
    for_each_own(node_mass,
                 [&](std::int64_t i) { position.set(i, mesh.positions[static_cast<std::size_t>(i)]); });
    volume.fill(1);
}

void Domain::find_boundaries(const Mesh& mesh) {
    const auto members = [&](std::initializer_list<const NodeSet*> sets) {
        std::vector<char> is_in_set(mesh.positions.size());
        for (const NodeSet* const set : sets)
            for (const std::int64_t node : *set)
                is_in_set[static_cast<std::size_t>(node)] = 1;
        return is_in_set;
    };
    const auto fixed = members({&mesh.symmetry[0], &mesh.symmetry[1], &mesh.symmetry[2]});
    const auto free = members({&mesh.free_surface});
    boundaries.for_each([&](const Index<1>& i, Boundaries& own) {
        const Nodes& of = mesh.nodes[static_cast<std::size_t>(i[0])];
        mark(own, fixed, of, Boundary::symmetry);
        mark(own, free, of, Boundary::free);
    });
}

void Domain::find_origin() {
    // The element with the most faces of symmetry, and of those the first.
    struct Found {
        std::int64_t faces, element;
    };
    const Found found = boundaries.reduce(
        Found{-1, 0}, [](const Found& a, const Found& b) { return b.faces > a.faces ? b : a; },
        [](const Index<1>& i, const Boundaries& of) {
            return Found{std::ranges::count(of, Boundary::symmetry), i[0]};
        });
    origin = found.element;
    if (found.faces != 3)
        throw Error("no element has three faces of symmetry", "the origin of the blast has",
                    "use a mesh of an octant");
}

void Domain::find_masses(const Options& options) {
    for_each_own(nodes, [&](std::int64_t e) {
        const double size = volume_of(corners_of(position, nodes(e)));
        if (size <= 0) fail_volume(e, size);
        first_volume(e) = size;
        mass(e) = size;
        Corners shares;
        shares.fill({.x = size / corner_count});
        start_element_forces(*this, options, e);
        add_corner_forces(*this, options, e, shares);
    });
    finish_forces(*this, options);
    for_each_own(node_mass, [&](std::int64_t i) { node_mass(i) = force.x(i); });
}

}  // namespace nearfetch::lulesh
