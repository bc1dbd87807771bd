//! Where text may be cut.

/// How much of `bytes`, at most `most`, can be taken without taking part of a character of UTF-8 only. Bytes that are no text are cut
/// anywhere. `most` is at least 4, so that some is always taken.
pub(super) fn whole_chars(bytes: &[u8], most: usize) -> usize {
    if bytes.len() <= most {
        return bytes.len();
    }
    for back in 1..=3 {
        let byte = bytes[most - back];
        let len = match byte {
            // In the middle of a character.
            0x80..=0xBF => continue,
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            _ => 1,
        };
        return if len > back { most - back } else { most };
    }
    most
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::whole_chars;

    #[test]
    fn text_is_cut_between_characters() {
        for text in ["aaaaaaaaaaaa", "ééééééé", "a鼠鼠鼠鼠", "🐀a🐀🐀", "aé鼠🐀é"] {
            for most in 4..=text.len() + 1 {
                let cut = whole_chars(text.as_bytes(), most);
                assert!(text.is_char_boundary(cut), "{text} at {most}: {cut}");
                assert!(cut == text.len() || (cut <= most && most - cut < 4));
            }
        }
    }

    #[test]
    fn what_is_no_text_loses_three_bytes_at_most() {
        for byte in 0..=255 {
            let cut = whole_chars(&[byte; 20], 10);
            assert!((7..=10).contains(&cut), "{byte}: {cut}");
        }
    }
}
