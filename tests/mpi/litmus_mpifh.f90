! SPDX-License-Identifier: Apache-2.0
program litmus_mpifh
    implicit none
    include 'mpif.h'
    integer :: win, info, comm, request, status(MPI_STATUS_SIZE), file
    include 'litmus_common.inc'
end program
