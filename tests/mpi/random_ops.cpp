// SPDX-License-Identifier: Apache-2.0
// Random programs: rounds of gets, puts, accumulates and atomics with random types, ranges, targets and kinds
// of epoch, compared with a model of all windows' memory that every rank keeps. Always legal MPI: in a round
// that writes, each 256-byte segment of each window belongs to one rank (or to nobody, and is then only
// read), and a rank completes what it has under way before it touches the same bytes again. Arguments: seeds.
#include <algorithm>

#include "check.hpp"
#include "random_actor.hpp"

using namespace check;

namespace {

/// Everybody but oneself, for post and start.
MPI_Group others() {
    MPI_Group all, rest;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    const int me = rank();
    MPI_Group_excl(all, 1, &me, &rest);
    MPI_Group_free(&all);
    return rest;
}

void one_round(Part& part, std::uint64_t seed, int round, Phase phase, Style style, int operations) {
    std::vector<std::vector<int>> owner(static_cast<std::size_t>(size()), std::vector<int>(segments));
    Random plan(seed * 31 + static_cast<std::uint64_t>(round));
    for (auto& row : owner)
        for (int& o : row) {
            o = static_cast<int>(plan.below(static_cast<std::uint64_t>(size()) + 1));
            if (o == size()) o = nobody;
        }
    const auto play = [&](Actor& actor) {
        if (phase == Phase::read) actor.reads(operations);
        if (phase == Phase::write) actor.writes(operations * 3, owner);
        if (phase == Phase::add) actor.adds(operations);
    };
    Actor me(part, seed, round, rank(), style, true);
    MPI_Group group = MPI_GROUP_NULL;
    if (style == Style::lock_all) CHECK_MPI(MPI_Win_lock_all(0, part.window));
    if (style == Style::fence) CHECK_MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, part.window));
    if (style == Style::pscw) {
        group = others();
        CHECK_MPI(MPI_Win_post(group, 0, part.window));
        CHECK_MPI(MPI_Win_start(group, 0, part.window));
    }
    play(me);
    me.before_close();
    if (style == Style::fence) CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, part.window));
    if (style == Style::pscw) {
        CHECK_MPI(MPI_Win_complete(part.window));
        CHECK_MPI(MPI_Win_wait(part.window));
        MPI_Group_free(&group);
    }
    me.finish_all();
    if (style == Style::lock_all) CHECK_MPI(MPI_Win_unlock_all(part.window));
    for (int r = 0; r < size(); ++r)
        if (r != rank()) {
            Actor other(part, seed, round, r, style, false);
            play(other);
        }
}

/// Owners change their own memory by stores, and compare all of it with the model first.
void stores(Part& part, std::uint64_t seed, int round, bool change) {
    for (int r = 0; r < size(); ++r) {
        Random random(seed * 131 + static_cast<std::uint64_t>(round * 17 + r));
        auto& model = part.model[static_cast<std::size_t>(r)];
        if (r == rank()) {
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, r, 0, part.window));
            for (int i = 0; i < window_bytes; ++i)
                if (part.window.bytes()[i] != model[static_cast<std::size_t>(i)]) {
                    report(__FILE__, __LINE__,
                           "round " + std::to_string(round) + ": own byte " + std::to_string(i) +
                               ": expected " + show(model[static_cast<std::size_t>(i)]) + ", seen " +
                               show(part.window.bytes()[i]));
                    break;
                }
        }
        for (int i = 0; change && i < 30; ++i) {
            const auto at = random.below(window_bytes);
            model[at] = static_cast<unsigned char>(random.next());
            if (r == rank()) part.window.bytes()[at] = model[at];
        }
        if (r == rank()) CHECK_MPI(MPI_Win_unlock(r, part.window));
    }
}

void run(std::uint64_t seed, int rounds, int operations) {
    state().seed = seed;
    check::part("random operations");
    std::vector<int> mixed_units, ones(static_cast<std::size_t>(size()), 1);
    for (int r = 0; r < size(); ++r)
        mixed_units.push_back(r % 3 == 0 ? 4 : r % 3 == 1 ? 1 : 2);
    Part first(0, Kind::allocate, mixed_units), second(0, Kind::create, ones),
        third(0, Kind::create, mixed_units);
    Part* parts[] = {&first, &second, &third};
    barrier();
    Random plan(seed);
    for (int round = 0; round < rounds; ++round) {
        Part& part = *parts[plan.below(3)];
        const auto phase = static_cast<Phase>(plan.below(4));
        auto style = static_cast<Style>(plan.below(4));
        if (style == Style::pscw && size() == 1) style = Style::lock_all;
        if (phase == Phase::store)
            stores(part, seed, round, true);
        else
            one_round(part, seed, round, phase, style, operations);
        barrier();
        if (phase != Phase::read) forget(part.window);
    }
    for (Part* part : parts) {
        stores(*part, seed, rounds, false);
        barrier();
    }
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, 100);
    std::vector<std::uint64_t> seeds;
    for (int i = 1; i < argc; ++i)
        seeds.push_back(std::strtoull(argv[i], nullptr, 10));
    if (seeds.empty()) seeds = {1, 2, 3};
    for (const std::uint64_t seed : seeds)
        run(seed, crowded() ? 12 : 40, crowded() ? 15 : 40);
    return program.finish();
}
