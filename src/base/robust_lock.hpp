// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <cerrno>

namespace nearfetch {

/// A lock in memory that processes share. If its owner dies, the next one gets it, and finds what it guards
/// as the dead one has left it (pthread_mutexattr_setrobust).
class RobustLock {
  public:
    /// Makes one in there, for all processes that map it. \return false: the system has no such locks
    static bool create(RobustLock* there) noexcept {
        pthread_mutexattr_t shared;
        if (pthread_mutexattr_init(&shared) != 0) return false;
        const bool made = pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) == 0 &&
                          pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST) == 0 &&
                          pthread_mutex_init(&there->mutex_, &shared) == 0;
        pthread_mutexattr_destroy(&shared);
        return made;
    }

    bool try_lock() noexcept { return is_mine(pthread_mutex_trylock(&mutex_)); }
    /// Waits for it. \return false: the system refuses
    bool lock() noexcept { return is_mine(pthread_mutex_lock(&mutex_)); }
    void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

  private:
    bool is_mine(int result) noexcept {
        return result == 0 || (result == EOWNERDEAD && pthread_mutex_consistent(&mutex_) == 0);
    }

    pthread_mutex_t mutex_;
};

}  // namespace nearfetch
