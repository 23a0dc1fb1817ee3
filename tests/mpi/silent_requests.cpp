// SPDX-License-Identifier: Apache-2.0
// Requests whose completion is no acquire: of gets, puts and accumulates of this process, whatever became of
// them, completed by any call. What is cached of another window stays, which is counted in hits. And that a
// receive among them is one.
#include "request_ways.hpp"

using namespace check;

namespace {

constexpr int number = 12;
/// So that nothing is read ahead.
constexpr int unit = 4096;
constexpr int words = unit / 8;

using Settings = std::initializer_list<std::pair<const char*, const char*>>;

/// In mode acquire, each element at the begin of a unit; the second one of it is there to be written.
class Elements {
  public:
    explicit Elements(Settings settings)
        : info_(settings), window_(number * unit, unit, Kind::allocate, info_) {
        for (int i = 0; i < number; ++i) {
            window_.as<std::int64_t>()[i * words] = 100 * rank() + i;
            window_.as<std::int64_t>()[i * words + 1] = 0;
        }
        barrier();
    }
    operator MPI_Win() const { return window_; }

  private:
    Info info_;
    Window window_;
};

#define IN_MODE_ACQUIRE {"nearfetch_mode", "acquire"}
#define ATOMICS_ARE_COUNTERS {"nearfetch_atomics", "relaxed"}

// --- the kinds of requests

struct Operation {
    const char* name;
    /// \param value what is sent or fetched, of `count` numbers; \param result for what is fetched beside it
    void (*start)(MPI_Win win, int target, int i, int count, std::int64_t* value, std::int64_t* result,
                  MPI_Request* request);
};

/// A unit's second element.
MPI_Datatype second() {
    static MPI_Datatype type = MPI_DATATYPE_NULL;
    if (type != MPI_DATATYPE_NULL) return type;
    const int one = 1;
    const MPI_Aint eight = 8;
    const MPI_Datatype int64 = MPI_INT64_T;
    CHECK_MPI(MPI_Type_create_struct(1, &one, &eight, &int64, &type));
    CHECK_MPI(MPI_Type_commit(&type));
    return type;
}

const Operation operations[] = {
    {"Rget",
     [](MPI_Win win, int target, int i, int count, std::int64_t* value, std::int64_t*, MPI_Request* request) {
         CHECK_MPI(MPI_Rget(value, count, MPI_INT64_T, target, i, count, MPI_INT64_T, win, request));
     }},
    {"Rput",
     [](MPI_Win win, int target, int i, int count, std::int64_t* value, std::int64_t*, MPI_Request* request) {
         CHECK_MPI(MPI_Rput(value, count, MPI_INT64_T, target, i, count, second(), win, request));
     }},
    {"Raccumulate",
     [](MPI_Win win, int target, int i, int count, std::int64_t* value, std::int64_t*, MPI_Request* request) {
         CHECK_MPI(
             MPI_Raccumulate(value, count, MPI_INT64_T, target, i, count, second(), MPI_SUM, win, request));
     }},
    {"Rget_accumulate",
     [](MPI_Win win, int target, int i, int count, std::int64_t* value, std::int64_t* result,
        MPI_Request* request) {
         CHECK_MPI(MPI_Rget_accumulate(value, count, MPI_INT64_T, result, count, MPI_INT64_T, target, i,
                                       count, MPI_INT64_T, MPI_NO_OP, win, request));
     }},
};

// --- the states of what they are for

enum class Whose { neighbour, own, nobody };

struct Case {
    const char* name;
    MPI_Win win;
    Whose whose = Whose::neighbour;
    int count = 1;
};

int target_of(Whose whose) {
    return whose == Whose::own ? rank() : whose == Whose::nobody ? MPI_PROC_NULL : right();
}

void read_cached(MPI_Win data) {
    for (int i = 0; i < number; ++i) {
        std::int64_t value = -1;
        CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, right(), i, 1, MPI_INT64_T, data));
        CHECK_MPI(MPI_Win_flush(right(), data));
        CHECK_EQ(value, 100 * right() + i);
    }
}

/// One request at a time, or several with one of them per element.
void complete(const Case& c, const Operation& operation, const Way& way, int first, int requests_number) {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(requests_number), MPI_REQUEST_NULL);
    std::vector<std::int64_t> values(requests.size(), 0), results(requests.size(), -1);
    for (std::size_t r = 0; r < requests.size(); ++r)
        operation.start(c.win, target_of(c.whose), first + static_cast<int>(r), c.count, &values[r],
                        &results[r], &requests[r]);
    way.complete(requests, [](int) {});
}

/// Reads all data again and again, completing requests after each round.
/// \return the hits beyond the first round
unsigned long long hits_beside(MPI_Win data, const std::function<void(int)>& after_round) {
    constexpr int rounds = 3;
    read_cached(data);
    after_round(0);
    const auto before = counter(data, "hits");
    for (int round = 1; round < rounds; ++round) {
        read_cached(data);
        after_round(round);
    }
    return counter(data, "hits") - before;
}

void stays_cached(MPI_Win data, const Case& c, const Operation& operation, const Way& way) {
    static std::string name;
    name = std::string(operation.name) + ", " + c.name + ", " + way.name;
    part(name.c_str());
    const auto hits = hits_beside(data, [&](int) {
        for (const int i : {0, 5})
            complete(c, operation, way, i, 1);
        complete(c, operation, way, 2, 4);
    });
    if (counts_hits()) CHECK_EQ(hits, 2 * number);
}

/// The counter-check: one of the requests is a receive's.
void receive_acquires(MPI_Win data, const Case& c, const Way& way) {
    static std::string name;
    name = std::string("a receive among Rgets, ") + c.name + ", " + way.name;
    part(name.c_str());
    const int left = (rank() + size() - 1) % size();
    std::vector<MPI_Request> requests(3, MPI_REQUEST_NULL);
    std::int64_t values[2], received = -1;
    const std::int64_t sent = 7;
    MPI_Request sending;
    read_cached(data);
    CHECK_MPI(MPI_Irecv(&received, 1, MPI_INT64_T, left, 0, MPI_COMM_WORLD, &requests[1]));
    for (const std::size_t r : {0u, 2u})
        operations[0].start(c.win, target_of(c.whose), static_cast<int>(r), c.count, &values[r / 2], nullptr,
                            &requests[r]);
    CHECK_MPI(MPI_Isend(&sent, 1, MPI_INT64_T, right(), 0, MPI_COMM_WORLD, &sending));
    way.complete(requests, [](int) {});
    CHECK_EQ(received, sent);
    const auto before = counter(data, "hits");
    read_cached(data);
    CHECK_EQ(counter(data, "hits"), before);
    CHECK_MPI(MPI_Wait(&sending, MPI_STATUS_IGNORE));
    barrier();
}

std::size_t number_of_ways = 100;

void beside(MPI_Win data, const Case& c) {
    std::size_t ways = number_of_ways;
    for (const Way& way : all_ways()) {
        for (const Operation& operation : operations)
            stays_cached(data, c, operation, way);
        receive_acquires(data, c, way);
        if (crowded() || --ways == 0) return;
    }
}

/// So that its targets are bypassed, where that is measured: nothing can hit.
void without_reuse(MPI_Win win) {
    part("without reuse");
    for (int i = 0; i < (crowded() ? 200 : 1000); ++i) {
        std::int64_t value;
        MPI_Request request;
        operations[0].start(win, right(), i % number, 1, &value, nullptr, &request);
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Win_sync(win));
    }
}

void run() {
    const Elements data({IN_MODE_ACQUIRE,
                         {"nearfetch_bypass", "off"},
                         {"nearfetch_read_ahead_bytes", "0"},
                         NEVER_STANDS_STILL});
    const LockAll epoch(data);
    const auto beside_window = [&](const char* name, Settings settings, Whose whose = Whose::neighbour,
                                   int count = 1) {
        const Elements other(settings);
        const LockAll others_epoch(other);
        beside(data, {name, other, whose, count});
    };
    beside_window("cached", {IN_MODE_ACQUIRE, ATOMICS_ARE_COUNTERS, {"nearfetch_bypass", "off"}});
    beside_window("of oneself", {IN_MODE_ACQUIRE, ATOMICS_ARE_COUNTERS}, Whose::own);
    beside_window("of nobody", {IN_MODE_ACQUIRE, ATOMICS_ARE_COUNTERS}, Whose::nobody);
    beside_window("of no bytes", {IN_MODE_ACQUIRE, ATOMICS_ARE_COUNTERS}, Whose::neighbour, 0);
    beside_window("in a window that is off", {{"nearfetch_mode", "off"}, ATOMICS_ARE_COUNTERS});
    constexpr std::pair<const char*, const char*> modes[] = {
        {"acquire", "by measured cost"}, {"transparent", "by measured cost, transparent"}};
    for (const auto& [mode, name] : modes) {
        const Elements other({{"nearfetch_mode", mode}, ATOMICS_ARE_COUNTERS, {"nearfetch_bypass", "on"}});
        const LockAll others_epoch(other);
        without_reuse(other);
        beside(data, {name, other});
    }
    beside_window("sampled", {IN_MODE_ACQUIRE, ATOMICS_ARE_COUNTERS, {"nearfetch_bypass", "sampling"}});
    beside_window("bypassed", {IN_MODE_ACQUIRE, ATOMICS_ARE_COUNTERS, {"nearfetch_bypass", "always"}});
    MPI_Datatype type = second();
    CHECK_MPI(MPI_Type_free(&type));
}

}  // namespace

/// silent_requests [N]: with the first N ways to complete a request only.
int main(int argc, char** argv) {
    if (argc > 1) number_of_ways = std::strtoul(argv[1], nullptr, 10);
    return Program(argc, argv, 60).run_with_others(run);
}
