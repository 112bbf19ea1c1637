//! Whom to tell how far a load is.

/// What a load is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadStage {
    /// Unpacking or receiving; counted in bytes of content, the total is unknown (0).
    Unpack,
    /// Reading the format; counted in bytes.
    Read,
    /// Building rows; 0 of 1 at its start, 1 of 1 at its end.
    Build,
}

/// Whom to tell how far a load is: stage, done, total. Called from several threads, a few times a megabyte.
pub type LoadObserver<'a> = &'a (dyn Fn(LoadStage, u64, u64) + Sync);

/// An observer that may be absent.
#[derive(Clone, Copy, Default)]
pub(super) struct Progress<'a>(pub(super) Option<LoadObserver<'a>>);

impl Progress<'_> {
    pub(super) fn tell(self, stage: LoadStage, done: u64, total: u64) {
        if let Some(observer) = self.0 {
            observer(stage, done, total);
        }
    }
}
