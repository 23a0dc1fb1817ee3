// SPDX-License-Identifier: Apache-2.0
//
// Each Fortran wrapper that is made from calls.txt hands its arguments on to the library's function of the
// same name, and then acquires, once; one of a call with a flag only when the flag is true. Without the
// call's acquire, which is left out as in the fault-injection build, none does. Here the library's functions
// are stand-ins.

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <string>
#include <utility>

#include "fortran_cases.hpp"
#include "mpi/fortran/next_fortran.hpp"
#include "mpi/wrappers/acquire_scope.hpp"

namespace {

std::string left_out_call;
const char* asked_for = nullptr;  ///< of next_fortran
void* stand_in = nullptr;
int flag_at = -1;
MPI_Fint flag = 1;
std::array<void*, 32> received;
std::size_t received_count = 0;

template <std::size_t>
using Argument = void*;

template <std::size_t... I>
void receive(Argument<I>... arguments) {
    received = {arguments...};
    received_count = sizeof...(I);
    if (flag_at >= 0) *static_cast<MPI_Fint*>(received[static_cast<std::size_t>(flag_at)]) = flag;
}

template <std::size_t... I>
void check(void (*wrapper)(Argument<I>...), const char* name, const char* call, int where,
           std::index_sequence<I...>) {
    SCOPED_TRACE(name);
    stand_in = reinterpret_cast<void*>(&receive<I...>);
    flag_at = where;
    std::array<MPI_Fint, sizeof...(I)> variables{};
    const auto acquires = [&](const char* without, bool done) {
        left_out_call = without;
        flag = done;
        received_count = 0;
        const std::uint64_t before = nearfetch::interposer.process.acquires.count();
        wrapper(&variables[I]...);
        EXPECT_EQ(received_count, sizeof...(I));
        for (std::size_t i = 0; i < sizeof...(I); ++i)
            EXPECT_EQ(received[i], &variables[i]);
        return nearfetch::interposer.process.acquires.count() - before;
    };
    EXPECT_EQ(acquires("", true), 1U);
    EXPECT_STREQ(asked_for, name);
    EXPECT_EQ(acquires(call, true), 0U) << "without its line in calls.txt";
    EXPECT_EQ(acquires("MPI_Nothing", true), 1U);
    EXPECT_EQ(acquires("", false), where < 0 ? 1U : 0U);
}

TEST(FortranCalls, EachAcquiresUnlessItIsLeftOut) {
    int tested = 0;
#define CASE(name, call, count, where) \
    check(&name, #name, call, where, std::make_index_sequence<count>{}), ++tested;
    FORTRAN_CASES
#undef CASE
    std::printf("%d Fortran wrappers\n", tested);
    EXPECT_GE(tested, 57);
}

}  // namespace

namespace nearfetch {

constinit Interposer interposer;
void Interposer::end_lease_writing() noexcept {}
void Interposer::prepare_report() noexcept {}

bool left_out(const char* call) noexcept { return left_out_call == call; }

void* next_fortran(const char* name) noexcept {
    asked_for = name;
    return stand_in;
}

}  // namespace nearfetch

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
