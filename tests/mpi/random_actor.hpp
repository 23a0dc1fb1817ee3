// SPDX-License-Identifier: Apache-2.0
#pragma once

// One rank's random operations on one window, executed and checked, or only played on the model.

#include "random_layout.hpp"

namespace check {

constexpr int window_bytes = 2048;
constexpr int segment_bytes = 256;
constexpr int segments = window_bytes / segment_bytes;
constexpr int nobody = -1;

enum class Style { lock_all, lock, fence, pscw };
enum class Phase { read, write, store, add };
enum class Action {
    get,
    rget,
    put,
    rput,
    accumulate,
    raccumulate,
    get_accumulate,
    fetch_and_op,
    compare_and_swap
};

/// One of the windows, with the model of all ranks' parts.
struct Part {
    Part(MPI_Aint, Kind k, std::vector<int> u)
        : kind(k), units(std::move(u)), window(window_bytes, units[static_cast<std::size_t>(rank())], k) {
        for (int r = 0; r < size(); ++r) {
            model.emplace_back(window_bytes);
            fill(model.back().data(), window_bytes, r);
        }
        fill(window.bytes(), window_bytes, rank());
    }
    Kind kind;
    std::vector<int> units;  ///< displacement unit of each rank
    Window window;
    std::vector<std::vector<unsigned char>> model;
};

/// What a rank has under way.
struct Pending {
    int target;
    bool reads;  ///< a get (a put has nothing to check)
    std::vector<unsigned char> buffer, expected;
    Layout layout;
    MPI_Request request = MPI_REQUEST_NULL;
    std::string what;
};

/// The operations of one rank in one round. With `real` they are executed and checked; without, only the
/// model changes, in exactly the same way.
class Actor {
  public:
    Actor(Part& part, std::uint64_t seed, int round, int actor, Style style, bool real)
        : part_(part),
          random_(seed * 7919 + static_cast<std::uint64_t>(round) * 104729 +
                  static_cast<std::uint64_t>(actor)),
          build_(random_.next()),
          round_(round),
          actor_(actor),
          style_(style),
          real_(real),
          reading_(static_cast<std::size_t>(size()), std::vector<char>(window_bytes)),
          writing_(reading_),
          locked_(static_cast<std::size_t>(size())) {}

    void reads(int number) {
        for (int i = 0; i < number; ++i) {
            const int target = random_target();
            const auto base = 4 * static_cast<int>(random_.below(window_bytes / 4 - 2));
            const int ints = random_.between(0, 1 << random_.below(9));
            const Layout layout =
                shifted(random_layout(random_, ints, std::min(window_bytes - base, 1200)), base);
            act(random_.below(3) ? Action::get : Action::rget, target, layout);
            finish_some();
        }
    }

    void writes(int number, const std::vector<std::vector<int>>& owner) {
        for (int i = 0; i < number; ++i) {
            const int target = random_target();
            const int segment = static_cast<int>(random_.below(segments));
            const int owned_by = owner[static_cast<std::size_t>(target)][static_cast<std::size_t>(segment)];
            auto action = static_cast<Action>(random_.below(9));
            const int ints = random_.between(0, segment_bytes / 4);
            const Layout layout =
                shifted(random_layout(random_, ints, segment_bytes), segment * segment_bytes);
            if (owned_by != actor_) {
                if (owned_by != nobody) continue;
                action = random_.below(2) ? Action::get : Action::rget;
            }
            act(action, target, layout);
            finish_some();
        }
    }

    void adds(int number) {
        for (int i = 0; i < number; ++i) {
            const int target = random_target();
            const int base = 4 * static_cast<int>(random_.below(window_bytes / 4 - 64));
            add(target, shifted(random_layout(random_, random_.between(1, 40), 256), base));
        }
    }

    /// Ends the round's epochs.
    void finish_all() {
        if (style_ == Style::lock)
            for (int t = 0; t < size(); ++t)
                unlock(t);
        else if (style_ == Style::lock_all && real_)
            CHECK_MPI(MPI_Win_flush_all(part_.window));
        // A fence or complete was called by the caller.
        completed([](const Pending&) { return true; });
    }

    void before_close() {
        wait_requests([](const Pending&) { return true; });
    }

  private:
    static Layout shifted(Layout layout, int by) {
        for (Block& b : layout)
            b.offset += by;
        layout.erase(
            std::remove_if(layout.begin(), layout.end(), [](const Block& b) { return b.bytes == 0; }),
            layout.end());
        return layout;
    }

    int random_target() {
        int target = static_cast<int>(random_.below(static_cast<std::uint64_t>(size())));
        if (style_ == Style::pscw && target == actor_) target = (target + 1) % size();
        return target;
    }

    bool passive() const { return style_ == Style::lock_all || style_ == Style::lock; }

    bool overlaps(const std::vector<char>& map, const Layout& layout) const {
        for (const Block& b : layout)
            if (std::find(map.begin() + b.offset, map.begin() + b.offset + b.bytes, 1) !=
                map.begin() + b.offset + b.bytes)
                return true;
        return false;
    }
    static void mark(std::vector<char>& map, const Layout& layout) {
        for (const Block& b : layout)
            std::fill_n(map.begin() + b.offset, b.bytes, static_cast<char>(1));
    }

    /// Makes sure that the bytes may be touched; false where this epoch cannot allow it any more.
    bool ready(int target, const Layout& layout, bool writes) {
        const auto t = static_cast<std::size_t>(target);
        if (!overlaps(writing_[t], layout) && !(writes && overlaps(reading_[t], layout))) return true;
        if (!passive()) return false;
        complete(target);
        return true;
    }

    void open(int target) {
        if (style_ != Style::lock || locked_[static_cast<std::size_t>(target)]) return;
        locked_[static_cast<std::size_t>(target)] = 1;
        if (real_) CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, part_.window));
    }
    void unlock(int target) {
        if (!locked_[static_cast<std::size_t>(target)]) return;
        locked_[static_cast<std::size_t>(target)] = 0;
        wait_requests([target](const Pending& p) { return p.target == target; });
        if (real_) CHECK_MPI(MPI_Win_unlock(target, part_.window));
        completed([target](const Pending& p) { return p.target == target; });
        clear(target);
    }
    void clear(int target) {
        const auto t = static_cast<std::size_t>(target);
        std::fill(reading_[t].begin(), reading_[t].end(), static_cast<char>(0));
        std::fill(writing_[t].begin(), writing_[t].end(), static_cast<char>(0));
    }

    /// Completes all that is under way at `target`, in one of the ways that there are.
    void complete(int target) {
        if (style_ == Style::lock && random_.below(2)) {
            unlock(target);
            open(target);
            return;
        }
        wait_requests([target](const Pending& p) { return p.target == target; });
        if (real_) CHECK_MPI(MPI_Win_flush(target, part_.window));
        completed([target](const Pending& p) { return p.target == target; });
        clear(target);
    }

    void finish_some() {
        if (!passive() || random_.below(3)) return;
        const int target = random_target();
        switch (random_.below(4)) {
            case 0:
                if (style_ == Style::lock_all || locked_[static_cast<std::size_t>(target)]) complete(target);
                break;
            case 1:  // gets are complete; puts are not, at the target
                if (style_ == Style::lock && !locked_[static_cast<std::size_t>(target)]) break;
                wait_requests([target](const Pending& p) { return p.target == target; });
                if (real_) CHECK_MPI(flush_local(target, part_.window));
                completed([target](const Pending& p) { return p.target == target; });
                break;
            case 2:
                if (style_ == Style::lock) break;
                wait_requests([](const Pending&) { return true; });
                if (real_) CHECK_MPI(MPI_Win_flush_all(part_.window));
                completed([](const Pending&) { return true; });
                for (int t = 0; t < size(); ++t)
                    clear(t);
                break;
            default:  // only the requests
                wait_requests([](const Pending&) { return true; });
                completed([](const Pending& p) { return p.request == MPI_REQUEST_NULL && p.what[0] == 'R'; });
        }
    }

    template <class Which>
    void wait_requests(Which which) {
        std::vector<MPI_Request> requests;
        for (Pending& p : pending_)
            if (which(p) && p.request != MPI_REQUEST_NULL) {
                requests.push_back(p.request);
                p.request = MPI_REQUEST_NULL;
            }
        if (real_ && !requests.empty())
            CHECK_MPI(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    }

    template <class Which>
    void completed(Which which) {
        std::vector<Pending> left;
        for (Pending& p : pending_) {
            if (!which(p)) {
                left.push_back(std::move(p));
                continue;
            }
            if (real_ && p.reads) compare(p);
            std::fill(p.buffer.begin(), p.buffer.end(), static_cast<unsigned char>(0xBD));  // ours again
        }
        pending_ = std::move(left);
    }

    void compare(const Pending& p) {
        const auto seen = gather(p.buffer.data(), p.layout);
        for (std::size_t i = 0; i < seen.size(); ++i)
            if (seen[i] != p.expected[i]) {
                report(__FILE__, __LINE__,
                       "round " + std::to_string(round_) + ", style " +
                           std::to_string(static_cast<int>(style_)) + ", " + p.what + " target " +
                           std::to_string(p.target) + ", byte " + std::to_string(i) + " of " +
                           std::to_string(seen.size()) + ": expected " + show(p.expected[i]) + ", seen " +
                           show(seen[i]));
                return;
            }
    }

    MPI_Aint disp(int target) const { return 64 / part_.units[static_cast<std::size_t>(target)]; }

    /// The layout seen from displacement 64 bytes, so that types have negative and positive places.
    static Layout from_64(const Layout& layout) { return shifted(layout, -64); }

    void act(Action action, int target, const Layout& layout) {
        if (!passive()) {  // requests need a passive target epoch
            if (action == Action::rget) action = Action::get;
            if (action == Action::rput) action = Action::put;
            if (action == Action::raccumulate) action = Action::accumulate;
        }
        if (action == Action::compare_and_swap && !can_swap(Kind::allocate)) action = Action::fetch_and_op;
        const bool atomic = action == Action::fetch_and_op || action == Action::compare_and_swap;
        if (atomic && layout.empty()) return;
        Layout touched = layout;
        if (atomic) touched = {{layout[0].offset, 4}};
        const bool plain = open_mpi_4 && action == Action::get_accumulate && !layout.empty();
        if (plain) touched = {layout[0]};
        const bool writes = action != Action::get && action != Action::rget;
        open(target);
        if (!ready(target, touched, writes)) return;
        auto& model = part_.model[static_cast<std::size_t>(target)];
        Pending p;
        p.target = target;
        p.reads = !writes || atomic || action == Action::get_accumulate;
        p.expected = gather(model.data(), touched);
        const int ints = total(touched) / 4;
        p.layout = ints ? random_layout(random_, ints, ints * 4 + 4 * random_.between(0, 40)) : Layout{};
        p.buffer.assign(static_cast<std::size_t>(ints * 4 + 256), 0x1D);
        std::vector<unsigned char> data(static_cast<std::size_t>(ints * 4));
        for (auto& byte : data)
            byte = static_cast<unsigned char>(random_.next());
        if (writes) apply(action, model, touched, data, p);
        mark(writes ? writing_[static_cast<std::size_t>(target)] : reading_[static_cast<std::size_t>(target)],
             touched);
        if (real_) issue(action, target, touched, data, p);
        if (action == Action::get_accumulate || atomic) p.layout = ints ? Layout{{0, ints * 4}} : Layout{};
        pending_.push_back(std::move(p));
    }

    /// Changes the model; may change `data` where the operation asks for it.
    void apply(Action action, std::vector<unsigned char>& model, const Layout& places,
               std::vector<unsigned char>& data, const Pending& p) {
        std::vector<unsigned char> after = data;
        const bool sums = action == Action::accumulate || action == Action::raccumulate ||
                          action == Action::get_accumulate || action == Action::fetch_and_op;
        operation_ = sums ? static_cast<int>(random_.below(3)) : 2;
        for (std::size_t i = 0; i + 4 <= data.size(); i += 4) {
            std::uint32_t old, operand, now;
            std::memcpy(&old, &p.expected[i], 4);
            std::memcpy(&operand, &data[i], 4);
            now = operation_ == 0 ? old + operand : operation_ == 1 ? (old ^ operand) : operand;
            if (action == Action::compare_and_swap && random_.below(2)) {  // a comparison that fails
                compare_ = old + 1;
                now = old;
            } else {
                compare_ = old;
            }
            std::memcpy(&after[i], &now, 4);
        }
        scatter(model.data(), places, after);
    }

    MPI_Op operation() const { return operation_ == 0 ? MPI_SUM : operation_ == 1 ? MPI_BXOR : MPI_REPLACE; }

    void issue(Action action, int target, const Layout& places, const std::vector<unsigned char>& data,
               Pending& p) {
        const MPI_Win win = part_.window;
        const int ints = total(places) / 4;
        const Layout none = {{0, 0}};
        MPI_Datatype there = make_type(build_, places.empty() ? none : from_64(places));
        MPI_Datatype here = make_type(build_, p.layout.empty() ? none : p.layout);
        const int count = places.empty() && build_.below(2) ? 0 : 1;
        unsigned char* buffer = p.buffer.data();
        // Half of the contiguous transfers use the basic type instead.
        const bool basic = p.layout.size() == 1 && p.layout[0].offset == 0 && build_.below(2);
        const int here_count = basic ? ints : count;
        const MPI_Datatype here_type = basic ? MPI_INT32_T : here;
        const bool reads = action == Action::get || action == Action::rget;
        if (!reads && action <= Action::raccumulate) scatter(buffer, p.layout, data);
        switch (action) {
            case Action::get:
                p.what = "Get";
                CHECK_MPI(MPI_Get(buffer, here_count, here_type, target, disp(target), count, there, win));
                break;
            case Action::rget:
                p.what = "Rget";
                CHECK_MPI(MPI_Rget(buffer, here_count, here_type, target, disp(target), count, there, win,
                                   &p.request));
                break;
            case Action::put:
                CHECK_MPI(MPI_Put(buffer, here_count, here_type, target, disp(target), count, there, win));
                break;
            case Action::rput:
                CHECK_MPI(MPI_Rput(buffer, here_count, here_type, target, disp(target), count, there, win,
                                   &p.request));
                break;
            case Action::accumulate:
                CHECK_MPI(MPI_Accumulate(buffer, here_count, here_type, target, disp(target), count, there,
                                         operation(), win));
                break;
            case Action::raccumulate:
                CHECK_MPI(MPI_Raccumulate(buffer, here_count, here_type, target, disp(target), count, there,
                                          operation(), win, &p.request));
                break;
            case Action::get_accumulate:
                p.what = "Get_accumulate";
                operands_.push_back(data);
                CHECK_MPI(MPI_Get_accumulate(
                    operands_.back().data(), ints, MPI_INT32_T, buffer, ints, MPI_INT32_T, target,
                    open_mpi_4 ? (ints ? element(places, target) : 0) : disp(target),
                    open_mpi_4 ? ints : count, open_mpi_4 ? MPI_INT32_T : there, operation(), win));
                break;
            case Action::fetch_and_op:
                p.what = "Fetch_and_op";
                operands_.push_back(data);
                CHECK_MPI(MPI_Fetch_and_op(operands_.back().data(), buffer, MPI_INT32_T, target,
                                           element(places, target), operation(), win));
                break;
            default:
                p.what = "Compare_and_swap";
                operands_.push_back(data);
                operands_.emplace_back(4);
                std::memcpy(operands_.back().data(), &compare_, 4);
                CHECK_MPI(MPI_Compare_and_swap(operands_[operands_.size() - 2].data(),
                                               operands_.back().data(), buffer, MPI_INT32_T, target,
                                               element(places, target), win));
        }
        if (p.what.empty()) p.what = action == Action::rput || action == Action::raccumulate ? "Rput" : "put";
        MPI_Type_free(&there);
        MPI_Type_free(&here);
    }

    MPI_Aint element(const Layout& places, int target) const {
        return places[0].offset / part_.units[static_cast<std::size_t>(target)];
    }

    void add(int target, const Layout& layout) {
        open(target);
        auto& model = part_.model[static_cast<std::size_t>(target)];
        std::vector<std::uint32_t> data(static_cast<std::size_t>(total(layout) / 4));
        for (auto& value : data)
            value = static_cast<std::uint32_t>(random_.next());
        std::size_t i = 0;
        for (const Block& b : layout)
            for (int at = b.offset; at < b.offset + b.bytes; at += 4) {
                std::uint32_t now;
                std::memcpy(&now, &model[static_cast<std::size_t>(at)], 4);
                now += data[i++];
                std::memcpy(&model[static_cast<std::size_t>(at)], &now, 4);
            }
        if (!real_) return;
        MPI_Datatype there = make_type(build_, from_64(layout));
        operands_.emplace_back(data.size() * 4);
        std::memcpy(operands_.back().data(), data.data(), data.size() * 4);
        CHECK_MPI(MPI_Accumulate(operands_.back().data(), static_cast<int>(data.size()), MPI_INT32_T, target,
                                 disp(target), 1, there, MPI_SUM, part_.window));
        MPI_Type_free(&there);
    }

    Part& part_;
    Random random_;  ///< what everybody must draw alike
    Random build_;   ///< how the real one builds its types
    int round_, actor_;
    Style style_;
    bool real_;
    std::vector<std::vector<char>> reading_, writing_;
    std::vector<char> locked_;
    std::vector<Pending> pending_;
    std::vector<std::vector<unsigned char>> operands_;
    int operation_ = 0;
    std::uint32_t compare_ = 0;
};

}  // namespace check
