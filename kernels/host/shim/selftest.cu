// Every warp and block primitive once, on a block whose last warp is partial (48 threads); compiles for devices too.
#include "machine.cuh"
extern "C" __global__ void selftest_primitives(u32* out, u32 n) {
    u32 t = threadIdx.x, lane = t & 31u, m = t < 32 ? 0xffffffffu : 0x0000ffffu;
    u32* o = out + (blockIdx.x * blockDim.x + t) * 10;
    o[0] = __shfl_sync(m, t, 3);
    o[1] = __shfl_up_sync(m, t, 2, 16);
    o[2] = __shfl_down_sync(m, t, 1, 8);
    o[3] = __shfl_xor_sync(m, t, 5, 16);
    o[4] = __ballot_sync(m, t % 3 == 0);
    // any and all
    o[5] = (u32)(__any_sync(m, t == 40) != 0) | (u32)(__all_sync(m, t < 48) != 0) << 1;
    o[6] = (u32)__syncthreads_count(t % 5 == 0);
    o[7] = (u32)__syncthreads_or(t == 47) | (u32)(__syncthreads_and(t < 47) != 0) << 1;
    // halves of a warp in different code paths, each with its own mask
    if (lane < 8) o[8] = __shfl_sync(0x000000ffu, t, 7); else { __syncwarp(m & 0xffffff00u); o[8] = __ballot_sync(m & 0xffffff00u, 1); }
    __shared__ u32 sh[64];
    sh[t] = t; __syncthreads();
    o[9] = sh[blockDim.x - 1 - t];
    if (t >= n) return;          // some threads leave; the rest still meet at a barrier
    __syncthreads();
    double* d = (double*)(out + 10000); atomicAdd(d, 0.5);
    atomicMin(out + 10002, t + 1); atomicMax(out + 10003, t); atomicOr(out + 10004, 1u << (t & 7)); atomicExch(out + 10005, 9u);
    u64* q = (u64*)(out + 10006); atomicAdd(q, 1ull << 33);
}
GK_KERNEL(selftest_primitives)

// Deliberately wrong: half the block waits at a barrier, the other half in a warp operation.
extern "C" __global__ void selftest_bad_barrier(u32* out) {
    if (threadIdx.x < 16) __syncwarp(0xffffffffu);
    else __syncthreads();
    out[threadIdx.x] = 1;
}
GK_KERNEL(selftest_bad_barrier)

// Deliberately wrong: writes one element beyond.
extern "C" __global__ void selftest_beyond(u32* out, u32 count) { out[count] = 1; }
GK_KERNEL(selftest_beyond)
