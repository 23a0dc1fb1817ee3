! SPDX-License-Identifier: Apache-2.0
!
! The model and the filter of model.cpp and filter.cpp, operation by operation, so that the results have the same bits.
module assimilation_model
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use assimilation_options, only: options
    implicit none
    private
    public :: observation, advance, observe, first_state, truth_stream, member_stream, digest, mean, inflate, error_of
    public :: compute_update, regress, weight_at, centre_of

    type observation
        integer :: first = 0  !! it is the mean of `span` elements from here on; the ring's first element is 0
        real(real64) :: value = 0
    end type

    integer(int64), parameter :: prime = 2147483647_int64  ! 2^31 - 1
    real(real64), parameter :: forcing = 8, time_step = 0.05_real64
    integer, parameter :: spin_up_steps = 200, truth_stream = 0

contains

    !> The stream of a member's random numbers; after those of the truth and of each cycle.
    pure integer function member_stream(member)
        integer, intent(in) :: member
        member_stream = 1 + options%cycles + member
    end function

    !> A generator by Park and Miller, at the begin of one of its streams.
    pure integer(int64) function stream_of(number) result(state)
        integer, intent(in) :: number
        integer :: i
        real(real64) :: ignored
        state = 1 + modulo(options%seed * 1000003_int64 + number * 7919_int64, prime - 1)
        do i = 1, 10
            call draw(state, ignored)
        end do
    end function

    pure subroutine draw(state, uniform)
        integer(int64), intent(inout) :: state
        real(real64), intent(out) :: uniform
        state = modulo(state * 48271_int64, prime)
        uniform = real(state, real64) / real(prime, real64)
    end subroutine

    !> Mean 0 and variance 1, and nearly normal.
    subroutine draw_normal(state, normal)
        integer(int64), intent(inout) :: state
        real(real64), intent(out) :: normal
        real(real64) :: uniform
        integer :: i
        normal = -6
        do i = 1, 12
            call draw(state, uniform)
            normal = normal + uniform
        end do
    end subroutine

    pure subroutine derive(x, slope)
        real(real64), intent(in) :: x(0:)
        real(real64), intent(out) :: slope(0:)
        integer :: i, n
        n = size(x)
        do i = 0, n - 1
            slope(i) = (x(modulo(i + 1, n)) - x(modulo(i - 2, n))) * x(modulo(i - 1, n)) - x(i) + forcing
        end do
    end subroutine

    !> Time steps of Lorenz's model of 1996, by Runge and Kutta's method of fourth order.
    pure subroutine advance(state, steps)
        real(real64), intent(inout) :: state(:)
        integer, intent(in) :: steps
        real(real64), dimension(size(state)) :: slope, total
        integer :: step
        do step = 1, steps
            call derive(state, slope)
            total = slope
            call derive(state + (time_step / 2) * slope, slope)
            total = total + 2 * slope
            call derive(state + (time_step / 2) * slope, slope)
            total = total + 2 * slope
            call derive(state + time_step * slope, slope)
            total = total + slope
            state = state + (time_step / 6) * total
        end do
    end subroutine

    !> The state that the truth or a member begins with.
    subroutine first_state(stream, state)
        integer, intent(in) :: stream
        real(real64), intent(out) :: state(:)
        integer(int64) :: random
        real(real64) :: normal
        integer :: i
        random = stream_of(stream)
        do i = 1, size(state)
            call draw_normal(random, normal)
            state(i) = forcing + normal
        end do
        call advance(state, spin_up_steps)
    end subroutine

    !> The observations of the truth in a cycle.
    subroutine observe(truth, cycle, observations)
        real(real64), intent(in) :: truth(0:)
        integer, intent(in) :: cycle  !! from 1 on
        type(observation), intent(out) :: observations(:)
        integer(int64) :: random
        integer :: i, j
        real(real64) :: total, ignored, normal
        random = stream_of(cycle)
        do j = 1, size(observations)
            call draw(random, ignored)
            observations(j)%first = int(modulo(random, size(truth, kind=int64)))
            total = 0
            do i = 0, options%span - 1
                total = total + truth(modulo(observations(j)%first + i, size(truth)))
            end do
            call draw_normal(random, normal)
            observations(j)%value = total / options%span + options%error * normal
        end do
    end subroutine

    !> Root mean square of the differences between the ensembles' means and the truth.
    pure real(real64) function error_of(ensembles, truth)
        real(real64), intent(in) :: ensembles(:, :), truth(:)
        real(real64) :: total
        integer :: i
        total = 0
        do i = 1, size(truth)
            total = total + (mean(ensembles(:, i)) - truth(i))**2
        end do
        error_of = sqrt(total / size(truth))
    end function

    !> A number that tells two sequences of doubles apart by their bits.
    pure integer(int64) function digest(ensembles)
        real(real64), intent(in) :: ensembles(:, :)
        integer(int64) :: bits
        integer :: i, m
        digest = 1
        do i = 1, size(ensembles, 2)
            do m = 1, size(ensembles, 1)
                bits = transfer(ensembles(m, i), bits)
                digest = modulo(digest * 65599 + iand(bits, 4294967295_int64), prime)
                digest = modulo(digest * 65599 + shiftr(bits, 32), prime)
            end do
        end do
    end function

    ! One after the other: what the intrinsic `sum` does first is up to the compiler.
    pure real(real64) function mean(values)
        real(real64), intent(in) :: values(:)
        integer :: m
        mean = 0
        do m = 1, size(values)
            mean = mean + values(m)
        end do
        mean = mean / size(values)
    end function

    !> Multiplies the ensemble's variance; its mean stays.
    pure subroutine inflate(ensemble)
        real(real64), intent(inout) :: ensemble(:)
        real(real64) :: middle, stretch
        middle = mean(ensemble)
        stretch = sqrt(options%inflation)
        ensemble = middle + stretch * (ensemble - middle)
    end subroutine

    pure real(real64) function centre_of(what)
        type(observation), intent(in) :: what
        centre_of = what%first + (options%span - 1) / 2.0_real64
    end function

    !> The weight of an observation at `centre` for what is at `place`, by Gaspari and Cohn (1999), equation 4.10.
    pure real(real64) function weight_at(centre, place)
        real(real64), intent(in) :: centre, place
        real(real64), parameter :: five_thirds = 5.0_real64 / 3.0_real64
        real(real64) :: apart, z
        apart = mod(abs(centre - place), real(options%elements, real64))
        z = min(apart, options%elements - apart) / options%cutoff
        if (z >= 2) then
            weight_at = 0
        else if (z <= 1) then
            weight_at = (((-0.25_real64 * z + 0.5_real64) * z + 0.625_real64) * z - five_thirds) * z * z + 1
        else
            weight_at = ((((z / 12 - 0.5_real64) * z + 0.625_real64) * z + five_thirds) * z - 5) * z + 4 - 2 / (3 * z)
        end if
    end function

    !> What one observation does to the ensembles of an ensemble adjustment Kalman filter (Anderson, 2003):
    !> mean and variance of what is observed, its ensemble, and the ensemble's increments.
    pure subroutine compute_update(prior, observed, update)
        real(real64), intent(in) :: prior(:), observed
        real(real64), intent(out) :: update(:)
        real(real64) :: middle, squares, variance, after, moved, shrink
        integer :: m, members
        members = size(prior)
        middle = mean(prior)
        squares = 0
        do m = 1, members
            squares = squares + (prior(m) - middle) * (prior(m) - middle)
        end do
        variance = squares / (members - 1)
        after = 1 / (1 / variance + 1 / (options%error * options%error))
        moved = after * (middle / variance + observed / (options%error * options%error))
        shrink = sqrt(after / variance)
        update(1) = middle
        update(2) = variance
        update(3:2 + members) = prior
        update(3 + members:) = (moved + shrink * (prior - middle)) - prior
    end subroutine

    !> Moves another ensemble by its regression on what is observed.
    pure subroutine regress(update, weight, ensemble)
        real(real64), intent(in) :: update(:), weight
        real(real64), intent(inout) :: ensemble(:)
        real(real64) :: middle, products
        integer :: m, members
        if (.not. update(2) > 0) return  ! members that agree learn nothing
        members = size(ensemble)
        middle = mean(ensemble)
        products = 0
        do m = 1, members
            products = products + (ensemble(m) - middle) * (update(2 + m) - update(1))
        end do
        ensemble = ensemble + (weight * (products / (members - 1)) / update(2)) * update(3 + members:)
    end subroutine
end module
