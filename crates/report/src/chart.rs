//! Charts as SVG, drawn when the page is made: columns by day, bars by name, a grid of weekdays and hours.
//!
//! Does not know what the numbers mean. Each mark has its number as `data-v` and in words.

use api::terminal_text::{append_fmt, escape_html, one_line, truncate_width};

/// Units of the drawing; the page scales it to its width.
const WIDTH: f64 = 720.0;
const LABEL_WIDTH: f64 = 220.0;
const VALUE_WIDTH: f64 = 90.0;
const ROW_HEIGHT: f64 = 22.0;
const LABEL_COLUMNS: usize = 30;

/// What people who cannot see the chart are told.
pub(crate) struct Caption<'c> {
    /// Unique within the page.
    pub(crate) id: &'c str,
    pub(crate) title: &'c str,
    pub(crate) summary: &'c str,
    /// The parts of a bar: class and name.
    pub(crate) key: &'c [(&'c str, &'c str)],
}

/// One column of a chart over time.
pub(crate) struct Column {
    /// Its place on the axis, in days.
    pub(crate) day: i64,
    pub(crate) label: String,
    pub(crate) value: f64,
    pub(crate) shown: String,
}

/// A bar of parts, each with its class; the whole is shown at its end.
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) parts: Vec<(&'static str, f64)>,
    pub(crate) shown: String,
}

impl Bar {
    fn whole(&self) -> f64 {
        self.parts.iter().map(|(_, value)| value).sum()
    }
}

fn figure(caption: &Caption<'_>, height: f64, marks: &str) -> String {
    let (id, title, summary) = (caption.id, escape_html(caption.title), escape_html(caption.summary));
    format!(
        "<figure>\n<svg role=\"img\" aria-labelledby=\"{id}-title {id}-text\" viewBox=\"0 0 {WIDTH} {height}\">\n\
         <title id=\"{id}-title\">{title}</title>\n<desc id=\"{id}-text\">{summary}</desc>\n{marks}</svg>\n\
         <figcaption>{title}{}</figcaption>\n</figure>\n",
        draw_key(caption.key)
    )
}

fn draw_key(key: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (class, name) in key {
        append_fmt(&mut out, format_args!(" <span class=\"key {class}\"></span> {name}"));
    }
    out
}

/// A share of the largest number, 0 if there is none.
fn share(value: f64, most: f64) -> f64 {
    if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 }
}

pub(crate) fn draw_columns(caption: &Caption<'_>, columns: &[Column]) -> String {
    const HEIGHT: f64 = 140.0;
    let most = columns.iter().map(|column| column.value).fold(0.0, f64::max);
    let first = columns.iter().map(|column| column.day).min().unwrap_or(0);
    let last = columns.iter().map(|column| column.day).max().unwrap_or(0);
    let step = WIDTH / (last - first + 1) as f64;
    let mut marks = String::new();
    for column in columns {
        let (x, height) = ((column.day - first) as f64 * step, HEIGHT * share(column.value, most));
        append_fmt(
            &mut marks,
            format_args!(
                "<rect class=\"bar\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" data-v=\"{}\"><title>{}: {}</title></rect>\n",
                HEIGHT + 16.0 - height,
                (step * 0.8).min(40.0),
                column.value,
                escape_html(&column.label),
                escape_html(&column.shown),
            ),
        );
    }
    marks += &draw_axis(columns, most, HEIGHT);
    figure(caption, HEIGHT + 36.0, &marks)
}

/// The largest number above, the first and the last day below.
fn draw_axis(columns: &[Column], most: f64, height: f64) -> String {
    let top = columns.iter().find(|column| column.value >= most).map_or("", |column| &column.shown);
    let ends =
        [columns.iter().min_by_key(|column| column.day), columns.iter().max_by_key(|column| column.day)];
    let [first, last] = ends.map(|end| end.map_or("", |column| &column.label));
    let (base, below) = (height + 16.0, height + 32.0);
    format!(
        "<path class=\"axis\" d=\"M0 {base}H{WIDTH}\"/>\n<text x=\"0\" y=\"11\">{}</text>\n<text x=\"0\" y=\"{below}\">{}</text>\n\
         <text x=\"{WIDTH}\" y=\"{below}\" text-anchor=\"end\">{}</text>\n",
        escape_html(top),
        escape_html(first),
        escape_html(last)
    )
}

pub(crate) fn draw_bars(caption: &Caption<'_>, bars: &[Bar]) -> String {
    let most = bars.iter().map(Bar::whole).fold(0.0, f64::max);
    let mut marks = String::new();
    for (row, bar) in bars.iter().enumerate() {
        draw_bar(&mut marks, bar, row as f64 * ROW_HEIGHT, most);
    }
    figure(caption, bars.len() as f64 * ROW_HEIGHT, &marks)
}

fn draw_bar(marks: &mut String, bar: &Bar, y: f64, most: f64) {
    let label = escape_html(&truncate_width(&one_line(&bar.label), LABEL_COLUMNS));
    let text = y + 15.0;
    append_fmt(
        marks,
        format_args!("<text x=\"{}\" y=\"{text}\" text-anchor=\"end\">{label}</text>\n", LABEL_WIDTH - 8.0),
    );
    let mut x = LABEL_WIDTH;
    for (class, value) in bar.parts.iter().filter(|(_, value)| *value > 0.0) {
        let width = (WIDTH - LABEL_WIDTH - VALUE_WIDTH) * share(*value, most);
        append_fmt(
            marks,
            format_args!(
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{}\" width=\"{width:.1}\" height=\"14\" data-v=\"{value}\"/>\n",
                y + 4.0
            ),
        );
        x += width;
    }
    append_fmt(
        marks,
        format_args!("<text x=\"{:.1}\" y=\"{text}\">{}</text>\n", x + 6.0, escape_html(&bar.shown)),
    );
}

pub(crate) const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// A grid of weekdays and hours: the more events, the darker.
pub(crate) fn draw_grid(caption: &Caption<'_>, rows: &[[u64; 24]]) -> String {
    const LEFT: f64 = 100.0;
    let most = rows.iter().flatten().copied().max().unwrap_or(0) as f64;
    let step = (WIDTH - LEFT) / 24.0;
    let mut marks = String::new();
    for hour in (0..24).step_by(3) {
        append_fmt(
            &mut marks,
            format_args!("<text x=\"{:.1}\" y=\"11\">{hour:02}</text>\n", LEFT + f64::from(hour) * step),
        );
    }
    for (row, (name, hours)) in WEEKDAYS.iter().zip(rows).enumerate() {
        let y = 18.0 + row as f64 * ROW_HEIGHT;
        append_fmt(
            &mut marks,
            format_args!("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>\n", LEFT - 8.0, y + 15.0),
        );
        for (hour, count) in hours.iter().enumerate() {
            let (x, ink) = (LEFT + hour as f64 * step, ink_of(share(*count as f64, most)));
            append_fmt(
                &mut marks,
                format_args!(
                    "<rect class=\"cell\" x=\"{x:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"20\" fill-opacity=\"{ink:.2}\" data-v=\"{count}\"><title>{name} {hour:02}:00: {count}</title></rect>\n",
                    step - 2.0
                ),
            );
        }
    }
    figure(caption, 18.0 + 7.0 * ROW_HEIGHT, &marks)
}

/// One session of a timeline.
pub(crate) struct Span {
    /// Its place on the axis, in days, and the hours of that day at which it begins and ends.
    pub(crate) day: i64,
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) label: String,
}

/// Days from left to right, the hours of a day from top to bottom.
pub(crate) fn draw_timeline(caption: &Caption<'_>, spans: &[Span]) -> String {
    const LEFT: f64 = 40.0;
    const HOUR: f64 = 8.0;
    let first = spans.iter().map(|span| span.day).min().unwrap_or(0);
    let last = spans.iter().map(|span| span.day).max().unwrap_or(0);
    let step = (WIDTH - LEFT) / (last - first + 1) as f64;
    let mut marks = String::new();
    for hour in (0..=24).step_by(6) {
        let y = f64::from(hour) * HOUR + 8.0;
        append_fmt(
            &mut marks,
            format_args!(
                "<path class=\"axis\" d=\"M{LEFT} {y}H{WIDTH}\"/>\n<text x=\"0\" y=\"{}\">{hour:02}:00</text>\n",
                y + 4.0
            ),
        );
    }
    for span in spans {
        append_fmt(
            &mut marks,
            format_args!(
                "<rect class=\"span\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>\n",
                LEFT + (span.day - first) as f64 * step,
                span.from * HOUR + 8.0,
                (step * 0.8).clamp(1.5, 40.0),
                ((span.to - span.from) * HOUR).max(3.0),
                escape_html(&span.label),
            ),
        );
    }
    figure(caption, 24.0 * HOUR + 16.0, &marks)
}

/// A single event remains visible next to many.
fn ink_of(share: f64) -> f64 {
    if share > 0.0 { 0.15 + 0.85 * share } else { 0.04 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTION: Caption<'_> = Caption { id: "c", title: "A & B", summary: "text", key: &[] };

    #[test]
    fn a_column_is_as_high_as_its_number_and_stands_at_its_day() {
        let column =
            |day: i64, value: f64| Column { day, label: format!("d{day}"), value, shown: format!("{value}") };
        let svg = draw_columns(&CAPTION, &[column(10, 4.0), column(13, 1.0)]);
        assert!(
            svg.contains(r#"x="0.0" y="16.0" width="40.0" height="140.0" data-v="4"><title>d10: 4</title>"#),
            "{svg}"
        );
        assert!(svg.contains(r#"x="540.0" y="121.0" width="40.0" height="35.0" data-v="1""#), "{svg}");
        assert!(
            svg.contains(r#"role="img" aria-labelledby="c-title c-text""#) && svg.contains("A &amp; B"),
            "{svg}"
        );
    }

    #[test]
    fn the_parts_of_a_bar_follow_each_other() {
        let bars = [Bar {
            label: "<b>".into(),
            parts: vec![("good", 3.0), ("bad", 1.0), ("bar", 0.0)],
            shown: "4".into(),
        }];
        let svg = draw_bars(&CAPTION, &bars);
        assert!(
            svg.contains(r#"class="good" x="220.0" y="4" width="307.5" height="14" data-v="3""#),
            "{svg}"
        );
        assert!(
            svg.contains(r#"class="bad" x="527.5" y="4" width="102.5""#) && svg.contains("&lt;b&gt;"),
            "{svg}"
        );
    }

    #[test]
    fn a_session_stands_at_its_day_and_hour() {
        let span = |day: i64, from: f64, to: f64| Span { day, from, to, label: "a <b>".into() };
        let svg = draw_timeline(&CAPTION, &[span(10, 6.0, 9.0), span(11, 23.0, 23.0)]);
        let long = r#"x="40.0" y="56.0" width="40.0" height="24.0"><title>a &lt;b&gt;</title>"#;
        assert!(svg.contains(long), "{svg}");
        assert!(svg.contains(r#"x="380.0" y="192.0" width="40.0" height="3.0""#), "{svg}");
    }

    #[test]
    fn nothing_is_drawn_as_nothing() {
        assert!(!draw_columns(&CAPTION, &[]).contains("<rect"));
        assert!(draw_grid(&CAPTION, &[[0; 24]; 7]).contains(r#"fill-opacity="0.04" data-v="0""#));
    }
}
