// SPDX-License-Identifier: Apache-2.0
#include "pgas/page_engine.hpp"

#include <array>

namespace nearfetch {

namespace {

Token token_of(Operation& operation) noexcept { return reinterpret_cast<Token>(&operation); }
Operation& operation_of(Token token) noexcept { return *reinterpret_cast<Operation*>(token); }

}  // namespace

PageEngine::PageEngine(const PageCacheConfig& config, Transport& transport)
    : cache_(config), transport_(transport) {}

PageEngine::~PageEngine() {
    while (!cache_.gets_in_flight().empty())
        collect(Patience::all);
    // PUTs that failed are not under way; nothing completes them.
    for (bool under_way = true; under_way;) {
        under_way = false;
        for (Operation* op : cache_.puts_in_flight())
            under_way = under_way || cache_.in_flight({Step::Kind::wait, op, op->id});
        if (under_way) collect(Patience::all);
    }
}

// Reports what has completed to the core.
std::size_t PageEngine::collect(Patience patience) {
    std::array<Completion, 16> done;
    const std::size_t count = patience == Patience::all ? transport_.wait(done) : transport_.test(done);
    if (count == 0) return 0;
    const std::uint64_t now = collected_ns_ = transport_.now_ns();
    for (std::size_t i = 0; i < count; ++i) {
        Operation& operation = operation_of(done[i].token);
        if (done[i].status != 0 && operation.kind == Operation::Kind::put) put_status_ = done[i].status;
        cache_.complete(operation, done[i].status, now);
    }
    launch_due();
    return count;
}

// What was held back does not wait for its task to look.
void PageEngine::launch_due() {
    while (Operation* const op = cache_.next_due())
        launch(*op, ++attempts_);
}

void PageEngine::launch(Operation& op, std::uint64_t attempt) {
    op.handle = attempt;
    const int status =
        op.kind == Operation::Kind::get
            ? transport_.start_get(op.target, op.offset, op.size_bytes, op.buffer, token_of(op))
            : transport_.start_put(op.target, op.offset, op.size_bytes, op.buffer, token_of(op));
    // The clock is read while the bytes travel, too.
    const std::uint64_t now = transport_.now_ns();
    if (status == 0) {
        cache_.started(op, now);
        return;
    }
    if (op.kind == Operation::Kind::put) put_status_ = status;
    cache_.complete(op, status, now);
    launch_due();
}

/// \return whether the step need not be waited for any more
bool PageEngine::await(const Step& step, Patience patience) {
    if (!cache_.in_flight(step)) return true;
    const std::uint64_t begin_ns = transport_.now_ns();
    while (cache_.in_flight(step))
        if (collect(patience) == 0 && patience == Patience::none) return false;
    if (collected_ns_ > begin_ns) waited_ns_ += collected_ns_ - begin_ns;
    return true;
}

// Brings a request to its end, or as far as the patience goes. \return whether it is over
template <class Ask>
bool PageEngine::drive(Ask&& ask, std::uint64_t attempt, Patience patience, int& status) {
    for (Step step; (step = ask()).kind != Step::Kind::done;) {
        if (step.kind == Step::Kind::wait) {
            if (!await(step, patience)) return false;
            continue;
        }
        if (step.operation->handle == attempt) {
            // It failed under this call's eyes: back it goes.
            status = put_status_;
            cache_.complete(*step.operation, status, transport_.now_ns());
            launch_due();
            return true;
        }
        launch(*step.operation, attempt);
        if (2 * cache_.operations() >= cache_.config().operations) collect(Patience::none);
    }
    return true;
}

template <class Request>
bool PageEngine::Pending<Request>::advance(Patience patience) {
    if (!done_)
        done_ = engine_.drive([this] { return engine_.next(task_, request_); }, attempt_, patience, status_);
    return done_;
}

template <class Request>
int PageEngine::Pending<Request>::wait() {
    advance(Patience::all);
    // One that ended before it was done has to outlive its operations.
    while (request_.outstanding())
        engine_.collect(Patience::all);
    return status_ != 0 ? status_ : request_.status;
}

template class PageEngine::Pending<GetRequest>;
template class PageEngine::Pending<PutRequest>;

int PageEngine::get_slowly(const TaskClock& task, Rank target, std::uint64_t address,
                           std::uint64_t size_bytes, std::byte* to) {
    bool arrived = cache_.settle(target, address, size_bytes);
    // A prefetch that has arrived and was not looked for yet is not late.
    if (!cache_.gets_in_flight().empty()) arrived = collect(Patience::none) != 0 || arrived;
    if (arrived && get_cached(task, target, address, size_bytes, to)) return 0;
    return Get(*this, task, get_request(target, address, size_bytes, to)).wait();
}

int PageEngine::put_slowly(Rank target, std::uint64_t address, std::uint64_t size_bytes,
                           const std::byte* from) {
    return Put(*this, {}, put_request(target, address, size_bytes, from)).wait();
}

void PageEngine::prefetch(const TaskClock& task, Rank target, std::uint64_t address,
                          std::uint64_t size_bytes) {
    const ByteRange readable = transport_.readable(target, address);
    if (size_bytes == 0 || readable.empty()) return;
    PrefetchRequest request(target, {address, address + std::min(size_bytes, readable.end - address)},
                            readable);
    int status = 0;
    drive([&] { return cache_.prefetch(task, request); }, ++attempts_, Patience::all, status);
}

int PageEngine::release() { return release(ReleaseRequest()); }

int PageEngine::release(Rank target, ByteRange range) { return release(ReleaseRequest(target, range)); }

int PageEngine::release(ReleaseRequest request) {
    int status = 0;
    drive([&] { return cache_.release(request); }, ++attempts_, Patience::all, status);
    return status;
}

}  // namespace nearfetch
