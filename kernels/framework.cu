// The framework's own kernels: clearing, filling, the frontier from one form to the other, and packing for ghost exchange.
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

namespace {

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

} // namespace

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

// The vertices of a list become bits.
extern "C" __global__ void __launch_bounds__(BLOCK) framework_set_bits(const List list, u32* bits) {
    u32 length = list.count();
    for (u64 i = grid_thread(); i < length; i += grid_threads()) set_bit(bits, list.items[i]);
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

// Offers of one peer, each vertex once: they are merged, and owners that changed are listed, each once in all.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_merge(const Part part, const u32* vertices, const u64* values, u32 count, const Columns columns, u32* marks,
                const List woken, Report* report) {
    __shared__ u64 room[WARPS];
    u64 arcs = 0;
    for (u64 i = grid_thread(); i < count; i += grid_threads()) {
        u32 v = vertices[i];
        bool changed = false;
        for (u32 slot = 0; slot < columns.count; ++slot) {
            u64 now = load(columns, slot, v), next = merged(columns, slot, now, values[u64(slot) * count + i]);
            if (next != now) {
                store(columns, slot, v, next);
                changed = true;
            }
        }
        if (changed && set_bit(marks, v)) {
            append(woken, v);
            arcs += part.out.degree(v);
        }
    }
    u64 total = block_sum(arcs, room);
    if (threadIdx.x == 0 && total > 0) atomicAdd(&report->arcs, total);
}
GK_KERNEL(framework_merge)

// Copies from owners are put at ghosts, which are listed if they wake.
extern "C" __global__ void __launch_bounds__(BLOCK)
framework_put(const u32* vertices, const u64* values, u32 count, const Columns columns, u32 renews, const List renewed) {
    for (u64 i = grid_thread(); i < count; i += grid_threads()) {
        for (u32 slot = 0; slot < columns.count; ++slot) store(columns, slot, vertices[i], values[u64(slot) * count + i]);
        if (renews) append(renewed, vertices[i]);
    }
}
GK_KERNEL(framework_put)

// A plain copy, to measure the bandwidth that kernels are compared with.
extern "C" __global__ void __launch_bounds__(BLOCK) framework_copy(const u64* from, u64* to, u64 count) {
    for (u64 i = grid_thread(); i < count; i += grid_threads()) to[i] = from[i];
}
GK_KERNEL(framework_copy)
