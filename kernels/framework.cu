// The framework's own kernels: clearing, filling, the frontier from one form to the other, and packing for ghost exchange.
#include "guard.cuh"
#include "messages.cuh"

// Clears the tally and the lengths whose bits are set in `lengths`.
extern "C" __global__ void __launch_bounds__(BLOCK) framework_clear(Report* report, u32 clears_tally, u32 lengths) {
    u32 i = threadIdx.x;
    if (clears_tally && i < 16) reinterpret_cast<u32*>(report)[i] = 0;
    if (i < 12 && (lengths >> i & 1u)) report->length[i] = 0;
}
GK_KERNEL(framework_clear)

extern "C" __global__ void __launch_bounds__(BLOCK) framework_fill_u32(u32* values, u64 count, u32 value) {
    for (u64 i = grid_thread(); i < count; i += grid_threads()) values[i] = value;
}
GK_KERNEL(framework_fill_u32)

extern "C" __global__ void __launch_bounds__(BLOCK) framework_fill_u64(u64* values, u64 count, u64 value) {
    for (u64 i = grid_thread(); i < count; i += grid_threads()) values[i] = value;
}
GK_KERNEL(framework_fill_u64)

// An owned vertex joins the frontier, which is a queue.
extern "C" __global__ void __launch_bounds__(BLOCK) framework_activate(const Frontier frontier, u32 v) {
    if (grid_thread() > 0) return;
    set_bit(frontier.joined, v);
    append(frontier.queue, v);
}
GK_KERNEL(framework_activate)

// The vertices of a list become bits; what is no vertex of the part, `locals` of which there are, does not.
extern "C" __global__ void __launch_bounds__(BLOCK) framework_set_bits(const List list, u32* bits, u32 locals) {
    u32 length = list.count();
    for (u64 i = grid_thread(); i < length; i += grid_threads())
        if (list.items[i] < locals) set_bit(bits, list.items[i]);
}
GK_KERNEL(framework_set_bits)

// The first `count` bits are added to others. Bits beyond are ghosts' and stay out.
extern "C" __global__ void __launch_bounds__(BLOCK) framework_or_bits(const u32* bits, u32 count, u32* to) {
    for (u64 word = grid_thread(); word < (count + 31) / 32; word += grid_threads()) {
        u32 left = count - u32(word) * 32;
        to[word] |= left < 32 ? bits[word] & ((1u << left) - 1) : bits[word];
    }
}
GK_KERNEL(framework_or_bits)

// The vertices of a list are added to another.
extern "C" __global__ void __launch_bounds__(BLOCK) framework_append_list(const List list, const List to) {
    u32 length = list.count();
    for (u64 i = grid_thread(); i < length; i += grid_threads()) append(to, list.items[i]);
}
GK_KERNEL(framework_append_list)

// The first `count` vertices whose bits are set are listed.
extern "C" __global__ void __launch_bounds__(BLOCK) framework_list_bits(const u32* bits, u32 count, const List to) {
    for (u64 v = grid_thread(); v < count; v += grid_threads())
        if (has_bit(bits, static_cast<u32>(v))) append(to, static_cast<u32>(v));
}
GK_KERNEL(framework_list_bits)

// The places of a list of vertices at which a bit is set are listed.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_list_marked(const u32* vertices, u32 count, const u32* bits, const List to) {
    for (u64 i = grid_thread(); i < count; i += grid_threads())
        if (has_bit(bits, vertices[i])) append(to, static_cast<u32>(i));
}
GK_KERNEL(framework_list_marked)

// The numbers 0 to count - 1 plus `first` are listed, in order.
extern "C" __global__ void __launch_bounds__(BLOCK) framework_list_range(u32 first, u32 count, const List to) {
    for (u64 i = grid_thread(); i < count; i += grid_threads()) to.items[i] = first + static_cast<u32>(i);
    if (grid_thread() == 0) *to.length = count;
}
GK_KERNEL(framework_list_range)

// The values of listed vertices, by slot: `values[slot * count + i]`. A list entry is a vertex, or its place in `vertices`. An offer
// that is a sum starts again from 0.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_pack(const u32* items, u32 count, const u32* vertices, const Columns columns, u32 restarts, u64* values) {
    for (u64 i = grid_thread(); i < count; i += grid_threads()) {
        u32 v = vertices ? vertices[items[i]] : items[i];
        for (u32 slot = 0; slot < columns.count; ++slot) {
            values[u64(slot) * count + i] = load(columns, slot, v);
            if (restarts && columns.merge[slot] == MERGE_ADD) store(columns, slot, v, 0);
        }
    }
}
GK_KERNEL(framework_pack)

namespace {

// Offers of one peer, each vertex once: they are merged, and owners that changed are listed, each once in all. `put` is told of each
// change, `wakes` of each owner listed.
template <class Put, class Wakes>
GK_DEVICE void merge(const Part& part, const u32* vertices, const u64* values, u32 count, const Columns& columns, u32* marks,
                     const List& woken, Report* report, Put put, Wakes wakes) {
    __shared__ u64 room[WARPS];
    u64 arcs = 0;
    for (u64 i = grid_thread(); i < count; i += grid_threads()) {
        u32 v = vertices[i];
        bool changed = false;
        for (u32 slot = 0; slot < columns.count; ++slot) {
            u64 now = load(columns, slot, v), next = merged(columns, slot, now, values[u64(slot) * count + i]);
            if (next != now) {
                store(columns, slot, v, next);
                put(slot, v, now, next);
                changed = true;
            }
        }
        if (changed && set_bit(marks, v)) {
            append(woken, v);
            wakes(v);
            arcs += part.out.degree(v);
        }
    }
    u64 total = block_sum(arcs, room);
    if (threadIdx.x == 0 && total > 0) atomicAdd(&report->arcs, total);
}

} // namespace

extern "C" __global__ void __launch_bounds__(BLOCK)
framework_merge(const Part part, const u32* vertices, const u64* values, u32 count, const Columns columns, u32* marks,
                const List woken, Report* report) {
    merge(part, vertices, values, count, columns, marks, woken, report, [](u32, u32, u64, u64) {}, [](u32) {});
}
GK_KERNEL(framework_merge)

extern "C" __global__ void __launch_bounds__(BLOCK)
framework_guarded_merge(const Part part, const u32* vertices, const u64* values, u32 count, const Columns columns, u32* marks,
                        const List woken, Report* report, const Watch watch) {
    u64 visited = 0, joined = 0;
    merge(
        part, vertices, values, count, columns, marks, woken, report,
        [&](u32 slot, u32 v, u64 now, u64 next) {
            if (!watch.once || columns.address[slot] != reinterpret_cast<u64>(watch.once)) return;
            visited += once_term(v, next);
            if (now == watch.once_initial) return;
            visited -= once_term(v, now);
            find(v, &watch.summary->set_twice, &watch.summary->first_twice);
        },
        [&](u32 v) { joined += member(v); });
    add_up(visited, &watch.summary->visited);
    add_up(joined, &watch.summary->woken);
}
GK_KERNEL(framework_guarded_merge)

// How critical vertices are chosen for repetition, as operators.rs fills it in.
struct Choice {
    double allowance; // arcs that replicas may read, besides the budget's share of this frontier's
    double budget;
    u64 arcs;  // out of the frontier; ALL_ONES: the report has them as `active`
    u64 count; // members of a frontier held in bits
    u64 busy;  // owned vertices that this superstep has worked on before
    u64 low, gap, high; // critical degrees: from `low` up to, not including, `gap`, and from `high` on
    u32 both; // degrees count arcs in and out
    u32 over_incoming;
    u32 index;
    u32 pad;
};

// Whether a vertex is among those that a superstep draws, each with that chance.
GK_DEVICE bool is_drawn(u32 v, u32 index, double chance) {
    const double ALL = 4294967296.0;
    u64 draw = ((u64(v) << 20 ^ index) * 0x9e3779b97f4a7c15ull) >> 32;
    return chance >= 1.0 || static_cast<double>(draw) < chance * ALL;
}

// Scores the members of the frontier about to be consumed, and lists some of the critical ones. Each is drawn by its number and the
// superstep's, with a chance that makes the arcs of all that are drawn the allowance: so any schedule draws the same ones. At most as
// many are listed as vertices are inactive.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_mark(const Part part, const List queue, const u32* bits, const Choice choice, const Watch watch, const Report* report) {
    u64 length = bits ? choice.count : u64(queue.count());
    u64 arcs = choice.arcs == ~u64(0) ? report->active : choice.arcs;
    u64 busy = choice.busy + length;
    u64 room = busy < part.owned ? part.owned - busy : 0;
    if (room > watch.critical_capacity) room = watch.critical_capacity;
    if (grid_thread() == 0) watch.summary->room = static_cast<u32>(room);
    bool takes_all = choice.budget >= 1.0;
    double allowance = choice.allowance + choice.budget * static_cast<double>(arcs);
    bool lists = room > 0 && (takes_all || allowance >= 1.0);
    double few = static_cast<double>(room) / static_cast<double>(length > 0 ? length : 1);
    const Rows& rows = choice.over_incoming ? part.in : part.out;
    u64 critical = 0;
    u64 end = bits ? u64(part.owned) : length;
    for (u64 i = grid_thread(); i < end; i += grid_threads()) {
        u32 v = bits ? u32(i) : queue.items[i];
        if (v >= part.owned || (bits && !has_bit(bits, v))) continue;
        u64 degree = part.out.degree(v) + (choice.both ? part.in.degree(v) : 0);
        if (degree - choice.low >= choice.gap - choice.low && degree < choice.high) continue;
        critical += 1;
        if (!lists) continue;
        if (!takes_all) {
            u64 cost = rows.degree(v);
            double price = static_cast<double>(cost > 0 ? cost : 1);
            if (price > allowance) continue;
            double share = allowance / (price * static_cast<double>(length));
            if (share > few) share = few;
            if (!is_drawn(v, choice.index, share)) continue;
        }
        u32 place = atomicAdd(&watch.summary->listed, 1u);
        if (place < room) watch.critical[place] = v;
    }
    add_up(critical, &watch.summary->critical);
}
GK_KERNEL(framework_mark)

// Lists some of the vertices that a gather over `arcs` arcs has marked in bits. All are active, so the budget alone is the limit: each
// is drawn with the same chance, the share of the arcs that may be read again.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_mark_gathered(const Part part, const u32* marked, const Choice choice, const Watch watch) {
    if (grid_thread() == 0) watch.summary->room = static_cast<u32>(watch.critical_capacity);
    bool takes_all = choice.budget >= 1.0;
    double arcs = static_cast<double>(choice.arcs > 0 ? choice.arcs : 1);
    double allowance = choice.allowance + choice.budget * arcs;
    for (u64 word = grid_thread(); word < (u64(part.owned) + 31) / 32; word += grid_threads()) {
        for (u32 bits = marked[word]; bits != 0; bits &= bits - 1) {
            u32 v = u32(word) * 32 + __ffs(bits) - 1;
            double price = static_cast<double>(part.in.degree(v));
            if (!takes_all && (price > allowance || !is_drawn(v, choice.index, allowance / arcs))) continue;
            u32 place = atomicAdd(&watch.summary->listed, 1u);
            if (place < watch.critical_capacity) watch.critical[place] = v;
        }
    }
}
GK_KERNEL(framework_mark_gathered)

// Copies from owners are put at ghosts, which are listed if they wake.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_put(const u32* vertices, const u64* values, u32 count, const Columns columns, u32 renews, const List renewed) {
    for (u64 i = grid_thread(); i < count; i += grid_threads()) {
        for (u32 slot = 0; slot < columns.count; ++slot) store(columns, slot, vertices[i], values[u64(slot) * count + i]);
        if (renews) append(renewed, vertices[i]);
    }
}
GK_KERNEL(framework_put)

// ---- Exchange between devices (messages.cuh)

// Listed ghosts send their offers to their owners.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_send_listed(const Route route, const Packed packed, const Columns columns, const List list) {
    u32 length = list.count();
    for (u64 first = u64(blockIdx.x) * BLOCK; first < length; first += grid_threads()) {
        bool is_in = first + threadIdx.x < length;
        u32 entry = is_in ? list.items[first + threadIdx.x] - route.base : 0;
        post(route, packed, columns, is_in && entry < route.entries(), entry, 1);
    }
    finish_posts(route, packed);
}
GK_KERNEL(framework_send_listed)

// Entries whose vertices are marked, or in the frontier where that is bits, are sent.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_send_marked(const Route route, const Packed packed, const Columns columns, const u32* marks, const u32* bits) {
    u32 entries = route.entries();
    for (u64 first = u64(blockIdx.x) * BLOCK; first < entries; first += grid_threads()) {
        u32 entry = u32(first) + threadIdx.x;
        bool is_in = entry < entries;
        if (is_in) {
            u32 v = route.vertex(entry);
            is_in = has_bit(marks, v) || (bits && has_bit(bits, v));
        }
        post(route, packed, columns, is_in, entry, 0);
    }
    finish_posts(route, packed);
}
GK_KERNEL(framework_send_marked)

// Every entry is sent, in order and unnamed.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_send_all(const Route route, const Packed packed, const Columns columns, u32 restarts) {
    u32 entries = route.entries(), words = words_of(columns);
    for (u64 i = grid_thread(); i < entries; i += grid_threads()) {
        u32 entry = static_cast<u32>(i), peer = route.peer_of(entry);
        write_values(columns, route.vertex(entry), restarts, route.box(peer) + HEAD + u64(entry - route.starts[peer]) * words);
    }
    u64 p = grid_thread();
    if (p < route.peers && route.room(p) > 0) {
        route.box(p)[0] = route.room(p);
        route.box(p)[1] = 0;
        packed.sent[p] = route.room(p);
    }
}
GK_KERNEL(framework_send_all)

// Offers that some peers sent are merged; owners that changed are listed, each once in all, and stay marked.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_take_offers(const Part part, const Route route, const Columns columns, u32 first, u32 last, u32* marks,
                      const List woken, Report* report) {
    __shared__ u64 room[WARPS];
    u64 arcs = 0;
    received(route, columns, first, last, [&](u32 v, const u32* from) {
        bool changed = false;
        for (u32 slot = 0; slot < columns.count; ++slot) {
            u64 offer = next_value(columns, slot, from);
            if (take(columns, slot, v, offer)) changed = true;
        }
        if (changed && set_bit(marks, v)) {
            append(woken, v);
            arcs += part.out.degree(v);
        }
    });
    u64 total = block_sum(arcs, room);
    if (threadIdx.x == 0 && total > 0) atomicAdd(&report->arcs, total);
}
GK_KERNEL(framework_take_offers)

// Copies that the peers sent are put at their ghosts, which are listed if they wake.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_take_copies(const Route route, const Columns columns, u32 renews, const List renewed) {
    received(route, columns, 0, route.peers, [&](u32 v, const u32* from) {
        for (u32 slot = 0; slot < columns.count; ++slot) store(columns, slot, v, next_value(columns, slot, from));
        if (renews) append(renewed, v);
    });
}
GK_KERNEL(framework_take_copies)

// A plain copy, to measure the bandwidth that kernels are compared with.
extern "C" __global__ void __launch_bounds__(BLOCK) framework_copy(const u64* from, u64* to, u64 count) {
    for (u64 i = grid_thread(); i < count; i += grid_threads()) to[i] = from[i];
}
GK_KERNEL(framework_copy)
