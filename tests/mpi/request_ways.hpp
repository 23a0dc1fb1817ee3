// SPDX-License-Identifier: Apache-2.0
#pragma once

// The ways in which a program completes requests: each call of MPI that does, alone and of several at once.

#include <functional>

#include "check.hpp"

namespace check {

/// Completes all requests; calls `done(i)` as soon as request i is known to be complete.
using Completer = std::function<void(std::vector<MPI_Request>&, const std::function<void(int)>&)>;

struct Way {
    const char* name;
    Completer complete;
};

inline void each_done(int count, const int* indices, const std::function<void(int)>& done) {
    for (int i = 0; i < count; ++i)
        done(indices[i]);
}

inline std::vector<Way> all_ways() {
    std::vector<Way> ways;
    ways.push_back({"Wait", [](auto& r, const auto& done) {
                        for (std::size_t i = r.size(); i-- > 0;) {
                            CHECK_MPI(MPI_Wait(&r[i], MPI_STATUS_IGNORE));
                            CHECK(r[i] == MPI_REQUEST_NULL);
                            done(static_cast<int>(i));
                        }
                    }});
    ways.push_back({"Wait with status", [](auto& r, const auto& done) {
                        for (std::size_t i = 0; i < r.size(); ++i) {
                            MPI_Status status;
                            CHECK_MPI(MPI_Wait(&r[i], &status));
                            done(static_cast<int>(i));
                            CHECK_MPI(MPI_Wait(&r[i], &status));  // of nothing: at once
                        }
                    }});
    ways.push_back({"Test", [](auto& r, const auto& done) {
                        for (std::size_t i = 0; i < r.size(); ++i) {
                            int flag = 0;
                            while (!flag)
                                CHECK_MPI(MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE));
                            CHECK(r[i] == MPI_REQUEST_NULL);
                            done(static_cast<int>(i));
                        }
                    }});
    ways.push_back({"Request_get_status", [](auto& r, const auto& done) {
                        for (std::size_t i = 0; i < r.size(); ++i) {
                            int flag = 0;
                            MPI_Status status;
                            while (!flag)
                                CHECK_MPI(MPI_Request_get_status(r[i], &flag, &status));
                            CHECK(r[i] != MPI_REQUEST_NULL);
                            CHECK_MPI(MPI_Request_get_status(r[i], &flag, MPI_STATUS_IGNORE));
                            CHECK_EQ(flag, 1);
                            CHECK_MPI(MPI_Wait(&r[i], &status));
                            done(static_cast<int>(i));
                        }
                    }});
    ways.push_back({"Waitall", [](auto& r, const auto& done) {
                        CHECK_MPI(MPI_Waitall(static_cast<int>(r.size()), r.data(), MPI_STATUSES_IGNORE));
                        for (std::size_t i = 0; i < r.size(); ++i) {
                            CHECK(r[i] == MPI_REQUEST_NULL);
                            done(static_cast<int>(i));
                        }
                    }});
    ways.push_back({"Waitall with statuses", [](auto& r, const auto& done) {
                        std::vector<MPI_Status> statuses(r.size());
                        CHECK_MPI(MPI_Waitall(static_cast<int>(r.size()), r.data(), statuses.data()));
                        for (std::size_t i = 0; i < r.size(); ++i)
                            done(static_cast<int>(i));
                    }});
    ways.push_back({"Testall", [](auto& r, const auto& done) {
                        int flag = 0;
                        std::vector<MPI_Status> statuses(r.size());
                        while (!flag)
                            CHECK_MPI(
                                MPI_Testall(static_cast<int>(r.size()), r.data(), &flag, statuses.data()));
                        for (std::size_t i = 0; i < r.size(); ++i)
                            done(static_cast<int>(i));
                    }});
    ways.push_back({"Waitany", [](auto& r, const auto& done) {
                        for (std::size_t left = r.size(); left > 0; --left) {
                            int index = -1;
                            MPI_Status status;
                            CHECK_MPI(MPI_Waitany(static_cast<int>(r.size()), r.data(), &index,
                                                  left % 2 ? MPI_STATUS_IGNORE : &status));
                            CHECK(index >= 0 && index < static_cast<int>(r.size()));
                            done(index);
                        }
                        int index = 0;
                        CHECK_MPI(
                            MPI_Waitany(static_cast<int>(r.size()), r.data(), &index, MPI_STATUS_IGNORE));
                        CHECK_EQ(index, MPI_UNDEFINED);
                    }});
    ways.push_back(
        {"Testany", [](auto& r, const auto& done) {
             for (std::size_t left = r.size(); left > 0; --left) {
                 int index = -1, flag = 0;
                 while (!flag)
                     CHECK_MPI(
                         MPI_Testany(static_cast<int>(r.size()), r.data(), &index, &flag, MPI_STATUS_IGNORE));
                 done(index);
             }
             int index = 0, flag = 0;
             CHECK_MPI(MPI_Testany(static_cast<int>(r.size()), r.data(), &index, &flag, MPI_STATUS_IGNORE));
             CHECK_EQ(flag, 1);
             CHECK_EQ(index, MPI_UNDEFINED);
         }});
    ways.push_back({"Waitsome", [](auto& r, const auto& done) {
                        std::vector<int> indices(r.size());
                        std::vector<MPI_Status> statuses(r.size());
                        int count = 0;
                        for (int left = static_cast<int>(r.size()); left > 0; left -= count) {
                            CHECK_MPI(MPI_Waitsome(static_cast<int>(r.size()), r.data(), &count,
                                                   indices.data(), statuses.data()));
                            CHECK(count > 0);
                            if (count <= 0) return;
                            each_done(count, indices.data(), done);
                        }
                        CHECK_MPI(MPI_Waitsome(static_cast<int>(r.size()), r.data(), &count, indices.data(),
                                               MPI_STATUSES_IGNORE));
                        CHECK_EQ(count, MPI_UNDEFINED);
                    }});
    ways.push_back({"Testsome", [](auto& r, const auto& done) {
                        std::vector<int> indices(r.size());
                        int count = 0;
                        for (int left = static_cast<int>(r.size()); left > 0; left -= count) {
                            CHECK_MPI(MPI_Testsome(static_cast<int>(r.size()), r.data(), &count,
                                                   indices.data(), MPI_STATUSES_IGNORE));
                            CHECK(count >= 0);
                            if (count < 0) return;
                            each_done(count, indices.data(), done);
                        }
                    }});
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    ways.push_back({"Request_get_status_all", [](auto& r, const auto& done) {
                        const int count = static_cast<int>(r.size());
                        int flag = 0;
                        while (!flag)
                            CHECK_MPI(
                                MPI_Request_get_status_all(count, r.data(), &flag, MPI_STATUSES_IGNORE));
                        for (int i = 0; i < count; ++i)
                            done(i);
                        CHECK_MPI(MPI_Waitall(count, r.data(), MPI_STATUSES_IGNORE));
                    }});
    ways.push_back({"Request_get_status_any", [](auto& r, const auto& done) {
                        for (std::size_t left = r.size(); left > 0; --left) {
                            int index = -1, flag = 0;
                            while (!flag)
                                CHECK_MPI(MPI_Request_get_status_any(static_cast<int>(r.size()), r.data(),
                                                                     &index, &flag, MPI_STATUS_IGNORE));
                            CHECK(index >= 0 && index < static_cast<int>(r.size()));
                            done(index);
                            CHECK_MPI(MPI_Wait(&r[static_cast<std::size_t>(index)], MPI_STATUS_IGNORE));
                        }
                    }});
    ways.push_back(
        {"Request_get_status_some", [](auto& r, const auto& done) {
             std::vector<int> indices(r.size());
             int count = 0;
             for (int left = static_cast<int>(r.size()); left > 0; left -= count) {
                 CHECK_MPI(MPI_Request_get_status_some(static_cast<int>(r.size()), r.data(), &count,
                                                       indices.data(), MPI_STATUSES_IGNORE));
                 CHECK(count >= 0);
                 if (count < 0) return;
                 each_done(count, indices.data(), done);
                 for (int i = 0; i < count; ++i)
                     CHECK_MPI(MPI_Wait(&r[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])],
                                        MPI_STATUS_IGNORE));
             }
         }});
#endif
    return ways;
}

}  // namespace check
