// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors of three coordinates.

#include <cmath>

namespace nearfetch::lulesh {

struct Vector {
    double x = 0, y = 0, z = 0;

    Vector& operator+=(const Vector& b) {
        x += b.x;
        y += b.y;
        z += b.z;
        return *this;
    }
};

inline Vector operator+(Vector a, const Vector& b) { return a += b; }
inline Vector operator-(const Vector& a, const Vector& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vector operator*(double factor, const Vector& a) { return {factor * a.x, factor * a.y, factor * a.z}; }
inline double dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vector cross(const Vector& a, const Vector& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

}  // namespace nearfetch::lulesh
