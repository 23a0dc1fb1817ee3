// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "report/units.hpp"
#include "report/verdict.hpp"

namespace nearfetch {

namespace {

constexpr std::size_t columns = 100;
constexpr std::size_t windows_shown = 5;
constexpr std::size_t label_columns = 14;

/// Words in lines that begin with `indent`; the first one begins with `label` in its place.
std::string wrapped(const std::string& label, std::size_t indent, const std::string& text) {
    std::string out = label + std::string(indent - std::min(indent, label.size()), ' ');
    std::size_t column = out.size();
    bool is_first = true;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = std::min(text.find(' ', begin), text.size());
        // "84 %" stays together.
        if (text.compare(end, 2, " %") == 0) end = std::min(text.find(' ', end + 1), text.size());
        // A word that is longer than a line is cut.
        const std::string word = text.substr(begin, std::min(end - begin, columns - indent));
        if (!is_first && column + 1 + word.size() > columns) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (!is_first) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
        is_first = false;
        begin = end + 1;
    }
    return out + "\n";
}

std::string row(const std::string& label, const std::string& text) {
    return text.empty() ? "" : wrapped("    " + label, 4 + label_columns, text);
}

/// "first read 12; evicted 3", of what is not 0.
std::string parts(const std::vector<std::pair<const char*, std::uint64_t>>& all) {
    std::string text;
    for (const auto& [what, count] : all)
        if (count != 0) text += (text.empty() ? "" : "; ") + std::string(what) + " " + readable_count(count);
    return text;
}

std::string spread_text(const Spread& spread, int ranks, const auto& readable) {
    if (ranks < 2 || spread.least > spread.most || readable(spread.least) == readable(spread.most)) return "";
    return " (" + readable(spread.least) + " to " + readable(spread.most) + " a rank)";
}

std::string calls_of(const WindowGroup& group) {
    std::vector<std::pair<const char*, std::uint64_t>> calls;
    for (const auto& [call, gets] : group.forgotten_by)
        calls.emplace_back(call.c_str(), gets);
    std::ranges::stable_sort(calls, [](const auto& a, const auto& b) { return a.second > b.second; });
    return parts(calls);
}

/// What ranks of a node have shared.
std::string node_text(const WindowGroup& group) {
    const RangeCacheCounters& c = group.counters;
    if (!group.not_shared.empty()) return "ranks share nothing: " + group.not_shared;
    if (c.node_lookups == 0) return "";
    return readable_count(c.node_hits) + " of " + readable_count(c.node_lookups) +
           " ranges that were missing came from other ranks of the node (" +
           readable_bytes(c.bytes_from_node) + ")";
}

std::string text_of(const WindowGroup& group) {
    const RangeCacheCounters& c = group.counters;
    const auto count_text = [](double count) { return readable_count(static_cast<std::uint64_t>(count)); };
    const auto share_text = [](double share) { return readable_share(share, 1); };
    std::string head = group.name.empty() ? "window without a name" : "window " + group.name;
    if (group.windows > 1) head += " (" + readable_count(group.windows) + " of a rank)";
    if (group.bytes != 0) head += ", " + readable_bytes(group.bytes);
    head += ", mode " + group.mode;
    if (!group.site.empty()) head += ", made at " + group.site;
    std::string text = "\n" + wrapped("  ", 2, head);

    const std::uint64_t remote = remote_gets(c), served = served_gets(c);
    text += row("gets", readable_count(remote) + " of others' memory" +
                            spread_text(group.gets, group.ranks, count_text) + ", " +
                            readable_share(static_cast<double>(served), static_cast<double>(remote)) +
                            " hit" + spread_text(group.hit_share, group.ranks, share_text));
    if (c.own_memory != 0) text += row("own memory", readable_count(c.own_memory) + " gets, never cached");
    const std::uint64_t missed = c.direct + c.conflicting + c.capacity + c.failing;
    text += row("not hit", parts({{"missed", missed},
                                  {"hit in part", c.partial_hits},
                                  {"bypassed", c.bypassed - std::min(c.bypassed, c.own_memory)},
                                  {"of these by the circuit breaker", c.breaker_open}}));
    text += row("because", parts({{"first read", c.first_reads},
                                  {"forgotten", c.forgotten},
                                  {"evicted before", c.evicted_before},
                                  {"had no room", c.not_kept},
                                  {"too large", c.too_large},
                                  {"bypassed before", c.bypassed_before},
                                  {"own accumulate", c.overwritten},
                                  {"polls", c.polls}}));
    text += row("forgotten at", calls_of(group));
    if (c.gets != 0)
        text +=
            row("moved", readable_bytes(c.bytes_from_cache) + " from the cache, " +
                             readable_bytes(c.bytes_from_network + c.bytes_read_ahead) + " from the network");
    text += row("node", node_text(group));
    const double saved_s = static_cast<double>(c.saved_ns) * 1e-9,
                 spent_s = static_cast<double>(c.spent_ns) * 1e-9;
    if (saved_s + spent_s != 0)
        text += row("time", "saved " + readable_time(saved_s) + ", spent " + readable_time(spent_s) +
                                ": gained " + readable_time(saved_s - spent_s) +
                                spread_text(group.gain_s, group.ranks, readable_time));
    text += row("not sent", parts({{"flushes", c.flushes_elided}, {"locks", c.locks_elided}}));
    if (c.puts_combined != 0)
        text += row("puts", readable_count(c.puts) + ", of which " + readable_count(c.puts_combined) +
                                " were combined into " + readable_count(c.put_messages) + " messages");
    return text;
}

bool was_used(const WindowGroup& group) { return group.counters.gets != 0 || group.counters.puts != 0; }

}  // namespace

std::string page_of(const RunSummary& summary, const std::string& title) {
    std::string text = "nearfetch: summary of " + title + ", " + readable_time(summary.elapsed_s) + "\n";
    const Verdict verdict = verdict_of(summary);
    text += wrapped("  ", 2, verdict.text);
    if (!verdict.advice.empty()) text += wrapped("  ", 2, verdict.advice);
    std::size_t shown = 0, left_out = 0;
    for (const WindowGroup& group : summary.groups) {
        if (shown < windows_shown && was_used(group)) {
            text += text_of(group);
            ++shown;
        } else {
            ++left_out;
        }
    }
    if (shown != 0) text += '\n';
    if (left_out != 0)
        text += "  " + readable_count(left_out) +
                " more kinds of windows, of less weight or without gets and puts\n";
    if (!summary.groups.empty())
        text += wrapped("  ", 2,
                        "memory of the caches: at most " + readable_bytes(summary.memory_taken_bytes) +
                            " of " + readable_bytes(summary.memory_limit_bytes) + " a rank (" +
                            summary.memory_origin + ")");
    return text;
}

}  // namespace nearfetch
