// SPDX-License-Identifier: Apache-2.0
#include "pgas/remote_calls.hpp"

#include "base/error.hpp"
#include "pgas/message.hpp"
#include "pgas/runtime.hpp"
#include "pgas/segment.hpp"

namespace nearfetch::pgas {

RemoteCalls::RemoteCalls(Runtime& runtime) : runtime_(runtime), port_(runtime.ports().take()) {}

RemoteCalls::~RemoteCalls() { runtime_.ports().give(port_); }

void RemoteCalls::check(std::span<const RemoteCall> calls) const {
    for (const RemoteCall& each : calls) {
        check_access(runtime_.job(), "on", each.rank, 0, 0);
        if (!runtime_.job().threads())
            throw Error("on: nobody answers at rank " + std::to_string(each.rank),
                        "this MPI lets only one thread of a process communicate here",
                        "use one that gives MPI_THREAD_MULTIPLE on this network (MPICH does)");
    }
}

void RemoteCalls::send(const RemoteCall& call) {
    Header header;
    header.kind = call.is_short ? Header::Kind::short_call : Header::Kind::call;
    header.source = runtime_.job().rank();
    header.port = port_;
    header.result_bytes = static_cast<std::uint32_t>(call.result_bytes);
    header.number = calls_++;
    header.code = call.code;
    counts_.add({1, call.closure.size()});
    runtime_.job().send(call.rank, Runtime::server_port, compose(header, call.closure));
}

std::string RemoteCalls::run(std::span<const RemoteCall> calls, const CallLimits& limits) {
    const std::uint32_t first = calls_;
    std::string problem;
    std::size_t sent = 0, answered = 0;
    for (std::uint64_t bytes = 0; answered < calls.size();) {
        const auto fits = [&] {
            return sent - answered < limits.calls && bytes + calls[sent].result_bytes <= limits.result_bytes;
        };
        if (sent < calls.size() && (sent == answered || fits())) {
            bytes += calls[sent].result_bytes;
            send(calls[sent++]);
            continue;
        }
        Message reply;
        runtime_.job().receive(port_, reply, true);
        const Header answer = header_of(reply.bytes);
        const std::uint32_t number = answer.number - first;
        if (number >= sent) continue;  // answers of an earlier call that failed while sending
        ++answered;
        const RemoteCall& each = calls[number];
        bytes -= each.result_bytes;
        const auto body = body_of(reply.bytes);
        counts_.bytes += body.size();
        if (answer.kind == Header::Kind::error)
            problem = "on rank " + std::to_string(each.rank) + ": " +
                      std::string(reinterpret_cast<const char*>(body.data()), body.size());
        else if (each.result_bytes != 0)
            each.take(body);
    }
    return problem;
}

}  // namespace nearfetch::pgas
