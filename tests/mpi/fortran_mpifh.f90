! SPDX-License-Identifier: Apache-2.0
! RMA through mpif.h: windows of both kinds, gets read again and again, puts, requests, types and every
! synchronisation call. The exit code is 1 where a value is wrong.
program fortran_mpifh
    implicit none
    include 'mpif.h'
    include 'fortran_common.inc'
end program fortran_mpifh
