// PageRank: the rules of plugins/pagerank.
#include "gather.cuh"
#include "operators.cuh"

namespace {
// Out-degree as a divisor: a sink keeps its rank whole.
GK_DEVICE double divisor(u64 degree) { return degree > 1 ? static_cast<double>(degree) : 1.0; }

struct Start {
    double* share;
    GK_DEVICE explicit Start(const Call& call) : share(call.column<double>(0)) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        u64 degree = part.out.degree(v);
        share[v] = 1.0 / static_cast<double>(part.graph_vertices) / divisor(degree);
        return degree == 0;
    }
};

struct Round {
    const double* share;
    double* next;
    double base, damping;
    GK_DEVICE explicit Round(const Call& call)
        : share(call.column<double>(0)), next(call.column<double>(1)), base(call.real(0)), damping(call.real(1)) {}
    GK_DEVICE double gather(u32 src) const { return share[src]; }
    template <class Book> GK_DEVICE void settle(u32 v, u64 degree, double sum, Book& out) const {
        double by = divisor(degree);
        double rank = base + damping * sum;
        double moved = rank - share[v] * by;
        out.moved(rank, moved < 0.0 ? -moved : moved);
        if (degree == 0) out.carry(rank);
        next[v] = rank / by;
    }
    // What `settle` put.
    GK_DEVICE double settled(u32 v) const { return next[v]; }
    GK_DEVICE void put(u32 v, double value) const { next[v] = value; }
};

struct Whole {
    const double* share;
    double* rank;
    GK_DEVICE explicit Whole(const Call& call) : share(call.column<double>(0)), rank(call.column<double>(1)) {}
    GK_DEVICE bool vertex(const Part& part, u32 v) const {
        rank[v] = share[v] * divisor(part.out.degree(v));
        return true;
    }
};

} // namespace

GK_EACH(pagerank_start, Start)
GK_GATHER(pagerank_round, Round)
GK_EACH(pagerank_whole, Whole)
