//! Pictures, word by word.

use std::fmt::Write as _;

/// A picture that is being drawn.
#[derive(Debug)]
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Where a text is held.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

impl Svg {
    /// An empty one, on white: pages may be dark.
    pub(super) fn new(width: f64, height: f64) -> Self {
        let mut this = Self {
            width,
            height,
            body: String::new(),
        };
        this.rect([0.0, 0.0, width, height], "#ffffff");
        this
    }

    /// A filled rectangle: left, top, width, height.
    pub(super) fn rect(&mut self, [x, y, width, height]: [f64; 4], fill: &str) {
        let _ = writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{fill}"/>"#
        );
    }

    /// A thin line.
    pub(super) fn line(&mut self, from: [f64; 2], to: [f64; 2], colour: &str) {
        let _ = writeln!(
            self.body,
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{colour}"/>"#,
            from[0], from[1], to[0], to[1]
        );
    }

    /// A line through points, each with a dot.
    pub(super) fn curve(&mut self, points: &[[f64; 2]], colour: &str) {
        let mut list = String::new();
        for [x, y] in points {
            let _ = write!(list, "{x:.1},{y:.1} ");
            let _ = writeln!(
                self.body,
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"/>"#
            );
        }
        let _ = writeln!(
            self.body,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
            list.trim_end()
        );
    }

    /// A text whose foot is there.
    pub(super) fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(
            self.body,
            r##"<text x="{x:.1}" y="{y:.1}" text-anchor="{}" fill="#222222">{text}</text>"##,
            anchor.word()
        );
    }

    /// The picture.
    pub(super) fn finish(self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w:.0} {h:.0}\" width=\"{w:.0}\" height=\"{h:.0}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n{}</svg>\n",
            self.body,
            w = self.width,
            h = self.height,
        )
    }
}

/// From values to places, in powers of ten.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    values: [f64; 2],
    places: [f64; 2],
}

impl Scale {
    /// The least and the most value, and where they are.
    pub(super) fn new(values: [f64; 2], places: [f64; 2]) -> Self {
        Self {
            values: values.map(|value| value.max(f64::MIN_POSITIVE).log10()),
            places,
        }
    }

    /// Where a value is; what is outside is at the end.
    pub(super) fn place(self, value: f64) -> f64 {
        let [least, most] = self.values;
        let span = (most - least).max(f64::EPSILON);
        let share = ((value.max(f64::MIN_POSITIVE).log10() - least) / span).clamp(0.0, 1.0);
        self.places[0] + share * (self.places[1] - self.places[0])
    }

    /// The powers of ten in between.
    pub(super) fn ticks(self) -> impl Iterator<Item = f64> {
        let [least, most] = self.values;
        ((least.ceil() as i32)..=(most.floor() as i32)).map(|power| 10f64.powi(power))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_powers_of_ten() {
        let scale = Scale::new([1.0, 100.0], [0.0, 200.0]);
        assert_eq!(scale.place(1.0), 0.0);
        assert_eq!(scale.place(10.0), 100.0);
        assert_eq!(scale.place(1e9), 200.0);
        assert_eq!(scale.place(0.0), 0.0);
        assert_eq!(scale.ticks().collect::<Vec<_>>(), [1.0, 10.0, 100.0]);
    }

    #[test]
    fn every_element_is_closed_and_text_is_escaped() {
        let mut svg = Svg::new(100.0, 50.0);
        svg.line([0.0, 0.0], [1.0, 1.0], "#000000");
        svg.curve(&[[1.0, 2.0], [3.0, 4.0]], "#000000");
        svg.text([0.0, 0.0], Anchor::Middle, "a < b & c");
        let text = svg.finish();
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
        assert!(text.contains("a &lt; b &amp; c"));
        for line in text.lines().skip(1) {
            let closed = line.ends_with("/>") || line.ends_with("</text>") || line == "</svg>";
            assert!(closed, "{line}");
        }
    }
}
