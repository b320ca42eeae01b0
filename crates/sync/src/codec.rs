//! The byte encoding of everything in the bucket: fixed arrays, unsigned LEB128 integers, and byte strings with their length in
//! front. Reading is bounds-checked, so hostile bytes cost an error and no memory.
//!
//! Does not know what the bytes mean.

use crate::error::{Error, Result};

#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn new(magic: [u8; 4]) -> Writer {
        Writer { bytes: magic.to_vec() }
    }

    pub(crate) fn array(&mut self, bytes: &[u8]) -> &mut Writer {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn number(&mut self, mut value: u64) -> &mut Writer {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
        self
    }

    pub(crate) fn string(&mut self, bytes: &[u8]) -> &mut Writer {
        self.number(bytes.len() as u64).array(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Reader<'a> {
        Reader { rest: bytes, what }
    }

    pub(crate) fn damaged(&self) -> Error {
        Error::Damaged { what: self.what }
    }

    pub(crate) fn slice(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.damaged())?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.slice(N)?.try_into().map_err(|_| self.damaged())
    }

    pub(crate) fn magic(&mut self, magic: [u8; 4]) -> Result<()> {
        if self.array()? == magic { Ok(()) } else { Err(self.damaged()) }
    }

    pub(crate) fn number(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let part = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if shift == 63 && part > 1 {
                break;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.damaged())
    }

    /// A count of items that take at least `least` bytes each: a larger one cannot be true.
    pub(crate) fn count(&mut self, least: usize) -> Result<usize> {
        let count = self.number()?;
        if count > (self.rest.len() / least) as u64 { Err(self.damaged()) } else { Ok(count as usize) }
    }

    pub(crate) fn string(&mut self) -> Result<&'a [u8]> {
        let length = self.count(1)?;
        self.slice(length)
    }

    pub(crate) fn text(&mut self) -> Result<String> {
        let bytes = self.string()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.damaged())
    }

    /// Everything that was not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Fails if bytes are left: they would be content that a signature covers and no one read.
    pub(crate) fn finish(self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(self.damaged()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_strings_are_read_as_written() {
        let mut writer = Writer::new(*b"TEST");
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        for n in numbers {
            writer.number(n);
        }
        writer.string(b"abc").string(b"");
        let bytes = writer.finish();
        let mut reader = Reader::new(&bytes, "test");
        reader.magic(*b"TEST").unwrap();
        for n in numbers {
            assert_eq!(reader.number().unwrap(), n);
        }
        assert_eq!((reader.string().unwrap(), reader.string().unwrap()), (&b"abc"[..], &b""[..]));
        reader.finish().unwrap();
    }

    #[test]
    fn hostile_lengths_are_errors() {
        for bytes in [&[0xff; 11][..], &[0xff, 0xff, 0xff, 0x7f], &[5, 1, 2], &[]] {
            assert!(Reader::new(bytes, "test").string().is_err(), "{bytes:?}");
        }
    }
}
