// SPDX-License-Identifier: Apache-2.0

// Unordered gets and puts of the C API, and the fence that completes a task's.
//
// A hit and a small put are done at once. What needs the network is kept with its task until the fence. Their
// number is bounded for the cache: a call above it waits for the oldest ones of its task.

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "capi/cache.hpp"

namespace capi = nearfetch::capi;
using nearfetch::PageEngine;

/// A task's unordered transfers since its last fence.
struct nearfetch_unordered {
    explicit nearfetch_unordered(nearfetch_cache& its_cache) : cache(its_cache) { ++cache.unordered_tasks; }
    ~nearfetch_unordered() { --cache.unordered_tasks; }
    nearfetch_unordered(const nearfetch_unordered&) = delete;
    nearfetch_unordered& operator=(const nearfetch_unordered&) = delete;

    template <class Transfer, class Request>
    void begin(std::in_place_type_t<Transfer> kind, const capi::Access& access, const nearfetch_task& task,
               const Request& request) {
        pending_.emplace_back(kind, access, cache, task, request);
        if (const auto last = std::prev(pending_.end()); last->test()) end(last);
        // Other tasks may begin some, too, while this one waits.
        while (!pending_.empty() && cache.unordered > cache.engine.cache().config().operations)
            end(pending_.begin());
    }

    void finish() {
        while (!pending_.empty()) {
            const std::size_t before = pending_.size();
            for (auto each = pending_.begin(); each != pending_.end();)
                if (const auto one = each++; one->test()) end(one);
            if (pending_.size() == before) end(pending_.begin());
        }
    }

    /// Of the first failure.
    nearfetch_status outcome() const {
        const std::string others =
            failures_ < 2 ? "" : "; " + std::to_string(failures_ - 1) + " others failed since the last fence";
        return capi::outcome(cache, first_, status_, "do all of the task since its last fence again", others);
    }

    nearfetch_cache& cache;

  private:
    struct Pending {
        template <class Transfer, class Request>
        Pending(std::in_place_type_t<Transfer> kind, const capi::Access& its_access,
                nearfetch_cache& its_cache, const nearfetch_task& task, const Request& request)
            : access(its_access),
              cache(its_cache),
              transfer(kind, its_cache.engine, capi::clock_of(task), request) {
            ++cache.unordered;
        }
        ~Pending() { --cache.unordered; }
        Pending(const Pending&) = delete;
        Pending& operator=(const Pending&) = delete;

        bool test() {
            return std::visit([](auto& one) { return one.test(); }, transfer);
        }
        int wait() {
            return std::visit([](auto& one) { return one.wait(); }, transfer);
        }

        const capi::Access access;
        nearfetch_cache& cache;
        std::variant<PageEngine::Get, PageEngine::Put> transfer;
    };

    void end(std::list<Pending>::iterator one) {
        const int status = one->wait();
        if (status != 0 && ++failures_ == 1) {
            first_ = one->access;
            status_ = status;
        }
        pending_.erase(one);
    }

    std::list<Pending> pending_;
    capi::Access first_{"transfer", 0, 0, 0};
    int status_ = 0;
    std::uint64_t failures_ = 0;
};

namespace {

/// The task's transfers in this cache.
/// \return nullptr if it has some in another one
nearfetch_unordered* transfers_of(nearfetch_cache& cache, nearfetch_task& task) {
    if (task.unordered == nullptr) task.unordered = new nearfetch_unordered(cache);
    return &task.unordered->cache == &cache ? task.unordered : nullptr;
}

nearfetch_status fail_elsewhere(const char* what) {
    return capi::fail(NEARFETCH_BAD_ARGUMENT, what,
                      "the task has unordered transfers in the cache of another thread",
                      "call nearfetch_task_fence() there before the task moves");
}

/// Does it at once, or begins it.
template <class Transfer, class Resident, class RequestOf>
nearfetch_status begin(const capi::Access& access, nearfetch_cache* cache, nearfetch_task* task,
                       const void* memory, const Resident& resident, const RequestOf& request_of) {
    return capi::guarded(NEARFETCH_TRANSFER_FAILED, [&] {
        if (!capi::possible(access, cache, task, memory)) return capi::refuse(access, cache, task, memory);
        if (resident()) return NEARFETCH_OK;
        nearfetch_unordered* const transfers = transfers_of(*cache, *task);
        if (transfers == nullptr) return fail_elsewhere("an unordered transfer cannot begin");
        transfers->begin(std::in_place_type<Transfer>, access, *task, request_of());
        return NEARFETCH_OK;
    });
}

}  // namespace

extern "C" {

nearfetch_status nearfetch_get_unordered(nearfetch_cache* cache, nearfetch_task* task, int32_t rank,
                                         uint64_t address, uint64_t bytes, void* to) {
    auto* const bytes_to = static_cast<std::byte*>(to);
    return begin<PageEngine::Get>(
        {"unordered get", rank, address, bytes, true}, cache, task, to,
        [&] { return cache->engine.get_resident(capi::clock_of(*task), rank, address, bytes, bytes_to); },
        [&] { return cache->engine.get_request(rank, address, bytes, bytes_to); });
}

nearfetch_status nearfetch_put_unordered(nearfetch_cache* cache, nearfetch_task* task, int32_t rank,
                                         uint64_t address, uint64_t bytes, const void* from) {
    const auto* const bytes_from = static_cast<const std::byte*>(from);
    return begin<PageEngine::Put>(
        {"unordered put", rank, address, bytes, true}, cache, task, from,
        [&] { return cache->engine.put_resident(rank, address, bytes, bytes_from); },
        [&] { return cache->engine.put_request(rank, address, bytes, bytes_from); });
}

nearfetch_status nearfetch_task_fence(nearfetch_cache* cache, nearfetch_task* task) {
    return capi::guarded(NEARFETCH_TRANSFER_FAILED, [&] {
        if (cache == nullptr || task == nullptr)
            return capi::refuse({"task fence", 0, 0, 0}, cache, task, &task);
        if (task->unordered == nullptr) return NEARFETCH_OK;
        if (transfers_of(*cache, *task) == nullptr) return fail_elsewhere("a task cannot be fenced");
        task->unordered->finish();
        const std::unique_ptr<nearfetch_unordered> transfers(std::exchange(task->unordered, nullptr));
        return transfers->outcome();
    });
}

}  // extern "C"
