// Device intrinsics for a host compiler, so that the kernels run in tests without a GPU. A block runs on one OS thread; each CUDA thread
// is a fiber that is switched away from only where it waits (barrier or warp collective).
#pragma once
#include <cstdint>
#include <cstddef>
#include <cstring>
#include <cmath>
#include <utility>
#include <type_traits>
typedef uint32_t u32;
typedef unsigned long long u64;
struct gk_dim3 { u32 x, y, z; };
namespace gk {
struct Fiber;
struct Thread { gk_dim3 tid; u32 lin; u32 lane; u32 warp; };
struct BlockCtx { gk_dim3 bid, bdim, gdim; unsigned char* dyn; };
extern thread_local Thread* cur;
extern thread_local BlockCtx blk;
enum Op : u32 { SYNC, SHFL, SHFL_UP, SHFL_DOWN, SHFL_XOR, BALLOT, MATCH };
u64 collective(Op op, u32 mask, u64 val, u32 arg, u32 width);  // blocks this fiber if lanes are missing
void barrier();
u64 barrier_reduce(u32 kind, int pred);                        // 0 count, 1 and, 2 or
template <class T> inline u64 bits(T v) { u64 r = 0; static_assert(sizeof(T) <= 8, ""); memcpy(&r, &v, sizeof v); return r; }
template <class T> inline T unbits(u64 r) { T v; memcpy(&v, &r, sizeof v); return v; }
template <class T, class F> inline T rmw(T* p, F f) {
    T o; __atomic_load(p, &o, __ATOMIC_RELAXED);
    for (;;) { T n = f(o); if (__atomic_compare_exchange(p, &o, &n, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return o; }
}
struct Entry { const char* name; void (*call)(void**); u32 nargs; const u32* sizes; Entry* next; u64 launches; };
extern Entry* first_entry;
struct Registered { explicit Registered(Entry* entry) { entry->next = first_entry; first_entry = entry; } };
template <auto F> struct Thunk;
template <class... A, void (*F)(A...)> struct Thunk<F> {
    static constexpr u32 n = sizeof...(A);
    static constexpr u32 sizes[sizeof...(A) + 1] = {u32(sizeof(A))..., 0};
    template <size_t... I> static void go(void** a, std::index_sequence<I...>) { F(*static_cast<std::remove_const_t<A>*>(a[I])...); }
    static void call(void** a) { go(a, std::index_sequence_for<A...>{}); }
};
}
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __shared__ static thread_local
#define __constant__ static const
#define __launch_bounds__(...)
#define GK_DYN_SHARED(T, name) T* name = reinterpret_cast<T*>(gk::blk.dyn)
#define threadIdx (gk::cur->tid)
#define blockIdx (gk::blk.bid)
#define blockDim (gk::blk.bdim)
#define gridDim (gk::blk.gdim)
#define warpSize 32
inline void __syncthreads() { gk::barrier(); }
inline int __syncthreads_count(int p) { return (int)gk::barrier_reduce(0, p); }
inline int __syncthreads_and(int p) { return (int)gk::barrier_reduce(1, p); }
inline int __syncthreads_or(int p) { return (int)gk::barrier_reduce(2, p); }
inline void __syncwarp(u32 m = ~0u) { gk::collective(gk::SYNC, m, 0, 0, 32); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
template <class T> inline T __shfl_sync(u32 m, T v, int s, int w = 32) { return gk::unbits<T>(gk::collective(gk::SHFL, m, gk::bits(v), s, w)); }
template <class T> inline T __shfl_up_sync(u32 m, T v, u32 d, int w = 32) { return gk::unbits<T>(gk::collective(gk::SHFL_UP, m, gk::bits(v), d, w)); }
template <class T> inline T __shfl_down_sync(u32 m, T v, u32 d, int w = 32) { return gk::unbits<T>(gk::collective(gk::SHFL_DOWN, m, gk::bits(v), d, w)); }
template <class T> inline T __shfl_xor_sync(u32 m, T v, int x, int w = 32) { return gk::unbits<T>(gk::collective(gk::SHFL_XOR, m, gk::bits(v), x, w)); }
inline u32 __ballot_sync(u32 m, int p) { return (u32)gk::collective(gk::BALLOT, m, p != 0, 0, 32); }
inline int __any_sync(u32 m, int p) { return __ballot_sync(m, p) != 0; }
inline int __all_sync(u32 m, int p) { return __ballot_sync(m, p) == m; }
template <class T> inline u32 __match_any_sync(u32 m, T v) { return (u32)gk::collective(gk::MATCH, m, gk::bits(v), 0, 32); }
inline u32 __activemask() { return 1u << gk::cur->lane; }  // any set that holds the caller is a legal answer
inline int __popc(u32 x) { return __builtin_popcount(x); }
inline int __popcll(u64 x) { return __builtin_popcountll(x); }
inline int __ffs(u32 x) { return __builtin_ffs((int)x); }
inline int __clz(u32 x) { return x ? __builtin_clz(x) : 32; }
template <class T> inline T __ldg(const T* p) { return *p; }
template <class T> inline T min(T a, T b) { return b < a ? b : a; }
template <class T> inline T max(T a, T b) { return a < b ? b : a; }
template <class T, class U> inline T atomicAdd(T* p, U v) {
    if constexpr (std::is_integral_v<T>) return __atomic_fetch_add(p, (T)v, __ATOMIC_RELAXED);
    else return gk::rmw(p, [=](T o) { return T(o + v); });
}
template <class T> inline T atomicSub(T* p, std::common_type_t<T> v) { return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED); }
template <class T> inline T atomicMin(T* p, std::common_type_t<T> v) { T o; __atomic_load(p, &o, __ATOMIC_RELAXED); if (!(v < o)) return o; return gk::rmw(p, [=](T q) { return v < q ? v : q; }); }
template <class T> inline T atomicMax(T* p, std::common_type_t<T> v) { T o; __atomic_load(p, &o, __ATOMIC_RELAXED); if (!(o < v)) return o; return gk::rmw(p, [=](T q) { return q < v ? v : q; }); }
template <class T> inline T atomicOr(T* p, std::common_type_t<T> v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }
template <class T> inline T atomicAnd(T* p, std::common_type_t<T> v) { return __atomic_fetch_and(p, v, __ATOMIC_RELAXED); }
template <class T> inline T atomicExch(T* p, std::common_type_t<T> v) { T o; __atomic_exchange(p, &v, &o, __ATOMIC_RELAXED); return o; }
template <class T> inline T atomicCAS(T* p, std::common_type_t<T> c, std::common_type_t<T> v) {
    __atomic_compare_exchange(p, &c, &v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); return c;
}
// Kernels say their names as they are loaded; `gk::first_entry` begins the list.
#define GK_KERNEL(f) \
    static gk::Entry gk_entry_##f = {#f, &gk::Thunk<&f>::call, gk::Thunk<&f>::n, gk::Thunk<&f>::sizes, nullptr, 0}; \
    static gk::Registered gk_registered_##f(&gk_entry_##f);
