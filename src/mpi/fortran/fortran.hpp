// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the Fortran entry points of all MPI families have in common.
//
// An MPI library's own Fortran layer turns the arguments into C's and calls PMPI, so nothing of it reaches
// the C entry points of the interposer. The ones here do the same but call MPI: each is a line of a table
// that names the call and how each argument is turned. They never call the library's Fortran entry points, so
// that no call is seen twice.
//
// Arguments that MPI writes are small objects, which live to the end of the call: made from the Fortran
// variable, handed over as a pointer, written back when they go. One that MPI left alone leaves its variable
// alone.

#include <mpi.h>

#include <array>
#include <climits>
#include <cstddef>
#include <memory>
#include <new>

#if !defined(MPI_ABI)  // the standard ABI has no Fortran integers

namespace nearfetch::fortran {

using In = const MPI_Fint*;       ///< INTEGER
using Address = const MPI_Aint*;  ///< INTEGER(KIND=MPI_ADDRESS_KIND)
using Out = MPI_Fint*;            ///< INTEGER or LOGICAL that MPI writes
using Choice = void*;             ///< a buffer of any type

/// Stores what `call` returns; `ierror` is null where mpi_f08 left the optional argument out.
template <class Call>
void finish(Out ierror, const Call& call) {
    int code = MPI_ERR_NO_MEM;
    try {
        code = call();
    } catch (const std::bad_alloc&) {
    }
    if (ierror != nullptr) *ierror = code;
}

inline constexpr int untouched = INT_MIN;

/// INTEGER, INTENT(OUT).
class Number {
  public:
    explicit Number(Out variable) : variable_(variable) {}
    Number(const Number&) = delete;
    Number& operator=(const Number&) = delete;
    ~Number() {
        if (value_ != untouched) *variable_ = value_;
    }
    operator int*() { return &value_; }

  private:
    Out variable_;
    int value_ = untouched;
};

/// LOGICAL, INTENT(OUT); 1 is true for every compiler (some look at the last bit, some for anything but 0).
class Flag {
  public:
    explicit Flag(Out variable) : variable_(variable) {}
    Flag(const Flag&) = delete;
    Flag& operator=(const Flag&) = delete;
    ~Flag() {
        if (value_ != untouched) *variable_ = value_ != 0;
    }
    operator int*() { return &value_; }

  private:
    Out variable_;
    int value_ = untouched;
};

/// An array of which most are short.
template <class T>
class Array {
  public:
    explicit Array(int size) : size_(size > 0 ? static_cast<std::size_t>(size) : 0) {
        if (size_ > near_.size()) far_ = std::make_unique_for_overwrite<T[]>(size_);
    }
    std::size_t size() const noexcept { return size_; }
    T* data() noexcept { return far_ ? far_.get() : near_.data(); }
    T& operator[](std::size_t i) noexcept { return data()[i]; }

  private:
    std::size_t size_;
    std::array<T, 16> near_;
    std::unique_ptr<T[]> far_;
};

/// Positions in an array, counted from 1 in Fortran; MPI_UNDEFINED stays.
class Indices {
  public:
    Indices(int count, Out variables) : variables_(variables), values_(count) {
        for (std::size_t i = 0; i < values_.size(); ++i)
            values_[i] = untouched;
    }
    explicit Indices(Out variable) : Indices(1, variable) {}
    Indices(const Indices&) = delete;
    Indices& operator=(const Indices&) = delete;
    ~Indices() {
        for (std::size_t i = 0; i < values_.size(); ++i)
            if (values_[i] != untouched)
                variables_[i] = values_[i] == MPI_UNDEFINED ? MPI_UNDEFINED : values_[i] + 1;
    }
    operator int*() { return values_.data(); }

  private:
    Out variables_;
    Array<int> values_;
};

}  // namespace nearfetch::fortran

/// Defines the Fortran entry point mpi_<name>_.
#define NEARFETCH_FORTRAN(name, parameters, call)                                     \
    extern "C" __attribute__((visibility("default"))) void mpi_##name##_ parameters { \
        ::nearfetch::fortran::finish(ierror, [&] { return call; });                   \
    }

/// A second name for mpi_<name>_.
#define NEARFETCH_FORTRAN_ALIAS(name, second, parameters) \
    extern "C"                                            \
        __attribute__((visibility("default"), alias("mpi_" #name "_"))) void mpi_##second##_ parameters;

#endif  // MPI_ABI
