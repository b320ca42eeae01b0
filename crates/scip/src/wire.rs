//! Decodes protocol buffer messages field by field, without copying.
//!
//! Does not know the meaning of any field. Implemented here rather than with a library, because only a few fields of four
//! messages are needed: the official bindings hold the whole index in memory, which for one of 39 MB took 203 MB instead of our
//! 28, and pull in a second version of a dependency.

use std::io::{self, BufRead, Read};

/// Why bytes are not a valid message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DecodeError {
    /// The input is truncated.
    Short,
    /// A number with more than 64 bits.
    Number,
    /// An unknown or obsolete wire type.
    Kind,
    /// Text that is not UTF-8.
    Text,
}

/// The value of a field. Fixed-width values are skipped: none of the fields we need has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Fixed,
}

impl<'a> Value<'a> {
    pub(super) fn expect_text(self) -> Result<&'a str, DecodeError> {
        match self {
            Value::Bytes(bytes) => std::str::from_utf8(bytes).map_err(|_| DecodeError::Text),
            Value::Number(_) | Value::Fixed => Err(DecodeError::Kind),
        }
    }

    pub(super) fn expect_bytes(self) -> Result<&'a [u8], DecodeError> {
        if let Value::Bytes(bytes) = self { Ok(bytes) } else { Err(DecodeError::Kind) }
    }

    pub(super) fn expect_number(self) -> Result<u64, DecodeError> {
        if let Value::Number(number) = self { Ok(number) } else { Err(DecodeError::Kind) }
    }
}

/// Wire types: the lowest three bits of a key.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;
const FIXED32: u64 = 5;

/// The fields of a message, up to its end or the first malformed one.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    fn decode_field(&mut self) -> Result<(u64, Value<'a>), DecodeError> {
        let key = decode_varint(&mut self.rest)?;
        let value = match key & 7 {
            VARINT => Value::Number(decode_varint(&mut self.rest)?),
            LENGTH_DELIMITED => {
                let length = decode_varint(&mut self.rest)?;
                Value::Bytes(self.take_bytes(usize::try_from(length).map_err(|_| DecodeError::Short)?)?)
            }
            FIXED64 => self.take_bytes(8).map(|_| Value::Fixed)?,
            FIXED32 => self.take_bytes(4).map(|_| Value::Fixed)?,
            _ => return Err(DecodeError::Kind),
        };
        Ok((key >> 3, value))
    }

    fn take_bytes(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(DecodeError::Short)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.decode_field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Decodes the packed numbers of a field.
pub(super) fn decode_packed(mut packed: &[u8], mut each: impl FnMut(u64)) -> Result<(), DecodeError> {
    while !packed.is_empty() {
        each(decode_varint(&mut packed)?);
    }
    Ok(())
}

/// Decodes a varint: seven bits per byte, lowest first; the last byte has its high bit clear.
fn decode_varint(bytes: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(DecodeError::Short)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(DecodeError::Number)
}

/// The fields of a message that is too large for memory. Each is read into one buffer, which grows with the data that is actually
/// there and not with the declared length.
pub(super) struct Stream<R> {
    source: R,
    /// The number of bytes read.
    pub(super) at: u64,
    pub(super) buffer: Vec<u8>,
}

impl<R: BufRead> Stream<R> {
    pub(super) fn new(source: R) -> Stream<R> {
        Stream { source, at: 0, buffer: Vec::new() }
    }

    /// Returns the number of the next field; its value is in the buffer if it is `wanted` and not a number.
    pub(super) fn next_field(
        &mut self,
        wanted: impl Fn(u64) -> bool,
    ) -> io::Result<Option<Result<u64, DecodeError>>> {
        if self.source.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.buffer.clear();
        let key = match self.read_varint()? {
            Ok(key) => key,
            Err(broken) => return Ok(Some(Err(broken))),
        };
        let length = match key & 7 {
            VARINT => match self.read_varint()? {
                Ok(_) => 0,
                Err(broken) => return Ok(Some(Err(broken))),
            },
            LENGTH_DELIMITED => match self.read_varint()? {
                Ok(length) => length,
                Err(broken) => return Ok(Some(Err(broken))),
            },
            FIXED64 => 8,
            FIXED32 => 4,
            _ => return Ok(Some(Err(DecodeError::Kind))),
        };
        let mut piece = (&mut self.source).take(length);
        let read = if wanted(key >> 3) {
            piece.read_to_end(&mut self.buffer)? as u64
        } else {
            io::copy(&mut piece, &mut io::sink())?
        };
        self.at += read;
        Ok(Some(if read == length { Ok(key >> 3) } else { Err(DecodeError::Short) }))
    }

    fn read_varint(&mut self) -> io::Result<Result<u64, DecodeError>> {
        let mut bytes = [0; 10];
        for length in 1..=bytes.len() {
            if self.source.read(&mut bytes[length - 1..length])? == 0 {
                return Ok(Err(DecodeError::Short));
            }
            self.at += 1;
            if bytes[length - 1] & 0x80 == 0 {
                return Ok(decode_varint(&mut &bytes[..length]));
            }
        }
        Ok(Err(DecodeError::Number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_decoded_according_to_the_format() {
        type Row<'a> = (&'a [u8], Vec<Result<(u64, Value<'a>), DecodeError>>);
        let rows: &[Row] = &[
            (&[], vec![]),
            (&[0x08, 0x96, 0x01], vec![Ok((1, Value::Number(150)))]),
            (&[0x12, 2, b'h', b'i'], vec![Ok((2, Value::Bytes(b"hi")))]),
            (&[0x19, 0, 0, 0, 0, 0, 0, 0, 0], vec![Ok((3, Value::Fixed))]),
            (&[0x1d, 0, 0, 0, 0, 0x08, 1], vec![Ok((3, Value::Fixed)), Ok((1, Value::Number(1)))]),
            (&[0x08], vec![Err(DecodeError::Short)]),
            (&[0x12, 3, b'h', b'i'], vec![Err(DecodeError::Short)]),
            (&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], vec![Err(DecodeError::Short)]),
            (&[0x08, 1, 0x0b, 0x08, 1], vec![Ok((1, Value::Number(1))), Err(DecodeError::Kind)]),
            (&[0xff; 11], vec![Err(DecodeError::Number)]),
        ];
        for (bytes, expected) in rows {
            assert_eq!(Fields::new(bytes).collect::<Vec<_>>(), *expected, "{bytes:x?}");
        }
    }

    #[test]
    fn a_false_length_does_not_allocate_memory() {
        let bytes = [&[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f][..], &[7; 100]].concat();
        let mut stream = Stream::new(&bytes[..]);
        assert_eq!(stream.next_field(|_| true).unwrap(), Some(Err(DecodeError::Short)));
        assert!(stream.buffer.capacity() < 4096, "{}", stream.buffer.capacity());
    }

    proptest! {
        /// Both decoders agree on any input.
        #[test]
        fn stream_and_slice_decoders_agree(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut stream = Stream::new(&bytes[..]);
            for field in Fields::new(&bytes) {
                match (field, stream.next_field(|_| true).unwrap()) {
                    (Ok((field, value)), Some(Ok(streamed))) => {
                        prop_assert_eq!(field, streamed);
                        if let Value::Bytes(bytes) = value {
                            prop_assert_eq!(bytes, &stream.buffer[..]);
                        }
                    }
                    (Err(broken), Some(Err(streamed))) => prop_assert_eq!(broken, streamed),
                    (field, streamed) => prop_assert!(false, "{:?} {:?}", field, streamed),
                }
            }
        }
    }
}
