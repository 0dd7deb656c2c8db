//! Bytes that are kept for this very program: numbers, texts and rows, one after the other.

/// Puts things one after the other.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// A number.
    pub fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// A long number.
    pub fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// A number of things. What no [`Reader`] could take in is written so that none does.
    pub fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Bytes of any kind.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    /// Several numbers.
    pub fn numbers(&mut self, numbers: &[u32]) {
        self.rows(numbers, |number| number.to_le_bytes());
    }

    /// Several things of one size.
    pub fn rows<T, const N: usize>(&mut self, rows: &[T], bytes: impl Fn(&T) -> [u8; N]) {
        self.count(rows.len());
        self.0.reserve(rows.len() * N);
        for row in rows {
            self.0.extend_from_slice(&bytes(row));
        }
    }

    /// Everything that was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Takes things off again, in the same order. Everything that is not there is `None`.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads from the beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number.
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    /// A long number.
    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// A number of things.
    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok()
    }

    /// A text.
    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// Bytes of any kind.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    /// Several numbers.
    pub fn numbers(&mut self) -> Option<Vec<u32>> {
        self.rows(|bytes| u32::from_le_bytes(*bytes))
    }

    /// Several things of one size.
    pub fn rows<T, const N: usize>(&mut self, read: impl Fn(&[u8; N]) -> T) -> Option<Vec<T>> {
        let count = self.count()?;
        let bytes = self.take(count.checked_mul(N)?)?;
        let (rows, _) = bytes.as_chunks::<N>();
        Some(rows.iter().map(read).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_down_is_taken_off_in_order() {
        let mut writer = Writer::default();
        writer.u32(7);
        writer.text("äpfel");
        writer.bytes(&[0xff, 0]);
        writer.numbers(&[1, 2, 3]);
        writer.u64(u64::MAX);
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.u32(), Some(7));
        assert_eq!(reader.text(), Some("äpfel"));
        assert_eq!(reader.bytes(), Some(&[0xff, 0][..]));
        assert_eq!(reader.numbers(), Some(vec![1, 2, 3]));
        assert_eq!(reader.u64(), Some(u64::MAX));
        assert_eq!((reader.left(), reader.u32()), (0, None));
    }

    #[test]
    fn what_is_not_there_is_not_read() {
        let mut writer = Writer::default();
        writer.count(usize::MAX);
        let bytes = writer.into_bytes();
        assert_eq!(Reader::new(&bytes).text(), None);
        assert_eq!(Reader::new(&bytes).numbers(), None);
        assert_eq!(Reader::new(&bytes[..3]).u32(), None);
        assert_eq!(Reader::new(&[1, 0, 0, 0, 0xff]).text(), None);
    }
}
