// A stand-in for the CUDA driver: the entry points that framework/src/device/cuda calls, kernels run as host fibers. Streams execute
// at once, so every order that a program may rely on holds. Every copy is checked against the live allocations, every call against
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
#include <map>
#include <mutex>
#include <string>

extern "C" int gk_host_launch(const gk::Entry*, const u32*, const u32*, u32, void**, u32, u32, u64, u64*);

namespace {
enum Code : int {
    OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, LAUNCH_OUT_OF_RESOURCES = 701,
};

struct Allocation { size_t bytes; int device; };  // device -1: pinned host memory
struct Stream { int device; };
struct Event { u64 ns; };
struct Module { std::string image; };

std::mutex lock;
std::map<u64, Allocation> allocations;
std::map<int, size_t> used;
std::atomic<u64> launches{0};
std::atomic<bool> is_lost{false};
thread_local int current = -1;

u64 setting(const char* name, u64 otherwise) {
    const char* text = getenv(name);
    return text && *text ? strtoull(text, nullptr, 10) : otherwise;
}
int devices() { return int(setting("GRAPHALG_SIM_DEVICES", 1)); }
size_t memory() { return setting("GRAPHALG_SIM_MEMORY", u64(4) << 30); }
int state() { return is_lost ? ILLEGAL_ADDRESS : OK; }

void* take(size_t bytes, int device, size_t missing = 0) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 256, bytes ? bytes - missing : 1)) return nullptr;
    memset(memory, 0xcd, bytes - missing);
    std::lock_guard<std::mutex> guard(lock);
    allocations[u64(memory)] = {bytes, device};
    if (device >= 0) used[device] += bytes;
    return memory;
}
int give(u64 address, bool is_pinned) {
    std::lock_guard<std::mutex> guard(lock);
    auto found = allocations.find(address);
    if (found == allocations.end() || (found->second.device < 0) != is_pinned) return INVALID_VALUE;
    if (!is_pinned) used[found->second.device] -= found->second.bytes;
    allocations.erase(found);
    free(reinterpret_cast<void*>(address));
    return OK;
}
// Whether the stretch lies in one live allocation of device memory, or of pinned memory.
bool lies_in(u64 address, size_t bytes, bool is_pinned) {
    if (bytes == 0) return true;
    std::lock_guard<std::mutex> guard(lock);
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin()) return false;
    --after;
    return address + bytes <= after->first + after->second.bytes && (after->second.device < 0) == is_pinned;
}
bool owns(void* stream) { return stream && static_cast<Stream*>(stream)->device == current; }

struct AtExit {
    ~AtExit() {
        const char* path = getenv("GRAPHALG_SIM_LAUNCHES");
        FILE* file = path ? fopen(path, "a") : nullptr;
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
int cuCtxSynchronize() { ASK_CONTEXT(); return OK; }
int cuMemGetInfo_v2(size_t* free, size_t* total) {
    ASK_CONTEXT();
    std::lock_guard<std::mutex> guard(lock);
    *total = memory();
    *free = *total > used[current] ? *total - used[current] : 0;
    return OK;
}
int cuStreamCreate(void** stream, unsigned) { ASK_CONTEXT(); *stream = new Stream{current}; return OK; }
int cuStreamCreateWithPriority(void** stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
int cuCtxGetStreamPriorityRange(int* least, int* greatest) { *least = 0; *greatest = -5; return OK; }
int cuStreamDestroy_v2(void* stream) { delete static_cast<Stream*>(stream); return OK; }
int cuStreamSynchronize(void* stream) { ASK_CONTEXT(); return owns(stream) ? OK : INVALID_HANDLE; }
int cuStreamWaitEvent(void* stream, void*, unsigned) { ASK_CONTEXT(); return owns(stream) ? OK : INVALID_HANDLE; }
int cuEventCreate(void** event, unsigned) { ASK_CONTEXT(); *event = new Event{0}; return OK; }
int cuEventDestroy_v2(void* event) { delete static_cast<Event*>(event); return OK; }
int cuEventRecord(void* event, void* stream) {
    ASK_CONTEXT();
    if (!owns(stream)) return INVALID_HANDLE;
    static_cast<Event*>(event)->ns = u64(std::chrono::steady_clock::now().time_since_epoch().count());
    return OK;
}
int cuEventQuery(void*) { return state(); }
int cuEventSynchronize(void*) { return state(); }
int cuEventElapsedTime_v2(float* ms, void* from, void* to) {
    u64 begin = static_cast<Event*>(from)->ns, end = static_cast<Event*>(to)->ns;
    if (!begin || !end) return INVALID_HANDLE;
    *ms = float(end - begin) / 1e6f;
    return state();
}
int cuMemAlloc_v2(u64* address, size_t bytes) {
    ASK_CONTEXT();
    {
        std::lock_guard<std::mutex> guard(lock);
        if (used[current] + bytes > memory()) return OUT_OF_MEMORY;
    }
    // To show that AddressSanitizer sees what kernels do: allocations of one size come out an element short.
    *address = u64(take(bytes, current, setting("GRAPHALG_SIM_SHORT", 0) == bytes ? 4 : 0));
    return *address ? OK : OUT_OF_MEMORY;
}
int cuMemFree_v2(u64 address) { return give(address, false); }
int cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
    ASK_CONTEXT();
    if (flags & 4) return INVALID_VALUE;  // write-combined memory is slow to read: nothing here wants it
    *address = take(bytes, -1);
    return *address ? OK : OUT_OF_MEMORY;
}
int cuMemFreeHost(void* address) { return give(u64(address), true); }
int cuMemsetD8Async(u64 to, unsigned char value, size_t bytes, void* stream) {
    ASK_CONTEXT();
    if (!owns(stream)) return INVALID_HANDLE;
    if (!lies_in(to, bytes, false)) return INVALID_VALUE;
    memset(reinterpret_cast<void*>(to), value, bytes);
    return OK;
}
static int copy(u64 to, bool to_pinned, u64 from, bool from_pinned, size_t bytes, void* stream) {
    ASK_CONTEXT();
    if (!owns(stream)) return INVALID_HANDLE;
    if (!lies_in(to, bytes, to_pinned) || !lies_in(from, bytes, from_pinned)) return INVALID_VALUE;
    memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
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
    u64 number = ++launches;
    u64 fault = setting("GRAPHALG_SIM_FAULT_AT", 0);
    if (fault && number >= fault) { is_lost = true; return OK; }  // as on a device: the launch is accepted, what follows is not
    __atomic_fetch_add(&entry->launches, 1, __ATOMIC_RELAXED);
    u64 seed = setting("GRAPHALG_SIM_SEED", 0);
    u32 grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    int code = gk_host_launch(entry, grid, block, shared, arguments, entry->nargs, u32(setting("GRAPHALG_SIM_WORKERS", 1)),
                              seed ? seed * 0x9e3779b97f4a7c15ull + number : 0, nullptr);
    return code == 0 ? OK : INVALID_VALUE;
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
