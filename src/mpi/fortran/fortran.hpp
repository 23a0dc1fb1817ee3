// SPDX-License-Identifier: Apache-2.0
#pragma once

// The arguments of Fortran calls, turned into C's. What MPI only reads is converted by a function NAME_in.
// What MPI writes is an object, made by a function NAME_out, that lives to the end of the call.

#include <mpi.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <climits>
#include <cstddef>

// The standard ABI has no Fortran integers.
#if (defined(OPEN_MPI) || defined(MPICH_NUMVERSION)) && !defined(MPI_ABI)

// The objects that stand for MPI_BOTTOM and its like. Only their address counts. A program without Fortran
// may lack them. Some versions of MPICH's mpi.h declare them, too, so they have names of our own.
extern "C" {
#if defined(OPEN_MPI)
extern MPI_Fint fortran_bottom __asm__("mpi_fortran_bottom_") __attribute__((weak));
extern MPI_Fint fortran_status_ignore __asm__("mpi_fortran_status_ignore_") __attribute__((weak));
extern MPI_Fint fortran_statuses_ignore __asm__("mpi_fortran_statuses_ignore_") __attribute__((weak));
#else
extern MPI_Status fortran_status_ignore __asm__("MPIR_F08_MPI_STATUS_IGNORE_OBJ") __attribute__((weak));
extern MPI_Status fortran_statuses_ignore __asm__("MPIR_F08_MPI_STATUSES_IGNORE_OBJ") __attribute__((weak));
#endif
}

namespace nearfetch::fortran {

using In = const MPI_Fint*;       ///< INTEGER
using Address = const MPI_Aint*;  ///< INTEGER(KIND=MPI_ADDRESS_KIND)
using Out = MPI_Fint*;            ///< INTEGER or LOGICAL that MPI writes
using Choice = void*;             ///< a buffer of any type

inline MPI_Win win_in(In handle) { return PMPI_Win_f2c(*handle); }
inline MPI_Datatype type_in(In handle) { return PMPI_Type_f2c(*handle); }
inline MPI_Op op_in(In handle) { return PMPI_Op_f2c(*handle); }
inline MPI_Comm comm_in(In handle) { return PMPI_Comm_f2c(*handle); }
inline MPI_Info info_in(In handle) { return PMPI_Info_f2c(*handle); }
inline MPI_Group group_in(In handle) { return PMPI_Group_f2c(*handle); }
inline MPI_Request request_in(In handle) { return PMPI_Request_f2c(*handle); }

/// One value or an array of them; most arrays are short.
template <class T>
using Values = boost::container::small_vector<T, 16>;

/// Fortran variables that MPI writes. C gets copies. A copy that MPI leaves alone leaves its variable alone.
template <class T, MPI_Fint (*to_fortran)(T)>
class Written {
  public:
    /// \param before the value of a variable's copy before the call
    template <class Before>
    Written(int n, Out variables, const Before& before) : variables_(variables) {
        for (int i = 0; i < n; ++i) {
            before_.push_back(before(variables + i));
            values_.push_back(before_.back());
        }
    }
    Written(const Written&) = delete;
    Written& operator=(const Written&) = delete;
    ~Written() {
        for (std::size_t i = 0; i < values_.size(); ++i)
            if (values_[i] != before_[i]) variables_[i] = to_fortran(values_[i]);
    }
    operator T*() { return values_.data(); }

  private:
    Out variables_;
    Values<T> before_, values_;
};

inline MPI_Fint as_it_is(int value) { return value; }
/// 1 is true for every compiler: some look at the last bit, some for anything but 0.
inline MPI_Fint logical(int flag) { return flag != 0; }
inline MPI_Fint counted_from_1(int index) { return index == MPI_UNDEFINED ? MPI_UNDEFINED : index + 1; }
inline MPI_Fint win_handle(MPI_Win win) { return PMPI_Win_c2f(win); }
inline MPI_Fint request_handle(MPI_Request request) { return PMPI_Request_c2f(request); }

inline int no_number(In) { return INT_MIN; }
inline MPI_Win no_win(In) { return MPI_WIN_NULL; }
inline MPI_Request no_request(In) { return {}; }

inline auto number_out(Out variable) { return Written<int, as_it_is>(1, variable, no_number); }
inline auto flag_out(Out variable) { return Written<int, logical>(1, variable, no_number); }
inline auto indices_out(int n, Out variables) {
    return Written<int, counted_from_1>(n, variables, no_number);
}
inline auto new_win_out(Out handle) { return Written<MPI_Win, win_handle>(1, handle, no_win); }
inline auto freed_win_out(Out handle) { return Written<MPI_Win, win_handle>(1, handle, win_in); }
inline auto new_request_out(Out handle) {
    return Written<MPI_Request, request_handle>(1, handle, no_request);
}
inline auto requests_out(int n, Out handles) {
    return Written<MPI_Request, request_handle>(n, handles, request_in);
}

#if defined(OPEN_MPI)

inline void* buffer_in(Choice address) { return address == &fortran_bottom ? MPI_BOTTOM : address; }

using StatusOut = Out;  ///< the integers of mpif.h

/// Statuses that MPI writes.
class Statuses {
  public:
    Statuses(int n, StatusOut variables, const MPI_Fint* ignore)
        : variables_(variables == ignore ? nullptr : variables),
          values_(variables_ == nullptr ? 0 : std::max(n, 0)) {
        for (std::size_t i = 0; i < values_.size(); ++i)
            PMPI_Status_f2c(variable(i), &values_[i]);
    }
    Statuses(const Statuses&) = delete;
    Statuses& operator=(const Statuses&) = delete;
    ~Statuses() {
        for (std::size_t i = 0; i < values_.size(); ++i)
            PMPI_Status_c2f(&values_[i], variable(i));
    }
    operator MPI_Status*() { return variables_ == nullptr ? MPI_STATUSES_IGNORE : values_.data(); }

  private:
    StatusOut variable(std::size_t i) const { return variables_ + i * (sizeof(MPI_Status) / sizeof(int)); }

    StatusOut variables_;
    Values<MPI_Status> values_;
};
static_assert(MPI_STATUS_IGNORE == nullptr && MPI_STATUSES_IGNORE == nullptr);

inline auto status_out(StatusOut status) { return Statuses(1, status, &fortran_status_ignore); }
inline auto statuses_out(int n, StatusOut statuses) {
    return Statuses(n, statuses, &fortran_statuses_ignore);
}

#else

using StatusOut = MPI_Status*;  ///< TYPE(MPI_Status) is C's status

inline MPI_Status* status_out(StatusOut status) {
    return status == &fortran_status_ignore ? MPI_STATUS_IGNORE : status;
}
inline MPI_Status* statuses_out(int, StatusOut statuses) {
    return statuses == &fortran_statuses_ignore ? MPI_STATUSES_IGNORE : statuses;
}

#endif

}  // namespace nearfetch::fortran

#endif
