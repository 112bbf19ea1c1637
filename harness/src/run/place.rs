//! Where a run takes place: ranks and threads.

use crate::device::Chosen;
use crate::options::{LayoutChoice, Method, RunArgs};
use framework::base::error::{Error, Result};
use framework::host::cores;
use framework::trial::{Layouts, Placement};

/// Ranks and threads, from the options and the method, which must agree.
pub(crate) fn place<'d>(options: &RunArgs, chosen: &'d Chosen, is_protected: bool) -> Result<(Placement<'d>, Method)> {
    let ranks = match (options.method, options.ranks.map(|ranks| ranks as usize)) {
        (None, ranks) => ranks.unwrap_or(chosen.ranks()),
        (Some(method), None) => {
            if method.is_multi() {
                chosen.ranks().max(2)
            } else {
                1
            }
        }
        (Some(method), Some(ranks)) if (ranks > 1) == method.is_multi() => ranks,
        (Some(method), Some(ranks)) => {
            return Err(Error::usage(format!(
                "--method {} and --ranks {ranks} contradict each other: single means one rank, multi two or more; \
                 leave one out",
                method.name()
            )));
        }
    };
    chosen.fit(ranks)?;
    let threads = options.threads.map_or_else(|| (cores() / ranks).max(1), |threads| threads as usize);
    let layouts = match options.layout {
        LayoutChoice::Auto => Layouts::AsAsked,
        LayoutChoice::Rows => Layouts::RowsOnly,
    };
    let method = Method::of(ranks, chosen.is_gpu(), is_protected);
    Ok((Placement { ranks, threads, layouts, device: chosen.device() }, method))
}
