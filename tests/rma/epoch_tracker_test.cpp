// SPDX-License-Identifier: Apache-2.0
#include "rma/epoch_tracker.hpp"

#include <gtest/gtest.h>

namespace nearfetch {
namespace {

TEST(EpochTracker, NothingIsOpenAtFirst) {
    const EpochTracker epochs(2);
    EXPECT_FALSE(epochs.may_access(1));
    EXPECT_FALSE(epochs.may_flush(1));
    EXPECT_FALSE(epochs.may_flush_all());
}

TEST(EpochTracker, ALockIsForOneTarget) {
    EpochTracker epochs(2);
    epochs.set(1, Epoch::passive);
    EXPECT_TRUE(epochs.may_access(1));
    EXPECT_TRUE(epochs.may_flush(1));
    EXPECT_FALSE(epochs.may_access(0));
    EXPECT_FALSE(epochs.may_flush_all()) << "MPI_Win_flush_all is for MPI_Win_lock_all";
    epochs.set(1, Epoch::none);
    EXPECT_FALSE(epochs.may_access(1));
}

TEST(EpochTracker, ALockOfAllIsForAll) {
    EpochTracker epochs(2);
    epochs.set_all(Epoch::passive);
    EXPECT_TRUE(epochs.may_access(0) && epochs.may_flush(1) && epochs.may_flush_all());
    epochs.set_all(Epoch::none);
    EXPECT_FALSE(epochs.may_access(0) || epochs.may_flush(1) || epochs.may_flush_all());
}

TEST(EpochTracker, AStartIsForItsGroupAndWithoutFlushes) {
    EpochTracker epochs(3);
    epochs.start({0, 2});
    EXPECT_TRUE(epochs.may_access(0) && epochs.may_access(2));
    EXPECT_FALSE(epochs.may_access(1));
    EXPECT_FALSE(epochs.may_flush(0) || epochs.may_flush_all());
    epochs.complete();
    EXPECT_FALSE(epochs.may_access(0) || epochs.may_access(2));
}

TEST(EpochTracker, AFenceOpensWithTheFirstAccessAndALockEndsThat) {
    EpochTracker epochs(2);
    epochs.accessed();
    EXPECT_FALSE(epochs.may_access(1)) << "there was no fence";
    epochs.fence();
    EXPECT_FALSE(epochs.may_access(1));
    epochs.accessed();
    EXPECT_TRUE(epochs.may_access(0) && epochs.may_access(1));
    EXPECT_FALSE(epochs.may_flush(1) || epochs.may_flush_all());
    epochs.fence();
    epochs.set(1, Epoch::passive);
    epochs.set(1, Epoch::none);
    epochs.accessed();
    EXPECT_FALSE(epochs.may_access(1));
}

TEST(EpochTracker, ATargetIsClosedWhenNothingIsOpenForIt) {
    EpochTracker epochs(2);
    EXPECT_TRUE(epochs.closed(1));
    epochs.set(1, Epoch::passive);
    EXPECT_FALSE(epochs.closed(1));
    EXPECT_TRUE(epochs.closed(0));
    epochs.set(1, Epoch::none);
    epochs.set_all(Epoch::passive);
    EXPECT_FALSE(epochs.closed(0) || epochs.closed(1));
    epochs.start({0});
    EXPECT_FALSE(epochs.closed(0) || epochs.closed(1)) << "the library may refuse a lock of any";
    epochs.complete();
    EXPECT_TRUE(epochs.closed(0) && epochs.closed(1));
    epochs.fence();
    EXPECT_FALSE(epochs.closed(1)) << "whether an epoch is open shows with the next access";
    epochs.set(0, Epoch::passive);
    EXPECT_TRUE(epochs.closed(1));
}

}  // namespace
}  // namespace nearfetch
