// SPDX-License-Identifier: Apache-2.0
#include "recording/recorded_process.hpp"

#include <algorithm>

#include "recording/event_reader.hpp"

namespace nearfetch {

namespace {

/// The slope of a straight line through points, by least squares.
class Line {
  public:
    void add(double x, double y) noexcept {
        ++count_;
        x_ += x;
        y_ += y;
        xx_ += x * x;
        xy_ += x * y;
    }
    double slope() const noexcept {
        const double spread = count_ * xx_ - x_ * x_;
        return spread > 0 ? (count_ * xy_ - x_ * y_) / spread : 0;
    }

  private:
    double count_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
};

/// What a pass over the events has to remember.
class Scan {
  public:
    explicit Scan(RecordedProcess& process) noexcept : p_(process) {}

    void see(const Event& event) {
        now_ns_ += event.gap_ns + event.took_ns;
        p_.elapsed_ns = now_ns_;
        if (event.completes()) completed(event);
        switch (event.kind) {
            case EventKind::world:
                p_.rank = event.target;
                p_.begin_ns = event.size;
                p_.ranks = static_cast<Rank>(event.values.empty() ? 1 : event.values.front());
                break;
            case EventKind::window:
                selves_[event.window] = event.target;
                break;
            case EventKind::get:
                if (event.target == selves_[event.window]) break;
                ++p_.gets;
                p_.get_bytes += event.size;
                p_.largest_get = std::max(p_.largest_get, event.size);
                under_way_[event.window] += event.size;
                break;
            case EventKind::put:
            case EventKind::update:
            case EventKind::atomic:
                ++p_.updates;
                break;
            case EventKind::lock:
                p_.shared_locks += event.flag ? 0 : 1;
                if (event.flag)
                    p_.writes[{event.window, event.target}].push_back({real_ns(), ~std::uint64_t{0}});
                break;
            case EventKind::unlock:
                completed(event);
                unlocked(event);
                break;
            case EventKind::sampling:
                p_.sampled = event.size;
                break;
            case EventKind::end:
                ended(event);
                break;
            default:
                break;
        }
    }
    double byte_ns() const noexcept { return std::clamp(line_.slope(), 0.01, 1000.0); }

  private:
    std::uint64_t real_ns() const noexcept { return p_.begin_ns + now_ns_; }

    void completed(const Event& event) {
        std::uint64_t& bytes = under_way_[event.window];
        if (bytes != 0) line_.add(static_cast<double>(bytes), static_cast<double>(event.took_ns));
        bytes = 0;
    }
    void unlocked(const Event& event) {
        const auto writes = p_.writes.find({event.window, event.target});
        if (writes == p_.writes.end()) return;
        WriteInterval& last = writes->second.back();
        last.end_ns = std::min(last.end_ns, real_ns());
    }
    void ended(const Event& event) {
        p_.is_whole = true;
        p_.elapsed_ns = event.size;
        if (const auto& v = event.values; v.size() == 4) p_.rereads = {v[0], v[1], v[2], v[3]};
    }

    RecordedProcess& p_;
    std::uint64_t now_ns_ = 0;
    std::map<std::uint32_t, Rank> selves_;
    std::map<std::uint32_t, std::uint64_t> under_way_;
    Line line_;
};

}  // namespace

RecordedProcess read_process(const std::string& path) {
    RecordedProcess process{.path = path};
    EventReader reader(path);
    Scan scan(process);
    for (Event event; reader.next(event);)
        scan.see(event);
    process.byte_ns = scan.byte_ns();
    return process;
}

}  // namespace nearfetch
