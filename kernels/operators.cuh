// The operators, as templates over leaf rules. A rule is a struct made from a Call, written as its Rust twin reads; a macro at the
// end names its kernels. Launched by framework/src/cuda/operators.rs, which says what each leaves behind.
#pragma once
#include "arcs.cuh"
#include "guard.cuh"

// Adds what a thread counted to the report, once a block.
GK_DEVICE void report_arcs(u64 arcs, Report* report) {
    __shared__ u64 room[WARPS];
    u64 total = block_sum(arcs, room);
    if (threadIdx.x == 0 && total > 0) atomicAdd(&report->arcs, total);
}

GK_DEVICE void report_active(u64 active, Report* report) {
    __shared__ u64 room[WARPS];
    u64 total = block_sum(active, room);
    if (threadIdx.x == 0 && total > 0) atomicAdd(&report->active, total);
}

// `v` joins the next frontier, or offers to its owner if it is a ghost; the arcs out of it.
GK_DEVICE u64 join(const Part& part, const Frontier& frontier, u32 v) {
    if (part.is_ghost(v)) {
        append(frontier.offers, v);
        return 0;
    }
    append(frontier.next, v);
    return part.out.degree(v);
}

GK_DEVICE void note_consumed(const Frontier& frontier) {
    if (grid_thread() == 0) atomicAdd(&frontier.report->consumed, u64(frontier.queue.count()));
}

// ---- Arcs out of the queue: `leave` once for each vertex of it; `arc` gives, for where each arc leads, the arcs that it adds to the
// next frontier

template <class Leave, class Arc> GK_DEVICE void queue_arcs(const Call& call, const Frontier& frontier, Leave leave, Arc arc) {
    note_consumed(frontier);
    u64 arcs = 0;
    u32 length = frontier.queue.count();
    for (u64 first = u64(blockIdx.x) * BLOCK; first < length; first += grid_threads()) {
        bool is_in = first + threadIdx.x < length;
        u32 v = is_in ? frontier.queue.items[first + threadIdx.x] : 0;
        if (is_in) leave(v);
        block_arcs(call.part.out, frontier, is_in, v, [&](u32, u32 dst) { arcs += arc(dst); });
    }
    report_arcs(arcs, frontier.report);
}

template <class Arc> GK_DEVICE void hub_arcs(const Call& call, const Frontier& frontier, Arc arc) {
    u64 arcs = 0;
    piece_arcs(call.part.out, frontier, [&](u32, u32 dst) { arcs += arc(dst); });
    report_arcs(arcs, frontier.report);
}

// The same where what rested in the queue may be anything, and is added up. `Again` is done again by warps that are through.
template <class Again, class Leave, class Arc>
GK_DEVICE void guarded_queue_arcs(const Call& call, const Frontier& frontier, const Watch& watch, Leave leave, Arc arc) {
    note_consumed(frontier);
    u64 arcs = 0, consumed = 0;
    Sums sums = {0, 0};
    u32 length = frontier.queue.count();
    for (u64 first = u64(blockIdx.x) * BLOCK; first < length; first += grid_threads()) {
        bool is_in = first + threadIdx.x < length;
        u32 v = is_in ? frontier.queue.items[first + threadIdx.x] : 0;
        if (is_in && v >= call.part.owned) {
            atomicAdd(&watch.summary->strays, u64(1));
            is_in = false;
        }
        if (is_in) {
            consumed += member(v);
            leave(v);
        }
        block_arcs(call.part.out, frontier, is_in, v, [&](u32, u32 dst) { arcs += arc(dst, sums); });
    }
    repeat<Again>(call, watch);
    report_arcs(arcs, frontier.report);
    add_up(consumed, &watch.summary->consumed);
    add_up(sums.joined, &watch.summary->joined);
    if (watch.once) add_up(sums.visited, &watch.summary->visited);
}

template <class Arc> GK_DEVICE void guarded_hub_arcs(const Call& call, const Frontier& frontier, const Watch& watch, Arc arc) {
    u64 arcs = 0;
    Sums sums = {0, 0};
    piece_arcs(call.part.out, frontier, [&](u32, u32 dst) { arcs += arc(dst, sums); });
    report_arcs(arcs, frontier.report);
    add_up(sums.joined, &watch.summary->joined);
    if (watch.once) add_up(sums.visited, &watch.summary->visited);
}

// ---- EdgeOp: the rule at every arc out of the queue

template <class Rule> GK_DEVICE u64 edge_arc(const Rule& rule, const Part& part, const Frontier& frontier, u32 dst) {
    bool joins = part.is_ghost(dst) ? rule.offer(dst) : rule.edge(dst);
    return joins ? join(part, frontier, dst) : 0;
}

template <class Rule> GK_DEVICE void push(const Call& call, const Frontier& frontier) {
    Rule rule(call);
    queue_arcs(call, frontier, [&](u32 src) { rule.leave(src); }, [&](u32 dst) { return edge_arc(rule, call.part, frontier, dst); });
}

template <class Rule> GK_DEVICE void push_hubs(const Call& call, const Frontier& frontier) {
    Rule rule(call);
    hub_arcs(call, frontier, [&](u32 dst) { return edge_arc(rule, call.part, frontier, dst); });
}

template <class Rule>
GK_DEVICE u64 guarded_edge_arc(const Rule& rule, const Part& part, const Frontier& frontier, const Watch& watch, u32 dst, Sums& sums) {
    bool is_ghost = part.is_ghost(dst);
    bool joins = is_ghost ? rule.offer(dst) : rule.edge(dst);
    if (joins && !is_ghost) note_joined(watch, dst, false, sums);
    return joins ? join(part, frontier, dst) : 0;
}

template <class Rule> GK_DEVICE void guarded_push(const Call& call, const Frontier& frontier, const Watch& watch) {
    Rule rule(call);
    guarded_queue_arcs<typename Rule::Again>(
        call, frontier, watch, [&](u32 src) { rule.leave(src); },
        [&](u32 dst, Sums& sums) { return guarded_edge_arc(rule, call.part, frontier, watch, dst, sums); });
}

template <class Rule> GK_DEVICE void guarded_push_hubs(const Call& call, const Frontier& frontier, const Watch& watch) {
    Rule rule(call);
    guarded_hub_arcs(call, frontier, watch,
                     [&](u32 dst, Sums& sums) { return guarded_edge_arc(rule, call.part, frontier, watch, dst, sums); });
}

// ---- VisitOp: every vertex once

template <class Rule> GK_DEVICE u64 visit_arc(const Rule& rule, const Part& part, const Frontier& frontier, u32 dst) {
    if (!set_bit(frontier.joined, dst)) return 0;
    rule.visit(dst);
    return join(part, frontier, dst);
}

template <class Rule> GK_DEVICE void visit_push(const Call& call, const Frontier& frontier) {
    Rule rule(call);
    queue_arcs(call, frontier, [](u32) {}, [&](u32 dst) { return visit_arc(rule, call.part, frontier, dst); });
}

template <class Rule> GK_DEVICE void visit_push_hubs(const Call& call, const Frontier& frontier) {
    Rule rule(call);
    hub_arcs(call, frontier, [&](u32 dst) { return visit_arc(rule, call.part, frontier, dst); });
}

template <class Rule>
GK_DEVICE u64 guarded_visit_arc(const Rule& rule, const Part& part, const Frontier& frontier, const Watch& watch, u32 dst, Sums& sums) {
    if (!set_bit(frontier.joined, dst)) return 0;
    rule.visit(dst);
    if (!part.is_ghost(dst)) note_joined(watch, dst, true, sums);
    return join(part, frontier, dst);
}

template <class Rule> GK_DEVICE void guarded_visit_push(const Call& call, const Frontier& frontier, const Watch& watch) {
    Rule rule(call);
    guarded_queue_arcs<typename Rule::Again>(
        call, frontier, watch, [](u32) {},
        [&](u32 dst, Sums& sums) { return guarded_visit_arc(rule, call.part, frontier, watch, dst, sums); });
}

template <class Rule> GK_DEVICE void guarded_visit_push_hubs(const Call& call, const Frontier& frontier, const Watch& watch) {
    Rule rule(call);
    guarded_hub_arcs(call, frontier, watch,
                     [&](u32 dst, Sums& sums) { return guarded_visit_arc(rule, call.part, frontier, watch, dst, sums); });
}

// Bits to bits: each vertex that has not joined looks for a neighbour in the frontier. A warp owns each word, so there are no atomic
// updates. `word` is told of each word of owned vertices, `visited` of each vertex that joins, by its lane.
// Source: Beamer, Asanovic, Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
template <class Rule, class Word, class Visited>
GK_DEVICE void visit_pull(const Call& call, const Frontier& frontier, Word word_seen, Visited visited) {
    // Neighbours that a thread looks at alone before its warp helps; most vertices find one at once.
    constexpr u32 LOOK_ALONE = 8;
    Rule rule(call);
    const Part& part = call.part;
    u64 active = 0, arcs = 0;
    u32 words = (part.locals + 31) / 32;
    for (u64 word = grid_thread() / WARP; word < words; word += grid_threads() / WARP) {
        if (u32(word) * 32 >= part.owned) { // ghosts are visited by their owners
            if (lane() == 0) frontier.next_bits[word] = 0;
            continue;
        }
        u32 joined = frontier.joined[word];
        u32 v = u32(word) * 32 + lane();
        word_seen(u32(word), v);
        bool is_open = v < part.owned && !(joined >> lane() & 1u);
        u64 at = is_open ? part.in.begin(v) : 0;
        u64 end = is_open ? part.in.end(v) : 0;
        bool is_closed = is_open && at == end; // no arc leads to it: it never joins, and later pulls need not look
        bool found = false;
        for (u32 i = 0; i < LOOK_ALONE && at < end && !found; ++i, ++at) found = has_bit(frontier.bits, part.in.targets[at]);
        u32 rest = __ballot_sync(EVERY_LANE, !found && at < end);
        while (rest) {
            u32 helped = __ffs(rest) - 1;
            u64 from = __shfl_sync(EVERY_LANE, at, helped), to = __shfl_sync(EVERY_LANE, end, helped);
            bool any = false;
            for (; from < to && !any; from += WARP) {
                bool here = from + lane() < to && has_bit(frontier.bits, part.in.targets[from + lane()]);
                any = __any_sync(EVERY_LANE, here);
            }
            if (lane() == helped) found = any;
            rest &= rest - 1;
        }
        u32 found_bits = __ballot_sync(EVERY_LANE, found);
        u32 closed_bits = __ballot_sync(EVERY_LANE, is_closed);
        if (lane() == 0) {
            frontier.next_bits[word] = found_bits;
            if (found_bits | closed_bits) frontier.joined[word] = joined | found_bits | closed_bits;
        }
        if (found) {
            rule.visit(v);
            visited(v);
            active += 1;
            arcs += part.out.degree(v);
        }
    }
    report_active(active, frontier.report);
    report_arcs(arcs, frontier.report);
}

template <class Rule> GK_DEVICE void visit_pull(const Call& call, const Frontier& frontier) {
    visit_pull<Rule>(call, frontier, [](u32, u32) {}, [](u32) {});
}

template <class Rule> GK_DEVICE void guarded_visit_pull(const Call& call, const Frontier& frontier, const Watch& watch) {
    u64 consumed = 0;
    Sums sums = {0, 0};
    visit_pull<Rule>(
        call, frontier,
        [&](u32 word, u32 v) {
            if (v < call.part.owned && (frontier.bits[word] >> lane() & 1u)) consumed += member(v);
        },
        [&](u32 v) { note_joined(watch, v, true, sums); });
    repeat<typename Rule::Again>(call, watch);
    add_up(consumed, &watch.summary->consumed);
    add_up(sums.joined, &watch.summary->joined);
    if (watch.once) add_up(sums.visited, &watch.summary->visited);
}

// ---- VertexOp: the rule at every vertex of a set

// The owned vertices, and the ghosts too if `with_ghosts`; how many said true goes to `active` if `counts`.
template <class Rule> GK_DEVICE void each(const Call& call, const Frontier& frontier, u32 with_ghosts, u32 counts) {
    Rule rule(call);
    const Part& part = call.part;
    u64 vertices = u64(part.owned) + (with_ghosts ? part.ghosts() : 0);
    u64 said = 0;
    for (u64 i = grid_thread(); i < vertices; i += grid_threads()) {
        u32 v = i < part.owned ? u32(i) : u32(i - part.owned) + part.ghost_base;
        if (rule.vertex(part, v)) said += 1;
    }
    if (counts) report_active(said, frontier.report);
}

// A rule that works on every arc of the vertices it wants, arcs shared out evenly.
template <class Rule> GK_DEVICE void each_by_arcs(const Call& call, const Frontier& frontier, u32 with_ghosts, u32 counts) {
    Rule rule(call);
    const Part& part = call.part;
    u64 said = 0;
    for (u64 first = u64(blockIdx.x) * BLOCK; first < part.owned; first += grid_threads()) {
        u32 v = u32(first) + threadIdx.x;
        bool is_in = v < part.owned && rule.wants(part, v);
        if (is_in) said += 1;
        block_arcs(part.out, frontier, is_in, v, [&](u32 src, u32 dst) { rule.arc(part, src, dst); });
    }
    if (counts) report_active(said, frontier.report);
}

template <class Rule> GK_DEVICE void each_hubs(const Call& call, const Frontier& frontier) {
    Rule rule(call);
    piece_arcs(call.part.out, frontier, [&](u32 src, u32 dst) { rule.arc(call.part, src, dst); });
}

// The vertices of a list (the boundary, or what exchange changed), and the ghosts too if `with_ghosts`. Those that say true join
// the next frontier or offer, if `joins`; otherwise the rule is only run.
template <class Rule, class Joined>
GK_DEVICE void listed(const Call& call, const Frontier& frontier, const List& list, u32 with_ghosts, u32 joins, Joined joined) {
    Rule rule(call);
    const Part& part = call.part;
    u32 length = list.count();
    u64 vertices = u64(length) + (with_ghosts ? part.ghosts() : 0);
    u64 arcs = 0;
    for (u64 i = grid_thread(); i < vertices; i += grid_threads()) {
        u32 v = i < length ? list.items[i] : u32(i - length) + part.ghost_base;
        if (rule.vertex(part, v) && joins) {
            joined(v);
            arcs += join(part, frontier, v);
        }
    }
    report_arcs(arcs, frontier.report);
}

template <class Rule>
GK_DEVICE void listed(const Call& call, const Frontier& frontier, const List& list, u32 with_ghosts, u32 joins) {
    listed<Rule>(call, frontier, list, with_ghosts, joins, [](u32) {});
}

template <class Rule>
GK_DEVICE void guarded_listed(const Call& call, const Frontier& frontier, const List& list, u32 with_ghosts, u32 joins, const Watch& watch) {
    u64 entered = 0;
    listed<Rule>(call, frontier, list, with_ghosts, joins, [&](u32 v) { entered += call.part.is_ghost(v) ? 0 : member(v); });
    add_up(entered, &watch.summary->entered);
}

// ---- SelectOp: the candidates whose key is `bound` are the next frontier, those above it stay candidates

template <class Rule, class Joined>
GK_DEVICE void select(const Call& call, const Frontier& frontier, const List& from, const List& to, u32 bound, u32 is_first, Joined joined) {
    __shared__ u64 room[WARPS];
    Rule rule(call);
    u32 length = is_first ? call.part.owned : from.count();
    u64 arcs = 0, least_inverted = 0;
    for (u64 i = grid_thread(); i < length; i += grid_threads()) {
        u32 v = is_first ? u32(i) : from.items[i];
        u32 key = rule.key(v);
        if (key == bound) {
            joined(v);
            arcs += join(call.part, frontier, v);
        }
        if (key > bound) {
            append(to, v);
            u64 inverted = ~u64(key);
            if (inverted > least_inverted) least_inverted = inverted;
        }
    }
    report_active(arcs, frontier.report); // a push may follow before the host looks, and `arcs` is its own
    least_inverted = block_max(least_inverted, room);
    if (threadIdx.x == 0 && least_inverted > 0) atomicMax(&frontier.report->least_inverted, least_inverted);
}

template <class Rule>
GK_DEVICE void select(const Call& call, const Frontier& frontier, const List& from, const List& to, u32 bound, u32 is_first) {
    select<Rule>(call, frontier, from, to, bound, is_first, [](u32) {});
}

template <class Rule>
GK_DEVICE void guarded_select(const Call& call, const Frontier& frontier, const List& from, const List& to, u32 bound, u32 is_first, const Watch& watch) {
    u64 entered = 0;
    select<Rule>(call, frontier, from, to, bound, is_first, [&](u32 v) { entered += member(v); });
    add_up(entered, &watch.summary->entered);
}

// ---- kernels of a rule, by name: the plain ones, and those of protected runs

#define GK_PUSH(name, Rule) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_push(const Call call, const Frontier frontier) { push<Rule>(call, frontier); } \
    GK_KERNEL(name##_push) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_push_hubs(const Call call, const Frontier frontier) { push_hubs<Rule>(call, frontier); } \
    GK_KERNEL(name##_push_hubs) \
    extern "C" __global__ void __launch_bounds__(BLOCK, GUARDED_BLOCKS) name##_guarded_push(const Call call, const Frontier frontier, const Watch watch) { guarded_push<Rule>(call, frontier, watch); } \
    GK_KERNEL(name##_guarded_push) \
    extern "C" __global__ void __launch_bounds__(BLOCK, GUARDED_BLOCKS) name##_guarded_push_hubs(const Call call, const Frontier frontier, const Watch watch) { guarded_push_hubs<Rule>(call, frontier, watch); } \
    GK_KERNEL(name##_guarded_push_hubs)

#define GK_VISIT(name, Rule) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_push(const Call call, const Frontier frontier) { visit_push<Rule>(call, frontier); } \
    GK_KERNEL(name##_push) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_push_hubs(const Call call, const Frontier frontier) { visit_push_hubs<Rule>(call, frontier); } \
    GK_KERNEL(name##_push_hubs) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_pull(const Call call, const Frontier frontier) { visit_pull<Rule>(call, frontier); } \
    GK_KERNEL(name##_pull) \
    extern "C" __global__ void __launch_bounds__(BLOCK, GUARDED_BLOCKS) name##_guarded_push(const Call call, const Frontier frontier, const Watch watch) { guarded_visit_push<Rule>(call, frontier, watch); } \
    GK_KERNEL(name##_guarded_push) \
    extern "C" __global__ void __launch_bounds__(BLOCK, GUARDED_BLOCKS) name##_guarded_push_hubs(const Call call, const Frontier frontier, const Watch watch) { guarded_visit_push_hubs<Rule>(call, frontier, watch); } \
    GK_KERNEL(name##_guarded_push_hubs) \
    extern "C" __global__ void __launch_bounds__(BLOCK, GUARDED_BLOCKS) name##_guarded_pull(const Call call, const Frontier frontier, const Watch watch) { guarded_visit_pull<Rule>(call, frontier, watch); } \
    GK_KERNEL(name##_guarded_pull)

#define GK_EACH(name, Rule) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_each(const Call call, const Frontier frontier, u32 with_ghosts, u32 counts) { each<Rule>(call, frontier, with_ghosts, counts); } \
    GK_KERNEL(name##_each)

#define GK_EACH_BY_ARCS(name, Rule) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_each(const Call call, const Frontier frontier, u32 with_ghosts, u32 counts) { each_by_arcs<Rule>(call, frontier, with_ghosts, counts); } \
    GK_KERNEL(name##_each) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_each_hubs(const Call call, const Frontier frontier) { each_hubs<Rule>(call, frontier); } \
    GK_KERNEL(name##_each_hubs)

#define GK_LISTED(name, Rule) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_listed(const Call call, const Frontier frontier, const List list, u32 with_ghosts, u32 joins) { listed<Rule>(call, frontier, list, with_ghosts, joins); } \
    GK_KERNEL(name##_listed)

// Of those that `filter_changed` runs over.
#define GK_FILTER_CHANGED(name, Rule) \
    GK_LISTED(name, Rule) \
    extern "C" __global__ void __launch_bounds__(BLOCK, GUARDED_BLOCKS) name##_guarded_listed(const Call call, const Frontier frontier, const List list, u32 with_ghosts, u32 joins, const Watch watch) { guarded_listed<Rule>(call, frontier, list, with_ghosts, joins, watch); } \
    GK_KERNEL(name##_guarded_listed)

#define GK_SELECT(name, Rule) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name##_select(const Call call, const Frontier frontier, const List from, const List to, u32 bound, u32 is_first) { select<Rule>(call, frontier, from, to, bound, is_first); } \
    GK_KERNEL(name##_select) \
    extern "C" __global__ void __launch_bounds__(BLOCK, GUARDED_BLOCKS) name##_guarded_select(const Call call, const Frontier frontier, const List from, const List to, u32 bound, u32 is_first, const Watch watch) { guarded_select<Rule>(call, frontier, from, to, bound, is_first, watch); } \
    GK_KERNEL(name##_guarded_select)
