//! Ghost exchange between devices of one process (`device::cuda`, mail): the ranks only meet here, so that what one waits for has been
//! said by the other. No value comes to the host.

use super::{Exchange, slots};
use crate::algorithm::Tally;
use crate::device::cuda::{Engine, Letters};
use crate::error::Result;
use crate::step::{News, Step};

impl Exchange<'_> {
    /// [`Exchange::run`].
    pub(super) fn run_directly(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        let offering = slots(&step.fields, |share| share.offers().is_some());
        let copying = slots(&step.fields, |share| share.copies());
        self.connect(step)?;
        engine(step).begin_mail()?;
        if !offering.is_empty() {
            self.round(step, Letters::Offers, &offering)?;
        }
        if !copying.is_empty() {
            self.round(step, Letters::Copies, &copying)?;
        }
        engine(step).end_exchange();
        self.end_directly(step)?;
        let frontier = &engine(step).frontier;
        Ok(Tally { active: frontier.woken.into(), arcs: frontier.woken_arcs, ..Tally::default() })
    }

    /// [`Exchange::run_initial`].
    pub(super) fn run_initial_directly(&mut self, step: &mut Step<'_>, copying: &[usize]) -> Result<()> {
        self.connect(step)?;
        engine(step).begin_mail()?;
        let news = std::mem::replace(&mut engine(step).frontier.news, News::All);
        self.round(step, Letters::Copies, copying)?;
        engine(step).frontier.news = news;
        engine(step).forget_mail()?;
        if news == News::Frontier {
            // Ghosts of vertices that start in the frontier must know that they are in it.
            self.round(step, Letters::Copies, copying)?;
        }
        self.end_directly(step)
    }

    fn round(&mut self, step: &mut Step<'_>, letters: Letters, slots: &[usize]) -> Result<()> {
        engine(step).post(letters, slots)?;
        self.meet()?;
        engine(step).collect(letters, slots)
    }

    fn end_directly(&mut self, step: &mut Step<'_>) -> Result<()> {
        let sent = engine(step).end_mail()?;
        self.bytes_sent += sent.bytes;
        self.messages_sent += sent.messages;
        self.device_time = Some(sent.took);
        Ok(())
    }

    /// Once in a run: before it every rank has made its boxes, after it every rank has found those of all.
    pub(super) fn connect(&mut self, step: &mut Step<'_>) -> Result<()> {
        if engine(step).is_connected() {
            return Ok(());
        }
        self.meet()?;
        let part = step.part;
        engine(step).connect(part)?;
        self.meet()
    }

    fn meet(&mut self) -> Result<()> {
        self.transport.all_gather(&[], &mut self.incoming)
    }
}

fn engine<'s>(step: &'s mut Step<'_>) -> &'s mut Engine {
    step.engine.as_mut().expect("a step on a device")
}
