// SPDX-License-Identifier: Apache-2.0
// Random SPMD programs through the whole interposer, held against a reference model. Ranks synchronise in
// pairs and irregularly, by many kinds of calls, and may race; every value that is read has to be one that
// the MPI standard allows there (random_meaning.hpp). A program that fails is shrunk to the shortest that
// still does.
//
//   random_programs [--programs N] [--seconds S] [--seed N]   N programs (or for S seconds) from this seed on
//                   [--program N]                             just this one
//                   [--canary N]                              with the canary: where the acquire of a call is
//                   left
//                                                             out, one of N programs that use it has to fail
#include <algorithm>
#include <chrono>
#include <optional>

#include "../simulation/shrink.hpp"
#include "random_player.hpp"

extern "C" void nearfetch_canary_leave_out(const char* names) __attribute__((weak));

namespace random_programs {

namespace {

constexpr int shrink_runs = 400, shrink_tries = 2;
constexpr double shrink_s = 30;

struct Options {
    std::uint64_t programs = 0, seed = 1;
    double seconds = 0;
    std::optional<std::uint64_t> program;
    bool canary = false;
};

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const char* const value = argv[i + 1];
        if (name == "--programs") options.programs = std::strtoull(value, nullptr, 10);
        if (name == "--seconds") options.seconds = std::strtod(value, nullptr);
        if (name == "--seed") options.seed = std::strtoull(value, nullptr, 10);
        if (name == "--program") options.program = std::strtoull(value, nullptr, 10);
        if (name == "--canary") {
            options.canary = true;
            options.programs = std::strtoull(value, nullptr, 10);
        }
    }
    if (options.programs == 0)
        options.programs = options.seconds > 0 ? ~std::uint64_t{0} : crowded() ? 6 : 30;
    return options;
}

class Campaign {
  public:
    Campaign(const Options& options, const Windows& all) : options_(options), windows_(all) {}

    /// \return how many programs were run until one failed; none if all went well
    std::optional<std::uint64_t> run(bool tell, const Way* favourite = nullptr) {
        const auto begin = std::chrono::steady_clock::now();
        for (std::uint64_t i = 0; i < (options_.program ? 1 : options_.programs); ++i) {
            const std::uint64_t seed =
                options_.program ? *options_.program : check::pattern(3, i, 5) ^ options_.seed;
            state().seed = seed;
            if (options_.seconds > 0 && i % 8 == 0) {
                const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
                if (!agreed(passed.count() < options_.seconds)) break;
                alarm(100);
            }
            const std::vector<Step> program = Generator(seed, size(), favourite).make();
            ++programs_;
            const std::string failure = play(program, seed, total_);
            if (!fails_somewhere(failure)) continue;
            if (tell) explain(program, seed, failure);
            return i + 1;
        }
        return std::nullopt;
    }

    void summarise() const {
        std::uint64_t mine[] = {total_.reads, total_.bytes, total_.writes, total_.synchronisations,
                                total_.determined};
        std::uint64_t all[5] = {};
        MPI_Allreduce(mine, all, 5, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        unsigned long long hits = 0, all_hits = 0;
        for (const auto& window : windows_.data)
            hits += counter(*window, "hits") + counter(*window, "partial_hits");
        MPI_Allreduce(&hits, &all_hits, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (rank() == 0)
            std::cout << programs_ << " programs: " << all[0] << " reads of " << all[1] << " bytes ("
                      << all_hits << " hits), " << all[2] << " writes, " << all[3] << " synchronisations; "
                      << all[4] * 100 / std::max<std::uint64_t>(all[0], 1)
                      << " % of the reads have one value only" << std::endl;
        // Programs that say nothing would pass, too.
        if (programs_ >= 10) CHECK(all[4] * 3 > all[0] && all[2] > all[0] / 10 && all[3] > 10 * programs_);
    }

  private:
    static bool agreed(bool mine) {
        int yes = mine;
        MPI_Bcast(&yes, 1, MPI_INT, 0, MPI_COMM_WORLD);
        return yes != 0;
    }

    static bool fails_somewhere(const std::string& failure) {
        int mine = !failure.empty(), any = 0;
        MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        return any != 0;
    }

    std::string play(const std::vector<Step>& program, std::uint64_t seed, Outcome& outcome) {
        const Meaning meaning(program, size(), seed);
        outcome.failure.clear();
        Player(windows_, meaning, seed, outcome).play();
        return outcome.failure;
    }

    /// Shrinks the program and tells all about it. All ranks do it together.
    static std::string history(const std::vector<Step>& program, std::uint64_t seed) {
        std::ostringstream text;
        const Meaning meaning(program, size(), seed);
        for (const Act& act : meaning.acts())
            if (act.legal && act.step.id != 0) text << "  " << to_text(act.step) << '\n';
        return text.str();
    }

    void explain(const std::vector<Step>& program, std::uint64_t seed, const std::string& failure) {
        const auto begin = std::chrono::steady_clock::now();
        Outcome trial;
        std::string last = failure;
        const auto fails = [&](const std::vector<Step>& steps) {
            const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
            if (!agreed(passed.count() < shrink_s)) return false;
            for (int i = 0; i < shrink_tries; ++i) {
                const std::string wrong = play(steps, seed, trial);
                if (!fails_somewhere(wrong)) continue;
                last = wrong;
                return true;
            }
            return false;
        };
        alarm(100);
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
    const Windows& windows_;
    Outcome total_;
    std::uint64_t programs_ = 0;
};

/// Acquires that are left out together, and the way of synchronising that then says nothing.
struct Omission {
    const char* calls;
    Way way;
};

constexpr Omission omissions[] = {
    {"MPI_Recv", {Kind::message, 9}},
    {"MPI_Probe MPI_Recv", {Kind::message, 4}},
    {"MPI_Iprobe MPI_Recv", {Kind::message, 5}},
    {"MPI_Mprobe MPI_Mrecv", {Kind::message, 6}},
    {"MPI_Sendrecv", {Kind::exchange, 0}},
    {"MPI_Sendrecv_replace", {Kind::exchange, 1}},
    {"MPI_Wait", {Kind::message, 8}},
    {"MPI_Waitany", {Kind::message, 0}},
    {"MPI_Waitall", {Kind::message, 10}},
    {"MPI_Waitsome", {Kind::message, 20}},
    {"MPI_Test", {Kind::message, 30}},
    {"MPI_Testany", {Kind::message, 40}},
    {"MPI_Testall", {Kind::message, 50}},
    {"MPI_Testsome", {Kind::message, 60}},
    {"MPI_Request_get_status MPI_Wait", {Kind::message, 70}},
    {"MPI_Barrier", {Kind::collective, Meaning::barrier}},
    {"MPI_Allreduce", {Kind::collective, Meaning::allreduce}},
    {"MPI_Bcast", {Kind::collective, Meaning::bcast}},
    {"MPI_Wait", {Kind::begin_barrier, 8}},
    {"MPI_Fetch_and_op", {Kind::flag, 0}},
    {"MPI_Get_accumulate", {Kind::flag, 1}},
    {"MPI_Rget_accumulate MPI_Wait", {Kind::flag, 2}},
    {"MPI_Win_lock", {Kind::lock_flag, 0}},
};

void leave_out(const Options& options, const Windows& all) {
    CHECK(nearfetch_canary_leave_out != nullptr);
    if (nearfetch_canary_leave_out == nullptr) return;
    for (const Omission& omission : omissions) {
        part(omission.calls);
        nearfetch_canary_leave_out(omission.calls);
        const auto found = Campaign(options, all).run(false, &omission.way);
        nearfetch_canary_leave_out("");
        if (!found) report(__FILE__, __LINE__, std::string(omission.calls) + ": not missed when left out");
        if (rank() == 0 && found)
            std::cout << omission.calls << ": missed in program number " << *found << std::endl;
    }
}

int main(int argc, char** argv) {
    Program program(argc, argv, 100);
    const Options options = read_options(argc, argv);
    if (size() > most_ranks) return program.skip("its arrays are for fewer ranks");
    if (size() == 1) return program.skip("it needs two ranks");
    {
        const Info acquire{{"nearfetch_mode", "acquire"}, {"nearfetch_bypass", "off"}};
        const Windows all(options.canary ? MPI_Info{acquire} : MPI_INFO_NULL);
        if (!options.canary) {
            Campaign campaign(options, all);
            campaign.run(true);
            campaign.summarise();
        } else {
            leave_out(options, all);
        }
    }
    return program.finish();
}

}  // namespace

}  // namespace random_programs

int main(int argc, char** argv) { return random_programs::main(argc, argv); }
