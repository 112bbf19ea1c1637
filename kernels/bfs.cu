// Breadth-first search: the rule of plugins/bfs.
#include "operators.cuh"

namespace {
// The level of a vertex of the frontier is found again from those of the vertices with arcs into it. Levels up to that of the frontier
// are final; others go from unreached to the next level meanwhile, and either is above the smallest.
struct Again {
    static constexpr bool over_incoming = true;
    const u32* level;
    u32 now; // of the frontier
    GK_DEVICE explicit Again(const Call& call) : level(call.column<u32>(0)), now(call.number(0) - 1) {}
    GK_DEVICE u32 own(u32 v) const { return level[v]; }
    GK_DEVICE u32 start() const { return 0xffffffffu; }
    GK_DEVICE u32 look(const Part&, u32, u32 u) const { return level[u]; }
    GK_DEVICE u32 with(u32 a, u32 b) const { return b < a ? b : a; }
    GK_DEVICE bool differs(u32 own, u32 found) const { return now > 0 && (own != now || found != now - 1); } // the source is no update
};

// Gives a level to a vertex that joins.
struct Reach {
    using Again = ::Again;
    u32* level;
    u32 value;
    GK_DEVICE explicit Reach(const Call& call) : level(call.column<u32>(0)), value(call.number(0)) {}
    GK_DEVICE void visit(u32 dst) const { level[dst] = value; }
};

} // namespace

GK_VISIT(bfs_reach, Reach)
