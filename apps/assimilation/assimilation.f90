! SPDX-License-Identifier: Apache-2.0
!
! assimilation.cpp in Fortran, with the module mpi_f08: ensemble data assimilation that reads each state element of
! another rank by a lock, a get and an unlock. The same options give the same digest.
program assimilation
    use, intrinsic :: iso_fortran_env, only: error_unit, int64, output_unit, real64
    use, intrinsic :: iso_c_binding, only: c_f_pointer, c_ptr
    use mpi_f08
    use assimilation_options, only: options, read_options, usage
    use assimilation_model
    use assimilation_dealing
    use assimilation_reference, only: run_serially
    use texts, only: as_lines, decimal, number
    implicit none

    type(MPI_Win) :: window
    real(real64), pointer, contiguous, asynchronous :: shared(:)  ! this rank's part of the window
    real(real64), allocatable, target, asynchronous :: created(:)
    real(real64), allocatable :: all_ensembles(:, :), truth(:)
    integer(int64) :: remote_gets = 0, all_gets
    real(real64) :: communication_seconds = 0, total_seconds = 0
    integer :: status

    call MPI_Init()
    call start_dealing()
    call prepare(status)
    if (status == 0) then
        call make_window()
        call run()
        call MPI_Win_free(window)
        call MPI_Reduce(remote_gets, all_gets, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD)
        call MPI_Allreduce(MPI_IN_PLACE, communication_seconds, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
        call MPI_Allreduce(MPI_IN_PLACE, total_seconds, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
        call deliver(status)
    end if
    call MPI_Finalize()
    if (status > 0) stop status, quiet=.true.

contains

    !> Reads the command line. `status` is 0 where the program is to go on, below where it has nothing to do.
    subroutine prepare(status)
        integer, intent(out) :: status
        character(:), allocatable :: problem
        call read_options(problem)
        status = 0
        if (problem /= '') then
            status = 2
            call complain(problem // ': see assimilation_fortran --help')
        else if (options%help) then
            status = -1
            if (rank == 0) write (output_unit, '(a)') usage
        else if (allocated(options%json)) then
            if (rank == 0) call write_json('', status)
            call MPI_Bcast(status, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
        end if
    end subroutine

    subroutine complain(problem)
        character(*), intent(in) :: problem
        if (rank == 0) write (error_unit, '(a)') 'assimilation_fortran: ' // problem
    end subroutine

    subroutine make_window()
        type(c_ptr) :: base
        integer(MPI_ADDRESS_KIND) :: bytes
        integer :: values
        values = options%members * own_count(options%elements)
        bytes = 8 * int(values, MPI_ADDRESS_KIND)
        if (options%allocate_window) then
            call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, window)
            call c_f_pointer(base, shared, [values])
        else
            allocate (created(values))
            shared => created
            call MPI_Win_create(created, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window)
        end if
    end subroutine

    subroutine run()
        real(real64), allocatable :: members(:, :), ensembles(:, :), priors(:, :)
        type(observation), allocatable :: observations(:)
        integer :: cycle, m, i
        real(real64) :: begin
        allocate (truth(options%elements), members(options%elements, own_count(options%members)))
        allocate (ensembles(options%members, own_count(options%elements)), observations(options%observations))
        allocate (priors(options%members, own_count(options%observations)))
        call first_state(truth_stream, truth)
        do m = 1, size(members, 2)
            call first_state(member_stream(rank + (m - 1) * ranks), members(:, m))
        end do
        call MPI_Barrier(MPI_COMM_WORLD)
        begin = MPI_Wtime()
        do cycle = 1, options%cycles
            call advance(truth, options%steps)
            call observe(truth, cycle, observations)
            do m = 1, size(members, 2)
                call advance(members(:, m), options%steps)
            end do
            call transpose_dealt(members, ensembles)
            do i = 1, size(ensembles, 2)
                call inflate(ensembles(:, i))
            end do
            call publish(ensembles)
            call observe_members(observations, priors)
            call assimilate(observations, priors, ensembles)
            call transpose_dealt(ensembles, members)
        end do
        total_seconds = MPI_Wtime() - begin
        call gather(ensembles, all_ensembles)
    end subroutine

    !> Lets all ranks read this rank's ensembles of now. Collective: nobody may be reading.
    subroutine publish(ensembles)
        real(real64), intent(in) :: ensembles(:, :)
        call MPI_Barrier(MPI_COMM_WORLD)
        call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window)
        shared = reshape(ensembles, [size(ensembles)])
        call MPI_F_sync_reg(shared)
        call MPI_Win_unlock(rank, window)
        call MPI_Barrier(MPI_COMM_WORLD)
    end subroutine

    !> An element's members.
    subroutine read_ensemble(element, ensemble)
        integer, intent(in) :: element  !! from 0 on
        real(real64), intent(out), asynchronous, contiguous :: ensemble(:)
        integer(MPI_ADDRESS_KIND) :: displacement
        integer :: owner
        real(real64) :: begin
        owner = modulo(element, ranks)
        displacement = int(element / ranks, MPI_ADDRESS_KIND) * options%members
        if (owner == rank) then
            ensemble = shared(displacement + 1:displacement + options%members)
            return
        end if
        begin = MPI_Wtime()
        call MPI_Win_lock(MPI_LOCK_SHARED, owner, 0, window)
        call MPI_Get(ensemble, options%members, MPI_DOUBLE_PRECISION, owner, displacement, options%members, &
            MPI_DOUBLE_PRECISION, window)
        call MPI_Win_unlock(owner, window)
        call MPI_F_sync_reg(ensemble)
        communication_seconds = communication_seconds + (MPI_Wtime() - begin)
        remote_gets = remote_gets + 1
    end subroutine

    !> What this rank's observations would be in each member.
    subroutine observe_members(observations, priors)
        type(observation), intent(in) :: observations(:)
        real(real64), intent(out) :: priors(:, :)
        real(real64), asynchronous :: ensemble(options%members)
        integer :: own, i, first
        do own = 1, size(priors, 2)
            first = observations(rank + 1 + (own - 1) * ranks)%first
            priors(:, own) = 0
            do i = 0, options%span - 1
                call read_ensemble(modulo(first + i, options%elements), ensemble)
                priors(:, own) = priors(:, own) + ensemble
            end do
            priors(:, own) = priors(:, own) / options%span
        end do
    end subroutine

    !> The filter: one observation after the other, each by its owner. It moves elements and later observations.
    subroutine assimilate(observations, priors, ensembles)
        type(observation), intent(in) :: observations(:)
        real(real64), intent(inout) :: priors(:, 0:), ensembles(:, 0:)
        real(real64) :: update(2 + 2 * options%members), centre, weight
        integer :: j, i, later, owner, element
        do j = 0, options%observations - 1
            owner = modulo(j, ranks)
            if (owner == rank) call compute_update(priors(:, j / ranks), observations(j + 1)%value, update)
            call MPI_Bcast(update, size(update), MPI_DOUBLE_PRECISION, owner, MPI_COMM_WORLD)
            centre = centre_of(observations(j + 1))
            do i = ceiling(centre - 2 * options%cutoff), floor(centre + 2 * options%cutoff)
                element = modulo(i, options%elements)
                weight = weight_at(centre, real(i, real64))
                if (modulo(element, ranks) == rank .and. weight > 0) &
                    call regress(update, weight, ensembles(:, element / ranks))
            end do
            do later = j + 1, options%observations - 1
                if (modulo(later, ranks) /= rank) cycle
                weight = weight_at(centre, centre_of(observations(later + 1)))
                if (weight > 0) call regress(update, weight, priors(:, later / ranks))
            end do
        end do
    end subroutine

    !> Compares with the serial run and prints; the exit status of all ranks. Collective.
    subroutine deliver(status)
        integer, intent(out) :: status
        character(:), allocatable :: text
        integer :: written
        status = 0
        if (rank == 0) then
            text = item('ranks', number(int(ranks, int64))) // &
                item('elements', number(int(options%elements, int64))) // &
                item('members', number(int(options%members, int64))) // &
                item('observations', number(int(options%observations, int64))) // &
                item('cycles', number(int(options%cycles, int64))) // item('digest', number(digest(all_ensembles))) // &
                item('error', decimal(error_of(all_ensembles, truth)))
            if (options%check) call check(text, status)
            text = text // item('remote_gets', number(all_gets)) // &
                item('communication_seconds', decimal(communication_seconds)) // &
                item('total_seconds', decimal(total_seconds))
            write (output_unit, '(a)', advance='no') as_lines(text)
            flush (output_unit)
            call write_json(text, written)
            status = max(status, written)
        end if
        call MPI_Bcast(status, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    end subroutine

    subroutine check(text, status)
        character(:), allocatable, intent(inout) :: text
        integer, intent(inout) :: status
        real(real64), allocatable :: expected(:, :)
        real(real64) :: error, error_without
        integer(int64) :: wrong
        call run_serially(expected, error_without)
        wrong = count(all_ensembles /= expected, kind=int64)
        text = text // item('wrong', number(wrong)) // item('error_without_assimilation', decimal(error_without))
        error = error_of(all_ensembles, truth)
        if (.not. error <= huge(error)) then
            call complain('the filter diverged (its values are not finite): give less inflation or more observations')
            status = 1
        else if (wrong /= 0) then
            call complain(number(wrong) // ' values are wrong (the serial run has others): report it')
            status = 1
        else if (.not. error < error_without) then
            call complain('the observations did not help (the mean''s error is not below that without ' // &
                'assimilation): give more observations, members or inflation')
            status = 1
        end if
    end subroutine

    !> Writes what stands in `text`, if a file was asked for.
    subroutine write_json(text, status)
        character(*), intent(in) :: text
        integer, intent(out) :: status
        integer :: unit, problem
        status = 0
        if (.not. allocated(options%json)) return
        open (newunit=unit, file=options%json, action='write', status='replace', iostat=problem)
        if (problem == 0) write (unit, '(a)', iostat=problem) &
            '{' // text(1:max(0, len(text) - 2)) // new_line('a') // '}'
        if (problem == 0) close (unit, iostat=problem)
        if (problem == 0) return
        call complain(options%json // ' cannot be written (the system refuses): name another file')
        status = 2
    end subroutine

    !> A line of a JSON object.
    pure function item(name, value) result(text)
        character(*), intent(in) :: name, value
        character(:), allocatable :: text
        text = '  "' // name // '": ' // value // ',' // new_line('a')
    end function
end program
