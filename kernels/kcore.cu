// k-core: the rules of plugins/kcore.
#include "operators.cuh"

namespace {
struct DegreeAndLoss {
    u32* degree;
    u32* loss;
    u32 level;
    GK_DEVICE explicit DegreeAndLoss(const Call& call)
        : degree(call.column<u32>(0)), loss(call.column<u32>(1)), level(call.number(0)) {}
};

struct Count : DegreeAndLoss {
    GK_DEVICE explicit Count(const Call& call) : DegreeAndLoss(call) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        degree[v] = static_cast<u32>(part.out.degree(v));
        return true;
    }
};

struct ByDegree {
    const u32* degree;
    GK_DEVICE explicit ByDegree(const Call& call) : degree(call.column<u32>(0)) {}
    GK_DEVICE u32 key(u32 v) const { return degree[v]; }
};

// A vertex that leaves at `level` has at most as many neighbours above the level; ghosts are their owner's business. Degrees only fall
// meanwhile, so a count that was right stays right; one that is under way below 0 counts as negative.
struct Again : DegreeAndLoss {
    static constexpr bool over_incoming = false;
    GK_DEVICE explicit Again(const Call& call) : DegreeAndLoss(call) {}
    GK_DEVICE u32 own(u32 v) const { return degree[v]; }
    GK_DEVICE u32 start() const { return 0; }
    GK_DEVICE u32 look(const Part& part, u32, u32 u) const {
        return !part.is_ghost(u) && static_cast<int>(degree[u]) > static_cast<int>(level);
    }
    GK_DEVICE u32 with(u32 a, u32 b) const { return a + b; }
    GK_DEVICE bool differs(u32 own, u32 found) const { return own != level || found > level; }
};

// A vertex that leaves at `level` lowers its neighbours.
struct Peel : DegreeAndLoss {
    using Again = ::Again;
    GK_DEVICE explicit Peel(const Call& call) : DegreeAndLoss(call) {}
    GK_DEVICE void leave(u32) const {}
    GK_DEVICE bool edge(u32 dst) const {
        if (degree[dst] <= level) return false;
        u32 was = atomicSub(&degree[dst], 1u);
        if (was <= level) atomicAdd(&degree[dst], 1u); // another thread was faster: the degree stays at the level
        return was == level + 1;
    }
    GK_DEVICE bool offer(u32 dst) const { return atomicAdd(&loss[dst], 1u) == 0; }
};

// The same where the superstep in which a vertex leaves is kept for the certificate.
struct KeptPeel : Peel {
    u32* step;
    u32 now;
    GK_DEVICE explicit KeptPeel(const Call& call) : Peel(call), step(call.column<u32>(2)), now(call.number(1)) {}
    GK_DEVICE void leave(u32 src) const { step[src] = now; }
};

// What peers removed counts like what was removed here.
struct Lose : DegreeAndLoss {
    GK_DEVICE explicit Lose(const Call& call) : DegreeAndLoss(call) {}
    GK_DEVICE bool vertex(const Part&, u32 v) const {
        u32 was = degree[v], lost = loss[v];
        u32 now = was > lost ? was - lost : 0;
        if (now < level) now = level;
        if (now > was) now = was;
        loss[v] = 0;
        degree[v] = now;
        return was > level && now == level;
    }
};

// In the core or not.
struct Member : DegreeAndLoss {
    GK_DEVICE explicit Member(const Call& call) : DegreeAndLoss(call) {}
    GK_DEVICE bool vertex(const Part&, u32 v) const {
        degree[v] = degree[v] >= level;
        return true;
    }
};

// For one threshold all that is below it leaves at once.
struct Floor : DegreeAndLoss {
    GK_DEVICE explicit Floor(const Call& call) : DegreeAndLoss(call) {}
    GK_DEVICE bool vertex(const Part&, u32 v) const {
        bool low = degree[v] < level;
        if (low) degree[v] = level;
        return low;
    }
};

} // namespace

GK_EACH(kcore_count, Count)
GK_SELECT(kcore_by_degree, ByDegree)
GK_PUSH(kcore_peel, Peel)
GK_PUSH(kcore_kept_peel, KeptPeel)
GK_FILTER_CHANGED(kcore_lose, Lose)
GK_EACH(kcore_member, Member)
GK_EACH(kcore_floor, Floor)
