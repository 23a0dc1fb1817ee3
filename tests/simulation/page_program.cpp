// SPDX-License-Identifier: Apache-2.0
#include "page_program.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "dice.hpp"
#include "kinds.hpp"

namespace nearfetch::simulation {

namespace {

using Kind = PageOp::Kind;

using Info = KindInfo<Kind>;
constexpr std::array kinds{
    Info{Kind::get, 160, "get"},
    Info{Kind::put, 100, "put"},
    Info{Kind::start_get, 32, "start get"},
    Info{Kind::start_put, 24, "start put"},
    Info{Kind::test, 24, "test"},
    Info{Kind::wait, 16, "wait"},
    Info{Kind::prefetch, 24, "prefetch"},
    Info{Kind::acquire, 4, "acquire"},
    Info{Kind::release, 8, "release"},
    Info{Kind::acquire_range, 4, "acquire range"},
    Info{Kind::release_range, 8, "release range"},
    Info{Kind::atomic, 5, "atomic"},
    Info{Kind::fenced_atomic, 2, "fenced atomic"},
    Info{Kind::outside, 3, "outside"},
    Info{Kind::barrier, 1, "barrier"},
};

PageCacheConfig make_config(Dice& dice) {
    PageCacheConfig config;
    config.line_bytes = dice.one_of<std::uint64_t>({8, 16, 64, 64});
    config.page_bytes =
        std::max<std::uint64_t>(64, config.line_bytes * dice.one_of<std::uint64_t>({1, 2, 4, 8, 16, 64}));
    config.capacity_bytes = config.page_bytes * dice.one_of<std::uint64_t>({2, 2, 3, 4, 8, 16, 40, 100});
    config.dirty_pages = static_cast<std::uint32_t>(std::min(dice.one_of<std::uint64_t>({1, 1, 2, 4, 15}),
                                                             config.capacity_bytes / config.page_bytes / 2));
    config.operations = dice.one_of<std::uint32_t>({2, 2, 3, 4, 8, 16});
    config.bulk_bytes = dice.one_of<std::uint64_t>({1, 60, 150, 150, 300, 700, 2048, 2048});
    config.policy = dice.one_in(2) ? "2q" : "s3fifo";
    config.new_percent = dice.one_of<std::uint32_t>({1, 25, 60, 99});
    config.names_percent = dice.one_of<std::uint32_t>({1, 50, 300});
    config.read_ahead = !dice.one_in(3);
    config.read_ahead_items = dice.one_of<std::uint32_t>({1, 4, 64});
    config.read_ahead_beyond_paper = !dice.one_in(3);
    config.combine_pages = dice.one_in(2);
    config.wait_for_writes = dice.one_in(3);
    return config;
}

/// The accessible ranges of a rank's memory: all, a range with unaligned ends, or two ranges.
std::vector<ByteRange> make_regions(Dice& dice, std::uint64_t memory_bytes, std::uint64_t line_bytes) {
    const std::uint64_t begin = dice.one_of<std::uint64_t>({0, 0, 24, 101});
    const std::uint64_t end = memory_bytes - dice.one_of<std::uint64_t>({0, 0, 1, 40});
    if (!dice.one_in(4)) return {{begin, end}};
    const std::uint64_t middle = begin + 200 + dice.below(memory_bytes - 700);
    // Two ranges share no line, but perhaps a page.
    const std::uint64_t next = (middle / line_bytes + 1 + dice.below(5)) * line_bytes;
    if (next + 100 > end) return {{begin, middle}};
    return {{begin, middle}, {next, end}};
}

class Generator {
  public:
    explicit Generator(std::uint64_t seed) : dice_(seed) { p_.chance = seed; }

    PageProgram make() {
        p_.config = make_config(dice_);
        p_.ranks = static_cast<std::uint8_t>(2 + dice_.below(3));
        p_.tasks = static_cast<std::uint8_t>(1 + dice_.below(3));
        p_.memory_bytes = dice_.one_of<std::uint64_t>({1000, 3000, 3000, 8000});
        p_.regions = make_regions(dice_, p_.memory_bytes, p_.config.line_bytes);
        p_.race_free = dice_.one_in(3);
        p_.flaky = dice_.one_in(4);
        p_.slow = dice_.one_in(2);
        p_.self_direct = dice_.one_in(2);
        size_most_ = dice_.one_of<std::uint64_t>({20, 200, 700, 3000});
        // Each program omits some kinds and prefers others, for other combinations.
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            weights_[i] = kinds[i].weight * dice_.one_of<std::uint64_t>({0, 1, 1, 1, 4});
            if (i < 2) weights_[i] += 40;
        }
        const std::uint64_t count = dice_.one_in(5) ? 4000 : 60 + dice_.below(600);
        if (p_.race_free) deal_blocks();
        for (std::uint64_t i = 0; i < count; ++i)
            add();
        return std::move(p_);
    }

  private:
    struct Block {
        Rank target;
        ByteRange range;
    };

    void add() {
        const std::size_t which = dice_.by_weight(weights_);
        PageOp op;
        op.kind = kinds[which].kind;
        op.rank = static_cast<std::uint8_t>(dice_.below(p_.ranks));
        op.task = static_cast<std::uint8_t>(dice_.below(p_.tasks));
        op.id = static_cast<std::uint32_t>(p_.ops.size());
        if (!place(op)) return;
        p_.ops.push_back(op);
        if (op.kind == Kind::barrier && p_.race_free) deal_blocks();
    }

    bool place(PageOp& op) {
        switch (op.kind) {
            case Kind::test:
            case Kind::wait:
            case Kind::acquire:
            case Kind::release:
            case Kind::barrier:
                return true;
            case Kind::outside:
                place_outside(op);
                return true;
            case Kind::prefetch:
            case Kind::acquire_range:
            case Kind::release_range:
                place_anywhere(op);
                return true;
            default:
                break;
        }
        const bool atomic = op.kind == Kind::atomic || op.kind == Kind::fenced_atomic;
        if (p_.race_free)
            return place_in_block(op, op.kind == Kind::get || op.kind == Kind::start_get, atomic);
        place_anywhere(op);
        if (!atomic) return true;
        op.offset &= ~std::uint64_t{7};
        op.size_bytes = 8;
        return op.offset >= region_of(op).begin && op.range().end <= region_of(op).end;
    }

    /// Beyond the end of memory, and not in a page with its last bytes: there the caller has to check.
    void place_outside(PageOp& op) {
        const std::uint64_t page = p_.config.page_bytes;
        const std::uint64_t end = (p_.regions.back().end + page - 1) / page * page;
        op.target = static_cast<Rank>(dice_.below(p_.ranks));
        op.size_bytes = 1 + dice_.below(100);
        op.offset = end + dice_.below(100);
        if (dice_.one_in(2)) return;
        op.offset = end - 1 - dice_.below(std::min<std::uint64_t>(end, 50));
        op.size_bytes += end - op.offset;
    }
    const ByteRange& region_of(const PageOp& op) const {
        return op.offset < p_.regions.front().end ? p_.regions.front() : p_.regions.back();
    }
    std::uint64_t pick_size() {
        return 1 + (dice_.one_in(5)   ? dice_.below(size_most_)
                    : dice_.one_in(4) ? dice_.below(100)
                                      : dice_.below(16));
    }

    /// Few offsets, so that accesses collide; some scan memory, for read-ahead.
    void place_anywhere(PageOp& op) {
        op.target = static_cast<Rank>(dice_.below(p_.ranks));
        op.size_bytes = pick_size();
        if (dice_.one_in(3) && !p_.ops.empty()) {
            // Close to a recent access.
            const PageOp& last =
                p_.ops[p_.ops.size() - 1 - dice_.below(std::min<std::size_t>(8, p_.ops.size()))];
            op.target = last.target;
            op.offset = last.offset + dice_.below(12);
            return fit(op);
        }
        std::uint64_t& walk = walk_[op.rank];
        switch (dice_.below(8)) {
            case 0:
            case 1:
            case 2:
                op.offset = (walk += dice_.below(4) * 8) % p_.memory_bytes;
                op.target = static_cast<Rank>((op.rank + 1) % p_.ranks);
                break;
            case 3:
                op.offset = (p_.memory_bytes - (walk += dice_.below(4) * 8) % p_.memory_bytes) - 1;
                break;
            case 4:
                op.offset = dice_.below(p_.memory_bytes);
                break;
            default:
                op.offset = 104 + dice_.below(12) * 40;
        }
        fit(op);
    }
    void fit(PageOp& op) const {
        const ByteRange& region = region_of(op);
        op.size_bytes = std::min(op.size_bytes, region.size());
        op.offset = std::clamp(op.offset, region.begin, region.end - op.size_bytes);
    }

    /// Assigns each block to a task, or to all readers.
    void deal_blocks() {
        for (auto& blocks : blocks_)
            blocks.clear();
        const std::uint64_t owners = std::uint64_t{p_.ranks} * p_.tasks;
        for (Rank target = 0; target < p_.ranks; ++target)
            for (const ByteRange& region : p_.regions)
                for (std::uint64_t at = region.begin; at < region.end;) {
                    const std::uint64_t size = 1 + (dice_.one_in(3) ? dice_.below(2500) : dice_.below(150));
                    const std::uint64_t end = std::min(region.end, at + size);
                    const std::size_t owner = dice_.one_in(3) ? shared : dice_.below(owners);
                    blocks_[owner].push_back({target, {at, end}});
                    at = end;
                }
    }
    bool place_in_block(PageOp& op, bool reads, bool atomic) {
        const std::size_t owner = std::size_t{op.rank} * p_.tasks + op.task;
        const auto& blocks = blocks_[reads && dice_.one_in(2) ? shared : owner];
        if (blocks.empty()) return false;
        // Prefers a few blocks and offsets.
        const std::size_t some = dice_.one_in(4) ? blocks.size() : std::min<std::size_t>(blocks.size(), 3);
        const Block& block = blocks[dice_.below(some)];
        op.target = block.target;
        op.size_bytes = std::min(atomic ? 8 : pick_size(), block.range.size());
        if (atomic && op.size_bytes < 8) return false;
        const std::uint64_t room = block.range.size() - op.size_bytes + 1;
        op.offset = block.range.begin + (dice_.one_in(4)   ? dice_.below(room)
                                         : dice_.one_in(3) ? (walk_[op.rank] += 8) % room
                                                           : dice_.below(std::min<std::uint64_t>(room, 30)));
        return true;
    }

    static constexpr std::size_t shared = 12;

    Dice dice_;
    PageProgram p_;
    std::array<std::uint64_t, kinds.size()> weights_{};
    std::uint64_t size_most_ = 0;
    std::array<std::uint64_t, 4> walk_{};
    std::array<std::vector<Block>, shared + 1> blocks_;
};

}  // namespace

PageProgram make_page_program(std::uint64_t seed) { return Generator(seed).make(); }

std::string to_text(const PageProgram& program) {
    const PageCacheConfig& c = program.config;
    std::ostringstream text;
    text << int{program.ranks} << " ranks of " << int{program.tasks} << " tasks and " << program.memory_bytes
         << " bytes, accessible";
    for (const ByteRange& region : program.regions)
        text << " [" << region.begin << ", " << region.end << ')';
    text << (program.race_free ? ", race-free" : ", racy") << (program.slow ? ", some operations slow" : "")
         << (program.flaky ? ", on a transport that fails now and then" : "")
         << (program.self_direct ? ", own memory without cache" : "") << "\n  line_bytes " << c.line_bytes
         << ", page_bytes " << c.page_bytes << ", capacity_bytes " << c.capacity_bytes << ", dirty_pages "
         << c.dirty_pages << ", operations " << c.operations << ", bulk_bytes " << c.bulk_bytes << ", policy "
         << c.policy << ", new_percent " << c.new_percent << ", names_percent " << c.names_percent
         << ",\n  read_ahead " << c.read_ahead << ", read_ahead_items " << c.read_ahead_items
         << ", read_ahead_beyond_paper " << c.read_ahead_beyond_paper << ", combine_pages " << c.combine_pages
         << ", wait_for_writes " << c.wait_for_writes;
    return text.str();
}

std::string to_text(const PageOp& op) {
    std::ostringstream text;
    text << '#' << op.id << " ";
    if (op.kind != Kind::barrier) text << "rank " << int{op.rank} << " task " << int{op.task} << ": ";
    text << name_in(kinds, op.kind);
    if (op.size_bytes == 0) return text.str();
    text << " of " << op.target << ": " << op.offset << '+' << op.size_bytes;
    if (op.kind == Kind::put || op.kind == Kind::start_put || op.kind == Kind::atomic ||
        op.kind == Kind::fenced_atomic)
        text << ", first byte " << int{value_of(op.id, 0)};
    return text.str();
}

}  // namespace nearfetch::simulation
