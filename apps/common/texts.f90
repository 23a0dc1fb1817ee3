! SPDX-License-Identifier: Apache-2.0
!
! What the Fortran programs read from their command line, and how they print their results.
module texts
    use, intrinsic :: iso_fortran_env, only: int64, real64
    implicit none
    private
    public :: argument, as_lines, decimal, number

contains

    !> A word of the command line; empty beyond its end.
    function argument(i) result(text)
        integer, intent(in) :: i
        character(:), allocatable :: text
        integer :: length
        length = 0
        if (i <= command_argument_count()) call get_command_argument(i, length=length)
        allocate (character(length) :: text)
        if (length > 0) call get_command_argument(i, text)
    end function

    !> `name value` of each line, from JSON's.
    pure function as_lines(text) result(lines)
        character(*), intent(in) :: text
        character(:), allocatable :: lines
        integer :: i
        logical :: begins
        lines = ''
        begins = .true.
        do i = 1, len(text)
            if (begins .and. text(i:i) == ' ') cycle
            begins = text(i:i) == new_line('a')
            if (scan(text(i:i), '":,') == 0) lines = lines // text(i:i)
        end do
    end function

    pure function number(value) result(text)
        integer(int64), intent(in) :: value
        character(:), allocatable :: text
        character(24) :: digits
        write (digits, '(i0)') value
        text = trim(digits)
    end function

    !> As many digits as the value has.
    pure function decimal(value) result(text)
        real(real64), intent(in) :: value
        character(:), allocatable :: text
        character(32) :: digits
        write (digits, '(es24.16e3)') value
        text = trim(adjustl(digits))
    end function
end module
