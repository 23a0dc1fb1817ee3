// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "common/validators.hpp"
#include "pgas/program.hpp"

namespace nearfetch::programs {

/// Whether a remote array is found by a header that is remote, too, as in Chapel, where an access to an
/// element reads some words of it first (Ferguson and Buettner 2015, sections V-A and V-C).
class Headers {
  public:
    void add_options(CLI::App& app) {
        apps::add_number(app, "--header-words", words_, 0, 16,
                         "of a remote array's header that an access reads");
        app.add_flag("--hoist", hoist_, "read headers once, before the loop, as a compiler may do");
    }
    /// An array with a header. The calling thread reads that now if it is hoisted, else at each access.
    class Array {
      public:
        Array(GlobalPtr<std::int64_t> elements, GlobalPtr<std::uint64_t> header, const Headers& how)
            : elements_(elements), header_(header), words_(how.words_) {
            if (words_ > 0 && how.hoist_) {
                elements_ = read();
                words_ = 0;
            }
        }
        GlobalPtr<std::int64_t> operator+(std::int64_t i) const {
            return (words_ == 0 ? elements_ : read()) + i;
        }

      private:
        /// The first word is the elements' address; the others add to it.
        GlobalPtr<std::int64_t> read() const {
            std::uint64_t address = 0;
            for (std::int64_t word = 0; word < words_; ++word)
                address += get(header_ + word);
            return {elements_.rank(), address};
        }

        GlobalPtr<std::int64_t> elements_;
        GlobalPtr<std::uint64_t> header_;
        std::int64_t words_;
    };

    /// Collective; the header is at the rank of the elements.
    GlobalPtr<std::uint64_t> allocate_of(GlobalPtr<std::int64_t> elements) const {
        const auto header = allocate<std::uint64_t>(16).at_rank(elements.rank());
        if (rank() == header.rank()) *header.local() = elements.address();
        return header;
    }

  private:
    std::int64_t words_ = 0;
    bool hoist_ = false;
};

}  // namespace nearfetch::programs
