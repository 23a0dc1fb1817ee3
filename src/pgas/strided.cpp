// SPDX-License-Identifier: Apache-2.0
#include "pgas/strided.hpp"

#include <algorithm>
#include <deque>
#include <limits>

namespace nearfetch {

namespace {

__extension__ using Wide = __int128;

constexpr std::size_t pending_most = 64;
constexpr std::uint64_t row_piece_bytes = 32 * 1024;  ///< of a row that is fetched with its gaps

/// Transfers that are outstanding. They begin and end in order, at most so many at a time.
template <class Request>
class Window {
  public:
    explicit Window(PageEngine& engine, const TaskClock& task) : engine_(engine), task_(task) {}

    /// \return whether the next may begin
    bool add(const Request& request) {
        auto& added = pending_.emplace_back(engine_, task_, request);
        if (added.test()) {
            note(added.wait());
            pending_.pop_back();
        }
        if (pending_.size() >= pending_most) end_oldest();
        return status_ == 0;
    }
    int finish() {
        while (!pending_.empty())
            end_oldest();
        return status_;
    }

  private:
    void note(int status) noexcept {
        if (status_ == 0) status_ = status;
    }
    void end_oldest() {
        note(pending_.front().wait());
        pending_.pop_front();
    }

    PageEngine& engine_;
    const TaskClock task_;
    std::deque<PageEngine::Pending<Request>> pending_;
    int status_ = 0;
};

/// The places of a row's first element, one row after the other.
class Rows {
  public:
    explicit Rows(const StridedElements& elements) noexcept : elements_(elements) {}

    std::uint64_t remote() const noexcept { return remote_; }  // modulo 2^64, as are the distances
    std::int64_t local() const noexcept { return local_; }
    /// \return whether there is another
    bool next() noexcept {
        for (std::size_t d = 1; d < elements_.dimensions; ++d) {
            const StridedElements::Dimension& dimension = elements_.of[d];
            remote_ += static_cast<std::uint64_t>(dimension.remote_bytes);
            local_ += dimension.local_bytes;
            if (++index_[d] < dimension.count) return true;
            index_[d] = 0;
            remote_ -= dimension.count * static_cast<std::uint64_t>(dimension.remote_bytes);
            local_ -= static_cast<std::int64_t>(dimension.count) * dimension.local_bytes;
        }
        return false;
    }

  private:
    const StridedElements& elements_;
    std::array<std::uint64_t, StridedElements::dimensions_most> index_{};
    std::uint64_t remote_ = 0;
    std::int64_t local_ = 0;
};

/// Calls visit(i, remote, local) for each element until it returns false: i counts within its row, `remote`
/// and `local` are distances from the first element.
template <class Visitor>
void for_each_element(const StridedElements& elements, Visitor&& visit) {
    const StridedElements::Dimension row =
        elements.dimensions == 0 ? StridedElements::Dimension{1, 0, 0} : elements.of[0];
    Rows rows(elements);
    do {
        std::uint64_t remote = rows.remote();
        std::int64_t local = rows.local();
        for (std::uint64_t i = 0; i < row.count; ++i) {
            if (!visit(i, remote, local)) return;
            remote += static_cast<std::uint64_t>(row.remote_bytes);
            local += row.local_bytes;
        }
    } while (rows.next());
}

/// Fetches rows with their gaps, ahead of their elements.
class RowFetcher {
  public:
    RowFetcher(PageEngine& engine, const TaskClock& task, Rank target,
               const StridedElements& elements) noexcept
        : engine_(engine), task_(task), target_(target), element_bytes_(elements.element_bytes) {
        if (elements.dimensions == 0) return;
        const std::uint64_t bytes = engine.cache().config().line_bytes;
        count_ = elements.of[0].count;
        stride_ = elements.of[0].remote_bytes;
        const std::uint64_t distance = distance_of(stride_);
        if (count_ > 1 && distance <= row_piece_bytes / 2 && distance < element_bytes_ + bytes)
            piece_ = row_piece_bytes / std::max<std::uint64_t>(distance, 1);
    }
    bool is_dense() const noexcept { return piece_ != 0; }

    void reach(std::uint64_t i, std::uint64_t address) {
        if (piece_ == 0 || i % piece_ != 0) return;
        const std::uint64_t count = std::min(piece_, count_ - i);
        const std::uint64_t span = (count - 1) * distance_of(stride_);
        engine_.prefetch(task_, target_, stride_ < 0 ? address - span : address, span + element_bytes_,
                         PageEngine::Prefetched::for_strided_get);
    }

  private:
    static std::uint64_t distance_of(std::int64_t stride) noexcept {
        return stride < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(stride)
                          : static_cast<std::uint64_t>(stride);
    }

    PageEngine& engine_;
    const TaskClock& task_;
    Rank target_;
    std::uint64_t element_bytes_;
    std::uint64_t count_ = 1;
    std::int64_t stride_ = 0;
    std::uint64_t piece_ = 0;  ///< elements; 0: rows are not fetched with their gaps
};

}  // namespace

void StridedElements::merge() noexcept {
    std::size_t kept = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
        const Dimension& dimension = of[d];
        const bool contiguous = Wide{dimension.remote_bytes} == Wide{element_bytes} &&
                                dimension.local_bytes == dimension.remote_bytes;
        if (dimension.count == 1) continue;
        if (kept == 0 && contiguous && dimension.count <= (offsets_end - 1) / element_bytes)
            element_bytes *= dimension.count;
        else
            of[kept++] = dimension;
    }
    dimensions = kept;
}

std::uint64_t StridedElements::total_bytes() const noexcept {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t total = element_bytes;
    for (std::size_t d = 0; d < dimensions; ++d) {
        if (of[d].count == 0) return 0;
        total = total > most / of[d].count ? most : total * of[d].count;
    }
    return total;
}

bool StridedElements::fits(std::uint64_t address) const noexcept {
    constexpr Wide most = offsets_end;
    Wide first = address, last = Wide{address} + Wide{element_bytes}, local = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
        if (Wide{of[d].count} > most) return false;
        const Wide steps = Wide{of[d].count} - 1;
        const Wide reach = steps * Wide{of[d].remote_bytes};
        (reach < 0 ? first : last) += reach;
        local += steps * Wide{of[d].local_bytes < 0 ? -Wide{of[d].local_bytes} : Wide{of[d].local_bytes}};
        if (first < 0 || last > most || local > most) return false;
    }
    return last <= most;
}

ByteRange StridedElements::reach(std::uint64_t address) const noexcept {
    std::uint64_t first = address, last = address + element_bytes;
    for (std::size_t d = 0; d < dimensions; ++d) {
        const std::uint64_t reach = (of[d].count - 1) * static_cast<std::uint64_t>(of[d].remote_bytes);
        (of[d].remote_bytes < 0 ? first : last) += reach;
    }
    return {first, last};
}

int get_strided(PageEngine& engine, const TaskClock& task, Rank target, std::uint64_t address,
                const StridedElements& elements, std::byte* to) {
    const PageCacheConfig& config = engine.cache().config();
    Window<GetRequest> window(engine, task);
    RowFetcher rows(engine, task, target, elements);
    const bool bypasses = !rows.is_dense() && elements.element_bytes >= config.line_bytes &&
                          elements.total_bytes() > config.capacity_bytes / 4;
    for_each_element(elements, [&](std::uint64_t i, std::uint64_t remote, std::int64_t local) {
        rows.reach(i, address + remote);
        if (engine.get_resident(task, target, address + remote, elements.element_bytes, to + local))
            return true;
        GetRequest request = engine.get_request(target, address + remote, elements.element_bytes, to + local);
        request.bypass_pages = bypasses;
        request.reads_ahead = false;
        return window.add(request);
    });
    return window.finish();
}

int put_strided(PageEngine& engine, Rank target, std::uint64_t address, const StridedElements& elements,
                const std::byte* from) {
    Window<PutRequest> window(engine, {});
    for_each_element(elements, [&](std::uint64_t, std::uint64_t remote, std::int64_t local) {
        if (engine.put_resident(target, address + remote, elements.element_bytes, from + local)) return true;
        return window.add(engine.put_request(target, address + remote, elements.element_bytes, from + local));
    });
    return window.finish();
}

}  // namespace nearfetch
