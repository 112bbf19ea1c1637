// Cooperation within a warp and a block: appending to lists, sums, and an exclusive scan. All threads of the block (or warp) call,
// except for `append`, which any may.
#pragma once
#include "state.cuh"

// Appends an item. Threads that happen to run together take their places by one atomic.
GK_DEVICE void append(const List& list, u32 item) {
    u32 together = __activemask();
    u32 leader = __ffs(together) - 1;
    u32 base = 0;
    if (lane() == leader) base = atomicAdd(list.length, u32(__popc(together)));
    base = __shfl_sync(together, base, leader);
    u32 place = base + __popc(together & ((1u << lane()) - 1));
    if (place < list.capacity) list.items[place] = item;
}

template <class T> GK_DEVICE T warp_sum(T value) {
    for (u32 step = WARP / 2; step > 0; step /= 2) value += __shfl_down_sync(EVERY_LANE, value, step);
    return value; // in lane 0
}

// The sum over the block, in thread 0. `room` is shared and free again after the next barrier.
template <class T> GK_DEVICE T block_sum(T value, T* room) {
    value = warp_sum(value);
    __syncthreads();
    if (lane() == 0) room[threadIdx.x / WARP] = value;
    __syncthreads();
    T total = T();
    if (threadIdx.x == 0)
        for (u32 warp = 0; warp < WARPS; ++warp) total += room[warp];
    return total;
}

GK_DEVICE u64 block_max(u64 value, u64* room) {
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        u64 other = __shfl_down_sync(EVERY_LANE, value, step);
        if (other > value) value = other;
    }
    __syncthreads();
    if (lane() == 0) room[threadIdx.x / WARP] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (u32 warp = 1; warp < WARPS; ++warp)
            if (room[warp] > value) value = room[warp];
    return value; // in thread 0
}

// Exclusive prefix sums of one number a thread into `starts[0..BLOCK]`; `starts[BLOCK]` is the total. Ends with a barrier.
GK_DEVICE void block_scan(u32 value, u32* starts, u32* room) {
    u32 sum = value;
    for (u32 step = 1; step < WARP; step *= 2) {
        u32 below = __shfl_up_sync(EVERY_LANE, sum, step);
        if (lane() >= step) sum += below;
    }
    __syncthreads();
    if (lane() == WARP - 1) room[threadIdx.x / WARP] = sum;
    __syncthreads();
    u32 before = 0;
    for (u32 warp = 0; warp < threadIdx.x / WARP; ++warp) before += room[warp];
    starts[threadIdx.x] = before + sum - value;
    if (threadIdx.x == BLOCK - 1) starts[BLOCK] = before + sum;
    __syncthreads();
}
