//! UTF-16 with a byte-order mark (RFC 2781), decoded for the tools and encoded back.

use guard_policy::Bom;

/// Decodes UTF-16 behind its BOM; nothing where it is not well-formed.
pub(crate) fn decode(bytes: &[u8]) -> Option<String> {
    let (unit, body): (fn([u8; 2]) -> u16, _) = match bytes {
        [0xFF, 0xFE, body @ ..] => (u16::from_le_bytes, body),
        [0xFE, 0xFF, body @ ..] => (u16::from_be_bytes, body),
        _ => return None,
    };
    if body.len() % 2 != 0 {
        return None;
    }
    let units = body.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).collect::<Result<String, _>>().ok()
}

/// Encodes text as UTF-16 behind a BOM of that kind; nothing where the kind is not UTF-16.
pub(crate) fn encode(text: &str, bom: Bom) -> Option<Vec<u8>> {
    let unit: fn(u16) -> [u8; 2] = match bom {
        Bom::Utf16Le => u16::to_le_bytes,
        Bom::Utf16Be => u16::to_be_bytes,
        Bom::None | Bom::Utf8 => return None,
    };
    let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
    Some(units.flat_map(unit).collect())
}

/// Returns how many bytes a piece of UTF-8 text takes in UTF-16; the BOM is not counted.
///
/// The piece may begin or end within a character: a character is counted where it begins.
pub(crate) fn encoded_len(utf8: &[u8]) -> u64 {
    utf8.iter()
        .map(|byte| match byte {
            0x80..=0xBF => 0,
            0xF0.. => 4,
            _ => 2,
        })
        .sum()
}
