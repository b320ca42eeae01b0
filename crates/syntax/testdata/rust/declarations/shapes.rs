//! Shapes, and how they are drawn.

use crate::canvas::{self, Canvas, Pen as Brush};
use std::fmt::{self, Display};
use super::paper::*;
pub use self::round::Circle;

/// Something with an area. And more.
///
/// A second paragraph.
#[derive(Debug, Clone)]
pub struct Shape<'a, T: Measure = f64>
where
    T: Copy,
{
    /// How it is called.
    pub name: &'a str,
    pub(crate) size: Vec<T>,
    owner: Option<Box<canvas::Owner>>,
}

pub struct Point(pub i32, #[allow(unused)] Canvas);

struct Unit;

#[non_exhaustive]
pub enum Event {
    Moved,
    /// Was drawn.
    #[deprecated]
    Drawn(Point),
    Resized { to: u32 } = 7,
}

pub union Bits {
    whole: u64,
}

pub trait Measure: Display + 'static {
    type Unit: Copy;
    const SIDES: usize = 0;
    fn area(&self) -> Self::Unit;
    /// Twice the area.
    fn twice(&self, by: u8) -> f64 {
        2.0
    }
}

impl<'a, T: Measure> Shape<'a, T> {
    pub const LIMIT: usize = 10;

    #[must_use]
    pub fn new(name: &'a str, mut sizes: Vec<T>) -> Self {
        Event::Moved;
        Shape { name, size: sizes, owner: None }
    }

    async fn draw<C: Into<Canvas>>(&mut self, (x, y): (i32, i32), on: C) -> Result<(), fmt::Error> {
        let brush = Brush::new(vec![Point(x, on)]);
        Ok(())
    }
}

impl<T> Display for Shape<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

impl From<Point> for crate::canvas::Spot {
    fn from(point: Point) -> Self {
        todo!()
    }
}

pub type Shapes<T> = Vec<Shape<'static, T>>;

/// As large as it gets.
pub const MAX: usize = 1 << 20;
static mut COUNT: u32 = 0;

/// Draws all.
pub fn draw_all(shapes: &[Shape<f64>]) -> usize {
    fn inner() {}
    struct Local;
    shapes.len()
}

macro_rules! shape {
    ($name:ident) => {
        $name
    };
}

extern "C" {
    fn raw_draw(at: *const Point);
}

mod round {
    //! Without corners.
    use super::Shape;

    pub struct Circle {
        of: super::Point,
        like: self::Oval,
    }

    pub(super) fn circle() -> super::super::Root {
        crate::canvas::root()
    }
}
