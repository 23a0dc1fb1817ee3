// SPDX-License-Identifier: Apache-2.0
#include "python/session.hpp"

#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include "pgas/launch.hpp"
#include "pgas/runtime.hpp"
#include "python/interrupt.hpp"
#include "python/program.hpp"
#include "python/rank_state.hpp"
#include "python/waiting_job.hpp"
#include "transport/inproc/inproc_job.hpp"

namespace nb = nanobind;

namespace nearfetch::python {

namespace {

/// A rank that is alone in its process, without MPI.
struct OnlyRank {
    InprocWorld world{1, pgas::SymmetricHeap::first_bytes};
    InprocJob job{world, 0};
};

/// What the calling thread needs to be a rank of a job.
class RankOfJob {
  public:
    RankOfJob(Job& job, const LaunchOptions& options, const nb::callable& site)
        : job_(job),
          runtime_(job_, options, &code_anchor, [site] { return place_of(site); }),
          main_(runtime_),
          state_(std::make_shared<RankState>(job_)),
          use_(state_) {}

    void require_no_views() const { state_->require_no_views(); }
    /// Waits for all ranks.
    void finish() {
        use_.reset();  // arrays end before the barrier
        main_.finish("the end of the program");
    }

  private:
    WaitingJob job_;
    pgas::Runtime runtime_;
    pgas::Runtime::Main main_;
    std::shared_ptr<RankState> state_;
    std::optional<RankState::Use> use_;
};

struct Session {
    std::unique_ptr<MpiProgram> program;
    std::unique_ptr<OnlyRank> alone;
    std::optional<RankOfJob> rank;
    std::optional<InterruptWatch> watch;

    void begin(const LaunchOptions& options, const nb::callable& site) {
        Job& job = program != nullptr ? program->job() : alone->job;
        rank.emplace(job, options, site);
        if (program != nullptr) watch.emplace("rank " + std::to_string(job.rank()));
    }
    void finish() {
        rank->finish();
        watch.reset();
        const nb::gil_scoped_release unlocked;
        if (program != nullptr) program->finish();
    }
};

/// Never destroyed at the end of the process: that would wait for ranks that may not come.
Session* session = nullptr;

/// An error on MPI ends the job: unwinding would wait for ranks that never come.
template <class Step>
void or_fail(Session& of, const Step& step) {
    try {
        step();
    } catch (...) {
        if (of.program == nullptr) throw;
        of.program->fail(std::current_exception());
    }
}

}  // namespace

void begin_session(const LaunchOptions& options, const nb::callable& site,
                   const std::optional<MpiPlace>& place) {
    auto next = std::make_unique<Session>();
    if (place) {
        const nb::gil_scoped_release unlocked;
        next->program = start_processes(*place);
    } else {
        next->alone = std::make_unique<OnlyRank>();
    }
    or_fail(*next, [&] { next->begin(options, site); });
    session = next.release();
}

void end_session(bool exits) {
    if (session == nullptr) return;
    if (!exits) session->rank->require_no_views();
    or_fail(*session, [] { session->finish(); });
    delete std::exchange(session, nullptr);
}

void fail_session(const std::string& text) {
    if (session == nullptr || session->program == nullptr) return;
    const nb::gil_scoped_release unlocked;
    session->program->fail(std::make_exception_ptr(std::runtime_error(text)));
}

}  // namespace nearfetch::python
