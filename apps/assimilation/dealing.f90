! SPDX-License-Identifier: Apache-2.0
!
! Which rank has what: elements, members and observations go round the ranks one by one. The model needs all elements of
! a member, the filter all members of an element. So a rank has the state in one of two orders: as the elements of its
! members, (element, own member), or as the members of its elements, (member, own element).
module assimilation_dealing
    use, intrinsic :: iso_fortran_env, only: real64
    use mpi_f08
    use assimilation_options, only: options
    implicit none
    private
    public :: rank, ranks, start_dealing, own_count, transpose_dealt, gather

    integer, protected :: rank = 0, ranks = 1

contains

    subroutine start_dealing()
        call MPI_Comm_rank(MPI_COMM_WORLD, rank)
        call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    end subroutine

    pure integer function count_of(items, of_rank)
        integer, intent(in) :: items, of_rank
        count_of = (items - of_rank + ranks - 1) / ranks
    end function

    pure integer function own_count(items)
        integer, intent(in) :: items
        own_count = count_of(items, rank)
    end function

    !> `own` items of this rank, and for each of them what another rank has of `others`.
    subroutine parts(own, others, counts, begins)
        integer, intent(in) :: own, others
        integer, intent(out) :: counts(0:), begins(0:)
        integer :: i
        do i = 0, ranks - 1
            counts(i) = own * count_of(others, i)
            begins(i) = sum(counts(0:i - 1))
        end do
    end subroutine

    !> Of a matrix that is dealt out by columns: this rank's part of its transpose, dealt out likewise. So the order of
    !> members becomes that of ensembles, and back. Collective.
    subroutine transpose_dealt(values, transposed)
        real(real64), intent(in) :: values(:, :)
        real(real64), intent(out) :: transposed(:, :)
        real(real64) :: sent(size(values)), received(size(transposed))
        integer, dimension(0:ranks - 1) :: out_counts, out_begins, in_counts, in_begins
        integer :: other, column, next, most
        next = 0
        do other = 0, ranks - 1
            most = count_of(size(values, 1), other)
            do column = 1, size(values, 2)
                sent(next + 1:next + most) = values(other + 1::ranks, column)
                next = next + most
            end do
        end do
        call parts(size(values, 2), size(values, 1), out_counts, out_begins)
        call parts(size(transposed, 2), size(transposed, 1), in_counts, in_begins)
        call MPI_Alltoallv(sent, out_counts, out_begins, MPI_DOUBLE_PRECISION, received, in_counts, in_begins, &
            MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
        next = 0
        most = size(transposed, 2)
        do other = 0, ranks - 1
            do column = other + 1, size(transposed, 1), ranks
                transposed(column, :) = received(next + 1:next + most)
                next = next + most
            end do
        end do
    end subroutine

    !> The ensembles of all elements on rank 0; empty on the others. Collective.
    subroutine gather(ensembles, all_ensembles)
        real(real64), intent(in), contiguous :: ensembles(:, :)
        real(real64), allocatable, intent(out) :: all_ensembles(:, :)
        real(real64), allocatable :: by_rank(:, :)
        integer :: counts(0:ranks - 1), begins(0:ranks - 1)
        integer :: other, next, most
        call parts(options%members, options%elements, counts, begins)
        most = merge(options%elements, 0, rank == 0)
        allocate (all_ensembles(options%members, 0:most - 1), by_rank(options%members, most))
        call MPI_Gatherv(ensembles, size(ensembles), MPI_DOUBLE_PRECISION, by_rank, counts, begins, &
            MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
        if (rank /= 0) return
        next = 0
        do other = 0, ranks - 1
            most = count_of(options%elements, other)
            all_ensembles(:, other::ranks) = by_rank(:, next + 1:next + most)
            next = next + most
        end do
    end subroutine
end module
