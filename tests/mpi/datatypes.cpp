// SPDX-License-Identifier: Apache-2.0
// Derived datatypes on the origin side, the target side and both: what is read must be what MPI_Pack says, in
// the order of the type map. Types are freed right after the call, so that a handle that comes again means
// another type.
#include <functional>
#include <memory>

#include "check.hpp"

using namespace check;

namespace {

constexpr int bytes = 8192;

/// A type of `size` bytes per element whose places lie within [lower, lower + span) of its address.
struct Type {
    std::string name;
    std::function<MPI_Datatype()> make;
};

MPI_Datatype committed(MPI_Datatype type) {
    CHECK_MPI(MPI_Type_commit(&type));
    return type;
}

MPI_Datatype freed(MPI_Datatype built, MPI_Datatype inner) {
    MPI_Type_free(&inner);
    return committed(built);
}

/// All have 48 bytes of MPI_INT32_T per element, so that any origin type fits any target type.
std::vector<Type> types_of_48_bytes() {
    std::vector<Type> types;
    const auto add = [&](const char* name, std::function<MPI_Datatype()> make) {
        types.push_back({name, std::move(make)});
    };
    const MPI_Datatype i32 = MPI_INT32_T;
    add("contiguous", [=] {
        MPI_Datatype t;
        MPI_Type_contiguous(12, i32, &t);
        return committed(t);
    });
    add("vector", [=] {
        MPI_Datatype t;
        MPI_Type_vector(4, 3, 5, i32, &t);
        return committed(t);
    });
    add("vector, negative stride", [=] {
        MPI_Datatype t;
        MPI_Type_vector(4, 3, -5, i32, &t);
        return committed(t);
    });
    add("hvector", [=] {
        MPI_Datatype t;
        MPI_Type_create_hvector(6, 2, 20, i32, &t);
        return committed(t);
    });
    add("indexed, decreasing", [=] {
        MPI_Datatype t;
        const int lengths[] = {1, 5, 2, 0, 4}, places[] = {20, 2, 10, 1, 30};
        MPI_Type_indexed(5, lengths, places, i32, &t);
        return committed(t);
    });
    add("hindexed", [=] {
        MPI_Datatype t;
        const int lengths[] = {6, 6};
        const MPI_Aint places[] = {44, 4};
        MPI_Type_create_hindexed(2, lengths, places, i32, &t);
        return committed(t);
    });
    add("indexed_block", [=] {
        MPI_Datatype t;
        const int places[] = {0, 9, 3, 16};
        MPI_Type_create_indexed_block(4, 3, places, i32, &t);
        return committed(t);
    });
    add("hindexed_block", [=] {
        MPI_Datatype t;
        const MPI_Aint places[] = {80, 0, 40};
        MPI_Type_create_hindexed_block(3, 4, places, i32, &t);
        return committed(t);
    });
    add("struct", [=] {
        MPI_Datatype t, pair;
        MPI_Type_contiguous(2, i32, &pair);
        const int lengths[] = {3, 2, 5};
        const MPI_Aint places[] = {8, 28, 60};
        const MPI_Datatype members[] = {i32, pair, i32};
        MPI_Type_create_struct(3, lengths, places, members, &t);
        return freed(t, pair);
    });
    add("subarray", [=] {
        MPI_Datatype t;
        const int sizes[] = {5, 6}, sub[] = {3, 4}, starts[] = {1, 2};
        MPI_Type_create_subarray(2, sizes, sub, starts, MPI_ORDER_C, i32, &t);
        return committed(t);
    });
    add("subarray, Fortran order", [=] {
        MPI_Datatype t;
        const int sizes[] = {4, 3, 4}, sub[] = {2, 2, 3}, starts[] = {1, 0, 1};
        MPI_Type_create_subarray(3, sizes, sub, starts, MPI_ORDER_FORTRAN, i32, &t);
        return committed(t);
    });
    add("darray", [=] {
        MPI_Datatype t;
        const int sizes[] = {6, 8}, distributions[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
        const int arguments[] = {1, MPI_DISTRIBUTE_DFLT_DARG}, processes[] = {2, 2};
        MPI_Type_create_darray(4, 3, 2, sizes, distributions, arguments, processes, MPI_ORDER_C, i32, &t);
        return committed(t);
    });
    add("resized", [=] {
        MPI_Datatype t, inner;
        MPI_Type_vector(4, 3, 4, i32, &inner);
        MPI_Type_create_resized(inner, -8, 96, &t);
        return freed(t, inner);
    });
    add("dup of vector", [=] {
        MPI_Datatype t, inner;
        MPI_Type_vector(2, 6, 7, i32, &inner);
        MPI_Type_dup(inner, &t);
        return freed(t, inner);
    });
    add("vector of vectors", [=] {
        MPI_Datatype t, inner;
        MPI_Type_vector(2, 1, 3, i32, &inner);
        MPI_Type_vector(3, 2, 4, inner, &t);
        return freed(t, inner);
    });
    return types;
}

/// What `count` elements of `type` at `from` are when packed.
std::vector<unsigned char> packed(const void* from, int count, MPI_Datatype type) {
    int size_bytes = 0, position = 0;
    MPI_Pack_size(count, type, MPI_COMM_SELF, &size_bytes);
    std::vector<unsigned char> out(static_cast<std::size_t>(size_bytes) + 1);
    CHECK_MPI(MPI_Pack(from, count, type, out.data(), size_bytes, &position, MPI_COMM_SELF));
    out.resize(static_cast<std::size_t>(position));
    return out;
}

void compare(const char* what, const std::string& name, const std::vector<unsigned char>& seen,
             const std::vector<unsigned char>& expected) {
    if (seen == expected) return;
    std::size_t i = 0;
    while (i < seen.size() && i < expected.size() && seen[i] == expected[i])
        ++i;
    report(__FILE__, __LINE__,
           std::string(what) + " " + name + ": packed byte " + std::to_string(i) + " of " +
               std::to_string(expected.size()) + " (" + std::to_string(seen.size()) + " seen): expected " +
               (i < expected.size() ? show(expected[i]) : "none") + ", seen " +
               (i < seen.size() ? show(seen[i]) : "none"));
}

struct Side {
    int count;
    MPI_Datatype type;
};

/// Gets through `origin` from `target` at `disp`, and compares with the model of the target's window. Bytes
/// of the buffer between the type's places stay as they were.
void get_and_compare(const Window& window, const std::vector<unsigned char>& model, const std::string& name,
                     Side origin, Side target, int disp) {
    std::vector<unsigned char> buffer(bytes, 0x3C), untouched(bytes, 0x3C);
    constexpr int middle = 2048;
    CHECK_MPI(MPI_Get(buffer.data() + middle, origin.count, origin.type, right(), disp, target.count,
                      target.type, window));
    CHECK_MPI(MPI_Win_flush(right(), window));
    const auto expected = packed(model.data() + disp, target.count, target.type);
    compare("get", name, packed(buffer.data() + middle, origin.count, origin.type), expected);
    // Overwriting the type's places by the filler must give the buffer back as it was.
    int position = 0;
    const std::vector<unsigned char> filler(expected.size(), 0x3C);
    if (!filler.empty())
        CHECK_MPI(MPI_Unpack(filler.data(), static_cast<int>(filler.size()), &position,
                             buffer.data() + middle, origin.count, origin.type, MPI_COMM_SELF));
    if (buffer != untouched)
        report(__FILE__, __LINE__, "get " + name + ": bytes between the type's places changed");
}

std::vector<unsigned char> model_of(int owner, int version) {
    std::vector<unsigned char> model(bytes);
    fill(model.data(), model.size(), owner, version);
    return model;
}

void each_pair(const Window& window) {
    part("origin and target types");
    const auto types = types_of_48_bytes();
    store_all(window, 1);
    const auto model = model_of(right(), 1);
    for (std::size_t o = 0; o < types.size(); ++o)
        for (std::size_t t = 0; t < types.size(); ++t) {
            if (crowded() && (o + t) % 4 != 0) continue;
            for (int pass = 0; pass < 2; ++pass) {
                MPI_Datatype origin = types[o].make(), target = types[t].make();
                const int count = 1 + static_cast<int>((o + t) % 3);
                get_and_compare(window, model, types[o].name + " from " + types[t].name, {count, origin},
                                {count, target}, 2048 + 4 * static_cast<int>(t));
                MPI_Type_free(&origin);
                MPI_Type_free(&target);
            }
        }
    for (std::size_t t = 0; t < types.size(); ++t) {
        MPI_Datatype type = types[t].make();
        get_and_compare(window, model, "bytes' worth of ints from " + types[t].name, {24, MPI_INT32_T},
                        {2, type}, 2048);
        get_and_compare(window, model, types[t].name + " from ints", {2, type}, {24, MPI_INT32_T}, 2048);
        get_and_compare(window, model, types[t].name + " from nothing", {0, type}, {0, MPI_INT32_T}, 2048);
        MPI_Type_free(&type);
    }
}

/// Types freed between the call and its completion, and a handle that is reused for another type at once.
void freed_at_once(const Window& window) {
    part("types freed right after the call");
    const auto model = model_of(right(), 1);
    const auto types = types_of_48_bytes();
    std::vector<std::vector<unsigned char>> buffers;
    for (const Type& t : types) {
        MPI_Datatype type = t.make();
        buffers.emplace_back(96, static_cast<unsigned char>(0));
        CHECK_MPI(MPI_Get(buffers.back().data(), 24, MPI_INT32_T, right(), 2048, 2, type, window));
        MPI_Type_free(&type);
    }
    CHECK_MPI(MPI_Win_flush(right(), window));
    for (std::size_t i = 0; i < types.size(); ++i) {
        MPI_Datatype type = types[i].make();
        compare("get with freed type", types[i].name, buffers[i], packed(model.data() + 2048, 2, type));
        MPI_Type_free(&type);
    }
}

void pairs(const Window& window) {
    part("pair types and basic types");
    const auto model = model_of(right(), 1);
    const struct {
        const char* name;
        MPI_Datatype type;
    } basics[] = {{"DOUBLE_INT", MPI_DOUBLE_INT},
                  {"SHORT_INT", MPI_SHORT_INT},
                  {"LONG_INT", MPI_LONG_INT},
                  {"FLOAT_INT", MPI_FLOAT_INT},
                  {"2INT", MPI_2INT},
                  {"LONG_DOUBLE", MPI_LONG_DOUBLE},
                  {"CHAR", MPI_CHAR},
                  {"SHORT", MPI_SHORT},
                  {"INT64_T", MPI_INT64_T},
                  {"FLOAT", MPI_FLOAT},
                  {"DOUBLE", MPI_DOUBLE},
                  {"AINT", MPI_AINT},
                  {"C_BOOL", MPI_C_BOOL},
                  {"C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX}};
    for (const auto& [name, type] : basics)
        for (int pass = 0; pass < 2; ++pass)
            get_and_compare(window, model, name, {5, type}, {5, type}, 4096);
    for (int pass = 0; pass < 2; ++pass) {  // the padding of an element is not fetched, nor taken for cached
        get_and_compare(window, model, "DOUBLE_INT", {3, MPI_DOUBLE_INT}, {3, MPI_DOUBLE_INT}, 5120);
        get_and_compare(window, model, "bytes", {64, MPI_BYTE}, {64, MPI_BYTE}, 5120);
        get_and_compare(window, model, "SHORT_INT", {6, MPI_SHORT_INT}, {6, MPI_SHORT_INT}, 5120);
    }
}

/// Absolute addresses: MPI_BOTTOM as the origin.
void bottom(const Window& window) {
    part("MPI_BOTTOM");
    std::unique_ptr<std::int32_t[]> a(new std::int32_t[8]()), b(new std::int32_t[8]());
    MPI_Aint places[2];
    MPI_Get_address(a.get(), &places[0]);
    MPI_Get_address(b.get() + 2, &places[1]);
    const int lengths[] = {8, 4};
    MPI_Datatype type;
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT32_T, &type);
    MPI_Type_commit(&type);
    for (int pass = 0; pass < 3; ++pass) {
        std::fill(a.get(), a.get() + 8, 0);
        std::fill(b.get(), b.get() + 8, 0);
        CHECK_MPI(MPI_Get(MPI_BOTTOM, 1, type, right(), 1024, 12, MPI_INT32_T, window));
        CHECK_MPI(MPI_Win_flush(right(), window));
        CHECK_BYTES(a.get(), 32, right(), 1024, 1);
        CHECK_BYTES(b.get() + 2, 16, right(), 1024 + 32, 1);
        CHECK_EQ(b[1], 0);
        CHECK_EQ(b[6], 0);
    }
    MPI_Type_free(&type);
}

/// Strided reads of what contiguous reads cached, and the other way round.
void across(const Window& window) {
    part("strided over contiguous and back");
    const auto model = model_of(right(), 1);
    MPI_Datatype column;
    MPI_Type_vector(32, 2, 16, MPI_INT32_T, &column);
    MPI_Type_commit(&column);
    get_and_compare(window, model, "column", {64, MPI_INT32_T}, {1, column}, 256);
    get_and_compare(window, model, "whole", {1024, MPI_INT32_T}, {1024, MPI_INT32_T}, 256);
    get_and_compare(window, model, "column again", {64, MPI_INT32_T}, {1, column}, 256);
    get_and_compare(window, model, "next column", {1, column}, {1, column}, 264);
    get_and_compare(window, model, "column past the end", {64, MPI_INT32_T}, {1, column}, 2304);
    MPI_Type_free(&column);
}

/// Puts through types over cached bytes.
void puts(const Window& window) {
    part("puts");
    auto model = model_of(right(), 1);
    const auto types = types_of_48_bytes();
    for (std::size_t t = 0; t < types.size(); ++t) {
        MPI_Datatype origin = types[(t * 7 + 3) % types.size()].make(), target = types[t].make();
        get_and_compare(window, model, "before the put", {256, MPI_INT32_T}, {256, MPI_INT32_T}, 1536);
        std::vector<unsigned char> data(bytes);
        fill(data.data(), data.size(), rank(), 50 + static_cast<int>(t));
        CHECK_MPI(MPI_Put(data.data() + 2048, 2, origin, right(), 2048, 2, target, window));
        const auto content = packed(data.data() + 2048, 2, origin);
        int position = 0;
        MPI_Unpack(content.data(), static_cast<int>(content.size()), &position, model.data() + 2048, 2,
                   target, MPI_COMM_SELF);
        MPI_Type_free(&origin);
        CHECK_MPI(MPI_Win_flush(right(), window));
        get_and_compare(window, model, "after the put", {256, MPI_INT32_T}, {256, MPI_INT32_T}, 1536);
        get_and_compare(window, model, "through the put's type", {24, MPI_INT32_T}, {2, target}, 2048);
        MPI_Type_free(&target);
    }
    barrier();
    CHECK_BYTES(window.bytes(), 1024, rank(), 0, 1);
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv);
    for (const Kind kind : {Kind::allocate, Kind::create}) {
        const Window window(bytes, 1, kind);
        const LockAll epoch(window);
        each_pair(window);
        freed_at_once(window);
        pairs(window);
        bottom(window);
        across(window);
        barrier();
        puts(window);
        barrier();
    }
    return program.finish();
}
