// Arcs shared out evenly: a block takes 256 vertices, and each of its threads every 256th of their arcs, whatever the degrees.
// Rows of HUB arcs or more are cut into pieces that all blocks share in a second kernel, so one hub holds up nobody.
// Source: Merrill, Garland, Grimshaw, "Scalable GPU Graph Traversal", PPoPP 2012.
#pragma once
#include "block.cuh"

// Rows from this length on are cut; also the longest piece. A block's worst tile is then 256 * 511 arcs. Chosen.
constexpr u32 HUB = 512;

// Writes the pieces of a long row; room for 2 * arcs / HUB pieces is enough, as each row cut has at least HUB arcs.
GK_DEVICE void cut(const Frontier& frontier, u32 v, u64 begin, u64 degree) {
    u32 count = static_cast<u32>((degree + HUB - 1) / HUB);
    u32 base = atomicAdd(frontier.pieces_length, count);
    for (u32 i = 0; i < count; ++i) {
        u64 done = u64(i) * HUB;
        Piece piece;
        piece.begin = begin + done;
        piece.vertex = v;
        piece.length = static_cast<u32>(degree - done < HUB ? degree - done : HUB);
        if (base + i < frontier.pieces_capacity) frontier.pieces[base + i] = piece;
    }
}

// Runs `each(source, target)` for all arcs of the vertices that the block's threads bring (`is_in`), long rows apart. All threads
// of the block call; each may be called from any thread.
template <class Each> GK_DEVICE void block_arcs(const Rows& rows, const Frontier& frontier, bool is_in, u32 v, Each each) {
    __shared__ u32 starts[BLOCK + 1];
    __shared__ u32 room[WARPS];
    __shared__ u64 begins[BLOCK];
    __shared__ u32 sources[BLOCK];
    u64 begin = is_in ? rows.begin(v) : 0;
    u64 degree = is_in ? rows.end(v) - begin : 0;
    if (degree >= HUB) {
        cut(frontier, v, begin, degree);
        degree = 0;
    }
    begins[threadIdx.x] = begin;
    sources[threadIdx.x] = v;
    block_scan(static_cast<u32>(degree), starts, room);
    u32 total = starts[BLOCK];
    for (u32 k = threadIdx.x; k < total; k += BLOCK) {
        u32 low = 0, high = BLOCK; // starts[low] <= k < starts[high]
        while (high - low > 1) {
            u32 middle = (low + high) / 2;
            if (starts[middle] <= k) low = middle; else high = middle;
        }
        each(sources[low], rows.targets[begins[low] + (k - starts[low])]);
    }
    __syncthreads();
}

// Runs `each(source, target)` for the arcs of all pieces that have been cut.
template <class Each> GK_DEVICE void piece_arcs(const Rows& rows, const Frontier& frontier, Each each) {
    u64 count = *frontier.pieces_length;
    if (count > frontier.pieces_capacity) count = frontier.pieces_capacity;
    for (u64 i = blockIdx.x; i < count; i += gridDim.x) {
        Piece piece = frontier.pieces[i];
        for (u32 k = threadIdx.x; k < piece.length; k += BLOCK) each(piece.vertex, rows.targets[piece.begin + k]);
    }
}
