// What a kernel is given: the part, the fields that the rule binds, its numbers, and the frontier.
// Each struct is laid out as its twin in framework/src/cuda/layout.rs; each launch compares their sizes.
#pragma once
#include "machine.cuh"

// Rows of one direction, in local numbers; a row for every local vertex, those of ghosts empty.
struct Rows {
    const u64* offsets;
    const u32* targets;

    GK_DEVICE u64 begin(u32 v) const { return offsets[v]; }
    GK_DEVICE u64 end(u32 v) const { return offsets[v + 1]; }
    GK_DEVICE u64 degree(u32 v) const { return offsets[v + 1] - offsets[v]; }
    // Neighbour number `place` of `v`, or `v` itself if it has not so many.
    GK_DEVICE u32 nth_or_self(u32 v, u64 place) const {
        u64 at = offsets[v] + place;
        return at < offsets[v + 1] ? targets[at] : v;
    }
};

// One rank's part. Owned vertices are `0..owned`, ghosts `ghost_base..locals`.
struct Part {
    Rows out;
    Rows in;
    const u32* ghost_globals;
    u64 graph_vertices;
    u32 first;
    u32 owned;
    u32 ghost_base;
    u32 locals;

    GK_DEVICE bool is_ghost(u32 v) const { return v >= ghost_base; }
    GK_DEVICE u32 ghosts() const { return locals - ghost_base; }
    GK_DEVICE u32 global(u32 v) const { return is_ghost(v) ? ghost_globals[v - ghost_base] : first + v; }
    // Whether a number read from a field is a local vertex: a struck value must not lead out of the part.
    GK_DEVICE bool has(u32 number) const { return number < locals; }
};

// Everything that a rule may use: the part, its fields in the order in which `bind` names them, its numbers in the order of
// `scalars`.
struct Call {
    Part part;
    u64 field[4];
    u64 scalar[4];

    template <class T> GK_DEVICE T* column(u32 place) const { return reinterpret_cast<T*>(field[place]); }
    GK_DEVICE u32 number(u32 place) const { return static_cast<u32>(scalar[place]); }
    GK_DEVICE double real(u32 place) const {
        union { u64 bits; double value; } both;
        both.bits = scalar[place];
        return both.value;
    }
};

// A list that kernels append to; its length lies in device memory. What would not fit is counted but not written: a struck field
// may make a rule say more than it can.
struct List {
    u32* items;
    u32* length;
    u64 capacity;

    GK_DEVICE u32 count() const { return *length < capacity ? *length : static_cast<u32>(capacity); }
};

// A stretch of a long row.
struct Piece {
    u64 begin;
    u32 vertex;
    u32 length;
};

// What operators add up, cleared before each and copied to the host in one piece. `least_inverted` is the largest complement of a
// key, so that 0 means none. Lengths of the lists follow.
struct Report {
    u64 active;
    u64 arcs;
    double residual_high, residual_low;
    double carry_high, carry_low;
    u64 least_inverted;
    u64 consumed;
    u32 length[12];
};

// The frontier: owned vertices as a queue or as bits. `joined` holds those that have been in it.
struct Frontier {
    List queue;
    List next;
    List offers;
    u32* bits;
    u32* next_bits;
    u32* joined;
    Piece* pieces;
    u32* pieces_length;
    u64 pieces_capacity;
    Report* report;
};

GK_DEVICE bool has_bit(const u32* bits, u32 v) { return bits[v / 32] >> (v % 32) & 1u; }

// Sets a bit; true when this call set it. The plain look first saves most atomics.
GK_DEVICE bool set_bit(u32* bits, u32 v) {
    u32 mask = 1u << (v % 32);
    return !(bits[v / 32] & mask) && !(atomicOr(&bits[v / 32], mask) & mask);
}

GK_DEVICE u64 grid_thread() { return u64(blockIdx.x) * BLOCK + threadIdx.x; }
GK_DEVICE u64 grid_threads() { return u64(gridDim.x) * BLOCK; }
GK_DEVICE u32 lane() { return threadIdx.x % WARP; }
