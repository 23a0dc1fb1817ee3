// SPDX-License-Identifier: Apache-2.0
//
// Detects ranks that are in different collective functions. Each collective function registers a Collective.
// At a barrier an id is compared between ranks. It is made of the function's name, its arguments, the array's
// number, and earlier calls without a barrier. If ids differ, the job asks for the texts.

#include <nearfetch/pgas.hpp>
#include <string_view>

#include "pgas/context.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch {

using pgas::Context;

namespace {

std::uint64_t mix(std::uint64_t sum, std::uint64_t word) noexcept {
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    return sum ^ (sum >> 29);
}

std::uint64_t sum_of(std::string_view name) noexcept {
    std::uint64_t sum = name.size();
    for (const char letter : name)
        sum = mix(sum, static_cast<unsigned char>(letter));
    return sum;
}

constexpr std::size_t most_earlier_text = 200;

void append_earlier(std::string& all, const std::string& text) {
    if (text.empty() || all.size() > most_earlier_text) return;
    all += (all.empty() ? "" : ", ") + text;
}

}  // namespace

namespace detail {

namespace {

/// The collective function that the calling thread is in; nullptr: none.
thread_local constinit Collective* outermost = nullptr;

}  // namespace

Collective::Collective(const char* what, const Where& where)
    : what_(what), where_(where), outer_(outermost), sum_(sum_of(what)) {
    Context::here();  // throws in a thread that is no part of a launched program
    if (outer_ == nullptr) outermost = this;
}

Collective::~Collective() {
    if (outer_ == nullptr) outermost = nullptr;
}

Collective& Collective::here() { return *outermost; }

void Collective::add(std::span<const std::uint64_t> numbers) noexcept {
    for (const std::uint64_t number : numbers)
        sum_ = mix(sum_, number);
}

void Collective::add_earlier(std::uint64_t sum, const std::string& text) {
    sum_ = mix(sum_, sum);
    append_earlier(earlier_, text);
}

std::string Collective::text() const {
    const pgas::Runtime::Site& site = Context::here().runtime().site();
    std::string place;
    if (site)
        place = site();
    else if (where_.line() != 0)
        place = std::string(where_.file_name()) + ":" + std::to_string(where_.line());
    return what_ + (place.empty() ? "" : " at " + place) +
           (earlier_.empty() ? "" : " (after " + earlier_ + ")");
}

std::uint64_t Collective::next_id() noexcept { return sum_ = mix(sum_, 1); }

std::uint64_t barriers() { return Context::here().runtime().barriers(); }

}  // namespace detail

namespace pgas {

void Runtime::barrier() {
    detail::Collective* const collective = detail::outermost;
    CollectiveCall call;
    if (collective != nullptr) {
        if (earlier_sum_ != 0) collective->add_earlier(earlier_sum_, earlier_text_);
        call = {collective->next_id(), [collective] { return collective->text(); }};
    }
    earlier_sum_ = 0;
    earlier_text_.clear();
    const std::uint64_t number = barriers_.fetch_add(1, std::memory_order_relaxed);
    if (node_sharing_) node_sharing_->reaches_barrier(number);
    job_.barrier(call);
    if (node_sharing_) node_sharing_->left_barrier(number);
}

void Runtime::add_earlier(const detail::Collective& collective) {
    earlier_sum_ = mix(earlier_sum_, collective.sum());
    append_earlier(earlier_text_, collective.text());
}

}  // namespace pgas

}  // namespace nearfetch
