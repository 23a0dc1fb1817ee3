// SPDX-License-Identifier: Apache-2.0

// Gets and puts that do not wait.

#include <memory>
#include <variant>

#include "capi/cache.hpp"

namespace capi = nearfetch::capi;
using nearfetch::PageEngine;

struct nearfetch_request {
    nearfetch_request(nearfetch_cache& its_cache, const capi::Access& its_access)
        : cache(its_cache), access(its_access) {
        ++cache.requests;
    }
    ~nearfetch_request() { --cache.requests; }
    nearfetch_request(const nearfetch_request&) = delete;
    nearfetch_request& operator=(const nearfetch_request&) = delete;

    bool test() {
        return std::visit([](auto& transfer) { return transfer.test(); }, *transfer_);
    }
    nearfetch_status wait() {
        const int status = std::visit([](auto& transfer) { return transfer.wait(); }, *transfer_);
        return capi::outcome(cache, access, status, "start it again");
    }

    /// A request of the kind T; not movable.
    template <class T, class Request>
    void begin(const nearfetch_task& task, const Request& request) {
        transfer_ =
            std::make_unique<Transfer>(std::in_place_type<T>, cache.engine, capi::clock_of(task), request);
    }

    nearfetch_cache& cache;
    const capi::Access access;

  private:
    using Transfer = std::variant<PageEngine::Get, PageEngine::Put>;
    std::unique_ptr<Transfer> transfer_;
};

namespace {

/// Begins the request of `request_of`. A complete one needs no object.
template <class Transfer, class RequestOf>
nearfetch_status begin(const capi::Access& access, nearfetch_cache* cache, const nearfetch_task* task,
                       const void* memory, nearfetch_request** request, const RequestOf& request_of) {
    return capi::guarded(NEARFETCH_TRANSFER_FAILED, [&] {
        if (request == nullptr) return capi::refuse(access, cache, task, nullptr);
        *request = nullptr;
        if (!capi::possible(access, cache, task, memory)) return capi::refuse(access, cache, task, memory);
        auto made = std::make_unique<nearfetch_request>(*cache, access);
        made->begin<Transfer>(*task, request_of());
        if (made->test()) return made->wait();
        *request = made.release();
        return NEARFETCH_OK;
    });
}

}  // namespace

extern "C" {

nearfetch_status nearfetch_start_get(nearfetch_cache* cache, const nearfetch_task* task, int32_t rank,
                                     uint64_t address, uint64_t bytes, void* to,
                                     nearfetch_request** request) {
    return begin<PageEngine::Get>({"get", rank, address, bytes, true}, cache, task, to, request, [&] {
        return cache->engine.get_request(rank, address, bytes, static_cast<std::byte*>(to));
    });
}

nearfetch_status nearfetch_start_put(nearfetch_cache* cache, const nearfetch_task* task, int32_t rank,
                                     uint64_t address, uint64_t bytes, const void* from,
                                     nearfetch_request** request) {
    return begin<PageEngine::Put>({"put", rank, address, bytes, true}, cache, task, from, request, [&] {
        return cache->engine.put_request(rank, address, bytes, static_cast<const std::byte*>(from));
    });
}

nearfetch_status nearfetch_test(nearfetch_request* request, int* done) {
    return capi::guarded(NEARFETCH_TRANSFER_FAILED, [&] {
        if (done == nullptr)
            return capi::fail(NEARFETCH_BAD_ARGUMENT, "a request cannot be tested", "done is NULL",
                              "give one");
        *done = request == nullptr || request->test();
        return NEARFETCH_OK;
    });
}

nearfetch_status nearfetch_wait(nearfetch_request* request) {
    if (request == nullptr) return NEARFETCH_OK;
    return capi::guarded(NEARFETCH_TRANSFER_FAILED, [&] {
        const std::unique_ptr<nearfetch_request> mine(request);
        return mine->wait();
    });
}

}  // extern "C"
