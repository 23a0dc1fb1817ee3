// SPDX-License-Identifier: Apache-2.0
//
// Loops in several threads of a rank (nearfetch/detail/array/tasks.hpp).
//
// A task begins with an acquire. What another task has fetched before that is stale for it. So all wait until
// all have begun: then prefetched data is fetched once.

#include <atomic>
#include <exception>
#include <nearfetch/detail/array/tasks.hpp>
#include <nearfetch/pgas.hpp>
#include <string>
#include <vector>

namespace nearfetch {

void in_tasks(std::int64_t count, const std::function<void(std::int64_t)>& body) {
    if (count < 0)
        throw Error("in_tasks: " + std::to_string(count) + " tasks", "they are counted", "use 0 or more");
    if (count < 2 || !can_spawn()) {
        for (std::int64_t k = 0; k < count; ++k)
            body(k);
        return;
    }
    std::atomic<std::int64_t> to_begin{count};
    std::exception_ptr failure;
    const auto attempt = [&](const auto& action) {
        try {
            action();
        } catch (...) {
            if (!failure) failure = std::current_exception();
        }
    };
    const auto begin = [&] {
        --to_begin;
        while (to_begin > 0)
            yield();
    };
    std::vector<Task> tasks;
    attempt([&] {
        for (std::int64_t k = 1; k < count; ++k)
            tasks.push_back(spawn([&body, &begin, k] {
                begin();
                body(k);
            }));
    });
    if (failure) to_begin = 0;  // those that have begun wait for nobody
    attempt([&] {
        if (failure) return;
        begin();
        body(0);
    });
    for (Task& task : tasks)
        attempt([&] { task.join(); });
    if (failure) std::rethrow_exception(failure);
}

namespace detail {

void check_tasks(int tasks) {
    if (tasks < 1)
        throw Error("for_each: " + std::to_string(tasks) + " tasks", "somebody has to visit the elements",
                    "use at least one");
}

}  // namespace detail

}  // namespace nearfetch
