// What the kernels are written against: NVRTC, nvcc, or a host C++ compiler under the test shim (kernels/host).
// Guarantees `u32`, `u64`, `GK_DEVICE`, and `GK_KERNEL(name)` after a kernel's definition, by which the shim finds it.
#pragma once
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
typedef unsigned int u32;
typedef unsigned long long u64;
#define GK_KERNEL(name)
#define GK_DEVICE __device__ __forceinline__
#else
#include "gk_host.h"
#define GK_DEVICE inline __attribute__((always_inline))
#endif

// Threads of every block, a multiple of a warp. Chosen: enough warps to hide latency at 64 registers a thread.
constexpr u32 BLOCK = 256;
constexpr u32 WARP = 32;
constexpr u32 WARPS = BLOCK / WARP;
constexpr u32 EVERY_LANE = 0xffffffffu;
