// SPDX-License-Identifier: Apache-2.0
#include "python/waiting_job.hpp"

#include <Python.h>

#include <utility>

namespace nearfetch::python {

namespace {

/// Whether this thread holds the global lock.
bool is_locked() noexcept {
#if defined(Py_LIMITED_API)
    // Since Python 3.12 it is this thread's own state that is asked.
    return PyThreadState_GetDict() != nullptr;
#else
    return PyGILState_Check() == 1;
#endif
}

/// Releases the global lock for its life, if this thread holds it.
class Unlocked {
  public:
    explicit Unlocked(bool wanted = true) : state_(wanted && is_locked() ? PyEval_SaveThread() : nullptr) {}
    ~Unlocked() {
        if (state_ != nullptr) PyEval_RestoreThread(state_);
    }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

  private:
    PyThreadState* state_;
};

class WaitingTransport final : public Transport {
  public:
    WaitingTransport(std::unique_ptr<Transport> inner, bool always)
        : inner_(std::move(inner)), always_(always) {}
    ~WaitingTransport() override {
        const Unlocked unlocked;
        inner_.reset();
    }

    int start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                  Token token) override {
        const Unlocked unlocked(always_);
        return inner_->start_get(target, address, size, to, token);
    }
    int start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                  Token token) override {
        const Unlocked unlocked(always_);
        return inner_->start_put(target, address, size, from, token);
    }
    std::size_t test(std::span<Completion> out) override {
        const Unlocked unlocked(always_);
        return inner_->test(out);
    }
    std::size_t wait(std::span<Completion> out) override {
        // A result that is already available needs no release of the lock.
        if (!always_)
            if (const std::size_t found = inner_->test(out); found > 0) return found;
        const Unlocked unlocked;
        return inner_->wait(out);
    }
    ByteRange readable(Rank target, std::uint64_t address) const noexcept override {
        return inner_->readable(target, address);
    }
    void yield() override {
        const Unlocked unlocked;
        inner_->yield();
    }
    std::uint64_t now_ns() override {
        const Unlocked unlocked(always_);
        return inner_->now_ns();
    }
    std::string status_text(int status) const override { return inner_->status_text(status); }

  private:
    std::unique_ptr<Transport> inner_;
    bool always_;
};

/// Ends without the lock, because its end waits for the thread's.
class WaitingThread final : public Job::Thread {
  public:
    explicit WaitingThread(std::unique_ptr<Job::Thread> inner) : inner_(std::move(inner)) {}
    ~WaitingThread() override {
        const Unlocked unlocked;
        inner_.reset();
    }
    void join() override {
        const Unlocked unlocked;
        inner_->join();
    }

  private:
    std::unique_ptr<Job::Thread> inner_;
};

}  // namespace

AddedSegment WaitingJob::add_segment(std::uint64_t bytes) {
    const Unlocked unlocked;
    return inner_.add_segment(bytes);
}

void WaitingJob::remove_segment(std::uint64_t address) {
    const Unlocked unlocked;
    inner_.remove_segment(address);
}

std::unique_ptr<Transport> WaitingJob::endpoint() {
    return std::make_unique<WaitingTransport>(inner_.endpoint(), virtual_time());
}

std::uint64_t WaitingJob::atomic(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t operand,
                                 std::uint64_t compare) {
    const Unlocked unlocked;
    return inner_.atomic(target, address, op, operand, compare);
}

void WaitingJob::start_addition(Rank target, std::uint64_t address, AtomicOp op, std::uint64_t amount) {
    const Unlocked unlocked(virtual_time());
    inner_.start_addition(target, address, op, amount);
}

void WaitingJob::finish_additions() {
    const Unlocked unlocked;
    inner_.finish_additions();
}

void WaitingJob::send(Rank target, Port port, std::span<const std::byte> bytes) {
    const Unlocked unlocked;
    inner_.send(target, port, bytes);
}

bool WaitingJob::receive(Port port, Message& message, bool wait) {
    const Unlocked unlocked(wait || virtual_time());
    return inner_.receive(port, message, wait);
}

void WaitingJob::barrier(const CollectiveCall& call) {
    const Unlocked unlocked;
    inner_.barrier(call);
}

void WaitingJob::compute(std::uint64_t ns) {
    const Unlocked unlocked;
    inner_.compute(ns);
}

std::unique_ptr<Job::Thread> WaitingJob::start_thread(std::function<void()> body) {
    const Unlocked unlocked(virtual_time());
    return std::make_unique<WaitingThread>(inner_.start_thread(std::move(body)));
}

}  // namespace nearfetch::python
