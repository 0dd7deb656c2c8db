//! MD5, for telling the dev half of a set from the test half. Not for anything secret.

/// Whether the digest of `text`, read as one number, is even.
pub(super) fn is_even(text: &str) -> bool {
    digest(text.as_bytes())[15].is_multiple_of(2)
}

const SHIFTS: [u32; 16] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];

fn digest(bytes: &[u8]) -> [u8; 16] {
    let mut message = bytes.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend_from_slice(&(bytes.len() as u64 * 8).to_le_bytes());
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in message.chunks_exact(64) {
        let words: Vec<u32> = block
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64_u32 {
            let (mix, word) = match step / 16 {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
                2 => (b ^ c ^ d, (3 * step + 5) % 16),
                _ => (c ^ (b | !d), (7 * step) % 16),
            };
            let shift = SHIFTS[(step / 16 * 4 + step % 4) as usize];
            let sum = a
                .wrapping_add(mix)
                .wrapping_add(constant(step))
                .wrapping_add(words[word as usize]);
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(shift));
        }
        for (kept, new) in state.iter_mut().zip([a, b, c, d]) {
            *kept = kept.wrapping_add(new);
        }
    }
    let mut out = [0; 16];
    for (chunk, word) in out.chunks_exact_mut(4).zip(state) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    out
}

/// The leading 32 bits of |sin(step + 1)|.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the product is between 0 and 2^32"
)]
fn constant(step: u32) -> u32 {
    (f64::from(step + 1).sin().abs() * 4_294_967_296.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[test]
    fn digests_are_those_of_rfc_1321() {
        for (text, expect) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ] {
            let mut hex = String::new();
            for byte in digest(text.as_bytes()) {
                let _ = write!(hex, "{byte:02x}");
            }
            assert_eq!(hex, expect);
        }
    }
}
