// SPDX-License-Identifier: Apache-2.0
#pragma once

// A runtime's network, given as a table of C functions, as a transport.
//
// The table's starts and its wait may run other tasks of the thread, and these may call back. Then several
// calls ask for the same operation, and the first that sees it done reports it. So an operation is a record
// at a fixed address, shared by all callers. It enters the lists when its start has returned, and is reused
// when it was reported and is in no list any more. A runtime never sees a handle that it has freed: it checks
// `done` first.

#include <nearfetch/nearfetch.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "transport/transport.hpp"

namespace nearfetch::capi {

class TableTransport final : public Transport {
  public:
    /// Limit of operations per call of the table.
    static constexpr std::size_t list_max = 64;

    explicit TableTransport(const nearfetch_transport& table) : table_(table) {}
    /// So many outstanding operations need no further memory.
    void reserve(std::size_t operations);

    int start_get(Rank target, std::uint64_t address, std::uint64_t size, std::byte* to,
                  Token token) override;
    int start_put(Rank target, std::uint64_t address, std::uint64_t size, const std::byte* from,
                  Token token) override;
    std::size_t test(std::span<Completion> out) override;
    std::size_t wait(std::span<Completion> out) override;
    ByteRange readable(Rank target, std::uint64_t address) const noexcept override {
        return readable_with(target, {address, address + 1});
    }
    ByteRange readable_with(Rank target, ByteRange access) const noexcept override;
    void yield() override {}  // an idle cache is inside wait()
    std::uint64_t now_ns() override;
    std::string status_text(int status) const override;

    /// Whether a task is inside a call of the table; the cache may not be destroyed.
    bool in_use() const noexcept { return calls_ != 0 || starting_ != 0; }

  private:
    struct Record {
        nearfetch_operation operation;
        Token token = 0;
        std::uint32_t lists = 0;  ///< calls of the table whose list contains it
        bool reported = false;
    };
    using Ask = void (*)(void*, nearfetch_operation* const*, std::size_t);

    void grow(std::size_t count);
    template <class Start>
    int begin(Token token, const Start& start);
    void ask(Ask function, bool without_any);
    std::size_t report(std::span<Completion> out);
    void give_back(Record& record);

    nearfetch_transport table_;
    std::deque<Record> records_;  // at fixed addresses
    std::vector<Record*> spare_;
    std::vector<Record*> active_;  ///< not reported, the oldest first
    std::uint32_t calls_ = 0;
    std::uint32_t starting_ = 0;  ///< operations whose start has not returned
};

}  // namespace nearfetch::capi
