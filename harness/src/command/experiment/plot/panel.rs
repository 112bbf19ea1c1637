//! The frame of a small plot beside others.

use crate::drawing::svg::{Anchor, Canvas};

/// Where a panel's curves go.
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) bottom: f64,
    pub(super) height: f64,
}

/// Height of a panel with its titles and marks.
pub(super) const HEIGHT: f64 = 332.0;
/// Characters that fit over a panel.
pub(super) const TITLE: usize = 64;

/// A panel in the left or right half, below `y`.
pub(super) fn panel(canvas: &mut Canvas, column: usize, y: f64, title: &str, below: &str) -> Area {
    let left = 24.0 + column as f64 * 590.0;
    canvas.text("ink", 14.0, (left, y + 14.0), Anchor::Start, title);
    canvas.text("faint", 13.0, (left, y + 32.0), Anchor::Start, below);
    let area = Area { left: left + 50.0, width: 510.0, bottom: y + 270.0, height: 214.0 };
    canvas.line("axis", (area.left, area.bottom), (area.left + area.width, area.bottom));
    area
}
