//! Fields: how any bytes but NUL become a part of a line, and how a reply spells them.

use super::Noise;

/// Appends a field and its separator: `\` as `\\`, `|` as `\p`, a newline as `\n`.
pub(super) fn put(line: &mut Vec<u8>, field: &[u8]) {
    for byte in field {
        match byte {
            b'\\' => line.extend_from_slice(b"\\\\"),
            b'|' => line.extend_from_slice(b"\\p"),
            b'\n' => line.extend_from_slice(b"\\n"),
            byte => line.push(*byte),
        }
    }
    line.push(b'|');
}

/// Ends a line of fields.
pub(super) fn end(line: &mut Vec<u8>) {
    line.extend_from_slice(b".\n");
}

/// Splits a line (without its newline) into its fields.
pub(super) fn split(line: &[u8]) -> Result<Vec<Vec<u8>>, Noise> {
    let mut fields: Vec<&[u8]> = line.split(|byte| *byte == b'|').collect();
    if fields.pop() != Some(b".") {
        return Err(Noise::new("a line that does not end as one"));
    }
    fields.into_iter().map(plain).collect()
}

fn plain(field: &[u8]) -> Result<Vec<u8>, Noise> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next() {
                Some(b'\\') => b'\\',
                Some(b'p') => b'|',
                Some(b'n') => b'\n',
                other => return Err(Noise::new(format!("an escape that is none: {other:?}"))),
            },
            byte => *byte,
        });
    }
    Ok(bytes)
}

/// Appends a netstring without its comma: the length in decimal, a colon, the bytes.
pub(super) fn put_counted(line: &mut Vec<u8>, field: &[u8]) {
    line.extend_from_slice(field.len().to_string().as_bytes());
    line.push(b':');
    line.extend_from_slice(field);
}

/// The fields of a line or record, taken from the left.
#[derive(Debug)]
pub(super) struct Fields(std::vec::IntoIter<Vec<u8>>);

impl Fields {
    pub(super) fn new(fields: Vec<Vec<u8>>) -> Self {
        Self(fields.into_iter())
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, Noise> {
        self.0.next().ok_or_else(|| Noise::new("a field is missing"))
    }

    pub(super) fn text(&mut self) -> Result<String, Noise> {
        String::from_utf8(self.bytes()?).map_err(|_| Noise::new("a field that should be text"))
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self) -> Result<T, Noise> {
        let text = self.text()?;
        text.parse().map_err(|_| Noise::new(format!("{text:?} where a number should be")))
    }

    /// Takes a number, or nothing.
    pub(super) fn maybe<T: std::str::FromStr>(&mut self) -> Result<Option<T>, Noise> {
        let text = self.text()?;
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| Noise::new(format!("{text:?} where a number should be")))
    }

    /// Takes a word and returns what `known` makes of it.
    pub(super) fn word<T>(&mut self, known: impl FnOnce(&str) -> Option<T>) -> Result<T, Noise> {
        let word = self.text()?;
        known(&word).ok_or_else(|| Noise::new(format!("{word:?} where a known word should be")))
    }

    /// Claims that nothing is left.
    pub(super) fn end(mut self) -> Result<(), Noise> {
        self.0.next().map_or(Ok(()), |_| Err(Noise::new("a field too many")))
    }
}

impl Iterator for Fields {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        self.0.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back_from_a_line() {
        let all: Vec<u8> = (1..=255).collect();
        let fields = vec![all, Vec::new(), b"a|b\\n\n|".to_vec(), b".".to_vec(), b" x ".to_vec()];
        let mut line = Vec::new();
        for field in &fields {
            put(&mut line, field);
        }
        end(&mut line);
        let line = line.strip_suffix(b"\n").unwrap();
        assert!(!line.contains(&b'\n'));
        assert_eq!(split(line), Ok(fields));
    }

    #[test]
    fn what_is_no_line_is_noise() {
        for line in [&b""[..], b"a|b", b"a|.x", b"a\\x|.", b"a\\|."] {
            assert!(split(line).is_err(), "{line:?}");
        }
    }
}
