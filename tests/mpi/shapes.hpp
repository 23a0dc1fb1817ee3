// SPDX-License-Identifier: Apache-2.0
#pragma once

// Datatypes with as many bytes in different places, one by each constructor.

#include "random_layout.hpp"

namespace check {

/// A committed datatype of `bytes` bytes in all, to be used with count 1.
class Shape {
  public:
    static constexpr int bytes = 96;
    /// All places are within that, on either side of where the shape is used.
    static constexpr int reach = 320;

    Shape(const char* name, MPI_Datatype type, Layout layout)
        : name_(name), layout_(std::move(layout)), type_(type) {
        CHECK_EQ(total(layout_), bytes);
        CHECK_MPI(MPI_Type_commit(&type_));
    }
    Shape(Shape&& other) noexcept
        : name_(other.name_),
          layout_(std::move(other.layout_)),
          type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
    Shape& operator=(Shape&&) = delete;
    ~Shape() {
        if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
    }

    const char* name() const { return name_; }
    MPI_Datatype type() const { return type_; }
    const Layout& layout() const { return layout_; }
    bool contiguous() const { return layout_.size() == 1; }

    /// What a get of this shape from displacement `disp` of `owner`'s pattern brings.
    std::vector<unsigned char> expected(int owner, int disp, int version = 0) const {
        std::vector<unsigned char> window(2 * reach);
        fill(window.data(), window.size(), owner, version, static_cast<std::uint64_t>(disp - reach));
        return gather(window.data() + reach, layout_);
    }

  private:
    const char* name_;
    Layout layout_;
    MPI_Datatype type_;
};

/// `number` blocks of as many bytes, one every `step` bytes.
inline Layout every(int step, int number) {
    Layout layout;
    for (int i = 0; i < number; ++i)
        layout.push_back({i * step, Shape::bytes / number});
    return layout;
}

/// Contiguous first, then in runs, to higher and to lower addresses.
inline std::vector<Shape> all_shapes() {
    std::vector<Shape> shapes;
    MPI_Datatype type, pair;
    MPI_Type_contiguous(96, MPI_BYTE, &type);
    shapes.emplace_back("contiguous", type, Layout{{0, 96}});
    MPI_Type_vector(24, 4, 12, MPI_BYTE, &type);
    shapes.emplace_back("vector", type, every(12, 24));
    MPI_Type_create_hvector(3, 32, -100, MPI_BYTE, &type);
    shapes.emplace_back("backward vector", type, every(-100, 3));
    const int lengths[] = {4, 20, 8, 40, 24}, places[] = {0, 12, 44, 80, 160};
    MPI_Type_indexed(5, lengths, places, MPI_BYTE, &type);
    shapes.emplace_back("indexed", type, Layout{{0, 4}, {12, 20}, {44, 8}, {80, 40}, {160, 24}});
    MPI_Type_vector(2, 8, 16, MPI_BYTE, &pair);
    const MPI_Datatype members[] = {MPI_BYTE, pair};
    const int counts[] = {64, 2};
    const MPI_Aint where[] = {-200, 100};
    MPI_Type_create_struct(2, counts, where, members, &type);
    MPI_Type_free(&pair);
    // The second pair begins where the first one ends.
    shapes.emplace_back("struct", type, Layout{{-200, 64}, {100, 8}, {116, 8}, {124, 8}, {140, 8}});
    return shapes;
}

}  // namespace check
