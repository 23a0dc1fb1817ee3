// SPDX-License-Identifier: Apache-2.0
#include "pgas/runtime.hpp"

#include <cstring>
#include <exception>
#include <utility>

#include "pgas/message.hpp"
#include "pgas/ordered.hpp"

namespace nearfetch::pgas {

namespace {

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

Runtime::Runtime(Job& job, const LaunchOptions& options, void (*anchor)(), Site site, const NodeMemory* node)
    : job_(job),
      options_(options),
      anchor_(anchor),
      site_(std::move(site)),
      heap_(job, options.cache.page_bytes) {
    if (node == nullptr) node = job.node_memory();
    if (node != nullptr) node_sharing_.emplace(*node);
}

void Runtime::run(const std::function<void()>& main) {
    Main here(*this);
    main();
    here.finish("the end of main");
}

Runtime::Main::Main(Runtime& runtime) : runtime_(runtime) {
    if (runtime.job_.threads()) runtime.server_ = runtime.job_.start_thread([&runtime] { runtime.serve(); });
    try {
        running_.emplace(runtime);
        use_.emplace(context_.emplace(runtime));
    } catch (...) {
        leave();
        throw;
    }
}

Runtime::Main::~Main() { leave(); }

/// For a program that an exception has ended: that is the one to report.
void Runtime::Main::leave() noexcept {
    try {
        end();
    } catch (...) {
    }
}

void Runtime::Main::end() {
    use_.reset();
    context_.reset();
    running_.reset();
    runtime_.stop_server();
}

void Runtime::Main::finish(const char* what) {
    {
        // After this barrier all puts are released, and nobody sends requests to this rank.
        const detail::Collective end(what, {});
        pgas::barrier(*context_, std::memory_order_seq_cst);
    }
    end();
}

void Runtime::stop_server() {
    if (server_ == nullptr) return;
    Header stop;
    stop.kind = Header::Kind::stop;
    job_.send(job_.rank(), server_port, compose(stop, {}));
    std::exchange(server_, nullptr)->join();
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
