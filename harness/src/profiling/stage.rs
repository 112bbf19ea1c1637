//! What stages are called in traces and timelines.

use framework::base::probe::Stage;

/// The timing field that a stage counts to, without `_ms`. None for stages that one rank alone does not have: they do nothing there.
pub(super) fn name(stage: Stage, is_multi: bool) -> Option<&'static str> {
    match (stage, is_multi) {
        (Stage::GraphUpdate, _) => Some("graph_update"),
        (Stage::ScoreAndMark, _) => Some("score_and_mark"),
        (Stage::ToleranceUpdate, _) => Some("tolerance_graph_update"),
        (Stage::Bookkeeping, _) => Some("tolerance_gpu_bookkeeping"),
        (Stage::Drain, _) => Some("cpu_check_drain"),
        (Stage::PostCheck, _) => Some("postcheck_total"),
        (Stage::Validation, _) => Some("cpu_validation"),
        (Stage::Verdict, _) => Some("checker_end_to_end"),
        (Stage::SummaryCopy, _) => Some("d2h_summary"),
        (Stage::Setup, false) => Some("single_gpu_setup"),
        (Stage::Setup, true) => Some("distributed_setup"),
        (Stage::InitialExchange, true) => Some("initial_ghost_exchange"),
        (Stage::Exchange, true) => Some("nccl_exchange"),
        (Stage::Agree, true) => Some("mpi_sync"),
        (Stage::FinalResult, false) => Some("final_result_copy"),
        (Stage::FinalResult, true) => Some("final_result_gather"),
        (Stage::InitialExchange | Stage::Exchange | Stage::Agree, false) => None,
    }
}
