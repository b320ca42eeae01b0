//! A random generator with the same output on every machine, for generated sets.
//!
//! Does not know what is drawn.

pub(crate) struct Rng(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    /// A separate stream per (seed, which).
    pub(crate) fn new(seed: u64, which: u64) -> Rng {
        let mut rng = Rng(seed);
        rng.0 = rng.next_u64() ^ which.wrapping_mul(STEP);
        rng
    }

    /// splitmix64.
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (((self.next_u64() >> 32) * end as u64) >> 32) as usize
    }

    pub(crate) fn in_range(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    pub(crate) fn per_mille(&mut self, share: usize) -> bool {
        self.below(1000) < share
    }

    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }
}
