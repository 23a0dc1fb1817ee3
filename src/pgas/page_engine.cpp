// SPDX-License-Identifier: Apache-2.0
#include "pgas/page_engine.hpp"

#include <array>

namespace nearfetch {

namespace {

Token token_of(Operation& operation) noexcept { return reinterpret_cast<Token>(&operation); }
Operation& operation_of(Token token) noexcept { return *reinterpret_cast<Operation*>(token); }

}  // namespace

PageEngine::PageEngine(const PageCacheConfig& config, Transport& transport, Unreadable unreadable,
                       MessageCost cost)
    : memory_(transport),
      cache_(config, unreadable == Unreadable::fetched_exactly ? &memory_ : nullptr),
      transport_(transport),
      unreadable_(unreadable),
      cost_(cost) {}

PageEngine::~PageEngine() {
    while (!cache_.operations().gets().empty())
        complete_transfers(WaitMode::block);
    // Failed PUTs have no outstanding operation, so nothing completes them.
    for (bool under_way = true; under_way;) {
        under_way = false;
        for (Operation* op : cache_.operations().puts())
            under_way = under_way || op->is_outstanding(op->id);
        if (under_way) complete_transfers(WaitMode::block);
    }
}

// Reports completed operations to the cache.
std::size_t PageEngine::complete_transfers(WaitMode mode) {
    std::array<Completion, 16> done;
    const std::size_t count = mode == WaitMode::block ? transport_.wait(done) : transport_.test(done);
    if (count == 0) return 0;
    const std::uint64_t now = last_completion_ns_ = transport_.now_ns();
    for (std::size_t i = 0; i < count; ++i) {
        Operation& operation = operation_of(done[i].token);
        if (done[i].status != 0 && operation.kind == Operation::Kind::put) put_status_ = done[i].status;
        cache_.complete(operation, done[i].status, now);
    }
    launch_due();
    return count;
}

// A deferred operation does not wait until its task polls.
void PageEngine::launch_due() {
    while (Operation* const op = cache_.next_due())
        launch(*op, ++attempts_);
}

void PageEngine::launch(Operation& op, std::uint64_t attempt) {
    op.handle = attempt;
    transport_.spend(cost_.alone_ns);
    const int status =
        op.kind == Operation::Kind::get
            ? transport_.start_get(op.target, op.offset, op.size_bytes, op.buffer, token_of(op))
            : transport_.start_put(op.target, op.offset, op.size_bytes, op.buffer, token_of(op));
    // Read while the bytes travel.
    const std::uint64_t now = transport_.now_ns();
    if (status == 0) {
        cache_.started(op, now);
        transport_.spend(cost_.overlapped_ns);
        return;
    }
    if (op.kind == Operation::Kind::put) put_status_ = status;
    cache_.complete(op, status, now);
    launch_due();
}

/// \return whether the step needs no more waiting
bool PageEngine::await(const Step& step, WaitMode mode) {
    if (!step.is_outstanding()) return true;
    const std::uint64_t begin_ns = transport_.now_ns();
    while (step.is_outstanding())
        if (complete_transfers(mode) == 0 && mode == WaitMode::poll) return false;
    if (last_completion_ns_ > begin_ns) waited_ns_ += last_completion_ns_ - begin_ns;
    return true;
}

// Advances a request: by polling, or to its end. \return whether it is complete
template <class Ask>
bool PageEngine::drive(Ask&& ask, std::uint64_t attempt, WaitMode mode, int& status) {
    for (Step step; (step = ask()).kind != Step::Kind::done;) {
        if (step.kind == Step::Kind::wait) {
            if (!await(step, mode)) return false;
            continue;
        }
        if (step.operation->handle == attempt) {
            // The PUT failed during this call: return its status.
            status = put_status_;
            cache_.complete(*step.operation, status, transport_.now_ns());
            launch_due();
            return true;
        }
        launch(*step.operation, attempt);
        if (2 * cache_.operations().in_flight() >= cache_.config().operations)
            complete_transfers(WaitMode::poll);
    }
    return true;
}

template <class Request>
bool PageEngine::Pending<Request>::advance(WaitMode mode) {
    if (!done_)
        done_ = engine_.drive([this] { return engine_.next(task_, request_); }, attempt_, mode, status_);
    return done_;
}

template <class Request>
int PageEngine::Pending<Request>::wait() {
    advance(WaitMode::block);
    // An abandoned request has to outlive its operations.
    while (request_.outstanding())
        engine_.complete_transfers(WaitMode::block);
    return status_ != 0 ? status_ : request_.status;
}

template class PageEngine::Pending<GetRequest>;
template class PageEngine::Pending<PutRequest>;

int PageEngine::get_slowly(const TaskClock& task, Rank target, std::uint64_t address,
                           std::uint64_t size_bytes, std::byte* to) {
    bool arrived = cache_.merge_fetched(target, address, size_bytes);
    // A prefetch that has arrived but is not yet reported is not late.
    if (!cache_.operations().gets().empty()) arrived = complete_transfers(WaitMode::poll) != 0 || arrived;
    if (arrived && get_resident(task, target, address, size_bytes, to)) return 0;
    return Get(*this, task, get_request(target, address, size_bytes, to)).wait();
}

int PageEngine::put_slowly(Rank target, std::uint64_t address, std::uint64_t size_bytes,
                           const std::byte* from) {
    return Put(*this, {}, put_request(target, address, size_bytes, from)).wait();
}

void PageEngine::prefetch(const TaskClock& task, Rank target, std::uint64_t address, std::uint64_t size_bytes,
                          Prefetched why) {
    if (size_bytes == 0 || address >= offsets_end) return;
    const ByteRange range{address, address + std::min(size_bytes, offsets_end - address)};
    const ByteRange readable = transport_.readable_with(target, range);
    if (readable.empty()) return;
    PrefetchRequest request(target, range, readable);
    request.is_hint = why == Prefetched::by_hint;
    int status = 0;
    drive([&] { return cache_.prefetch(task, request); }, ++attempts_, WaitMode::block, status);
}

int PageEngine::release() {
    ReleaseRequest request;
    return release(request);
}

int PageEngine::release(Rank target, ByteRange range) {
    ReleaseRequest request(target, range);
    return release(request);
}

int PageEngine::invalidate(Rank target, ByteRange range) {
    if (const int status = release(target, range); status != 0) return status;
    drain(target, range, false);
    return 0;
}

bool PageEngine::discard(Rank target, ByteRange range) { return drain(target, range, true); }

bool PageEngine::drain(Rank target, ByteRange range, bool discards) {
    DrainRequest request(target, range, discards);
    int status = 0;
    drive([&] { return cache_.drain(request); }, ++attempts_, WaitMode::block, status);
    return request.done;
}

int PageEngine::release(ReleaseRequest& request) {
    int status = 0;
    drive([&] { return cache_.release(request); }, ++attempts_, WaitMode::block, status);
    return status;
}

}  // namespace nearfetch
