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

// A vertex that leaves at `level` lowers its neighbours.
struct Peel : DegreeAndLoss {
    GK_DEVICE explicit Peel(const Call& call) : DegreeAndLoss(call) {}
    GK_DEVICE bool edge(u32 dst) const {
        if (degree[dst] <= level) return false;
        u32 was = atomicSub(&degree[dst], 1u);
        if (was <= level) atomicAdd(&degree[dst], 1u); // another thread was faster: the degree stays at the level
        return was == level + 1;
    }
    GK_DEVICE bool offer(u32 dst) const { return atomicAdd(&loss[dst], 1u) == 0; }
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
GK_LISTED(kcore_lose, Lose)
GK_EACH(kcore_member, Member)
GK_EACH(kcore_floor, Floor)
