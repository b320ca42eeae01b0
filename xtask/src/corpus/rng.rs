//! A random generator with the same output on every machine: it uses only integers and the basic operations of IEEE
//! 754. `ln` and `exp` come from the platform's C library and differ in the last bit.
//!
//! Does not know what is drawn.

pub(super) struct Rng(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    /// An independent stream per (seed, what, which), so that threads need not agree on an order.
    pub(super) fn new(seed: u64, what: u64, which: u64) -> Rng {
        let mut rng = Rng(seed);
        for part in [what, which] {
            rng.0 = rng.next() ^ part.wrapping_mul(STEP);
        }
        rng
    }

    /// splitmix64.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (((self.next() >> 32) * end as u64) >> 32) as usize
    }

    pub(super) fn in_range(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    pub(super) fn per_mille(&mut self, share: usize) -> bool {
        self.below(1000) < share
    }

    pub(super) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    /// Like `pick`, but favours the first elements: words and file names recur like that.
    pub(super) fn pick_favoured<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        let first = self.below(among.len()) + 1;
        &among[self.below(first)]
    }

    /// A log-normal size around a median, as in real transcripts. The sum of twelve uniform draws approximates a normal
    /// distribution; two to its power is a shift with linear interpolation.
    pub(super) fn log_normal(&mut self, median: f64, sigma: f64, most: usize) -> usize {
        let mut sum = 0;
        for _ in 0..3 {
            let draw = self.next();
            sum += (draw & 0xffff) + (draw >> 16 & 0xffff) + (draw >> 32 & 0xffff) + (draw >> 48);
        }
        let normal = sum as f64 / 65536.0 - 6.0;
        let power = normal * sigma * std::f64::consts::LOG2_E;
        let whole = power.floor();
        let scale = f64::from_bits(((whole as i64 + 1023) as u64) << 52);
        ((median * scale * (1.0 + power - whole)) as usize).clamp(1, most)
    }
}
