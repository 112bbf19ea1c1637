// Ghost exchange between devices. A message is a head of four words, `count` and whether entries name their places, and `count` entries
// of one or two words a field, after the place where it is named. It is packed into memory of the receiver where the devices reach
// each other, else beside it and copied; routing is looked up here, so the host needs to know no vertex.
#pragma once
#include "block.cuh"

// How an offer is merged into a field, and what kind of number the field holds; as layout.rs.
constexpr u32 KIND_U32 = 0;
constexpr u32 MERGE_MIN = 1, MERGE_ADD = 2; // 0: offers are not merged

// The fields that exchange carries, in the order of a message.
struct Columns {
    u64 address[16];
    u32 kind[16];
    u32 merge[16];
    u32 count;
};

GK_DEVICE u64 load(const Columns& columns, u32 slot, u32 v) {
    if (columns.kind[slot] == KIND_U32) return reinterpret_cast<const u32*>(columns.address[slot])[v];
    return reinterpret_cast<const u64*>(columns.address[slot])[v];
}

GK_DEVICE void store(const Columns& columns, u32 slot, u32 v, u64 bits) {
    if (columns.kind[slot] == KIND_U32)
        reinterpret_cast<u32*>(columns.address[slot])[v] = static_cast<u32>(bits);
    else
        reinterpret_cast<u64*>(columns.address[slot])[v] = bits;
}

GK_DEVICE double as_real(u64 bits) {
    union { u64 bits; double value; } both;
    both.bits = bits;
    return both.value;
}

GK_DEVICE u64 as_bits(double value) {
    union { u64 bits; double value; } both;
    both.value = value;
    return both.bits;
}

// What stands in a field after an offer.
GK_DEVICE u64 merged(const Columns& columns, u32 slot, u64 now, u64 offer) {
    bool is_min = columns.merge[slot] == MERGE_MIN;
    if (columns.kind[slot] == KIND_U32) {
        u32 a = static_cast<u32>(now), b = static_cast<u32>(offer);
        return is_min ? (b < a ? b : a) : a + b;
    }
    double a = as_real(now), b = as_real(offer);
    if (is_min) return b < a ? offer : now;
    return as_bits(a + b);
}

// The most ranks that exchange this way.
constexpr u32 PEERS = 64;
// Words before the first entry.
constexpr u32 HEAD = 4;

// One side of the routes: the entries of all peers one after the other, those of peer p from `starts[p]` to `starts[p + 1]`, and the box
// of each peer's message. An entry is an owned vertex (`vertices`), or, without that table, a ghost from `base` on.
struct Route {
    const u32* starts;
    const u32* vertices;
    const u64* boxes;
    u32 peers;
    u32 base;

    GK_DEVICE u32 entries() const { return starts[peers]; }
    GK_DEVICE u32 room(u32 peer) const { return starts[peer + 1] - starts[peer]; }
    GK_DEVICE u32 vertex(u32 entry) const { return vertices ? vertices[entry] : base + entry; }
    GK_DEVICE u32* box(u32 peer) const { return reinterpret_cast<u32*>(boxes[peer]); }
    GK_DEVICE u32 peer_of(u32 entry) const {
        u32 low = 0, high = peers; // starts[low] <= entry < starts[high]
        while (high - low > 1) {
            u32 middle = (low + high) / 2;
            if (starts[middle] <= entry) low = middle; else high = middle;
        }
        return low;
    }
};

// What has been packed for each peer: counted while blocks pack, zero between kernels; `sent` is for the host.
struct Packed {
    u32* counts;
    u32* ticket;
    u32* sent;
};

GK_DEVICE u32 words_of(const Columns& columns) {
    u32 words = 0;
    for (u32 slot = 0; slot < columns.count; ++slot) words += columns.kind[slot] == KIND_U32 ? 1 : 2;
    return words;
}

// Writes the values of `v`. An offer that is a sum starts again from 0.
GK_DEVICE void write_values(const Columns& columns, u32 v, u32 restarts, u32* to) {
    for (u32 slot = 0; slot < columns.count; ++slot) {
        u64 bits = load(columns, slot, v);
        *to++ = static_cast<u32>(bits);
        if (columns.kind[slot] != KIND_U32) *to++ = static_cast<u32>(bits >> 32);
        if (restarts && columns.merge[slot] == MERGE_ADD) store(columns, slot, v, 0);
    }
}

GK_DEVICE u64 next_value(const Columns& columns, u32 slot, const u32*& from) {
    u64 bits = *from++;
    if (columns.kind[slot] != KIND_U32) bits |= u64(*from++) << 32;
    return bits;
}

// The entries that a block's threads bring (`is_in`) join the messages to their peers; places are given out once a block and peer. All
// threads of the block call.
GK_DEVICE void post(const Route& route, const Packed& packed, const Columns& columns, bool is_in, u32 entry, u32 restarts) {
    __shared__ u32 counts[PEERS];
    __shared__ u32 firsts[PEERS];
    u32 p = threadIdx.x, peer = 0, mine = 0;
    if (p < route.peers) counts[p] = 0;
    __syncthreads();
    if (is_in) {
        peer = route.peer_of(entry);
        mine = atomicAdd(&counts[peer], 1u);
    }
    __syncthreads();
    if (p < route.peers && counts[p] > 0) firsts[p] = atomicAdd(&packed.counts[p], counts[p]);
    __syncthreads();
    u32 at = is_in ? firsts[peer] + mine : 0;
    if (is_in && at < route.room(peer)) {
        u32* to = route.box(peer) + HEAD + u64(at) * (1 + words_of(columns));
        *to = entry - route.starts[peer];
        write_values(columns, route.vertex(entry), restarts, to + 1);
    }
}

// The last block to come here writes the heads, and makes the counts ready for the next kernel.
GK_DEVICE void finish_posts(const Route& route, const Packed& packed) {
    __shared__ u32 is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(packed.ticket, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    u32 p = threadIdx.x;
    if (p < route.peers && route.room(p) > 0) {
        u32 count = atomicExch(&packed.counts[p], 0u);
        if (count > route.room(p)) count = route.room(p); // a struck list may name a ghost twice
        route.box(p)[0] = count;
        route.box(p)[1] = 1;
        packed.sent[p] = count;
    }
    if (p == 0) *packed.ticket = 0;
}

// Runs `each(vertex, values)` for the entries that the peers from `first` on to `last` sent.
template <class Each>
GK_DEVICE void received(const Route& route, const Columns& columns, u32 first, u32 last, Each each) {
    u32 words = words_of(columns);
    for (u32 peer = first; peer < last; ++peer) {
        u32 room = route.room(peer);
        if (room == 0) continue;
        const u32* box = route.box(peer);
        u32 count = box[0] < room ? box[0] : room;
        bool is_named = box[1] != 0;
        for (u64 i = grid_thread(); i < count; i += grid_threads()) {
            const u32* from = box + HEAD + i * (words + is_named);
            u32 place = is_named ? *from++ : static_cast<u32>(i);
            if (place < room) each(route.vertex(route.starts[peer] + place), from);
        }
    }
}

// Merges an offer into a field; whether that changed it. Several peers may offer to a vertex at once where numbers are whole; sums of
// reals depend on the order, so those of one peer come in a kernel of their own.
GK_DEVICE bool take(const Columns& columns, u32 slot, u32 v, u64 offer) {
    if (columns.kind[slot] == KIND_U32) {
        u32* value = reinterpret_cast<u32*>(columns.address[slot]) + v;
        u32 number = static_cast<u32>(offer);
        if (columns.merge[slot] == MERGE_MIN) return *value > number && atomicMin(value, number) > number;
        return number != 0 && (atomicAdd(value, number), true);
    }
    u64 now = load(columns, slot, v), next = merged(columns, slot, now, offer);
    if (next != now) store(columns, slot, v, next);
    return next != now;
}
