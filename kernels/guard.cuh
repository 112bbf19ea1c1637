// What protected variants of the operators do beside their work: checksums of what is set once, of what joins frontiers and of what
// they consume, updates done again by warps that have nothing left to do, and one summary of it all for the host. Unprotected kernels
// hold none of this: each variant is a kernel of its own.
#pragma once
#include "sum.cuh"

// Blocks that a multiprocessor must be able to hold of a protected variant: with 64 registers a thread, so that none spills.
enum : u32 { GUARDED_BLOCKS = 4 };

// What a superstep leaves for the checker: cleared before it, copied to the host after it. Firsts are complements of the largest, so
// that 0 means none.
struct Summary {
    u64 visited; // checksum of set-once values that were put
    u64 joined;  // of vertices that joined the next frontier
    u64 entered; // of vertices that joined the frontier about to be consumed
    u64 woken;   // of vertices that peers' offers woke
    u64 consumed;
    u64 strays; // members of frontiers that are no vertices
    u64 critical;
    u64 assigned;
    u64 assigned_arcs;
    u64 differing;
    u64 first_differing;
    u64 set_twice;
    u64 first_twice;
    u64 below;
    u64 largest; // as bits: moves are not negative, so they compare alike
    double mass_high, mass_low;
    u32 listed;
    u32 claimed;
    u32 room; // of the list of critical vertices, in this superstep
    u32 pad;
};

// What protected variants are given beside.
struct Watch {
    Summary* summary;
    u32* once; // the field whose values are set once, or null
    u32* critical;
    u64 critical_capacity;
    u64 once_initial;
};

// The term of value `bits` at `place`, as framework/src/base/checksum.rs.
GK_DEVICE u64 mix(u64 place, u64 bits) {
    u64 mixed = (bits ^ (place * 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull;
    return mixed ^ (mixed >> 32);
}

// The term of a set-once value, as framework/src/step/monitor/mod.rs: an odd weight times a hash.
GK_DEVICE u64 once_term(u32 v, u64 bits) { return (2 * u64(v) + 1) * mix(0, bits); }

// The term of a member of a frontier.
GK_DEVICE u64 member(u32 v) { return mix(v, 1); }

// Adds up over the block, once.
GK_DEVICE void add_up(u64 value, u64* to) {
    __shared__ u64 room[WARPS];
    u64 total = block_sum(value, room);
    if (threadIdx.x == 0 && total != 0) atomicAdd(to, total);
}

// A vertex at which something was found.
GK_DEVICE void find(u32 v, u64* count, u64* first) {
    atomicAdd(count, u64(1));
    atomicMax(first, ~u64(v));
}

// The sums that one thread of a protected operator keeps.
struct Sums {
    u64 joined, visited;
};

// `v` joins; its set-once value has been put if `visits`.
GK_DEVICE void note_joined(const Watch& watch, u32 v, bool visits, Sums& sums) {
    sums.joined += member(v);
    if (visits && watch.once) sums.visited += once_term(v, watch.once[v]);
}

// Critical vertices are claimed from the list, a warp each: `again` gets each of them with all lanes, and its row's bounds.
template <class Do> GK_DEVICE void claim_all(const Rows& rows, const Watch& watch, Do again) {
    Summary* summary = watch.summary;
    u32 length = summary->listed < summary->room ? summary->listed : summary->room;
    u64 done = 0, arcs = 0;
    while (length > 0) {
        u32 place = 0;
        if (lane() == 0) place = atomicAdd(&summary->claimed, 1u);
        place = __shfl_sync(EVERY_LANE, place, 0);
        if (place >= length) break;
        u32 v = watch.critical[place];
        u64 begin = rows.begin(v), end = rows.end(v);
        again(v, begin, end);
        done += 1;
        arcs += end - begin;
    }
    if (lane() == 0 && done > 0) {
        atomicAdd(&summary->assigned, done);
        atomicAdd(&summary->assigned_arcs, arcs);
    }
}

// Warps that are through with their own share of the launch repeat the updates of critical vertices from values that are frozen for the
// superstep, and compare. All lanes of a warp come together.
template <class Again> GK_DEVICE void repeat(const Call& call, const Watch& watch) {
    Again again(call);
    const Rows& rows = Again::over_incoming ? call.part.in : call.part.out;
    claim_all(rows, watch, [&](u32 v, u64 begin, u64 end) {
        u32 own = again.own(v), found = again.start();
        for (u64 at = begin + lane(); at < end; at += WARP) found = again.with(found, again.look(call.part, own, rows.targets[at]));
        for (u32 step = WARP / 2; step > 0; step /= 2) found = again.with(found, __shfl_down_sync(EVERY_LANE, found, step));
        if (lane() == 0 && again.differs(own, found)) find(v, &watch.summary->differing, &watch.summary->first_differing);
    });
}
