// GatherOp: sums over the arcs into each vertex, in an order that only the row's length decides, so that they are equal for any number
// of blocks and devices. Short rows are summed as the cpu device sums them, bit for bit.
#pragma once
#include "guard.cuh"

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

// What makes a gathered vertex critical, and the least sound value: as framework/src/step/monitor/score.rs. Who is, is marked in bits.
struct Marks {
    double floor, cutoff, whole, a, b, t, log_most;
    u64 always_from;
    u64 both;
    u32* marked;
};

// A protected gather's books, by thread.
struct WatchedBook {
    const Marks& marks;
    Settled settled;
    Sum mass;
    u64 below, critical;
    double largest, last;

    GK_DEVICE explicit WatchedBook(const Marks& marks)
        : marks(marks), settled{{0.0, 0.0}, {0.0, 0.0}}, mass{0.0, 0.0}, below(0), critical(0), largest(0.0), last(0.0) {}

    GK_DEVICE void moved(double value, double by) {
        settled.moved(value, by);
        mass.add(value);
        below += value < marks.floor;
        largest = by > largest ? by : largest;
        last = by;
    }
    GK_DEVICE void carry(double term) { settled.carry(term); }

    GK_DEVICE bool is_critical(const Part& part, u32 v) const {
        u64 degree = part.out.degree(v) + (marks.both ? part.in.degree(v) : 0);
        if (degree >= marks.always_from) return true;
        if (!(last >= marks.cutoff)) return false;
        double structure = marks.log_most > 0.0 ? log1p(static_cast<double>(degree)) / marks.log_most : 0.0;
        double missing = marks.t - marks.a * structure;
        return missing <= marks.b && last >= missing / marks.b * marks.whole;
    }

    // The vertices of a word have settled, one in each lane; `v` is none of the part in some of the last.
    GK_DEVICE void close(const Part& part, u32 word, u32 v, bool is_in) {
        u32 bits = __ballot_sync(EVERY_LANE, is_in && is_critical(part, v));
        if (lane() == 0) {
            marks.marked[word] = bits;
            critical += __popc(bits);
        }
    }
};

struct PlainBook : Settled {
    GK_DEVICE void close(const Part&, u32, u32, bool) {}
};

// Takes nothing in.
struct NoBook {
    GK_DEVICE void moved(double, double) {}
    GK_DEVICE void carry(double) {}
};

// The sum over a row that is shorter than a piece and longer than one thread takes: in lane 0.
template <class Rule> GK_DEVICE double sum_by_warp(const Rule& rule, const Rows& in, u64 from, u64 to) {
    double sum = 0.0;
#pragma unroll 4
    for (u64 at = from + lane(); at < to; at += WARP) sum += rule.gather(in.targets[at]);
    return warp_sum(sum);
}

// The sum over any row, by a warp, in the order in which `gather_pieces` and `gather_rows` add: in lane 0.
template <class Rule> GK_DEVICE double sum_again(const Rule& rule, const Rows& in, u64 begin, u64 end) {
    if (end - begin <= ROW_ALONE) {
        double own = begin + lane() < end ? rule.gather(in.targets[begin + lane()]) : 0.0, sum = 0.0;
        for (u32 place = 0; place < end - begin; ++place) sum += __shfl_sync(EVERY_LANE, own, place);
        return sum;
    }
    if (end - begin < ROW_PIECE) return sum_by_warp(rule, in, begin, end);
    double part_sum = 0.0;
    u32 number = 0;
    for (u64 from = begin; from < end; from += ROW_PIECE, ++number) {
        u64 to = from + ROW_PIECE < end ? from + ROW_PIECE : end;
        double piece = 0.0; // as block_sum: warp by warp
        for (u32 warp = 0; warp < WARPS; ++warp) {
            double own = 0.0;
            for (u64 at = from + warp * WARP + lane(); at < to; at += BLOCK) own += rule.gather(in.targets[at]);
            piece += warp_sum(own);
        }
        piece = __shfl_sync(EVERY_LANE, piece, 0);
        if (number % WARP == lane()) part_sum += piece;
    }
    return warp_sum(part_sum);
}

template <class Rule, class Book>
GK_DEVICE void gather_rows(const Call& call, const LongRows& long_rows, Book& settled) {
    Rule rule(call);
    const Part& part = call.part;
    const Rows& in = part.in;
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
                part_sum = sum_by_warp(rule, in, from, to);
            } else {
                u32 helped_vertex = u32(word) * 32 + helped, low = 0, high = long_rows.rows;
                while (high - low > 1) {
                    u32 middle = (low + high) / 2;
                    if (long_rows.vertices[middle] <= helped_vertex) low = middle; else high = middle;
                }
                for (u32 p = long_rows.first_piece[low] + lane(); p < long_rows.first_piece[low + 1]; p += WARP)
                    part_sum += long_rows.partial[p];
                part_sum = warp_sum(part_sum);
            }
            part_sum = __shfl_sync(EVERY_LANE, part_sum, 0);
            if (lane() == helped) sum = part_sum;
            rest &= rest - 1;
        }
        if (is_in) rule.settle(v, part.out.degree(v), sum, settled);
        settled.close(part, u32(word), v, is_in);
    }
}

template <class Rule> GK_DEVICE void plain_rows(const Call& call, const Frontier& frontier, const LongRows& rows) {
    PlainBook book = {};
    gather_rows<Rule>(call, rows, book);
    settle_block(book, frontier.report);
}

template <class Rule>
GK_DEVICE void guarded_rows(const Call& call, const Frontier& frontier, const LongRows& rows, const Watch& watch, const Marks& marks) {
    __shared__ u64 room[WARPS];
    WatchedBook book(marks);
    gather_rows<Rule>(call, rows, book);
    settle_block(book.settled, frontier.report);
    sum_block(book.mass, &watch.summary->mass_high, &watch.summary->mass_low);
    add_up(book.below, &watch.summary->below);
    add_up(book.critical, &watch.summary->critical);
    union { double value; u64 bits; } largest;
    largest.value = book.largest;
    u64 most = block_max(largest.bits, room);
    if (threadIdx.x == 0 && most > 0) atomicMax(&watch.summary->largest, most);
}

GK_DEVICE u64 bits_of(double value) {
    union { double value; u64 bits; } both;
    both.value = value;
    return both.bits;
}

// Listed vertices are summed and settled again, after all have been: they must settle on the bits that are there. What does not stays.
template <class Rule> GK_DEVICE void rows_again(const Call& call, const Watch& watch) {
    Rule rule(call);
    const Part& part = call.part;
    claim_all(part.in, watch, [&](u32 v, u64 begin, u64 end) {
        double sum = sum_again(rule, part.in, begin, end);
        if (lane() != 0) return;
        double before = rule.settled(v);
        NoBook none;
        rule.settle(v, part.out.degree(v), sum, none);
        if (bits_of(rule.settled(v)) == bits_of(before)) return;
        rule.put(v, before);
        find(v, &watch.summary->differing, &watch.summary->first_differing);
    });
}

#define GK_GATHER(name, Rule) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_pieces(const Call call, const LongRows rows) { gather_pieces<Rule>(call, rows); } \
    GK_KERNEL(name##_pieces) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_rows(const Call call, const Frontier frontier, const LongRows rows) { plain_rows<Rule>(call, frontier, rows); } \
    GK_KERNEL(name##_rows) \
    extern "C" __global__ void __launch_bounds__(BLOCK, GUARDED_BLOCKS) name##_guarded_rows(const Call call, const Frontier frontier, const LongRows rows, const Watch watch, const Marks marks) { guarded_rows<Rule>(call, frontier, rows, watch, marks); } \
    GK_KERNEL(name##_guarded_rows) \
    extern "C" __global__ void __launch_bounds__(BLOCK, GUARDED_BLOCKS) name##_rows_again(const Call call, const Watch watch) { rows_again<Rule>(call, watch); } \
    GK_KERNEL(name##_rows_again)
