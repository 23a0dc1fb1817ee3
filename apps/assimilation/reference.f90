! SPDX-License-Identifier: Apache-2.0
!
! What the program has to arrive at, computed without communication.
module assimilation_reference
    use, intrinsic :: iso_fortran_env, only: real64
    use assimilation_options, only: options
    use assimilation_model
    implicit none
    private
    public :: run_serially

contains

    !> The ensembles of all elements, and the error of the ensemble's mean if nothing is assimilated.
    subroutine run_serially(ensembles, error_without)
        real(real64), allocatable, intent(out) :: ensembles(:, :)
        real(real64), intent(out) :: error_without
        real(real64), allocatable :: without(:, :), truth(:), state(:)
        type(observation), allocatable :: observations(:)
        integer :: cycle, i, m
        allocate (ensembles(options%members, options%elements), truth(options%elements), state(options%elements))
        allocate (observations(options%observations))
        call first_state(truth_stream, truth)
        do m = 1, options%members
            call first_state(member_stream(m - 1), state)
            ensembles(m, :) = state
        end do
        without = ensembles
        do cycle = 1, options%cycles
            call advance(truth, options%steps)
            call observe(truth, cycle, observations)
            call advance_members(ensembles)
            call advance_members(without)
            do i = 1, options%elements
                call inflate(ensembles(:, i))
            end do
            call assimilate(observations, ensembles)
        end do
        error_without = error_of(without, truth)
    end subroutine

    subroutine advance_members(ensembles)
        real(real64), intent(inout) :: ensembles(:, :)
        real(real64), allocatable :: state(:)
        integer :: m
        do m = 1, options%members
            state = ensembles(m, :)
            call advance(state, options%steps)
            ensembles(m, :) = state
        end do
    end subroutine

    subroutine assimilate(observations, ensembles)
        type(observation), intent(in) :: observations(:)
        real(real64), intent(inout) :: ensembles(:, 0:)
        real(real64), allocatable :: priors(:, :), update(:)
        real(real64) :: centre, weight
        integer :: i, j, later
        allocate (priors(options%members, options%observations), update(2 + 2 * options%members))
        do j = 1, options%observations
            priors(:, j) = 0
            do i = 0, options%span - 1
                priors(:, j) = priors(:, j) + ensembles(:, modulo(observations(j)%first + i, options%elements))
            end do
            priors(:, j) = priors(:, j) / options%span
        end do
        do j = 1, options%observations
            call compute_update(priors(:, j), observations(j)%value, update)
            centre = centre_of(observations(j))
            do i = ceiling(centre - 2 * options%cutoff), floor(centre + 2 * options%cutoff)
                weight = weight_at(centre, real(i, real64))
                if (weight > 0) call regress(update, weight, ensembles(:, modulo(i, options%elements)))
            end do
            do later = j + 1, options%observations
                weight = weight_at(centre, centre_of(observations(later)))
                if (weight > 0) call regress(update, weight, priors(:, later))
            end do
        end do
    end subroutine
end module
