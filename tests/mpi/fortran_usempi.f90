! SPDX-License-Identifier: Apache-2.0
! As fortran_mpifh, through the module mpi.
program fortran_usempi
    use mpi
    implicit none
    include 'fortran_common.inc'
end program fortran_usempi
