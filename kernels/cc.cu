// Connected components: the rules of plugins/cc. A label is at most its vertex at any time, and a root is hooked only to a smaller
// one, so pointers lead down whatever the order of threads. Labels read from the field are checked before they are followed.
// Source: Sutton, Ben-Nun, Barak, "Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling", IPDPS 2018.
#include "operators.cuh"

namespace {
// Neighbours looked at for one under another label.
constexpr u32 LOOK_AT = 64;

struct Labels {
    volatile u32* label; // other threads change labels while this one follows them
    u32* atomic_label;
    GK_DEVICE explicit Labels(const Call& call) : label(call.column<u32>(0)), atomic_label(call.column<u32>(0)) {}

    // Joins the trees of two neighbours: the larger root is hooked to the smaller label.
    GK_DEVICE void link(const Part& part, u32 u, u32 v) const {
        u32 p = label[u], q = label[v];
        while (p != q) {
            u32 high = p > q ? p : q, low = p > q ? q : p;
            if (!part.has(high) || !part.has(low)) return;
            u32 above = label[high];
            if (above == low || (above == high && atomicCAS(&atomic_label[high], high, low) == high)) return;
            if (!part.has(above)) return;
            p = label[above];
            q = label[low];
        }
    }
};

// Every vertex is its own tree.
struct OwnLabel : Labels {
    GK_DEVICE explicit OwnLabel(const Call& call) : Labels(call) {}
    GK_DEVICE bool vertex(const Part&, u32 v) const {
        label[v] = v;
        return true;
    }
};

// A vertex takes the present label of its first neighbour, if that is smaller than itself.
struct HookFirst : Labels {
    GK_DEVICE explicit HookFirst(const Call& call) : Labels(call) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        u32 first = part.out.nth_or_self(v, 0);
        label[v] = first < v ? label[first] : v;
        return true;
    }
};

// A vertex hooks to one of its neighbours.
struct HookNth : Labels {
    u32 place;
    GK_DEVICE explicit HookNth(const Call& call) : Labels(call), place(call.number(0)) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        u32 other = part.out.nth_or_self(v, place);
        if (label[v] == label[other]) return false;
        link(part, v, other);
        return true;
    }
};

// A vertex that is still its own label hooks to the first neighbour under another one.
struct HookRoots : Labels {
    GK_DEVICE explicit HookRoots(const Call& call) : Labels(call) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        if (label[v] != v) return false;
        u64 at = part.out.begin(v), end = part.out.end(v);
        if (end - at > LOOK_AT) end = at + LOOK_AT;
        for (; at < end; ++at) {
            u32 u = part.out.targets[at];
            if (label[u] != v) {
                link(part, v, u);
                return true;
            }
        }
        return false;
    }
};

// A vertex outside the giant component hooks along all its arcs. Numbers: whether there is one, and its label.
struct HookRest : Labels {
    bool skips;
    u32 skip;
    GK_DEVICE explicit HookRest(const Call& call) : Labels(call), skips(call.number(0) != 0), skip(call.number(1)) {}
    GK_DEVICE bool wants(const Part&, u32 v) const { return !skips || label[v] != skip; }
    GK_DEVICE void arc(const Part& part, u32 src, u32 dst) const { link(part, src, dst); }
};

// A vertex takes the root of its tree as label. A label that does not lead down is corrupt and ends the walk.
struct Compress : Labels {
    GK_DEVICE explicit Compress(const Call& call) : Labels(call) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        u32 parent = label[v];
        if (!part.has(parent)) return false;
        u32 root = label[parent];
        while (part.has(root)) {
            u32 above = label[root];
            if (above >= root) break;
            root = above;
        }
        label[v] = root;
        return true;
    }
};

struct LabelAndRoot {
    u32* label;
    u32* root;
    GK_DEVICE explicit LabelAndRoot(const Call& call) : label(call.column<u32>(0)), root(call.column<u32>(1)) {}
};

// The tree's root is kept; from here on labels are global numbers.
struct Name : LabelAndRoot {
    GK_DEVICE explicit Name(const Call& call) : LabelAndRoot(call) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        root[v] = label[v];
        label[v] = part.global(v);
        return true;
    }
};

// A vertex hands its label to its root.
struct Tell : LabelAndRoot {
    GK_DEVICE explicit Tell(const Call& call) : LabelAndRoot(call) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        u32 to = root[v], offer = label[v];
        return part.has(to) && label[to] > offer && atomicMin(&label[to], offer) > offer;
    }
};

// A vertex takes its root's label; true if that is smaller than its own.
struct Follow : LabelAndRoot {
    GK_DEVICE explicit Follow(const Call& call) : LabelAndRoot(call) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        u32 from = root[v];
        if (!part.has(from)) return false;
        u32 offer = label[from];
        return label[v] > offer && atomicMin(&label[v], offer) > offer;
    }
};

} // namespace

GK_EACH(cc_own_label, OwnLabel)
GK_EACH(cc_hook_first, HookFirst)
GK_EACH(cc_hook_nth, HookNth)
GK_EACH(cc_hook_roots, HookRoots)
GK_EACH_BY_ARCS(cc_hook_rest, HookRest)
GK_EACH(cc_compress, Compress)
GK_EACH(cc_name, Name)
GK_EACH(cc_tell, Tell)
GK_LISTED(cc_tell, Tell)
GK_EACH(cc_follow, Follow)
GK_LISTED(cc_follow, Follow)
