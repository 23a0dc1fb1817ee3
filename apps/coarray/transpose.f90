! SPDX-License-Identifier: Apache-2.0
!
! Transposes a square matrix element by element, in the usual style of coarray programs. Each image has some of the
! columns, and reads remote elements by a(i, j)[image]. In each round the images change all of their elements, and see
! the others' changes after `sync all`. The program computes the expected values itself.
program coarray_transpose
    use, intrinsic :: iso_fortran_env, only: error_unit, int64, output_unit, real64
    use texts, only: argument, as_lines, decimal, number
    implicit none

    character(*), parameter :: usage = &
        'usage: coarray_transpose [--columns N] [--rounds N] [--json FILE]' // new_line('a') // &
        '  --columns N   of each image; the matrix has as many rows and columns as all images have columns (200)' // &
        new_line('a') // '  --rounds N    times that it is transposed (5)' // new_line('a') // &
        '  --json FILE   write the results to this file, too'

    integer :: columns = 200, rounds = 5
    character(:), allocatable :: json
    integer :: order, first, round
    real(real64), allocatable :: matrix(:, :)[:], transposed(:, :)
    real(real64), allocatable :: seconds(:)  ! of each round, of this image; then of the slowest
    real(real64) :: all_seconds
    integer(int64) :: wrong, checksum

    call read_arguments()
    order = columns * num_images()
    first = columns * (this_image() - 1)
    allocate (matrix(order, columns)[*], transposed(order, columns), seconds(rounds))
    wrong = 0
    checksum = 0
    do round = 1, rounds
        call fill()
        sync all
        call transpose_by_elements()
        sync all
        call check()
    end do
    call co_sum(wrong)
    call co_sum(checksum)
    all_seconds = sum(seconds)
    call co_max(all_seconds)
    call co_max(seconds)
    if (this_image() == 1) call deliver()
    sync all
    if (wrong /= 0) stop 1, quiet=.true.

contains

    !> The value in a row and a column in this round.
    pure real(real64) function element(row, column)
        integer, intent(in) :: row, column
        element = real(modulo(31_int64 * row + 17_int64 * column + 13_int64 * round, 1009_int64), real64)
    end function

    subroutine fill()
        integer :: row, column
        do column = 1, columns
            do row = 1, order
                matrix(row, column) = element(row, first + column)
            end do
        end do
    end subroutine

    subroutine transpose_by_elements()
        integer :: row, column, owner
        integer(int64) :: begin, end, per_second
        call system_clock(begin, per_second)
        do column = 1, columns
            do owner = 1, num_images()
                do row = 1, columns
                    transposed((owner - 1) * columns + row, column) = matrix(first + column, row)[owner]
                end do
            end do
        end do
        call system_clock(end)
        seconds(round) = real(end - begin, real64) / real(per_second, real64)
    end subroutine

    subroutine check()
        integer :: row, column
        do column = 1, columns
            do row = 1, order
                if (transposed(row, column) /= element(first + column, row)) wrong = wrong + 1
                checksum = checksum + int(transposed(row, column), int64) * modulo(row, 13)
            end do
        end do
    end subroutine

    subroutine deliver()
        character(:), allocatable :: text, each
        integer :: unit, status, i
        each = decimal(seconds(1))
        do i = 2, rounds
            each = each // ', ' // decimal(seconds(i))
        end do
        text = '  "ranks": ' // number(int(num_images(), int64)) // ',' // new_line('a') // &
            '  "reads": ' // number(int(order, int64)**2 * rounds) // ',' // new_line('a') // &
            '  "checksum": ' // number(checksum) // ',' // new_line('a') // &
            '  "wrong": ' // number(wrong) // ',' // new_line('a') // &
            '  "communication_seconds": ' // decimal(all_seconds) // ',' // new_line('a') // &
            '  "communication_seconds_per_round": [' // each // ']'
        write (output_unit, '(a)') as_lines(text)
        flush (output_unit)
        if (.not. allocated(json)) return
        open (newunit=unit, file=json, action='write', status='replace', iostat=status)
        if (status == 0) write (unit, '(a)', iostat=status) '{' // new_line('a') // text // new_line('a') // '}'
        if (status == 0) close (unit, iostat=status)
        if (status == 0) return
        write (error_unit, '(a)') 'coarray_transpose: ' // json // &
            ' cannot be written (the system refuses): name another file'
        error stop 2, quiet=.true.
    end subroutine

    subroutine read_arguments()
        integer :: i
        character(:), allocatable :: name, value
        i = 1
        do while (i <= command_argument_count())
            name = argument(i)
            if (name == '--help') then
                if (this_image() == 1) write (output_unit, '(a)') usage
                stop
            end if
            value = argument(i + 1)
            select case (name)
            case ('--columns')
                columns = whole_number(name, value)
            case ('--rounds')
                rounds = whole_number(name, value)
            case ('--json')
                if (value == '') call refuse(name // ' names no file (there is nowhere to write to)')
                json = value
            case default
                call refuse('unknown argument ' // name // ' (bad command line)')
            end select
            i = i + 2
        end do
    end subroutine

    integer function whole_number(name, value)
        character(*), intent(in) :: name, value
        integer :: status
        status = 1
        if (len(value) > 0 .and. len(value) <= 5 .and. verify(value, '0123456789') == 0) &
            read (value, *, iostat=status) whole_number
        if (status == 0) then
            if (whole_number > 0) return
        end if
        call refuse(name // ' ' // value // ' (it is a whole number from 1 to 99999)')
        whole_number = 0
    end function

    subroutine refuse(problem)
        character(*), intent(in) :: problem
        if (this_image() == 1) write (error_unit, '(a)') 'coarray_transpose: ' // problem // &
            ': see coarray_transpose --help'
        sync all  ! the first image that stops ends the others
        stop 2, quiet=.true.
    end subroutine
end program
