// SPDX-License-Identifier: Apache-2.0
// Random SPMD programs through the whole interposer, held against a reference model. Ranks synchronise in
// pairs and irregularly, by many kinds of calls, and may race; every value that is read has to be one that
// the MPI standard allows there (random_meaning.hpp), or that the library in use gives
// (random_transfer.hpp). What they do on purpose because a cache may get it wrong stands in random_moves.hpp.
//
//   random_programs [--programs N]     so many programs (default: 30)
//                   [--operations N]   or until these have made so many operations; tells how far it is
//                   [--seconds S]      or for so long
//                   [--seed N]         the same seed makes the same programs
//                   [--program N]      just this one
//                   [--without MOVES]  names of moves that are left out, separated by commas
//                   [--spawn N]        N more ranks, which the others spawn
//                   [--fault-injection N]       with the fault-injection build: where the acquire of a call
//                   is left out, one of N
//                                      programs that use it has to fail

#include "random_campaign.hpp"

extern "C" void nearfetch_fault_leave_out(const char* names) __attribute__((weak));

namespace random_programs {

namespace {

/// \return whether it is understood
bool read_option(std::string_view name, const char* value, Options& options) {
    const auto number = [value] { return std::strtoull(value, nullptr, 10); };
    if (name == "--programs")
        options.programs = number();
    else if (name == "--operations")
        options.operations = number();
    else if (name == "--seconds")
        options.seconds = std::strtod(value, nullptr);
    else if (name == "--seed")
        options.seed = number();
    else if (name == "--program")
        options.program = number();
    else if (name == "--without")
        return read_moves(value, options.without);
    else if (name == "--spawn")
        options.spawned = static_cast<int>(number());
    else if (name == "--fault-injection")
        options.fault_injection = true, options.programs = number();
    else
        return false;
    return true;
}

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc || !read_option(argv[i], argv[i + 1], options)) {
            std::cerr << "random_programs: '" << argv[i] << (i + 1 == argc ? "" : " ")
                      << (i + 1 == argc ? "" : argv[i + 1])
                      << "' is no option with a value that it knows: its source lists them" << std::endl;
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    if (options.programs == 0) {
        const bool by_itself = options.seconds > 0 || options.operations > 0;
        options.programs = by_itself ? ~std::uint64_t{0} : crowded() ? 6 : 30;
    }
    // A move more may make up for the acquire that is left out.
    if (options.fault_injection) options.without.set();
    return options;
}

/// The ranks of this world, and of those that it spawns or that have spawned it.
class AllRanks {
  public:
    AllRanks(char** argv, int spawned) {
        MPI_Comm_get_parent(&others_);
        is_spawned_ = others_ != MPI_COMM_NULL;
        if (!is_spawned_ && spawned == 0) return;
        if (!is_spawned_)
            CHECK_MPI(MPI_Comm_spawn(argv[0], argv + 1, spawned, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others_,
                                     MPI_ERRCODES_IGNORE));
        CHECK_MPI(MPI_Intercomm_merge(others_, is_spawned_, &world()));
        MPI_Comm_rank(world(), &state().rank);
        MPI_Comm_size(world(), &state().size);
    }
    AllRanks(const AllRanks&) = delete;
    AllRanks& operator=(const AllRanks&) = delete;
    /// A failure of one is one of all.
    ~AllRanks() {
        if (others_ == MPI_COMM_NULL) return;
        int all = 0;
        MPI_Allreduce(&state().failures, &all, 1, MPI_INT, MPI_SUM, world());
        state().failures = all;
        MPI_Comm_free(&world());
        MPI_Comm_disconnect(&others_);
    }

  private:
    MPI_Comm others_ = MPI_COMM_NULL;
    bool is_spawned_ = false;
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
    {"MPI_Win_create MPI_Win_free MPI_Win_lock_all", {Kind::make_window, ExtraWindow::by_create}},
};

void leave_out(const Options& options, Windows& all, Twins& twins) {
    CHECK(nearfetch_fault_leave_out != nullptr);
    if (nearfetch_fault_leave_out == nullptr) return;
    for (const Omission& omission : omissions) {
        part(omission.calls);
        nearfetch_fault_leave_out(omission.calls);
        const auto found = Campaign(options, all, twins).run(false, &omission.way);
        nearfetch_fault_leave_out("");
        if (!found) report(__FILE__, __LINE__, std::string(omission.calls) + ": not missed when left out");
        if (rank() == 0 && found)
            std::cout << omission.calls << ": missed in program number " << *found << std::endl;
    }
}

void run(Options options) {
    if (!can_create(world())) options.without.set(index(Move::made));
    const Info acquire{{"nearfetch_mode", "acquire"}, {"nearfetch_bypass", "off"}};
    Windows all(options.fault_injection ? MPI_Info{acquire} : MPI_INFO_NULL);
    Twins twins;
    if (options.fault_injection) return leave_out(options, all, twins);
    Campaign campaign(options, all, twins);
    campaign.run(true);
    campaign.summarise();
}

int main(int argc, char** argv) {
    Program program(argc, argv, 100);
    const Options options = read_options(argc, argv);
    const char* cannot_run = nullptr;
    {
        const AllRanks ranks(argv, options.spawned);
        if (size() > most_ranks)
            cannot_run = "its arrays are for fewer ranks";
        else if (size() == 1)
            cannot_run = "it needs two ranks";
        else
            run(options);
    }
    return cannot_run != nullptr ? program.skip(cannot_run) : program.finish();
}

}  // namespace

}  // namespace random_programs

int main(int argc, char** argv) { return random_programs::main(argc, argv); }
