// SPDX-License-Identifier: Apache-2.0
#pragma once

// Objects that belong to a rank of a launched program. They have to end in its thread, before the rank does.
// Python may drop an object in any thread, or keep it beyond the program.

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "transport/job.hpp"

namespace nearfetch::python {

/// An object that only the rank's thread may use and destroy.
class Owned {
  public:
    Owned() = default;
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    virtual ~Owned() = default;
};

class RankState {
  public:
    explicit RankState(Job& job) : job_(&job) {}
    RankState(const RankState&) = delete;
    RankState& operator=(const RankState&) = delete;

    /// The calling thread's, or nullptr.
    static RankState* here() noexcept { return here_; }
    /// \throws Error in a thread that is no rank
    static void require() {
        if (here_ == nullptr) [[unlikely]]
            refuse();
    }
    static std::shared_ptr<RankState> current();

    /// Makes it the calling thread's state for its life; then destroys all objects of the rank, the last
    /// first.
    class Use {
      public:
        explicit Use(std::shared_ptr<RankState> state);
        ~Use();
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

      private:
        std::shared_ptr<RankState> state_;
    };

    void add(std::unique_ptr<Owned> owned);
    /// Destroys it, deferred to the rank's thread if necessary. Thread-safe.
    void drop(const Owned* owned) noexcept;
    /// \throws Error if there are views of the rank's memory that do not keep it alive \pre the rank's
    /// thread, with the global lock
    void require_no_views() const;
    /// Held by a view of the rank's memory at that place.
    std::shared_ptr<void> view(const std::byte* place);

  private:
    void sweep();
    [[noreturn]] static void refuse();

    static thread_local constinit RankState* here_;
    Job* job_;
    std::list<std::unique_ptr<Owned>> owned_;
    std::shared_ptr<void> view_ = std::make_shared<int>(0);
    std::mutex mutex_;  ///< guards the members below
    std::vector<const Owned*> dropped_;
    bool ended_ = false;
};

/// A Python object's handle of a rank's object.
template <class T>
class Held {
  public:
    explicit Held(std::unique_ptr<T> object) : rank_(RankState::current()), object_(object.get()) {
        rank_->add(std::move(object));
    }
    Held(Held&& other) noexcept
        : rank_(std::move(other.rank_)), object_(std::exchange(other.object_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
        if (object_ != nullptr) rank_->drop(object_);
    }

    /// \throws Error in another thread than its rank's, and after its program
    T& operator*() const {
        if (RankState::here() != rank_.get()) [[unlikely]]
            refuse();
        return *object_;
    }
    T* operator->() const { return &**this; }
    RankState& rank() const { return *rank_; }

  private:
    [[noreturn]] static void refuse();

    std::shared_ptr<RankState> rank_;
    T* object_;
};

[[noreturn]] void refuse_foreign_use();

template <class T>
void Held<T>::refuse() {
    refuse_foreign_use();
}

}  // namespace nearfetch::python
