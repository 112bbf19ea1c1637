// Sums of reals that do not depend on their order, as framework/src/base/sum.rs: each term is split against two fixed grids, and the
// parts on one grid add up without rounding. So threads, blocks and atomics may add in any order.
#pragma once
#include "block.cuh"

struct Sum {
    double high, low;

    GK_DEVICE void add(double term) {
        const double high_grid = 24.0, low_grid = 1.5 / 65536.0;
        double part = (term + high_grid) - high_grid;
        high += part;
        low += ((term - part) + low_grid) - low_grid;
    }
};

// What a gather adds up over all vertices.
struct Settled {
    Sum residual, carried;

    GK_DEVICE void moved(double, double by) { residual.add(by); }
    GK_DEVICE void carry(double term) { carried.add(term); }
};

// Adds a sum of all threads of the block to one in memory.
GK_DEVICE void sum_block(const Sum& own, double* high, double* low) {
    __shared__ double room[WARPS];
    double total = block_sum(own.high, room);
    if (threadIdx.x == 0 && total != 0.0) atomicAdd(high, total);
    total = block_sum(own.low, room);
    if (threadIdx.x == 0 && total != 0.0) atomicAdd(low, total);
}

// Adds the settled sums of all threads of the block to the report.
GK_DEVICE void settle_block(const Settled& own, Report* report) {
    __shared__ double room[WARPS];
    double sums[4] = {own.residual.high, own.residual.low, own.carried.high, own.carried.low};
    double* into[4] = {&report->residual_high, &report->residual_low, &report->carry_high, &report->carry_low};
    for (u32 i = 0; i < 4; ++i) {
        double total = block_sum(sums[i], room);
        if (threadIdx.x == 0 && total != 0.0) atomicAdd(into[i], total);
    }
}
