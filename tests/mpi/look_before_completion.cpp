// SPDX-License-Identifier: Apache-2.0
// Bytes that are looked at before their get is complete. The standard leaves open what is there, but on one
// node many libraries deliver them before MPI_Get returns, and programs rely on it. Where a library does so
// in a window that nearfetch is told to leave alone, it has to be so in any other window as well: whatever
// of the bytes is cached, on its way, or read ahead.
//
// Some convert the bytes in place at once, before the get is complete: what they have made of them stays, and
// what is read there later is what the target has.
#include <memory>

#include "shapes.hpp"

using namespace check;

namespace {

// --- windows of each kind

enum class WindowKind { allocate, create, dynamic, shared };
constexpr std::pair<WindowKind, const char*> kinds[] = {{WindowKind::allocate, "allocate"},
                                                        {WindowKind::create, "create"},
                                                        {WindowKind::dynamic, "dynamic"},
                                                        {WindowKind::shared, "allocate_shared"}};

/// Bytes of version 0 at each rank, in a window of that kind.
class AnyWindow {
  public:
    AnyWindow(WindowKind kind, MPI_Aint bytes, MPI_Info info) {
        switch (kind) {
            case WindowKind::allocate:
                CHECK_MPI(MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base_, &win_));
                break;
            case WindowKind::shared:
                CHECK_MPI(MPI_Win_allocate_shared(bytes, 1, info, MPI_COMM_WORLD, &base_, &win_));
                break;
            case WindowKind::create:
                reserve(bytes);
                CHECK_MPI(MPI_Win_create(base_, bytes, 1, info, MPI_COMM_WORLD, &win_));
                break;
            case WindowKind::dynamic:
                reserve(bytes);
                CHECK_MPI(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win_));
                CHECK_MPI(MPI_Win_attach(win_, base_, bytes));
                attached_ = true;
        }
        MPI_Aint begin = 0;
        if (attached_) MPI_Get_address(base_, &begin);
        begins_.resize(static_cast<std::size_t>(size()));
        MPI_Allgather(&begin, 1, MPI_AINT, begins_.data(), 1, MPI_AINT, MPI_COMM_WORLD);
        fill(base_, static_cast<std::uint64_t>(bytes), rank());
        barrier();
    }
    AnyWindow(const AnyWindow&) = delete;
    AnyWindow& operator=(const AnyWindow&) = delete;
    ~AnyWindow() {
        barrier();
        if (attached_) MPI_Win_detach(win_, base_);
        MPI_Win_free(&win_);
    }
    operator MPI_Win() const { return win_; }
    MPI_Aint disp(int target, int offset) const {
        return MPI_Aint_add(begins_[static_cast<std::size_t>(target)], offset);
    }

  private:
    void reserve(MPI_Aint bytes) {
        memory_ = std::make_unique<unsigned char[]>(static_cast<std::size_t>(bytes));
        base_ = memory_.get();
    }
    std::unique_ptr<unsigned char[]> memory_;
    unsigned char* base_ = nullptr;
    MPI_Win win_ = MPI_WIN_NULL;
    bool attached_ = false;
    std::vector<MPI_Aint> begins_;
};

// --- epochs of each kind

enum class Epoch { lock, lock_all, fence, start_complete };
constexpr std::pair<Epoch, const char*> epochs[] = {{Epoch::lock, "lock"},
                                                    {Epoch::lock_all, "lock_all"},
                                                    {Epoch::fence, "fence"},
                                                    {Epoch::start_complete, "start"}};

bool is_passive(Epoch epoch) { return epoch == Epoch::lock || epoch == Epoch::lock_all; }

/// The groups of the right neighbour, who is read, and of the left one, who reads here.
struct Neighbours {
    Neighbours() {
        MPI_Group world;
        const int from = right(), to = (rank() + size() - 1) % size();
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 1, &from, &read);
        MPI_Group_incl(world, 1, &to, &reading);
        MPI_Group_free(&world);
    }
    Neighbours(const Neighbours&) = delete;
    Neighbours& operator=(const Neighbours&) = delete;
    ~Neighbours() {
        MPI_Group_free(&read);
        MPI_Group_free(&reading);
    }
    MPI_Group read = MPI_GROUP_NULL, reading = MPI_GROUP_NULL;
};

void open_epoch(Epoch epoch, MPI_Win win, const Neighbours& neighbours) {
    if (epoch == Epoch::lock) CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, win));
    if (epoch == Epoch::lock_all) CHECK_MPI(MPI_Win_lock_all(0, win));
    if (epoch == Epoch::fence) CHECK_MPI(MPI_Win_fence(0, win));
    if (epoch != Epoch::start_complete) return;
    CHECK_MPI(MPI_Win_post(neighbours.reading, 0, win));
    CHECK_MPI(MPI_Win_start(neighbours.read, 0, win));
}

void close_epoch(Epoch epoch, MPI_Win win) {
    if (epoch == Epoch::lock) CHECK_MPI(MPI_Win_unlock(right(), win));
    if (epoch == Epoch::lock_all) CHECK_MPI(MPI_Win_unlock_all(win));
    if (epoch == Epoch::fence) CHECK_MPI(MPI_Win_fence(0, win));
    if (epoch != Epoch::start_complete) return;
    CHECK_MPI(MPI_Win_complete(win));
    CHECK_MPI(MPI_Win_wait(win));
}

// --- what is read

/// A get of a region: contiguous bytes, or shapes of both sides.
struct Access {
    int offset;
    int bytes = 0;
    const Shape* from = nullptr;
    const Shape* into = nullptr;
};
/// Gets that are completed together, and what follows after that.
using Script = std::vector<std::vector<Access>>;

/// All regions of a window are read once.
constexpr int region_bytes = 8192;
constexpr int regions = 168;
constexpr int region_begin = 1024;

std::vector<Script> contiguous_scripts() {
    std::vector<Access> nearby;
    for (int i = 0; i < 8; ++i)
        nearby.push_back({64 * i, 8});
    Script apart{{{0, 3}}, {{2, 3}}, {{1000, 200}}, {{0, 2000}}};
    return {{nearby},
            std::move(apart),
            {{{0, 40}, {0, 40}, {0, 40}}, {{0, 40}}},
            {{{0, 16}}, {{8, 32}, {100, 8}}, {{0, 300}, {0, 300}}},
            {{{0, 16}, {8, 32}, {0, 48}, {200, 8}, {0, 400}}}};
}

/// \param few only one with gaps at the target and one with gaps at the origin
std::vector<Script> typed_scripts(const std::vector<Shape>& shapes, bool few) {
    std::vector<Script> scripts;
    for (int from = 0; from < 3; ++from)
        for (int into = 0; into < 3; ++into) {
            if (from + into > 2 || (few && from + into != 1)) continue;
            const Shape *f = &shapes[static_cast<std::size_t>(from)],
                        *i = &shapes[static_cast<std::size_t>(into)];
            scripts.push_back({{{0, 0, f, i}, {64, 0, f, i}, {0, 0, f, i}}, {{700, 8}, {32, 0, f, i}}});
        }
    return scripts;
}

/// The memory of one get, and whether its bytes are there.
class Origin {
  public:
    Origin(const Access& access, int disp) : layout_{{0, access.bytes}} {
        if (access.into != nullptr) {
            layout_ = access.into->layout();
            expected_ = access.from->expected(right(), disp);
        } else {
            expected_.resize(static_cast<std::size_t>(access.bytes));
            fill(expected_.data(), expected_.size(), right(), 0, static_cast<std::uint64_t>(disp));
        }
        memory_.resize(4096);
        scatter(at(), layout_, inverted());
    }
    unsigned char* at() { return memory_.data() + 1024; }
    bool arrived() { return gather(at(), layout_) == expected_; }
    void convert() { scatter(at(), layout_, inverted()); }
    bool is_converted() { return gather(at(), layout_) == inverted(); }

  private:
    std::vector<unsigned char> inverted() const {
        std::vector<unsigned char> all = expected_;
        for (unsigned char& byte : all)
            byte = static_cast<unsigned char>(~byte);
        return all;
    }
    Layout layout_;
    std::vector<unsigned char> expected_;
    std::vector<unsigned char> memory_;
};

/// How a script is read.
struct Way {
    Epoch epoch;
    bool by_request;
};

void issue(const AnyWindow& window, const Access& access, int disp, Origin& origin, MPI_Request* request) {
    const bool typed = access.into != nullptr;
    const int into_count = typed ? 1 : access.bytes, from_count = into_count;
    const MPI_Datatype into = typed ? access.into->type() : MPI_BYTE;
    const MPI_Datatype from = typed ? access.from->type() : MPI_BYTE;
    const MPI_Aint there = window.disp(right(), disp);
    if (request != nullptr)
        CHECK_MPI(MPI_Rget(origin.at(), into_count, into, right(), there, from_count, from, window, request));
    else
        CHECK_MPI(MPI_Get(origin.at(), into_count, into, right(), there, from_count, from, window));
}

enum class Convert { no, yes };

/// Reads a script in a region. \param at_once for each get whether its bytes have been there in time so far;
/// empty: asked of the library first. \param binding such a get has to have them
class Reader {
  public:
    Reader(const AnyWindow& window, const Neighbours& neighbours, Way way)
        : window_(window), neighbours_(neighbours), way_(way) {}

    void read(const Script& script, int region, std::vector<bool>& at_once, bool binding, Convert convert) {
        std::size_t number = 0;
        if (way_.epoch == Epoch::lock_all) open_epoch(way_.epoch, window_, neighbours_);
        for (const std::vector<Access>& together : script) {
            if (way_.epoch != Epoch::lock_all) open_epoch(way_.epoch, window_, neighbours_);
            std::vector<Origin> origins;
            std::vector<MPI_Request> requests;
            origins.reserve(together.size());
            const std::size_t first = number;
            for (const Access& access : together) {
                const int disp = region * region_bytes + region_begin + access.offset;
                Origin& origin = origins.emplace_back(access, disp);
                if (way_.by_request) requests.push_back(MPI_REQUEST_NULL);
                issue(window_, access, disp, origin, way_.by_request ? &requests.back() : nullptr);
                const bool arrived = origin.arrived();
                if (at_once.size() == number) at_once.push_back(true);
                if (binding && at_once[number]) {
                    ++bound_;
                    CHECK(arrived);
                }
                if (!binding) at_once[number] = at_once[number] && arrived;
                if (convert == Convert::yes && at_once[number] && arrived) origin.convert();
                ++number;
            }
            if (way_.by_request)
                CHECK_MPI(
                    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
            if (way_.epoch == Epoch::lock_all)
                CHECK_MPI(MPI_Win_flush(right(), window_));
            else
                close_epoch(way_.epoch, window_);
            for (std::size_t i = 0; i < origins.size(); ++i) {
                if (convert == Convert::yes && at_once[first + i])
                    CHECK(origins[i].is_converted());
                else
                    CHECK(origins[i].arrived());
            }
        }
        if (way_.epoch == Epoch::lock_all) close_epoch(way_.epoch, window_);
    }
    int bound() const { return bound_; }

  private:
    const AnyWindow& window_;
    const Neighbours& neighbours_;
    Way way_;
    int bound_ = 0;
};

/// Where ranks share cores, or have to meet for each epoch, less is read.
bool is_slow(Epoch epoch) { return crowded() || !is_passive(epoch); }

struct Sum {
    int bound = 0, all = 0;
};

Sum look(const AnyWindow& plain, const AnyWindow& window, const Neighbours& neighbours, Way way,
         const std::vector<Script>& scripts, int& region) {
    Sum sum;
    Reader of_library(plain, neighbours, way), reader(window, neighbours, way);
    for (const Script& script : scripts) {
        std::vector<bool> at_once;
        for (int i = 0; i < (is_slow(way.epoch) ? 2 : 3); ++i)
            of_library.read(script, region, at_once, false, Convert::no);
        // Nothing of it is cached; then all of it may be.
        for (int i = 0; i < 2; ++i)
            reader.read(script, region, at_once, true, Convert::no);
        ++region;
        reader.read(script, region, at_once, true, Convert::yes);
        std::vector<bool> unasked(at_once.size(), false);
        reader.read(script, region, unasked, true, Convert::no);
        ++region;
        sum.all += static_cast<int>(at_once.size());
        sum.bound += static_cast<int>(std::count(at_once.begin(), at_once.end(), true));
    }
    CHECK(region <= regions);
    return sum;
}

/// All scripts, in windows and epochs of one kind. \return for how many gets the library delivers at once
int look_by(const AnyWindow& plain, const AnyWindow& window, const Neighbours& neighbours, Way way,
            const std::string& name, int& region) {
    part(name.c_str());
    const std::vector<Shape> shapes = all_shapes();
    Sum sum;
    for (const auto& scripts : {contiguous_scripts(), typed_scripts(shapes, is_slow(way.epoch))}) {
        const Sum one = look(plain, window, neighbours, way, scripts, region);
        sum.bound += one.bound;
        sum.all += one.all;
    }
    if (rank() == 0) std::printf("%s: %d of %d gets delivered at once\n", name.c_str(), sum.bound, sum.all);
    barrier();  // MPICH does not serve the other's locks in its MPI_Allreduce of shared memory
    MPI_Allreduce(MPI_IN_PLACE, &sum.bound, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    part("between");
    return sum.bound;
}

void look_in(WindowKind kind, const std::string& kind_name) {
    const Neighbours neighbours;
    const Info off{{"nearfetch_mode", "off"}};
    const AnyWindow plain(kind, regions * region_bytes, off);
    // Windows of shared memory are cached where they name a mode.
    const std::string run_mode = mode();
    const Info named{{"nearfetch_mode", run_mode.c_str()}};
    const AnyWindow window(kind, regions * region_bytes,
                           kind == WindowKind::shared ? MPI_Info(named) : MPI_INFO_NULL);
    int region = 0;
    for (const auto& [epoch, epoch_name] : epochs)
        for (const bool by_request : {false, true}) {
            if (by_request && !is_passive(epoch)) continue;
            if (crowded() && epoch == Epoch::start_complete) continue;
            const std::string name = kind_name + ", " + epoch_name + (by_request ? ", by request" : "");
            const int bound = look_by(plain, window, neighbours, {epoch, by_request}, name, region);
            if (crowded() && bound == 0) return;
        }
}

void all() {
    for (const auto& [kind, name] : kinds)
        look_in(kind, name);
}

}  // namespace

int main(int argc, char** argv) { return Program(argc, argv, 100).run_with_others(all); }
