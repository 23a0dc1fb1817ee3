! SPDX-License-Identifier: Apache-2.0
program litmus_f08
    use mpi_f08
    implicit none
    type(MPI_Win) :: win
    type(MPI_Info) :: info
    type(MPI_Comm) :: comm
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    type(MPI_File) :: file
    include 'litmus_common.inc'
end program
