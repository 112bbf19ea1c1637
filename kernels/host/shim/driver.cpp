// A stand-in for the CUDA driver: the entry points that framework/src/device/cuda calls, kernels run as host fibers. Streams execute
// at once, so every order that a program may rely on holds; or, with GRAPHALG_SIM_LAZY=1, as late as the driver may let them, so that
// only the orders hold that streams, events and synchronising calls promise. Every copy is checked against the live allocations, every call against
// its context, asynchronous copies against pinned memory; fresh memory is 0xcd. What src/lib.rs lists can be set by environment.
#include "gk_host.h"
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

extern "C" int gk_host_launch(const gk::Entry*, const u32*, const u32*, u32, void**, u32, u32, u64, u64*);

namespace {
enum Code : int {
    OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
    PEER_ACCESS_UNSUPPORTED = 217, UNSUPPORTED_PTX_VERSION = 222, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700,
    PEER_ACCESS_ALREADY_ENABLED = 704,
};

struct Allocation { size_t bytes; int device; };  // device -1: pinned host memory
struct Stream { int device; std::deque<std::function<void()>> waiting; bool is_busy = false; };
struct Event { int device; u64 ns; Stream* stream; u64 recorded; u64 passed; };
struct Module { std::string image; };

std::mutex lock;
std::map<u64, Allocation> allocations;
std::map<int, size_t> used, most;
std::set<std::pair<int, int>> reached;
// Counted by thread, for src/lib.rs `Calls`, in its order.
enum Kind { LAUNCHES, DOWNLOADS, UPLOADS, SYNCHRONISES, DEVICE_SYNCHRONISES, MEMSETS, EVENTS, ALLOCATIONS, PEER_COPIES, KINDS };
thread_local u64 calls[KINDS];
std::atomic<u64> launches{0};
std::atomic<bool> is_lost{false};
thread_local int current = -1;

u64 setting(const char* name, u64 otherwise) {
    const char* text = getenv(name);
    return text && *text ? strtoull(text, nullptr, 10) : otherwise;
}
int devices() { return int(setting("GRAPHALG_SIM_DEVICES", 1)); }
size_t memory() { return setting("GRAPHALG_SIM_MEMORY", u64(4) << 30); }
size_t grains(size_t bytes) { return (bytes ? bytes + 511 : 512) / 512 * 512; }

// ---- streams that execute late

bool is_lazy() { static const bool lazy = setting("GRAPHALG_SIM_LAZY", 0) != 0; return lazy; }
std::recursive_mutex late;
std::set<Stream*> streams;
void run_first(Stream* stream) {
    if (stream->is_busy) { fprintf(stderr, "simulated driver: streams wait for each other\n"); abort(); }
    auto first = std::move(stream->waiting.front());
    stream->waiting.pop_front();
    stream->is_busy = true;
    first();
    stream->is_busy = false;
}
void finish(Stream* stream) {
    std::lock_guard<std::recursive_mutex> guard(late);
    while (!stream->waiting.empty()) run_first(stream);
}
void finish_all() {
    std::lock_guard<std::recursive_mutex> guard(late);
    for (Stream* stream : streams) finish(stream);
}
void reach(Event* event, Stream* stream, u64 record) {
    std::lock_guard<std::recursive_mutex> guard(late);
    while (event->passed < record && !stream->waiting.empty()) run_first(stream);
}
void enqueue(void* stream, std::function<void()> work) {
    if (!is_lazy()) return work();
    std::lock_guard<std::recursive_mutex> guard(late);
    static_cast<Stream*>(stream)->waiting.push_back(std::move(work));
}

int state() { return is_lost ? ILLEGAL_ADDRESS : OK; }

void* take(size_t bytes, int device, size_t missing = 0) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 256, bytes ? bytes - missing : 1)) return nullptr;
    memset(memory, 0xcd, bytes - missing);
    std::lock_guard<std::mutex> guard(lock);
    allocations[u64(memory)] = {bytes, device};
    if (device >= 0) most[device] = std::max(most[device], used[device] += grains(bytes));
    return memory;
}
int give(u64 address, bool is_pinned) {
    std::lock_guard<std::mutex> guard(lock);
    auto found = allocations.find(address);
    if (found == allocations.end() || (found->second.device < 0) != is_pinned) return INVALID_VALUE;
    if (!is_pinned) used[found->second.device] -= grains(found->second.bytes);
    allocations.erase(found);
    free(reinterpret_cast<void*>(address));
    return OK;
}
// Whether the stretch lies in one live allocation of device memory, or of pinned memory.
bool lies_in(u64 address, size_t bytes, bool is_pinned, int device = -1) {
    if (bytes == 0) return true;
    std::lock_guard<std::mutex> guard(lock);
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin()) return false;
    --after;
    return address + bytes <= after->first + after->second.bytes && (after->second.device < 0) == is_pinned &&
           (device < 0 || after->second.device == device);
}
bool owns(void* stream) { return stream && static_cast<Stream*>(stream)->device == current; }

struct AtExit {
    ~AtExit() {
        const char* path = getenv("GRAPHALG_SIM_LAUNCHES");
        FILE* file = path ? fopen(path, "a") : nullptr;
        if (const char* peak = getenv("GRAPHALG_SIM_PEAK"))
            if (FILE* to = fopen(peak, "w")) {
                for (auto& one : most) fprintf(to, "%d %zu\n", one.first, one.second);
                fclose(to);
            }
        if (!file) return;
        for (gk::Entry* entry = gk::first_entry; entry; entry = entry->next) fprintf(file, "%s %llu\n", entry->name, entry->launches);
        fclose(file);
    }
} at_exit;
}

#define ASK_CONTEXT() do { if (current < 0) return INVALID_CONTEXT; if (int code = state()) return code; } while (0)

extern "C" {
int cuInit(unsigned) { return devices() > 0 ? OK : NO_DEVICE; }
int cuDriverGetVersion(int* version) { *version = int(setting("GRAPHALG_SIM_DRIVER", 13000)); return OK; }
int cuDeviceGetCount(int* count) { *count = devices(); return OK; }
int cuDeviceGet(int* device, int ordinal) {
    if (ordinal < 0 || ordinal >= devices()) return INVALID_DEVICE;
    *device = ordinal;
    return OK;
}
int cuDeviceGetName(char* name, int room, int device) { snprintf(name, room, "simulated device %d", device); return OK; }
int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
    memset(uuid, 0, 16);
    memcpy(uuid, "simulated", 9);
    uuid[15] = (unsigned char)device;
    return OK;
}
int cuDeviceGetUuid(unsigned char* uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }
int cuDeviceGetAttribute(int* value, int attribute, int) {
    switch (attribute) {
        case 75: *value = 9; break;   // compute capability, major
        case 76: *value = 0; break;
        case 16: *value = 4; break;   // multiprocessors
        case 39: *value = 2048; break;
        default: *value = 0;
    }
    return OK;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { *bytes = memory(); return OK; }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = reinterpret_cast<void*>(u64(0x1000) + device); return state(); }
int cuDevicePrimaryCtxRelease_v2(int) { return OK; }
int cuCtxSetCurrent(void* context) {
    current = context ? int(reinterpret_cast<u64>(context) - 0x1000) : -1;
    return state();
}
int cuCtxGetCurrent(void** context) { *context = current < 0 ? nullptr : reinterpret_cast<void*>(u64(0x1000) + current); return OK; }
int cuCtxSynchronize() { ++calls[DEVICE_SYNCHRONISES]; ASK_CONTEXT(); finish_all(); return OK; }
int cuDeviceCanAccessPeer(int* can, int device, int peer) {
    u64 mode = setting("GRAPHALG_SIM_PEER", 1);  // none, all, or pairs
    *can = device != peer && (mode == 1 || (mode == 2 && (device ^ 1) == peer));
    return OK;
}
int cuCtxEnablePeerAccess(void* context, unsigned flags) {
    ASK_CONTEXT();
    int peer = int(reinterpret_cast<u64>(context) - 0x1000), can = 0;
    if (flags) return INVALID_VALUE;
    if (peer == current) return INVALID_CONTEXT;
    cuDeviceCanAccessPeer(&can, current, peer);
    if (!can) return PEER_ACCESS_UNSUPPORTED;
    std::lock_guard<std::mutex> guard(lock);
    return reached.insert({current, peer}).second ? OK : PEER_ACCESS_ALREADY_ENABLED;
}
u64 graphalg_sim_calls(u32 kind) { return kind < KINDS ? calls[kind] : 0; }
int cuMemGetInfo_v2(size_t* free, size_t* total) {
    ASK_CONTEXT();
    std::lock_guard<std::mutex> guard(lock);
    *total = memory();
    *free = *total > used[current] ? *total - used[current] : 0;
    return OK;
}
int cuStreamCreate(void** stream, unsigned) {
    ASK_CONTEXT();
    Stream* made = new Stream{current, {}};
    std::lock_guard<std::recursive_mutex> guard(late);
    streams.insert(made);
    *stream = made;
    return OK;
}
int cuStreamCreateWithPriority(void** stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
int cuCtxGetStreamPriorityRange(int* least, int* greatest) { *least = 0; *greatest = -5; return OK; }
int cuStreamDestroy_v2(void* stream) {
    std::lock_guard<std::recursive_mutex> guard(late);
    finish(static_cast<Stream*>(stream));
    streams.erase(static_cast<Stream*>(stream));
    if (!is_lazy()) delete static_cast<Stream*>(stream);  // else a wait may still name it
    return OK;
}
int cuStreamSynchronize(void* stream) {
    ++calls[SYNCHRONISES];
    ASK_CONTEXT();
    if (!owns(stream)) return INVALID_HANDLE;
    finish(static_cast<Stream*>(stream));
    return state();
}
// The event may be of another context. One that was never recorded is legal and waits for nothing; nobody here means that.
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
    ++calls[EVENTS];
    ASK_CONTEXT();
    std::lock_guard<std::recursive_mutex> guard(late);
    Event* one = static_cast<Event*>(event);
    if (!owns(stream) || !one->recorded) return INVALID_HANDLE;
    enqueue(stream, [one, from = one->stream, record = one->recorded] { reach(one, from, record); });
    return OK;
}
int cuEventCreate(void** event, unsigned) { ASK_CONTEXT(); *event = new Event{current, 0, nullptr, 0, 0}; return OK; }
int cuEventDestroy_v2(void* event) { if (!is_lazy()) delete static_cast<Event*>(event); return OK; }
int cuEventRecord(void* event, void* stream) {
    ++calls[EVENTS];
    ASK_CONTEXT();
    Event* one = static_cast<Event*>(event);
    if (!owns(stream) || one->device != current) return INVALID_HANDLE;
    std::lock_guard<std::recursive_mutex> guard(late);
    one->stream = static_cast<Stream*>(stream);
    enqueue(stream, [one, record = ++one->recorded] {
        one->ns = u64(std::chrono::steady_clock::now().time_since_epoch().count());
        one->passed = record;
    });
    return OK;
}
int cuEventQuery(void*) { return state(); }
int cuEventSynchronize(void* event) {
    ++calls[SYNCHRONISES];
    std::lock_guard<std::recursive_mutex> guard(late);
    Event* one = static_cast<Event*>(event);
    if (one->recorded) reach(one, one->stream, one->recorded);
    return state();
}
int cuEventElapsedTime_v2(float* ms, void* from, void* to) {
    std::lock_guard<std::recursive_mutex> guard(late);
    Event *begin = static_cast<Event*>(from), *end = static_cast<Event*>(to);
    if (!begin->recorded || !end->recorded) return INVALID_HANDLE;
    if (begin->passed < begin->recorded || end->passed < end->recorded) return NOT_READY;
    *ms = float(end->ns - begin->ns) / 1e6f;
    return state();
}
int cuMemAlloc_v2(u64* address, size_t bytes) {
    ++calls[ALLOCATIONS];
    ASK_CONTEXT();
    {
        std::lock_guard<std::mutex> guard(lock);
        if (used[current] + grains(bytes) > memory()) return OUT_OF_MEMORY;
    }
    // To show that AddressSanitizer sees what kernels do: allocations of one size come out an element short.
    *address = u64(take(bytes, current, setting("GRAPHALG_SIM_SHORT", 0) == bytes ? 4 : 0));
    return *address ? OK : OUT_OF_MEMORY;
}
int cuMemFree_v2(u64 address) { ++calls[ALLOCATIONS]; finish_all(); return give(address, false); }
int cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
    ASK_CONTEXT();
    if (flags & 4) return INVALID_VALUE;  // write-combined memory is slow to read: nothing here wants it
    *address = take(bytes, -1);
    return *address ? OK : OUT_OF_MEMORY;
}
int cuMemFreeHost(void* address) { finish_all(); return give(u64(address), true); }
int cuMemsetD8Async(u64 to, unsigned char value, size_t bytes, void* stream) {
    ASK_CONTEXT();
    if (!owns(stream)) return INVALID_HANDLE;
    if (!lies_in(to, bytes, false)) return INVALID_VALUE;
    ++calls[MEMSETS];
    enqueue(stream, [=] { memset(reinterpret_cast<void*>(to), value, bytes); });
    return OK;
}
static int copy(u64 to, bool to_pinned, u64 from, bool from_pinned, size_t bytes, void* stream) {
    ASK_CONTEXT();
    if (!owns(stream)) return INVALID_HANDLE;
    if (!lies_in(to, bytes, to_pinned) || !lies_in(from, bytes, from_pinned)) return INVALID_VALUE;
    ++calls[to_pinned ? DOWNLOADS : UPLOADS];
    enqueue(stream, [=] { memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
    return OK;
}
// From memory of one device to that of another, or of the same.
int cuMemcpyPeerAsync(u64 to, void* to_context, u64 from, void* from_context, size_t bytes, void* stream) {
    ++calls[PEER_COPIES];
    ASK_CONTEXT();
    int to_device = int(reinterpret_cast<u64>(to_context) - 0x1000), from_device = int(reinterpret_cast<u64>(from_context) - 0x1000);
    if (!owns(stream)) return INVALID_HANDLE;
    if (!lies_in(to, bytes, false, to_device) || !lies_in(from, bytes, false, from_device)) return INVALID_VALUE;
    enqueue(stream, [=] { memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
    return OK;
}
int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t bytes, void* stream) { return copy(to, false, u64(from), true, bytes, stream); }
int cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t bytes, void* stream) { return copy(u64(to), true, from, false, bytes, stream); }
int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t bytes, void* stream) { return copy(to, false, from, false, bytes, stream); }
int cuModuleLoadData(void** module, const void* image) {
    ASK_CONTEXT();
    const char* text = static_cast<const char*>(image);
    size_t bytes;
    if (memcmp(text, "\177ELF", 4) == 0) {
        u64 sections; unsigned short size, count;
        memcpy(&sections, text + 40, 8); memcpy(&size, text + 58, 2); memcpy(&count, text + 60, 2);
        bytes = sections + u64(size) * count;
    } else {
        bytes = strlen(text);
        if (std::string(text, bytes).find(".version") == std::string::npos) return INVALID_IMAGE;
        unsigned major = 0, minor = 0;
        sscanf(text + std::string(text, bytes).find(".version"), ".version %u.%u", &major, &minor);
        // PTX 8.0 to 8.5 are of CUDA 12.0 to 12.5, 8.6 to 8.8 of 12.7 to 12.9, 9.x of 13.x.
        unsigned cuda = major == 8 ? 12000 + 10 * (minor + (minor > 5)) : (major + 4) * 1000 + 10 * minor;
        if (cuda > setting("GRAPHALG_SIM_DRIVER", 13000)) return UNSUPPORTED_PTX_VERSION;
    }
    *module = new Module{std::string(text, bytes)};
    return OK;
}
int cuModuleUnload(void* module) { delete static_cast<Module*>(module); return OK; }
// A kernel is found when the image names it and the shim holds it.
int cuModuleGetFunction(void** function, void* module, const char* name) {
    ASK_CONTEXT();
    if (static_cast<Module*>(module)->image.find(name) == std::string::npos) return NOT_FOUND;
    for (gk::Entry* entry = gk::first_entry; entry; entry = entry->next)
        if (strcmp(entry->name, name) == 0) { *function = entry; return OK; }
    return NOT_FOUND;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* stream,
                   void** arguments, void**) {
    ASK_CONTEXT();
    if (!owns(stream)) return INVALID_HANDLE;
    if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || gy > 65535 || gz > 65535) return INVALID_VALUE;
    gk::Entry* entry = static_cast<gk::Entry*>(function);
    ++calls[LAUNCHES];
    u64 number = ++launches;
    u64 fault = setting("GRAPHALG_SIM_FAULT_AT", 0);
    if (fault && number >= fault) { is_lost = true; return OK; }  // as on a device: the launch is accepted, what follows is not
    __atomic_fetch_add(&entry->launches, 1, __ATOMIC_RELAXED);
    std::vector<std::vector<u64>> copies;  // arguments are the caller's until it returns
    for (u32 place = 0; place < entry->nargs; ++place) {
        copies.emplace_back((entry->sizes[place] + 7) / 8);
        memcpy(copies.back().data(), arguments[place], entry->sizes[place]);
    }
    enqueue(stream, [=]() mutable {
        std::vector<void*> places;
        for (auto& copy : copies) places.push_back(copy.data());
        u64 seed = setting("GRAPHALG_SIM_SEED", 0);
        u32 grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
        int code = gk_host_launch(entry, grid, block, shared, places.data(), entry->nargs, u32(setting("GRAPHALG_SIM_WORKERS", 1)),
                                  seed ? seed * 0x9e3779b97f4a7c15ull + number : 0, nullptr);
        if (code) { fprintf(stderr, "simulated driver: %s cannot be launched\n", entry->name); is_lost = true; }
    });
    return state();
}
int cuGetErrorName(int code, const char** name) {
    switch (code) {
        case OK: *name = "CUDA_SUCCESS"; break;
        case INVALID_VALUE: *name = "CUDA_ERROR_INVALID_VALUE"; break;
        case OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
        case NO_DEVICE: *name = "CUDA_ERROR_NO_DEVICE"; break;
        case INVALID_DEVICE: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
        case INVALID_IMAGE: *name = "CUDA_ERROR_INVALID_IMAGE"; break;
        case INVALID_CONTEXT: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
        case INVALID_HANDLE: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
        case NOT_FOUND: *name = "CUDA_ERROR_NOT_FOUND"; break;
        case PEER_ACCESS_UNSUPPORTED: *name = "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"; break;
        case UNSUPPORTED_PTX_VERSION: *name = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"; break;
        case NOT_READY: *name = "CUDA_ERROR_NOT_READY"; break;
        case ILLEGAL_ADDRESS: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
        default: *name = "CUDA_ERROR_UNKNOWN";
    }
    return OK;
}
int cuGetErrorString(int code, const char** text) { return cuGetErrorName(code, text); }
// How many bytes argument `place` of a kernel has, as the shim's compiler saw it (driver 12.4 and later have it).
int cuFuncGetParamInfo(void* function, size_t place, size_t* offset, size_t* bytes) {
    gk::Entry* entry = static_cast<gk::Entry*>(function);
    if (place >= entry->nargs) return INVALID_VALUE;
    *offset = 0;
    *bytes = entry->sizes[place];
    return OK;
}
}
