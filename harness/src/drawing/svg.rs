//! Drawing: a small SVG canvas whose colours are classes, so that one picture serves light pages, dark pages and paper.

use crate::csv_table;
use crate::durable;
use framework::base::error::{Error, Result};
use resvg::{tiny_skia, usvg};
use std::fmt::Write;
use std::sync::Arc;

/// Width of every picture.
pub(crate) const WIDTH: f64 = 1200.0;
/// Colours of series.
pub(crate) const COLOURS: usize = 12;

const FONT: &[u8] = include_bytes!("../../data/DejaVuSans-latin.ttf");

/// Light or dark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Theme {
    Light,
    Dark,
}

impl Theme {
    /// Ground, ink, faint ink, grid; then the series.
    fn colours(self) -> ([&'static str; 4], [&'static str; COLOURS]) {
        match self {
            Theme::Light => (
                ["#ffffff", "#1a1a1a", "#5c5c5c", "#d9d9d9"],
                [
                    "#0072b2", "#d55e00", "#009e73", "#aa4499", "#b8860b", "#56b4e9", "#882255", "#6b7a1f", "#332288",
                    "#cc6677", "#117733", "#7a7a7a",
                ],
            ),
            Theme::Dark => (
                ["#16181d", "#ececec", "#a9adb5", "#3a3f4a"],
                [
                    "#4ea8de", "#ff8c42", "#2dc9a0", "#d98acb", "#f0c24b", "#9bd3f7", "#e07a9f", "#b5c651", "#9a8cf0",
                    "#f2a3ad", "#58c27d", "#b0b0b0",
                ],
            ),
        }
    }

    /// Style rules for the classes of a canvas.
    pub(crate) fn css(self) -> String {
        let ([ground, ink, faint, grid], series) = self.colours();
        let mut css = format!(
            ".ground{{fill:{ground}}}.ink{{fill:{ink}}}.faint{{fill:{faint}}}.grid{{stroke:{grid};stroke-width:1}}\
             .axis{{stroke:{faint};stroke-width:1}}.ideal{{stroke:{faint};stroke-width:1.5;stroke-dasharray:6 4;fill:none}}"
        );
        for (place, colour) in series.iter().enumerate() {
            let _ = write!(css, ".f{place}{{fill:{colour}}}.l{place}{{stroke:{colour};stroke-width:2;fill:none}}");
        }
        css
    }
}

/// Where text is held.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How the line of a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stroke {
    colour: usize,
    dashes: usize,
}

/// Ways to break a line.
const DASHES: [&str; 4] = ["", "8 4", "2 3", "10 3 2 3"];

impl Stroke {
    /// Strokes of series, no two alike while there are enough. Series of a kind are broken alike where possible, so that one line on top of
    /// another of a different kind hides it only in part.
    pub(crate) fn of_series(kinds: &[usize]) -> Vec<Stroke> {
        let mut found: Vec<Stroke> = Vec::new();
        for (series, kind) in kinds.iter().enumerate() {
            let with = |more: usize| Stroke { colour: series % COLOURS, dashes: (kind + more) % DASHES.len() };
            let free = (0..DASHES.len()).map(with).find(|stroke| !found.contains(stroke));
            found.push(free.unwrap_or_else(|| with(0)));
        }
        found
    }

    /// The class of its dots.
    pub(crate) fn fill(self) -> String {
        format!("f{}", self.colour)
    }

    /// The class of its lines.
    pub(crate) fn line(self) -> String {
        format!("l{}", self.colour)
    }
}

/// A picture in the making.
pub(crate) struct Canvas {
    body: String,
    height: f64,
}

impl Canvas {
    /// An empty one.
    pub(crate) fn new() -> Canvas {
        Canvas { body: String::new(), height: 0.0 }
    }

    fn reach(&mut self, y: f64) {
        self.height = self.height.max(y);
    }

    /// A filled rectangle, with words that show when one points at it.
    pub(crate) fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4], words: &str) {
        self.reach(y + height);
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"><title>{}</title></rect>",
            escaped(words)
        );
    }

    /// A line.
    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.reach(from.1.max(to.1));
        let _ = writeln!(
            self.body,
            "<line class=\"{class}\" x1=\"{:.2}\" y1=\"{:.2}\" x2=\"{:.2}\" y2=\"{:.2}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// The line of a series through points.
    pub(crate) fn series(&mut self, stroke: Stroke, points: &[(f64, f64)]) {
        let dash = match DASHES[stroke.dashes] {
            "" => String::new(),
            pattern => format!(" stroke-dasharray=\"{pattern}\""),
        };
        self.polyline(&stroke.line(), &dash, points);
    }

    /// A line through points.
    pub(crate) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        self.polyline(class, "", points);
    }

    fn polyline(&mut self, class: &str, dash: &str, points: &[(f64, f64)]) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
        let _ = writeln!(self.body, "<polyline class=\"{class}\"{dash} points=\"{}\"/>", points.join(" "));
    }

    /// A dot.
    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, words: &str) {
        self.reach(y + radius);
        let _ = writeln!(
            self.body,
            "<circle class=\"{class}\" cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\"><title>{}</title></circle>",
            escaped(words)
        );
    }

    /// Text with its base line at `y`.
    pub(crate) fn text(&mut self, class: &str, size: f64, (x, y): (f64, f64), anchor: Anchor, words: &str) {
        self.reach(y + size / 2.0);
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" font-size=\"{size}\" x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\">{}</text>",
            escaped(words)
        );
    }

    /// A legend that wraps; the y below it.
    pub(crate) fn legend(&mut self, y: f64, entries: &[(usize, String)]) -> f64 {
        let (mut x, mut y) = (24.0, y);
        for (colour, words) in entries {
            let width = 34.0 + wide(words, 14.0);
            if x + width > WIDTH - 24.0 {
                (x, y) = (24.0, y + 24.0);
            }
            self.rect(&format!("f{}", colour % COLOURS), [x, y - 12.0, 14.0, 14.0], words);
            self.text("ink", 14.0, (x + 20.0, y), Anchor::Start, words);
            x += width;
        }
        y + 24.0
    }

    /// A legend of lines that wraps; the y below it.
    pub(crate) fn line_legend(&mut self, y: f64, entries: &[(Stroke, String)]) -> f64 {
        let (mut x, mut y) = (24.0, y);
        for (stroke, words) in entries {
            let width = 56.0 + wide(words, 14.0);
            if x > 24.0 && x + width > WIDTH - 24.0 {
                (x, y) = (24.0, y + 24.0);
            }
            self.series(*stroke, &[(x, y - 5.0), (x + 30.0, y - 5.0)]);
            self.reach(y);
            self.text("ink", 14.0, (x + 36.0, y), Anchor::Start, words);
            x += width;
        }
        y + 24.0
    }

    /// The picture by itself, in one theme.
    pub(crate) fn alone(&self, theme: Theme) -> String {
        self.svg(&format!("<style>{}</style>", theme.css()))
    }

    /// The picture for a page that has the style rules.
    pub(crate) fn inline(&self) -> String {
        self.svg("")
    }

    fn svg(&self, style: &str) -> String {
        let height = (self.height + 16.0).ceil();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"'DejaVu Sans', Verdana, sans-serif\">{style}\n\
             <rect class=\"ground\" x=\"0\" y=\"0\" width=\"{WIDTH}\" height=\"{height}\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// About how wide text is.
pub(crate) fn wide(words: &str, size: f64) -> f64 {
    words.chars().count() as f64 * size * 0.61
}

/// At most so many characters, the middle left out.
pub(crate) fn shortened(words: &str, most: usize) -> String {
    let count = words.chars().count();
    if count <= most {
        return words.to_owned();
    }
    let keep = (most - 1) / 2;
    let (head, tail): (String, String) =
        (words.chars().take(most - 1 - keep).collect(), words.chars().skip(count - keep).collect());
    format!("{head}\u{2026}{tail}")
}

/// Text as XML has it.
pub(crate) fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The pixels of a picture.
///
/// # Errors
/// When it is too large to draw.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>> {
    let failed = |error: String| Error::Environment(format!("a picture could not be drawn: {error}"));
    let mut options = usvg::Options { font_family: "DejaVu Sans".into(), ..usvg::Options::default() };
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| failed(error.to_string()))?;
    let size = tree.size().to_int_size();
    let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height())
        .ok_or_else(|| failed(format!("{} x {} pixels", size.width(), size.height())))?;
    resvg::render(&tree, tiny_skia::Transform::identity(), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(error.to_string()))
}

/// The files of a chart: SVG and PNG, light and dark, and the numbers.
pub(crate) fn files(name: &str) -> [String; 5] {
    ["svg", "png", "dark.svg", "dark.png", "csv"].map(|ending| format!("{name}.{ending}"))
}

/// A chart: a picture, the numbers in it, and what a reader has to know.
pub(crate) struct Chart {
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) canvas: Canvas,
    pub(crate) numbers: Vec<Vec<String>>,
}

impl Chart {
    /// Writes the [`files`] of its name.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn write(&self, folder: &std::path::Path) -> Result<()> {
        let [light, light_png, dark, dark_png, numbers] = files(self.name).map(|name| folder.join(name));
        for (theme, svg_path, png_path) in [(Theme::Light, light, light_png), (Theme::Dark, dark, dark_png)] {
            let svg = self.canvas.alone(theme);
            durable::replace(&svg_path, svg.as_bytes())?;
            durable::replace(&png_path, &png(&svg)?)?;
        }
        durable::replace(&numbers, &csv_table::text(&self.numbers)?)
    }
}

/// Round marks from 0 to at least `most`, about `count` of them.
pub(crate) fn ticks(most: f64, count: f64) -> Vec<f64> {
    let rough = (most / count).max(f64::MIN_POSITIVE);
    let unit = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|m| m * unit).find(|step| *step >= rough).unwrap_or(unit * 10.0);
    (0..=(most / step).ceil() as usize).map(|place| place as f64 * step).collect()
}

/// A number with as many decimals as it deserves.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
