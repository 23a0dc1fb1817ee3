// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nearfetch::programs {

/// A point, velocity or force in space.
struct Vector {
    double x = 0;
    double y = 0;
    double z = 0;

    Vector& operator+=(const Vector& other) {
        x += other.x;
        y += other.y;
        z += other.z;
        return *this;
    }
    friend Vector operator+(Vector a, const Vector& b) { return a += b; }
    friend Vector operator-(const Vector& a, const Vector& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
    friend Vector operator*(double factor, const Vector& v) {
        return {factor * v.x, factor * v.y, factor * v.z};
    }
};

inline double dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vector cross(const Vector& a, const Vector& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

}  // namespace nearfetch::programs
