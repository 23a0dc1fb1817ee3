// SPDX-License-Identifier: Apache-2.0
//
// What a recorded job would fetch through caches without limit. From other nodes: through one of each rank,
// or one of each node. From its own node (near): through one of each rank. A byte has to be fetched if the
// cache did not ask for it since the rank's last acquire, or if the rank has written there since. Prints one
// JSON object.

#include <CLI/CLI.hpp>
#include <boost/icl/interval_map.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "recording/event_reader.hpp"
#include "recording/recorded_process.hpp"

using namespace nearfetch;

namespace {

using Times = boost::icl::interval_map<std::uint64_t, std::uint64_t>;  ///< of bytes, ns since 1970
using Bytes = Times::interval_type;

struct Traffic {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
};

/// A process's events, with the times at which they begin.
class Process {
  public:
    explicit Process(const std::string& path)
        : recorded_(read_process(path)), reader_(path), now_ns_(recorded_.begin_ns) {
        step();
    }

    Rank rank() const { return recorded_.rank; }
    bool is_sampled() const { return recorded_.sampled != Sampling::all; }
    bool is_over() const { return is_over_; }
    const Event& event() const { return event_; }
    std::uint64_t now_ns() const { return now_ns_; }
    void step() {
        now_ns_ += event_.took_ns;
        is_over_ = !reader_.next(event_);
        now_ns_ += event_.gap_ns;
    }

  private:
    RecordedProcess recorded_;
    EventReader reader_;
    Event event_;
    std::uint64_t now_ns_;
    bool is_over_ = false;
};

/// The caches of a level: processes with the same number share one.
class Caches {
  public:
    /// A rank asks for bytes of a target. \param written when it wrote there
    void get(Rank cache, std::uint32_t window, Rank target, Bytes bytes, const Times& written,
             std::uint64_t acquired_ns, std::uint64_t now_ns) {
        Times& fetched = fetched_[{cache, window, target}];
        boost::icl::interval_set<std::uint64_t> missing(bytes);
        for (const auto& [part, when] : fetched& bytes) {
            if (when <= acquired_ns) continue;
            missing -= part;
            for (const auto& [overwritten, then] : written& part)
                if (then >= when) missing += overwritten;
        }
        for (const auto& part : missing) {
            ++traffic_.messages;
            traffic_.bytes += part.upper() - part.lower();
            fetched.set({part, now_ns});
        }
    }
    const Traffic& traffic() const { return traffic_; }

  private:
    std::map<std::tuple<Rank, std::uint32_t, Rank>, Times> fetched_;
    Traffic traffic_;
};

/// Calls with each range of an access.
template <class Range>
void for_each_range(const Event& event, const Range& call) {
    if (event.values.empty()) call(Bytes::right_open(event.offset, event.offset + event.size));
    for (std::size_t at = 0; at + 1 < event.values.size(); at += 2) {
        const std::uint64_t begin = event.offset + event.values[at];
        call(Bytes::right_open(begin, begin + event.values[at + 1]));
    }
}

class Count {
  public:
    explicit Count(Rank node_ranks) : node_ranks_(node_ranks) {}

    void add(Rank rank, const Event& event, std::uint64_t now_ns) {
        std::uint64_t& acquired_ns = acquired_ns_[rank];
        AcquireCount acquires;
        acquires.note(event.kind);
        if (acquires.all != 0) acquired_ns = now_ns + event.took_ns;
        if (!event.is_access() || event.target == rank) return;
        const Rank node = rank / node_ranks_;
        Times& written = written_[{rank, event.window, event.target}];
        for_each_range(event, [&](const Bytes& bytes) {
            if (event.kind != EventKind::get) {
                written.set({bytes, now_ns + event.took_ns});
                return;
            }
            const auto get = [&](Caches& caches, Rank cache) {
                caches.get(cache, event.window, event.target, bytes, written, acquired_ns, now_ns);
            };
            if (event.target / node_ranks_ == node) return get(near_, rank);
            get(rank_, rank);
            get(node_, node);
        });
    }
    void print() const {
        const auto print = [](const char* name, const Traffic& t, const char* end) {
            std::printf("\"%s_messages\": %llu, \"%s_bytes\": %llu%s", name,
                        static_cast<unsigned long long>(t.messages), name,
                        static_cast<unsigned long long>(t.bytes), end);
        };
        std::fputs("{", stdout);
        print("near", near_.traffic(), ", ");
        print("rank", rank_.traffic(), ", ");
        print("node", node_.traffic(), "}\n");
    }

  private:
    Rank node_ranks_;
    Caches near_, rank_, node_;
    std::map<Rank, std::uint64_t> acquired_ns_;
    std::map<std::tuple<Rank, std::uint32_t, Rank>, Times> written_;
};

void count(const std::vector<std::string>& files, Rank node_ranks) {
    std::vector<std::unique_ptr<Process>> processes;
    for (const std::string& file : files) {
        processes.push_back(std::make_unique<Process>(file));
        if (processes.back()->is_sampled()) throw std::runtime_error(file + ": a part is missing (--limit)");
    }
    Count sum(node_ranks);
    while (true) {
        Process* next = nullptr;
        for (const auto& process : processes)
            if (!process->is_over() && (next == nullptr || process->now_ns() < next->now_ns()))
                next = process.get();
        if (next == nullptr) return sum.print();
        sum.add(next->rank(), next->event(), next->now_ns());
        next->step();
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("What caches without limit would fetch from other nodes.");
    std::vector<std::string> files;
    Rank node_ranks = 1;
    app.add_option("FILES", files, "the ranks' recordings (nearfetch record)")
        ->required()
        ->check(CLI::ExistingFile);
    app.add_option("--node-ranks", node_ranks, "ranks of a node")->check(CLI::PositiveNumber);
    CLI11_PARSE(app, argc, argv);
    try {
        count(files, node_ranks);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "node_count: %s\n", error.what());
        return 1;
    }
}
