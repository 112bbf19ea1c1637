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

    // Joins the trees of two neighbours: the larger root is hooked to the smaller label. `hooked` is told of the root, by the one
    // thread that hooked it.
    template <class Hooked> GK_DEVICE void link_telling(const Part& part, u32 u, u32 v, Hooked hooked) const {
        u32 p = label[u], q = label[v];
        while (p != q) {
            u32 high = p > q ? p : q, low = p > q ? q : p;
            if (!part.has(high) || !part.has(low)) return;
            u32 above = label[high];
            if (above == low) return;
            if (above == high && atomicCAS(&atomic_label[high], high, low) == high) {
                hooked(high);
                return;
            }
            if (!part.has(above)) return;
            p = label[above];
            q = label[low];
            // Labels only lead down, and so the walk ends; one that does not is corrupt.
            if (above > high || p > above || q > low) return;
        }
    }

    GK_DEVICE void link(const Part& part, u32 u, u32 v) const {
        link_telling(part, u, v, [](u32) {});
    }
};

// The same where the edge of each hook is kept for the certificate.
struct KeptLabels : Labels {
    u32* near;
    u32* far;
    GK_DEVICE explicit KeptLabels(const Call& call) : Labels(call), near(call.column<u32>(1)), far(call.column<u32>(2)) {}

    GK_DEVICE void link(const Part& part, u32 u, u32 v) const {
        link_telling(part, u, v, [&](u32 root) {
            near[root] = u;
            far[root] = v;
        });
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
template <class Base> struct HookNthOf : Base {
    u32 place;
    GK_DEVICE explicit HookNthOf(const Call& call) : Base(call), place(call.number(0)) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        u32 other = part.out.nth_or_self(v, place);
        if (this->label[v] == this->label[other]) return false;
        this->link(part, v, other);
        return true;
    }
};

// A vertex that is still its own label hooks to the first neighbour under another one.
template <class Base> struct HookRootsOf : Base {
    GK_DEVICE explicit HookRootsOf(const Call& call) : Base(call) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        if (this->label[v] != v) return false;
        u64 at = part.out.begin(v), end = part.out.end(v);
        if (end - at > LOOK_AT) end = at + LOOK_AT;
        for (; at < end; ++at) {
            u32 u = part.out.targets[at];
            if (this->label[u] != v) {
                this->link(part, v, u);
                return true;
            }
        }
        return false;
    }
};

// A vertex outside the giant component hooks along all its arcs. Numbers: whether there is one, and its label.
template <class Base> struct HookRestOf : Base {
    bool skips;
    u32 skip;
    GK_DEVICE explicit HookRestOf(const Call& call) : Base(call), skips(call.number(0) != 0), skip(call.number(1)) {}
    GK_DEVICE bool wants(const Part&, u32 v) const { return !skips || this->label[v] != skip; }
    GK_DEVICE void arc(const Part& part, u32 src, u32 dst) const { this->link(part, src, dst); }
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

using HookNth = HookNthOf<Labels>;
using HookRoots = HookRootsOf<Labels>;
using HookRest = HookRestOf<Labels>;
using KeptHookNth = HookNthOf<KeptLabels>;
using KeptHookRoots = HookRootsOf<KeptLabels>;
using KeptHookRest = HookRestOf<KeptLabels>;

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

// What a root keeps of the labels that its tree hears of, for the certificate.
struct Heard : LabelAndRoot {
    u32* seen;
    GK_DEVICE explicit Heard(const Call& call) : LabelAndRoot(call), seen(call.column<u32>(2)) {}
};

// A root notes the label that its tree starts with.
struct Settle : Heard {
    GK_DEVICE explicit Settle(const Call& call) : Heard(call) {}
    GK_DEVICE bool vertex(const Part&, u32 v) const {
        bool is_root = root[v] == v;
        if (is_root) seen[v] = label[v];
        return is_root;
    }
};

// In `entry`, between the first and the last of the next three rules: news came, and it is not yet noted where.
constexpr u32 OPEN = 0xffffffffu;

// A root notes the smallest label that its tree hears of.
struct Hear : Heard {
    u32* entry;
    GK_DEVICE explicit Hear(const Call& call) : Heard(call), entry(call.column<u32>(3)) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        u32 to = root[v], news = label[v];
        if (!part.has(to) || seen[to] <= news || atomicMin(&seen[to], news) <= news) return false;
        entry[to] = OPEN; // the same from all
        return true;
    }
};

// A root with news notes the round.
struct Date {
    u32* root;
    u32* entry;
    u32* round;
    u32 now;
    GK_DEVICE explicit Date(const Call& call)
        : root(call.column<u32>(0)), entry(call.column<u32>(1)), round(call.column<u32>(2)), now(call.number(0)) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        u32 at = root[v];
        if (!part.has(at) || entry[at] != OPEN) return false;
        round[at] = now;
        return true;
    }
};

// A root with news notes one of the vertices at which it came.
struct Enter : Hear {
    GK_DEVICE explicit Enter(const Call& call) : Hear(call) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        u32 at = root[v];
        return part.has(at) && seen[at] == label[v] && atomicCAS(&entry[at], OPEN, v) == OPEN;
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
GK_EACH(cc_kept_hook_nth, KeptHookNth)
GK_EACH(cc_kept_hook_roots, KeptHookRoots)
GK_EACH_BY_ARCS(cc_kept_hook_rest, KeptHookRest)
GK_EACH(cc_settle, Settle)
GK_LISTED(cc_hear, Hear)
GK_LISTED(cc_date, Date)
GK_LISTED(cc_enter, Enter)
