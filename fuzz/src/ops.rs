//! Bytes, read as numbers until there are none left.

pub(crate) struct Ops<'a>(&'a [u8]);

impl<'a> Ops<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Ops(data)
    }

    /// The next byte; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Below `n`, and 0 at the end.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.next().unwrap_or(0)) % n.max(1)
    }

    /// One of the numbers of `0..n`, if there is any.
    pub(crate) fn index(&mut self, n: usize) -> Option<usize> {
        (n > 0).then(|| self.below(n))
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Up to so many bytes.
    pub(crate) fn bytes(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
