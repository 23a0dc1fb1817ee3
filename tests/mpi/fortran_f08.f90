! SPDX-License-Identifier: Apache-2.0
! RMA through mpi_f08: allocated and created windows, gets read again, sections of arrays (where the library takes them),
! puts, atomics, requests and synchronisation, with and without ierror.
program fortran_f08
    use mpi_f08
    use iso_c_binding
    implicit none
    integer, parameter :: n = 256
    integer :: rank, nranks, target, left, failures, total, ierror, kind
    integer, target, asynchronous :: created_memory(n)
    integer, pointer, asynchronous :: memory(:)
    integer, asynchronous :: seen(n)
    integer(kind=MPI_ADDRESS_KIND) :: bytes, size_seen
    integer :: unit_seen
    type(c_ptr) :: base
    type(MPI_Win) :: win
    type(MPI_Info) :: info
    type(MPI_Datatype) :: column
    integer :: fortran_hits
    external :: fortran_hits

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks)
    failures = 0
    target = mod(rank + 1, nranks)
    left = mod(rank + nranks - 1, nranks)
    bytes = n * 4
    call MPI_Type_vector(10, 2, 8, MPI_INTEGER, column)
    call MPI_Type_commit(column)
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'nearfetch_mode', 'user-defined')

    do kind = 1, 4
        if (kind == 1) call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
        if (kind == 2) call MPI_Win_allocate(bytes, 4, info, MPI_COMM_WORLD, base, win, ierror)
        if (kind == 3) then
            if (nranks == 1) cycle  ! Open MPI 4.1 creates no windows for one process in shared memory
            call MPI_Win_create(created_memory, bytes, 4, info, MPI_COMM_WORLD, win)
            memory => created_memory
        else if (kind == 4) then
            call MPI_Win_allocate_shared(bytes, 4, info, MPI_COMM_WORLD, base, win)
            call MPI_Win_shared_query(win, rank, size_seen, unit_seen, base)
            if (unit_seen /= 4 .or. size_seen < bytes) call wrong('shared query', 4, unit_seen)
        end if
        if (kind /= 3) call c_f_pointer(base, memory, [n])
        call passive()
        call active()
        if (kind /= 1 .and. nranks > 1) then
            if (fortran_hits(win%MPI_VAL) >= 0 .and. fortran_hits(win%MPI_VAL) < 10) &
                call wrong('hits', 10, fortran_hits(win%MPI_VAL))
        end if
        call MPI_Win_free(win)
    end do

    call MPI_Info_free(info)
    call MPI_Type_free(column)
    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Finalize()
    if (total > 0) then
        if (rank == 0) print '(a,i0,a)', 'FAILED ', total, ' failures'
        stop 1
    end if
    if (rank == 0) print '(a)', 'passed'

contains

    integer function pattern(owner, at)
        integer, intent(in) :: owner, at
        pattern = owner * 1000000 + kind * 1000 + at
    end function pattern

    subroutine wrong(what, expected, got)
        character(len=*), intent(in) :: what
        integer, intent(in) :: expected, got
        failures = failures + 1
        if (failures <= 20) write (0, '(a,i0,a,i0,3a,i0,a,i0)') 'rank ', rank, ', window ', kind, ': ', what, &
            ': expected ', expected, ', seen ', got
    end subroutine wrong

    subroutine expect(what, first, last, step, owner, offset)
        character(len=*), intent(in) :: what
        integer, intent(in) :: first, last, step, owner, offset
        integer :: k, at
        at = offset
        do k = first, last, step
            at = at + 1
            if (seen(k) /= pattern(owner, at)) then
                call wrong(what, pattern(owner, at), seen(k))
                return
            end if
        end do
    end subroutine expect

    subroutine passive()
        type(MPI_Request) :: request, requests(2)
        type(MPI_Status) :: status, statuses(2)
        integer :: pass, k, index, done, indices(2)
        integer, asynchronous :: value(4), old
        logical :: flag
        integer(kind=MPI_ADDRESS_KIND) :: disp
        call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win)
        do k = 1, n
            memory(k) = pattern(rank, k)
        end do
        call MPI_Win_unlock(rank, win)
        call MPI_Barrier(MPI_COMM_WORLD)
        call MPI_Win_lock_all(0, win)
        disp = 10
        do pass = 1, 5
            seen = -1
            call MPI_Get(seen, 50, MPI_INTEGER, target, disp, 50, MPI_INTEGER, win)
            select case (pass)
            case (1); call MPI_Win_flush(target, win)
            case (2); call MPI_Win_flush_local(target, win)
            case (3); call MPI_Win_flush_all(win)
            case (4); call MPI_Win_flush_local_all(win, ierror)
            case default; call MPI_Win_flush(target, win, ierror)
            end select
            call expect('get', 1, 50, 1, target, 10)
            if (MPI_SUBARRAYS_SUPPORTED) then
                seen = -1
                call MPI_Get(seen(2:60:3), 20, MPI_INTEGER, target, disp, 20, MPI_INTEGER, win)
                call MPI_Win_flush(target, win)
                call expect('get into a section', 2, 59, 3, target, 10)
                if (any(seen(1:60:3) /= -1)) call wrong('beside the section', -1, 0)
            end if
            seen = -1
            call MPI_Rget(seen, 20, MPI_INTEGER, target, disp, 1, column, win, request)
            if (pass < 3) then
                call MPI_Wait(request, MPI_STATUS_IGNORE)
            else
                flag = .false.
                do while (.not. flag)
                    call MPI_Test(request, flag, status)
                end do
            end if
            if (request /= MPI_REQUEST_NULL) call wrong('request', 0, 1)
            do k = 1, 20
                if (seen(k) /= pattern(target, 11 + ((k - 1) / 2) * 8 + mod(k - 1, 2))) &
                    call wrong('column', pattern(target, 11 + ((k - 1) / 2) * 8 + mod(k - 1, 2)), seen(k))
            end do
            seen = -1
            call MPI_Rget(seen(1:30), 30, MPI_INTEGER, target, disp, 30, MPI_INTEGER, win, requests(1))
            call MPI_Rget(seen(31:60), 30, MPI_INTEGER, rank, disp, 30, MPI_INTEGER, win, requests(2))
            select case (pass)
            case (1); call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
            case (2); call MPI_Waitall(2, requests, statuses)
            case (3)
                do k = 1, 2
                    call MPI_Waitany(2, requests, index, status)
                end do
            case (4)
                k = 0
                do while (k < 2)
                    call MPI_Waitsome(2, requests, done, indices, MPI_STATUSES_IGNORE)
                    k = k + done
                end do
            case default
                flag = .false.
                do while (.not. flag)
                    call MPI_Testall(2, requests, flag, statuses)
                end do
            end select
            call expect('Rget', 1, 30, 1, target, 10)
            call expect('Rget of oneself', 31, 60, 1, rank, 10)
        end do
        call MPI_Barrier(MPI_COMM_WORLD)
        value = [1, 2, 3, 4]
        disp = 100
        call MPI_Get(seen, 10, MPI_INTEGER, target, disp, 10, MPI_INTEGER, win)
        call MPI_Win_flush(target, win)
        call MPI_Put(value, 4, MPI_INTEGER, target, disp, 4, MPI_INTEGER, win)
        call MPI_Win_flush(target, win)
        call MPI_Accumulate(value, 4, MPI_INTEGER, target, disp, 4, MPI_INTEGER, MPI_SUM, win)
        call MPI_Win_flush(target, win)
        call MPI_Rput(value, 2, MPI_INTEGER, target, disp + 4, 2, MPI_INTEGER, win, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call MPI_Fetch_and_op(value(4), old, MPI_INTEGER, target, disp, MPI_SUM, win)
        call MPI_Win_flush(target, win)
        if (old /= 2) call wrong('Fetch_and_op', 2, old)
        seen = -1
        call MPI_Get(seen, 10, MPI_INTEGER, target, disp, 10, MPI_INTEGER, win)
        call MPI_Win_flush(target, win)
        if (seen(1) /= 6) call wrong('put, accumulate, fetch', 6, seen(1))
        if (seen(4) /= 8) call wrong('put and accumulate', 8, seen(4))
        if (seen(5) /= 1) call wrong('Rput', 1, seen(5))
        if (seen(7) /= pattern(target, 107)) call wrong('beside the put', pattern(target, 107), seen(7))
        call MPI_Win_sync(win)
        call MPI_Win_unlock_all(win)
        call MPI_Barrier(MPI_COMM_WORLD)
    end subroutine passive

    subroutine active()
        type(MPI_Group) :: group, origins, targets
        integer :: round
        logical :: flag
        integer(kind=MPI_ADDRESS_KIND) :: disp
        if (kind == 4) return  ! tested with the others
        disp = 120
        call MPI_Win_fence(0, win)
        seen = -1
        call MPI_Get(seen, 30, MPI_INTEGER, target, disp, 30, MPI_INTEGER, win)
        call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
        call expect('fence', 1, 30, 1, target, 120)
        call MPI_Comm_group(MPI_COMM_WORLD, group)
        call MPI_Group_incl(group, 1, [left], origins)
        call MPI_Group_incl(group, 1, [target], targets)
        do round = 1, 3
            disp = 150
            seen = -1
            call MPI_Win_post(origins, 0, win)
            call MPI_Win_start(targets, 0, win)
            call MPI_Get(seen, 20, MPI_INTEGER, target, disp, 20, MPI_INTEGER, win)
            call MPI_Win_complete(win)
            call expect('complete', 1, 20, 1, target, 150)
            flag = round < 3
            if (flag) call MPI_Win_wait(win)
            do while (.not. flag)
                call MPI_Win_test(win, flag)
            end do
        end do
        call MPI_Group_free(origins)
        call MPI_Group_free(targets)
        call MPI_Group_free(group)
        call MPI_Barrier(MPI_COMM_WORLD)
    end subroutine active
end program fortran_f08
