// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs random programs one after the other until there is enough of them or one fails. One that fails is
// shrunk to the shortest that still does. All ranks do all of it together.

#include <chrono>
#include <optional>

#include "../simulation/shrink.hpp"
#include "random_generator.hpp"
#include "random_player.hpp"

namespace random_programs {

struct Options {
    std::uint64_t programs = 0, operations = 0, seed = 1;
    double seconds = 0;
    std::optional<std::uint64_t> program;
    bool fault_injection = false;
    int spawned = 0;
    MovesOut without;
};

class Campaign {
  public:
    Campaign(const Options& options, Windows& all, Twins& twins)
        : options_(options), windows_(all), twins_(twins) {}

    /// \return how many programs were run until one failed; none if all went well
    std::optional<std::uint64_t> run(bool tell, const Way* favourite = nullptr) {
        for (std::uint64_t i = 0; i < (options_.program ? 1 : options_.programs); ++i) {
            const std::uint64_t seed =
                options_.program ? *options_.program : check::pattern(3, i, 5) ^ options_.seed;
            state().seed = seed;
            if (is_long() && i % 8 == 0 && !goes_on()) break;
            const std::vector<Step> program = Generator(seed, size(), options_.without, favourite).make();
            ++programs_;
            const std::string failure = play(program, seed, total_);
            if (!fails_somewhere(failure)) continue;
            if (tell) explain(program, seed, failure);
            return i + 1;
        }
        return std::nullopt;
    }

    void summarise() const {
        const std::uint64_t mine[] = {total_.reads, total_.bytes, total_.writes, total_.synchronisations,
                                      total_.determined};
        std::uint64_t all[5] = {};
        MPI_Allreduce(mine, all, 5, MPI_UINT64_T, MPI_SUM, world());
        unsigned long long hits = 0, all_hits = 0;
        for (const auto& window : windows_.data)
            hits += counter(*window, "hits") + counter(*window, "partial_hits");
        MPI_Allreduce(&hits, &all_hits, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, world());
        MoveCounts made{};
        MPI_Allreduce(total_.moves.data(), made.data(), static_cast<int>(moves), MPI_UINT64_T, MPI_SUM,
                      world());
        if (rank() == 0) {
            std::cout << programs_ << " programs, " << operations_ << " operations: " << all[0]
                      << " reads of " << all[1] << " bytes (" << all_hits << " hits), " << all[2]
                      << " writes, " << all[3] << " synchronisations; "
                      << all[4] * 100 / std::max<std::uint64_t>(all[0], 1)
                      << " % of the reads have one value only\nmoves:";
            for (std::size_t move = 1; move < moves; ++move)
                std::cout << ' ' << move_names[move] << ' ' << made[move];
            std::cout << std::endl;
        }
        // Programs that say nothing would pass, too.
        if (programs_ >= 10) CHECK(all[4] * 3 > all[0] && all[2] > all[0] / 10 && all[3] > 10 * programs_);
        if (programs_ >= enough_programs)
            for (std::size_t move = 1; move < moves; ++move)
                if (made[move] == 0 && is_expected(static_cast<Move>(move)))
                    report(__FILE__, __LINE__, std::string("no program made the move ") + move_names[move]);
    }

  private:
    static constexpr int shrink_runs = 400, shrink_tries = 2;
    static constexpr double shrink_s = 30;
    static constexpr std::uint64_t enough_programs = 30;
    static constexpr unsigned stuck_s = 100;

    bool is_long() const { return options_.seconds > 0 || options_.operations > 0; }

    bool is_expected(Move move) const {
        const auto is_out = [this](Move one) { return options_.without[index(one)]; };
        if (is_out(move)) return false;
        if (move == Move::overlap) return !is_out(Move::made);
        if (move == Move::look || move == Move::change)
            return twins_.is_prompt_somewhere() && !is_out(Move::look);
        return true;
    }

    /// Shows how far it is, and sets the time until something is called stuck anew.
    bool goes_on() {
        alarm(stuck_s);
        const bool enough = (options_.seconds > 0 && clock_s() >= options_.seconds) ||
                            (options_.operations > 0 && operations_ >= options_.operations);
        if (rank() == 0) show_progress(enough);
        return agreed(!enough);
    }

    void show_progress(bool last) {
        static const bool terminal = isatty(STDERR_FILENO) != 0;
        if (!terminal && clock_s() < shown_s_ + 10) return;
        if (terminal && clock_s() < shown_s_ + 0.5 && !last) return;
        shown_s_ = clock_s();
        std::ostringstream text;
        text << (terminal ? "\r" : "") << operations_;
        if (options_.operations > 0) text << " of " << options_.operations;
        text << " operations in " << programs_ << " programs, " << static_cast<int>(shown_s_) << " s"
             << (terminal && !last ? "" : "\n");
        std::cerr << text.str() << std::flush;
    }

    double clock_s() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

    static bool agreed(bool mine) {
        int yes = mine;
        MPI_Bcast(&yes, 1, MPI_INT, 0, world());
        return yes != 0;
    }

    static bool fails_somewhere(const std::string& failure) {
        int mine = !failure.empty(), any = 0;
        MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, world());
        return any != 0;
    }

    std::string play(const std::vector<Step>& program, std::uint64_t seed, Outcome& outcome) {
        const Meaning meaning(program, size(), seed);
        outcome.failure.clear();
        for (const Act& act : meaning.acts())
            operations_ += act.legal && act.step.id != 0;
        Player(windows_, twins_, meaning, seed, options_.without, outcome).play();
        return outcome.failure;
    }

    static std::string history(const std::vector<Step>& program, std::uint64_t seed) {
        std::ostringstream text;
        const Meaning meaning(program, size(), seed);
        for (const Act& act : meaning.acts())
            if (act.legal && act.step.id != 0) text << "  " << to_text(act.step) << '\n';
        return text.str();
    }

    /// Shrinks the program and tells all about it.
    void explain(const std::vector<Step>& program, std::uint64_t seed, const std::string& failure) {
        const double begin_s = clock_s();
        Outcome trial;
        std::string last = failure;
        const auto fails = [&](const std::vector<Step>& steps) {
            if (!agreed(clock_s() - begin_s < shrink_s)) return false;
            for (int i = 0; i < shrink_tries; ++i) {
                const std::string wrong = play(steps, seed, trial);
                if (!fails_somewhere(wrong)) continue;
                last = wrong;
                return true;
            }
            return false;
        };
        alarm(stuck_s);
        const std::vector<Step> small = nearfetch::simulation::shrunk(program, fails, shrink_runs);
        std::ostringstream text;
        text << "program " << seed << ": " << failure << "\n  shrunk to " << small.size() << " steps of "
             << program.size() << ": " << last;
        if (!failure.empty() || !last.empty()) report(__FILE__, __LINE__, text.str());
        if (rank() != 0) return;
        std::cerr << history(small, seed) << "To run it again: random_programs --program " << seed << " on "
                  << size() << " ranks" << std::endl;
    }

    const Options& options_;
    Windows& windows_;
    Twins& twins_;
    Outcome total_;
    std::uint64_t programs_ = 0, operations_ = 0;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    double shown_s_ = 0;
};

}  // namespace random_programs
