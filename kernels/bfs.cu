// Breadth-first search: the rule of plugins/bfs.
#include "operators.cuh"

namespace {
// Gives a level to a vertex that joins.
struct Reach {
    u32* level;
    u32 value;
    GK_DEVICE explicit Reach(const Call& call) : level(call.column<u32>(0)), value(call.number(0)) {}
    GK_DEVICE void visit(u32 dst) const { level[dst] = value; }
};

} // namespace

GK_VISIT(bfs_reach, Reach)
