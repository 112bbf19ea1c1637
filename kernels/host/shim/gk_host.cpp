// Runs the threads of a block as fibers: each runs until it waits at a barrier or in a warp operation, or ends. A seed shuffles
// who goes on. A block in which nobody can go on is reported, with what each waits for, and ends the process: on a device it hangs.
#include "gk_host.h"
#undef threadIdx
#include <sys/mman.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#include <cstdio>
#include <cstdlib>
#include <atomic>
#include <thread>
#include <vector>
#include <algorithm>
#if defined(__x86_64__)
asm(R"(
.text
.globl gk_switch
.type gk_switch,@function
gk_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size gk_switch,.-gk_switch
.section .note.GNU-stack,"",@progbits
.text
)");
extern "C" void gk_switch(void** save_sp, void* to_sp);
static void* init_stack(char* top, void (*entry)()) {
    void** sp = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15));
    *--sp = nullptr;                     // keeps rsp % 16 == 8 at entry, as after a call
    *--sp = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; i++) *--sp = nullptr;
    return sp;
}
#else
#error "the shim switches stacks on x86-64 only; build.rs does not build it elsewhere"
#endif

namespace gk {
Entry* first_entry = nullptr;
thread_local Thread* cur;
thread_local BlockCtx blk;
enum State : u32 { READY, WAIT_BAR, WAIT_WARP, DONE };
struct Fiber { Thread th; void* sp; char* stack; State st; Op op; u64 res, val; u32 mask, arg, width; };
struct Warp { u32 ready, waiting, lanes; };          // bit per lane: may run now; waits in a warp operation
static constexpr size_t STACK = 64 << 10, GUARD = 4096;
struct Sched {
    std::vector<Fiber> f; std::vector<Warp> w; std::vector<char*> all, freestk;
    void* main_sp = nullptr; Fiber* run = nullptr; u32 n = 0, nw = 0, done = 0, at_bar = 0, bar_kind = 0; long bar_acc = 0;
    void (*fn)(void**) = nullptr; void** args = nullptr; const char* name = ""; u64 switches = 0, rnd = 0;
    char* get_stack() {
        if (freestk.empty()) {
            char* p = (char*)mmap(nullptr, STACK + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (p == MAP_FAILED) { perror("gk_host: mmap"); abort(); }
#if defined(__SANITIZE_ADDRESS__)
            // Where another thread's stacks lay before, what AddressSanitizer knew of their frames is no news any more.
            __asan_unpoison_memory_region(p, STACK + GUARD);
#endif
            mprotect(p, GUARD, PROT_NONE);               // overflow faults instead of corrupting a neighbour
            // colour the top: equally aligned stacks would all fall into the same cache sets
            freestk.push_back(p + GUARD + STACK - (all.size() * 320) % 4096);
            all.push_back(p);
        }
        char* s = freestk.back(); freestk.pop_back(); return s;
    }
    ~Sched() { for (char* p : all) munmap(p, STACK + GUARD); }
    Fiber* pick(u32 from) {
        u32 start = from;
        if (rnd) { rnd ^= rnd << 13; rnd ^= rnd >> 7; rnd ^= rnd << 17; if ((rnd & 3) == 0) start = u32(rnd >> 8) % nw; }
        for (u32 k = 0; k < nw; k++) {
            u32 i = start + k < nw ? start + k : start + k - nw; u32 r = w[i].ready;
            if (!r) continue;
            u32 rot = rnd ? u32(rnd >> 40) & 31 : 0;
            u32 q = rot ? (r >> rot | r << (32 - rot)) : r;
            u32 l = (u32(__builtin_ctz(q)) + rot) & 31;
            w[i].ready &= ~(1u << l);
            return &f[i * 32 + l];
        }
        return nullptr;
    }
};
static thread_local Sched* S;
static void fiber_main();
[[noreturn]] static void stuck() {
    fprintf(stderr, "gk_host: kernel %s, block (%u,%u,%u): no thread can go on: %u at a block barrier, %u finished, of %u.\n", S->name, blk.bid.x, blk.bid.y, blk.bid.z, S->at_bar, S->done, S->n);
    for (u32 i = 0; i < S->n && i < 1024; i++) if (S->f[i].st == WAIT_WARP) { fprintf(stderr, "gk_host:   thread %u waits in a warp operation (kind %u, mask %08x)\n", i, S->f[i].op, S->f[i].mask); break; }
    abort();
}
static void enter(Fiber* to, void** save) {              // switch to a picked fiber, starting it if it is new
    if (!to->sp) { to->stack = S->get_stack(); to->sp = init_stack(to->stack, &fiber_main); }
    S->run = to; cur = &to->th; S->switches++;
    gk_switch(save, to->sp);
}
static void block_here(Fiber* me) {
    Fiber* nx = S->pick(me->th.warp);
    if (nx == me) { S->run = me; cur = &me->th; return; }
    if (!nx) stuck();
    enter(nx, &me->sp);
}
static void warp_complete(Warp& W, Fiber* w, u32 mask, Op op) {
    u32 ballot = 0;
    if (op == BALLOT) for (u32 m = mask; m; m &= m - 1) { u32 l = __builtin_ctz(m); ballot |= u32(w[l].val) << l; }
    for (u32 m = mask; m; m &= m - 1) {
        u32 l = __builtin_ctz(m), wd = w[l].width, base = l & ~(wd - 1), src = l;
        switch (op) {
            case SHFL: src = base + (w[l].arg & (wd - 1)); break;
            case SHFL_UP: src = l - base >= w[l].arg ? l - w[l].arg : l; break;
            case SHFL_DOWN: src = l - base + w[l].arg < wd ? l + w[l].arg : l; break;
            case SHFL_XOR: { u32 s = l ^ w[l].arg; src = (s & ~(wd - 1)) <= base ? s : l; break; }
            case BALLOT: w[l].res = ballot; break;
            case MATCH: { u32 r = 0; for (u32 k = mask; k; k &= k - 1) { u32 q = __builtin_ctz(k); if (w[q].val == w[l].val) r |= 1u << q; } w[l].res = r; break; }
            default: break;
        }
        if (op >= SHFL && op <= SHFL_XOR) w[l].res = (mask >> src & 1) ? w[src].val : 0xdeadbeefdeadbeefull;  // a lane outside the mask: undefined, so poison
    }
    for (u32 m = mask; m; m &= m - 1) w[__builtin_ctz(m)].st = READY;
    W.waiting &= ~mask; W.ready |= mask;
}
u64 collective(Op op, u32 mask, u64 val, u32 arg, u32 width) {
    Fiber* me = S->run; Warp& W = S->w[me->th.warp]; Fiber* w = &S->f[me->th.warp * 32];
    u32 full = W.lanes == 32 ? ~0u : (1u << W.lanes) - 1;
    if (mask == ~0u) mask = full;
    if ((mask & ~full) || !(mask >> me->th.lane & 1)) { fprintf(stderr, "gk_host: kernel %s: bad mask %08x in lane %u of a %u-lane warp\n", S->name, mask, me->th.lane, W.lanes); abort(); }
    me->st = WAIT_WARP; me->mask = mask; me->op = op; me->val = val; me->arg = arg; me->width = width;
    W.waiting |= 1u << me->th.lane;
    if ((W.waiting & mask) == mask) {
        for (u32 m = mask; m; m &= m - 1) { Fiber& q = w[__builtin_ctz(m)]; if (q.mask != mask || q.op != op) goto wait; }
        warp_complete(W, w, mask, op);
        W.ready &= ~(1u << me->th.lane);                 // the last lane to arrive just goes on
        return me->res;
    }
wait:
    block_here(me);
    return me->res;
}
static void bar_try() {
    if (S->at_bar == 0 || S->at_bar + S->done < S->n) return;
    u64 r = S->bar_kind == 0 ? S->bar_acc : S->bar_kind == 1 ? S->bar_acc == (long)S->at_bar : S->bar_acc > 0;
    for (u32 i = 0; i < S->n; i++) if (S->f[i].st == WAIT_BAR) { S->f[i].st = READY; S->f[i].res = r; S->w[i >> 5].ready |= 1u << (i & 31); }
    S->at_bar = 0; S->bar_acc = 0;
}
u64 barrier_reduce(u32 kind, int pred) {
    Fiber* me = S->run; S->bar_kind = kind; S->bar_acc += pred != 0; S->at_bar++; me->st = WAIT_BAR;
    bar_try();
    block_here(me);
    return me->res;
}
void barrier() { barrier_reduce(0, 0); }
static void fiber_main() {
    for (;;) {
        S->fn(S->args);
        Fiber* me = S->run; me->st = DONE; S->done++;    // S->run is the thread that just ended on this stack
        bar_try();
        Fiber* nx = S->pick(me->th.warp);
        if (nx && !nx->sp) { nx->stack = me->stack; nx->sp = (void*)1; S->run = nx; cur = &nx->th; continue; }  // reuse this stack: no switch
        if (!nx && S->done < S->n) stuck();
        S->freestk.push_back(me->stack);
        void* dead;
        if (nx) enter(nx, &dead); else gk_switch(&dead, S->main_sp);
    }
}
static void run_block(u32 n, u64 seed) {
    S->n = n; S->nw = (n + 31) / 32; S->done = S->at_bar = 0; S->bar_acc = 0; S->rnd = seed;
    if (S->f.size() < n) { S->f.resize(n); S->w.resize(S->nw); }
    for (u32 i = 0; i < n; i++) {
        Fiber& f = S->f[i]; f.th.lin = i; f.th.lane = i & 31; f.th.warp = i >> 5; f.st = READY; f.sp = nullptr;
        f.th.tid = {i % blk.bdim.x, i / blk.bdim.x % blk.bdim.y, i / (blk.bdim.x * blk.bdim.y)};
    }
    for (u32 k = 0; k < S->nw; k++) { u32 l = std::min(32u, n - k * 32); S->w[k] = {l == 32 ? ~0u : (1u << l) - 1, 0, l}; }
    enter(S->pick(0), &S->main_sp);
}
}
extern "C" int gk_host_launch(const gk::Entry* e, const u32* g, const u32* b, u32 dyn_bytes, void** args, u32 nargs, u32 workers, u64 seed, u64* switches) {
    using namespace gk;
    u32 n = b[0] * b[1] * b[2];
    if (nargs != e->nargs) return 1;
    if (n == 0 || n > 1024) return 2;
    std::atomic<u64> nextb{0}, sw{0}; u64 total = u64(g[0]) * g[1] * g[2];
    auto work = [&](u32) {
        static thread_local Sched sched; S = &sched; S->fn = e->call; S->args = args; S->name = e->name; S->switches = 0;
        std::vector<u64> dyn((dyn_bytes + 7) / 8 + 1);
        for (u64 i; (i = nextb.fetch_add(1)) < total;) {
            blk.bdim = {b[0], b[1], b[2]}; blk.gdim = {g[0], g[1], g[2]};
            blk.bid = {u32(i % g[0]), u32(i / g[0] % g[1]), u32(i / (u64(g[0]) * g[1]))};
            blk.dyn = (unsigned char*)dyn.data();
            run_block(n, seed ? seed + i : 0);
        }
        sw += S->switches;
    };
    if (workers <= 1 || total == 1) work(0);
    else { std::vector<std::thread> t; for (u32 i = 1; i < workers; i++) t.emplace_back(work, i); work(0); for (auto& x : t) x.join(); }
    if (switches) *switches = sw;
    return 0;
}

// The kernel of a name, or null: for tests of the shim itself.
extern "C" const gk::Entry* gk_host_find(const char* name) {
    for (gk::Entry* entry = gk::first_entry; entry; entry = entry->next)
        if (strcmp(entry->name, name) == 0) return entry;
    return nullptr;
}
// Bytes of argument `place` of a kernel, or 0.
extern "C" u32 gk_host_argument(const gk::Entry* entry, u32 place) { return place < entry->nargs ? entry->sizes[place] : 0; }
