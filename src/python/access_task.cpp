// SPDX-License-Identifier: Apache-2.0
#include "python/access_task.hpp"

#include <memory>
#include <utility>

namespace nearfetch::python {

AccessTask::Owner::Owner(AnyArray& of, Kind what, const Places& which, std::vector<std::byte> memory)
    : array(of),
      kind(what),
      indices(which.indices.begin(), which.indices.end()),
      places{which.box, which.steps, indices},
      elements(std::move(memory)) {
    if (can_spawn())
        task.emplace(spawn([this] { run(); }));
    else
        run();
}

void AccessTask::Owner::run() {
    struct Done {
        std::atomic<bool>& done;
        ~Done() { done = true; }
    } const at_end{done};
    if (kind == Kind::get)
        array.get(places, elements);
    else
        array.put(places, elements);
}

AccessTask::AccessTask(AnyArray& array, Kind kind, const Places& places, std::vector<std::byte> elements)
    : held_(std::make_unique<Owner>(array, kind, places, std::move(elements))) {}

bool AccessTask::test() const { return held_->done; }

void AccessTask::wait() const {
    Owner& owner = *held_;
    if (owner.failure) std::rethrow_exception(owner.failure);
    if (!owner.task) return;
    try {
        owner.task->join();
    } catch (...) {
        owner.failure = std::current_exception();
        throw;
    }
}

std::span<const std::byte> AccessTask::elements() const { return held_->elements; }

}  // namespace nearfetch::python
