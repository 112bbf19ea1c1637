// GatherOp: sums over the arcs into each vertex, in an order that only the row's length decides, so that they are equal for any number
// of blocks and devices. Short rows are summed as the cpu device sums them, bit for bit.
#pragma once
#include "sum.cuh"

// Rows up to this length are summed by one thread in row order, as the cpu device does.
constexpr u32 ROW_ALONE = 32;
// Longer rows by a warp: lane l takes every 32nd value from l on, then a fixed tree. Rows from here on by pieces of so many values,
// a block each, then the pieces in order. Chosen.
constexpr u32 ROW_PIECE = 4096;

// Long rows, ascending by vertex, with the number of the first piece of each; one more entry ends the last.
struct LongRows {
    const u32* vertices;
    const u32* first_piece;
    double* partial;
    u32 rows;
    u32 pieces;
};

template <class Rule> GK_DEVICE void gather_pieces(const Call& call, const LongRows& rows) {
    __shared__ double room[WARPS];
    Rule rule(call);
    for (u32 piece = blockIdx.x; piece < rows.pieces; piece += gridDim.x) {
        u32 low = 0, high = rows.rows; // first_piece[low] <= piece < first_piece[high]
        while (high - low > 1) {
            u32 middle = (low + high) / 2;
            if (rows.first_piece[middle] <= piece) low = middle; else high = middle;
        }
        u32 v = rows.vertices[low];
        u64 from = call.part.in.begin(v) + u64(piece - rows.first_piece[low]) * ROW_PIECE;
        u64 end = call.part.in.end(v);
        u64 to = from + ROW_PIECE < end ? from + ROW_PIECE : end;
        double sum = 0.0;
#pragma unroll 4
        for (u64 at = from + threadIdx.x; at < to; at += BLOCK) sum += rule.gather(call.part.in.targets[at]);
        sum = block_sum(sum, room);
        if (threadIdx.x == 0) rows.partial[piece] = sum;
    }
}

template <class Rule> GK_DEVICE void gather_rows(const Call& call, const Frontier& frontier, const LongRows& long_rows) {
    Rule rule(call);
    const Part& part = call.part;
    const Rows& in = part.in;
    Settled settled = {{0.0, 0.0}, {0.0, 0.0}};
    u32 words = (part.owned + 31) / 32;
    for (u64 word = grid_thread() / WARP; word < words; word += grid_threads() / WARP) {
        u32 v = u32(word) * 32 + lane();
        bool is_in = v < part.owned;
        u64 begin = is_in ? in.begin(v) : 0, end = is_in ? in.end(v) : 0;
        double sum = 0.0;
        if (end - begin <= ROW_ALONE) {
            for (u64 at = begin; at < end; ++at) sum += rule.gather(in.targets[at]);
        }
        u32 rest = __ballot_sync(EVERY_LANE, end - begin > ROW_ALONE);
        while (rest) {
            u32 helped = __ffs(rest) - 1;
            u64 from = __shfl_sync(EVERY_LANE, begin, helped), to = __shfl_sync(EVERY_LANE, end, helped);
            double part_sum = 0.0;
            if (to - from < ROW_PIECE) {
#pragma unroll 4
                for (u64 at = from + lane(); at < to; at += WARP) part_sum += rule.gather(in.targets[at]);
            } else {
                u32 helped_vertex = u32(word) * 32 + helped, low = 0, high = long_rows.rows;
                while (high - low > 1) {
                    u32 middle = (low + high) / 2;
                    if (long_rows.vertices[middle] <= helped_vertex) low = middle; else high = middle;
                }
                for (u32 p = long_rows.first_piece[low] + lane(); p < long_rows.first_piece[low + 1]; p += WARP)
                    part_sum += long_rows.partial[p];
            }
            part_sum = __shfl_sync(EVERY_LANE, warp_sum(part_sum), 0);
            if (lane() == helped) sum = part_sum;
            rest &= rest - 1;
        }
        if (is_in) rule.settle(v, part.out.degree(v), sum, settled);
    }
    settle_block(settled, frontier.report);
}

#define GK_GATHER(name, Rule) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_pieces(const Call call, const LongRows rows) { gather_pieces<Rule>(call, rows); } \
    GK_KERNEL(name##_pieces) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_rows(const Call call, const Frontier frontier, const LongRows rows) { gather_rows<Rule>(call, frontier, rows); } \
    GK_KERNEL(name##_rows)
