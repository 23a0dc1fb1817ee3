! SPDX-License-Identifier: Apache-2.0
!
! The command line of assimilation.f90. Every rank reads it; who refuses it gets the reason.
module assimilation_options
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use texts, only: argument
    implicit none
    private
    public :: options, read_options, usage

    type option_values
        integer :: elements = 960, members = 20, observations = 1920, span = 4, cycles = 5, steps = 2
        integer(int64) :: seed = 1
        real(real64) :: cutoff = 4, error = 1, inflation = 1.1_real64
        logical :: check = .true., allocate_window = .true., help = .false.
        character(:), allocatable :: json
    end type

    type(option_values), protected :: options

    character(*), parameter :: usage = &
        'usage: assimilation_fortran [OPTION VALUE]...' // new_line('a') // &
        '  --elements N       of the state (960)' // new_line('a') // &
        '  --members N        of the ensemble (20)' // new_line('a') // &
        '  --observations N   in each cycle (1920)' // new_line('a') // &
        '  --span N           elements that an observation is the mean of (4)' // new_line('a') // &
        '  --cycles N         of model and observations (5)' // new_line('a') // &
        '  --steps N          of the model in a cycle (2)' // new_line('a') // &
        '  --cutoff X         half the distance, in elements, from which on an observation changes nothing (4)' // &
        new_line('a') // &
        '  --error X          standard deviation of the observations'' errors (1)' // new_line('a') // &
        '  --inflation X      the ensembles'' variances are multiplied by this in each cycle (1.1)' // &
        new_line('a') // &
        '  --seed N           of all that is left to chance (1)' // new_line('a') // &
        '  --no-check         leave out the serial run on rank 0 that the result is compared with' // new_line('a') // &
        '  --window KIND      allocate: by MPI_Win_allocate (default); create: by MPI_Win_create' // new_line('a') // &
        '  --json FILE        write the results to this file, too'

contains

    !> Sets `options`; `problem` stays empty if all are good.
    subroutine read_options(problem)
        character(:), allocatable, intent(out) :: problem
        integer :: i
        character(:), allocatable :: name
        problem = ''
        i = 1
        do while (i <= command_argument_count() .and. problem == '')
            name = argument(i)
            i = i + 1
            select case (name)
            case ('--help')
                options%help = .true.
                return
            case ('--no-check')
                options%check = .false.
            case default
                call read_value(name, argument(i), problem)
                i = i + 1
            end select
        end do
        if (problem == '') call find_conflict(problem)
    end subroutine

    subroutine read_value(name, value, problem)
        character(*), intent(in) :: name, value
        character(:), allocatable, intent(inout) :: problem
        integer :: seed
        seed = int(options%seed)
        select case (name)
        case ('--elements')
            call read_whole(name, value, 4, 10000000, options%elements, problem)
        case ('--members')
            call read_whole(name, value, 2, 1000, options%members, problem)
        case ('--observations')
            call read_whole(name, value, 1, 1000000, options%observations, problem)
        case ('--span')
            call read_whole(name, value, 1, 10000000, options%span, problem)
        case ('--cycles')
            call read_whole(name, value, 1, 1000000, options%cycles, problem)
        case ('--steps')
            call read_whole(name, value, 1, 1000000, options%steps, problem)
        case ('--seed')
            call read_whole(name, value, 0, 1000000, seed, problem)
            options%seed = seed
        case ('--cutoff')
            call read_real(name, value, 0.5_real64, 1e6_real64, '0.5 to 1000000', options%cutoff, problem)
        case ('--error')
            call read_real(name, value, 1e-3_real64, 1e3_real64, '0.001 to 1000', options%error, problem)
        case ('--inflation')
            call read_real(name, value, 1.0_real64, 4.0_real64, '1 to 4', options%inflation, problem)
        case ('--window')
            options%allocate_window = value == 'allocate'
            if (value /= 'allocate' .and. value /= 'create') &
                problem = name // ' ' // value // ' (it is allocate or create)'
        case ('--json')
            options%json = value
            if (value == '') problem = name // ' names no file (there is nowhere to write to)'
        case default
            problem = 'unknown argument ' // name // ' (bad command line)'
        end select
    end subroutine

    !> A problem that no option has alone.
    subroutine find_conflict(problem)
        character(:), allocatable, intent(inout) :: problem
        integer(int64), parameter :: most = 2_int64**28  ! a rank's values and messages are counted in 32 bits
        if (int(options%elements, int64) * options%members > most) &
            problem = '--elements is too many (members times elements are at most 2^28)'
        if (int(options%observations, int64) * options%members > most) &
            problem = '--observations is too many (members times observations are at most 2^28)'
        if (options%span > options%elements) problem = '--span is too long (there are fewer elements)'
        if (4 * options%cutoff > options%elements) &
            problem = '--cutoff is too large (an observation would reach around the ring of elements)'
    end subroutine

    subroutine read_whole(name, value, least, most, number, problem)
        character(*), intent(in) :: name, value
        integer, intent(in) :: least, most
        integer, intent(inout) :: number
        character(:), allocatable, intent(inout) :: problem
        character(60) :: range
        integer :: read_number, status
        status = 1
        read_number = 0
        if (len(value) > 0 .and. len(value) <= 9 .and. verify(value, '0123456789') == 0) &
            read (value, *, iostat=status) read_number
        if (status == 0 .and. read_number >= least .and. read_number <= most) then
            number = read_number
        else
            write (range, '(a,i0,a,i0,a)') ' (it is a whole number from ', least, ' to ', most, ')'
            problem = name // ' ' // value // trim(range)
        end if
    end subroutine

    subroutine read_real(name, value, least, most, range, number, problem)
        character(*), intent(in) :: name, value, range
        real(real64), intent(in) :: least, most
        real(real64), intent(inout) :: number
        character(:), allocatable, intent(inout) :: problem
        real(real64) :: read_number
        integer :: status
        status = 1
        read_number = 0
        if (len(value) > 0 .and. len(value) <= 20 .and. verify(value, '0123456789.') == 0) &
            read (value, *, iostat=status) read_number
        if (status == 0 .and. read_number >= least .and. read_number <= most) then
            number = read_number
        else
            problem = name // ' ' // value // ' (it is a number from ' // range // ')'
        end if
    end subroutine
end module
