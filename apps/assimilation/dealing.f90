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
    public :: rank, ranks, start_dealing, own_count, to_ensembles, to_members, gather

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

    subroutine exchange(sent, to, received, from)
        real(real64), intent(in), contiguous :: sent(:)
        real(real64), intent(out), contiguous :: received(:)
        integer, intent(in) :: to(2), from(2)  !! own items, and others'
        integer, dimension(0:ranks - 1) :: out_counts, out_begins, in_counts, in_begins
        call parts(to(1), to(2), out_counts, out_begins)
        call parts(from(1), from(2), in_counts, in_begins)
        call MPI_Alltoallv(sent, out_counts, out_begins, MPI_DOUBLE_PRECISION, received, in_counts, in_begins, &
            MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
    end subroutine

    !> From the order of members to that of ensembles. Collective.
    subroutine to_ensembles(members, ensembles)
        real(real64), intent(in) :: members(0:, :)
        real(real64), intent(out) :: ensembles(:, :)
        real(real64) :: sent(size(members)), received(size(ensembles))
        integer :: other, m, next, most
        next = 0
        do other = 0, ranks - 1
            do m = 1, size(members, 2)
                most = count_of(options%elements, other)
                sent(next + 1:next + most) = members(other::ranks, m)
                next = next + most
            end do
        end do
        call exchange(sent, [size(members, 2), options%elements], received, [size(ensembles, 2), options%members])
        next = 0
        do other = 0, ranks - 1
            do m = other + 1, options%members, ranks
                ensembles(m, :) = received(next + 1:next + size(ensembles, 2))
                next = next + size(ensembles, 2)
            end do
        end do
    end subroutine

    !> From the order of ensembles to that of members. Collective.
    subroutine to_members(ensembles, members)
        real(real64), intent(in) :: ensembles(:, :)
        real(real64), intent(out) :: members(0:, :)
        real(real64) :: sent(size(ensembles)), received(size(members))
        integer :: other, m, next, most
        next = 0
        do other = 0, ranks - 1
            do m = other + 1, options%members, ranks
                sent(next + 1:next + size(ensembles, 2)) = ensembles(m, :)
                next = next + size(ensembles, 2)
            end do
        end do
        call exchange(sent, [size(ensembles, 2), options%members], received, [size(members, 2), options%elements])
        next = 0
        do other = 0, ranks - 1
            do m = 1, size(members, 2)
                most = count_of(options%elements, other)
                members(other::ranks, m) = received(next + 1:next + most)
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
