// SPDX-License-Identifier: Apache-2.0
#include "pgas/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

#include "pgas/message.hpp"
#include "pgas/ordered.hpp"

namespace nearfetch::pgas {

namespace {

constexpr std::uint64_t alignment = 64;  // of allocations

/// Runs `body`, then releases its puts even if it throws. A later write-back would overwrite newer data.
template <class Body>
void run_and_release(Context& context, Body&& body) {
    try {
        body();
    } catch (...) {
        try {
            context.release();
        } catch (const Error&) {  // the first error is reported
        }
        throw;
    }
    context.release();
}

/// An answer that is an error at the caller, which waits for one in any case.
std::vector<std::byte> refusal(Header header, std::string_view why) {
    header.kind = Header::Kind::error;
    return compose(header, std::as_bytes(std::span(why)));
}

}  // namespace

std::uint64_t segment_bytes(const LaunchOptions& options) noexcept {
    const std::uint64_t page = std::max<std::uint64_t>(alignment, options.cache.page_bytes);
    const std::uint64_t rest = options.segment_bytes % page;
    const std::uint64_t rounded = rest == 0 ? options.segment_bytes : options.segment_bytes + (page - rest);
    // Rounding overflows near 2^64; the transport then reports that the memory is not available.
    return std::max(rounded, options.segment_bytes);
}

Runtime::Runtime(Job& job, const LaunchOptions& options, void (*anchor)(), Site site, const NodeMemory* node)
    : job_(job), options_(options), anchor_(anchor), site_(std::move(site)) {
    if (node == nullptr) node = job.node_memory();
    if (node != nullptr) node_sharing_.emplace(*node);
}

void Runtime::run(const std::function<void()>& main) {
    if (job_.threads()) server_ = job_.start_thread([this] { serve(); });
    try {
        const Running running(*this);
        Context context(*this);
        const Context::Use use(context);
        main();
        // After this barrier all puts are released, and nobody sends requests to this rank.
        const detail::Collective end("the end of main", {});
        pgas::barrier(context, std::memory_order_seq_cst);
    } catch (...) {
        try {
            stop_server();
        } catch (...) {  // the first exception ends the program
        }
        throw;
    }
    stop_server();
}

void Runtime::stop_server() {
    if (server_ == nullptr) return;
    Header stop;
    stop.kind = Header::Kind::stop;
    job_.send(job_.rank(), server_port, compose(stop, {}));
    server_->join();
}

std::uint64_t Runtime::end_of(std::uint64_t address, std::size_t bytes) const noexcept {
    return std::min(job_.segment().size(), (address + bytes + alignment - 1) / alignment * alignment);
}

std::uint64_t Runtime::take_memory(std::size_t bytes) {
    std::optional<std::uint64_t> there = find_room(bytes);
    if (!there && reclaim()) there = find_room(bytes);
    if (!there) no_room(bytes);
    return *there;
}

std::uint64_t Runtime::allocate(std::size_t bytes) {
    const std::size_t wanted_bytes = std::max<std::size_t>(bytes, 1);
    const std::uint64_t there = take_memory(wanted_bytes);
    freeable_.emplace(there, end_of(there, wanted_bytes));
    return there;
}

void Runtime::free(std::uint64_t address) {
    const auto freeable = freeable_.find(address);
    if (freeable == freeable_.end())
        throw Error("free: address " + std::to_string(address),
                    "no allocation begins there: it was freed before, or allocate() has not returned it",
                    "free what allocate() has returned, once");
    const std::uint64_t end = freeable->second;
    freeable_.erase(freeable);
    clear(address, end);
    give_back(address, end);
}

std::uint64_t Runtime::reallocate(std::uint64_t address, std::size_t bytes, std::size_t wanted_bytes) {
    const auto freeable = freeable_.find(address);
    const bool may_be_freed = freeable != freeable_.end();
    const std::uint64_t end = may_be_freed ? freeable->second : end_of(address, bytes);
    if (may_be_freed) wanted_bytes = std::max<std::size_t>(wanted_bytes, 1);
    for (bool again = false;; again = true) {
        const auto free_before = free_;
        const std::uint64_t allocated_before = allocated_;
        give_back(address, end);
        if (const std::optional<std::uint64_t> there = find_room(wanted_bytes)) {
            clear(address, end);
            if (may_be_freed) {
                freeable_.erase(freeable);
                freeable_.emplace(*there, end_of(*there, wanted_bytes));
            }
            return *there;
        }
        free_ = free_before;
        allocated_ = allocated_before;
        if (again || !reclaim()) no_room(wanted_bytes);
    }
}

std::uint64_t Runtime::allocate_droppable(std::size_t bytes) {
    droppable_ = true;
    return take_memory(bytes);
}

void Runtime::drop(std::uint64_t address, std::size_t bytes) noexcept {
    const std::uint64_t end = end_of(address, bytes);
    if (end == address) return;
    try {
        const std::lock_guard lock(mutex_);
        dropped_.emplace_back(address, end);
    } catch (const std::bad_alloc&) {  // the list stays as it is
    }
}

std::optional<std::uint64_t> Runtime::find_room(std::size_t bytes) {
    const auto gap = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& range) { return range.second - range.first >= bytes; });
    if (gap != free_.end()) {
        const auto [begin, end] = *gap;
        free_.erase(gap);
        if (const std::uint64_t taken = std::min(end, end_of(begin, bytes)); taken != end)
            free_.emplace(taken, end);
        return begin;
    }
    if (bytes > job_.segment().size() - allocated_) return std::nullopt;
    return std::exchange(allocated_, end_of(allocated_, bytes));
}

void Runtime::no_room(std::size_t bytes) const {
    const std::uint64_t segment = job_.segment().size();
    std::uint64_t left = segment - allocated_;
    for (const auto& [begin, end] : free_)
        left = std::max(left, end - begin);
    throw Error("allocate: " + std::to_string(bytes) + " bytes",
                std::to_string(left) + " are left of the segment's " + std::to_string(segment),
                "raise LaunchOptions::segment_bytes");
}

// All ranks reclaim in the same order, so that they agree whether there is room.
bool Runtime::reclaim() {
    if (!droppable_) return false;
    Context& context = Context::here();
    pgas::barrier(context, std::memory_order_seq_cst);  // earlier puts to this memory are complete
    std::vector<Range> own;
    {
        const std::lock_guard lock(mutex_);
        own = dropped_;
    }
    const std::vector<Range> all = common(std::move(own));
    for (const auto& [begin, end] : all) {
        clear(begin, end);
        give_back(begin, end);
    }
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(dropped_,
                      [&](const Range& one) { return std::binary_search(all.begin(), all.end(), one); });
    }
    pgas::barrier(context, std::memory_order_seq_cst);  // nobody puts before it is zero
    return !all.empty();
}

std::vector<Runtime::Range> Runtime::common(std::vector<Range> own) {
    const auto bytes_of = [](const std::vector<Range>& ranges) {
        std::vector<std::uint64_t> words{ranges.size()};
        for (const auto& [begin, end] : ranges)
            words.insert(words.end(), {begin, end});
        const auto bytes = std::as_bytes(std::span(words));
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    const auto receive = [&] {
        Message message;
        job_.receive(memory_port, message, true);
        std::vector<std::uint64_t> words(message.bytes.size() / sizeof(std::uint64_t));
        std::memcpy(words.data(), message.bytes.data(), words.size() * sizeof(std::uint64_t));
        std::vector<Range> ranges;
        for (std::size_t n = 1; n < words.size(); n += 2)
            ranges.emplace_back(words[n], words[n + 1]);
        return ranges;
    };
    std::sort(own.begin(), own.end());
    if (job_.rank() != 0) {
        job_.send(0, memory_port, bytes_of(own));
        return receive();
    }
    for (Rank r = 1; r < job_.ranks(); ++r) {
        const std::vector<Range> other = receive();
        std::vector<Range> both;
        std::set_intersection(own.begin(), own.end(), other.begin(), other.end(), std::back_inserter(both));
        own = std::move(both);
    }
    for (Rank r = 1; r < job_.ranks(); ++r)
        job_.send(r, memory_port, bytes_of(own));
    return own;
}

void Runtime::clear(std::uint64_t begin, std::uint64_t end) {
    std::fill(job_.segment().begin() + static_cast<std::ptrdiff_t>(begin),
              job_.segment().begin() + static_cast<std::ptrdiff_t>(end), std::byte{});
}

void Runtime::give_back(std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return;
    auto next = free_.lower_bound(begin);
    if (next != free_.end() && next->first == end) {
        end = next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin())
        if (const auto before = std::prev(next); before->second == begin) {
            begin = before->first;
            free_.erase(before);
        }
    if (end == allocated_)
        allocated_ = begin;
    else
        free_.emplace(begin, end);
}

std::unique_ptr<Job::Thread> Runtime::start_task(std::function<void()> body) {
    return job_.start_thread([this, body = std::move(body)] { run_task(body); });
}

// If its puts could not be released, its context is not used again.
void Runtime::run_task(const std::function<void()>& body) {
    const Running running(*this);
    std::unique_ptr<Context> context = take_context();
    std::exception_ptr failure;
    bool released = false;
    {
        const Context::Use use(*context);
        const Counted counted(*this, *context);
        context->acquire();
        try {
            body();
        } catch (...) {
            failure = std::current_exception();
        }
        try {
            context->release();
            released = true;
        } catch (...) {
            if (!failure) failure = std::current_exception();  // else the first error is reported
        }
    }
    if (released) {
        const std::lock_guard lock(mutex_);
        idle_contexts_.push_back(std::move(context));
    }
    if (failure) std::rethrow_exception(failure);
}

std::unique_ptr<Context> Runtime::take_context() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_contexts_.empty()) {
            std::unique_ptr<Context> context = std::move(idle_contexts_.back());
            idle_contexts_.pop_back();
            return context;
        }
    }
    auto context = std::make_unique<Context>(*this);
    const std::lock_guard lock(mutex_);
    ++ended_.contexts_made;
    return context;
}

Runtime::Counted::~Counted() {
    const TransferStatistics fresh = context_.statistics(Context::Counting::begins_anew);
    const std::lock_guard lock(runtime_.mutex_);
    runtime_.ended_.statistics.add(fresh);
}

Runtime::Ended Runtime::ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
}

// Runs short requests itself, and gives others to an idle worker.
void Runtime::serve() {
    std::vector<Worker> workers;
    Answering answering;
    for (Message message;;) {
        job_.receive(server_port, message, true);
        const Header header = header_of(message.bytes);
        if (header.kind == Header::Kind::stop) break;
        if (header.kind == Header::Kind::short_call) {
            job_.send(header.source, header.port, answer(message.bytes, answering));
            continue;
        }
        try {
            job_.send(job_.rank(), idle_worker(workers), message.bytes);
        } catch (const std::exception& problem) {
            job_.send(header.source, header.port, refusal(header, problem.what()));
        }
    }
    Header stop;
    stop.kind = Header::Kind::stop;
    for (Worker& worker : workers) {
        job_.send(job_.rank(), worker.port, compose(stop, {}));
        worker.thread->join();
        ports_.give(worker.port);
    }
}

Port Runtime::idle_worker(std::vector<Worker>& workers) {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_workers_.empty()) {
            const Port port = idle_workers_.back();
            idle_workers_.pop_back();
            return port;
        }
    }
    const Port port = ports_.take();
    try {
        workers.reserve(workers.size() + 1);  // so that a started thread can always be stored
        workers.push_back({port, job_.start_thread([this, port] { work(port); })});
    } catch (...) {
        ports_.give(port);
        throw;
    }
    return port;
}

void Runtime::work(Port port) {
    Answering answering;
    for (Message message;;) {
        job_.receive(port, message, true);
        const Header header = header_of(message.bytes);
        if (header.kind == Header::Kind::stop) return;
        const std::vector<std::byte> reply = [&] {
            const Running running(*this);
            return answer(message.bytes, answering);
        }();
        {
            const std::lock_guard lock(mutex_);
            idle_workers_.push_back(port);
        }
        job_.send(header.source, header.port, reply);
    }
}

std::vector<std::byte> Runtime::answer(std::span<const std::byte> request, Answering& answering) {
    try {
        if (!answering.use) answering.use.emplace(answering.context.emplace(*this));
        return result_of(request);
    } catch (const std::exception& problem) {
        return refusal(header_of(request), problem.what());
    }
}

// An acquire before the call and a release after it (000, section III-D).
std::vector<std::byte> Runtime::result_of(std::span<const std::byte> request) {
    Header header = header_of(request);
    const auto code = reinterpret_cast<detail::Code>(reinterpret_cast<std::intptr_t>(anchor_) + header.code);
    // The closure and its value may be over-aligned types.
    std::vector<std::max_align_t> closure((body_of(request).size() + sizeof(std::max_align_t) - 1) /
                                          sizeof(std::max_align_t));
    if (!body_of(request).empty())
        std::memcpy(closure.data(), body_of(request).data(), body_of(request).size());
    static_assert(sizeof(Header) % alignof(std::max_align_t) == 0);
    std::vector<std::byte> reply(sizeof(Header) + header.result_bytes);
    const auto body = [&] { code(closure.data(), reply.data() + sizeof(Header)); };
    Context& context = Context::here();
    const Counted counted(*this, context);
    try {
        if (header.kind == Header::Kind::short_call) {
            body();
        } else {
            context.acquire();
            run_and_release(context, body);
        }
    } catch (const std::exception& problem) {
        return refusal(header, problem.what());
    } catch (...) {
        return refusal(header, "an exception of unknown type");
    }
    header.kind = Header::Kind::result;
    std::memcpy(reply.data(), &header, sizeof header);
    return reply;
}

}  // namespace nearfetch::pgas
