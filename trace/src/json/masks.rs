//! The first look at JSON text: where its tokens begin and end, 64 bytes at a time and without a branch for each byte.
//!
//! Of each block come bit masks of quotes, backslashes and punctuation; a prefix XOR over the unescaped quotes tells what lies in
//! strings. Method: Langdale, Lemire, "Parsing Gigabytes of JSON per Second", VLDB Journal 28, 2019. On processors with AVX2 the
//! classes of 32 bytes are found at once; the same code works byte by byte elsewhere.
#![allow(unsafe_code, reason = "one call of a function for processors that have been asked")]

/// Bytes in a block.
pub(crate) const BLOCK: usize = 64;

/// Where the tokens of a window are. Positions count from the window's first byte.
#[derive(Default, Debug)]
pub(crate) struct Index {
    /// In order: both quotes of each string, punctuation outside strings, and the first byte of every other token.
    tokens: Vec<u32>,
    count: usize,
    /// In order: bytes in strings that need a look (backslashes, control characters, bytes beyond ASCII).
    pub(crate) odd: Vec<u32>,
}

impl Index {
    /// The tokens.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens[..self.count]
    }

    /// Indexes `text`, whose length is a multiple of [`BLOCK`] and which begins outside strings.
    pub(crate) fn fill(&mut self, text: &[u8]) {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("bmi1")
            && std::is_x86_feature_detected!("popcnt")
        {
            // SAFETY: the processor has just said that it has the three features which the function is compiled for.
            return unsafe { self.fill_wide(text) };
        }
        self.fill_by(text, Masks::plain);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn fill_wide(&mut self, text: &[u8]) {
        self.fill_by(text, |block| Masks::wide(block));
    }

    #[inline(always)]
    fn fill_by(&mut self, text: &[u8], masks_of: impl Fn(&[u8; BLOCK]) -> Masks) {
        self.tokens.resize(self.tokens.len().max(text.len() + BLOCK), 0);
        self.odd.clear();
        let (mut is_escaped, mut in_string, mut in_scalar) = (0_u64, 0_u64, 0_u64);
        let mut count = 0;
        let (blocks, _) = text.as_chunks::<BLOCK>();
        for (number, block) in blocks.iter().enumerate() {
            let base = (number * BLOCK) as u32;
            let masks = masks_of(block);
            let escaped = if masks.backslash | is_escaped == 0 { 0 } else { escaped(masks.backslash, &mut is_escaped) };
            let quotes = masks.quote & !escaped;
            // On from each opening quote to before the closing one.
            let inside = prefix_xor(quotes) ^ in_string;
            in_string = ((inside as i64) >> 63) as u64;
            let outside = !(inside | quotes);
            let scalars = outside & !(masks.punctuation | masks.blank);
            let starts = scalars & !(scalars << 1 | in_scalar);
            in_scalar = scalars >> 63;
            let tokens = quotes | (masks.punctuation & outside) | starts;
            count += positions(tokens, base, &mut self.tokens[count..]);
            let mut odd = masks.odd & inside & !quotes;
            while odd != 0 {
                self.odd.push(base + odd.trailing_zeros());
                odd &= odd - 1;
            }
        }
        self.count = count;
    }
}

/// Writes where bits are set; how many.
#[inline(always)]
fn positions(mut bits: u64, base: u32, out: &mut [u32]) -> usize {
    let count = bits.count_ones() as usize;
    let Some(out) = out.first_chunk_mut::<BLOCK>() else { return 0 };
    // Eight at a time whatever the count: the branch is then easy to foretell.
    let mut at = 0;
    while at < count {
        for slot in 0..8 {
            out[(at + slot) & (BLOCK - 1)] = base.wrapping_add(bits.trailing_zeros());
            bits &= bits.wrapping_sub(1);
        }
        at += 8;
    }
    count
}

/// Which bytes a backslash before them escapes. `carry` is 1 when the last block ended in an unescaped backslash.
fn escaped(backslash: u64, carry: &mut u64) -> u64 {
    let mut escaped = *carry;
    let mut rest = backslash & !*carry;
    *carry = 0;
    while rest != 0 {
        let at = rest.trailing_zeros();
        rest &= rest - 1;
        if at == 63 {
            *carry = 1;
        } else {
            escaped |= 2 << at;
            rest &= !(2 << at);
        }
    }
    escaped
}

#[inline(always)]
fn prefix_xor(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^ bits << 32
}

/// A block's bytes by class, bit `n` for byte `n`.
struct Masks {
    quote: u64,
    backslash: u64,
    /// `{}[]:,`, and two control characters that no grammar takes.
    punctuation: u64,
    blank: u64,
    /// Bytes that a string must not hold as they are, or that take more than one byte: all but 0x20 to 0x7f, and backslashes.
    odd: u64,
}

impl Masks {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    fn wide(block: &[u8; BLOCK]) -> Masks {
        use std::arch::x86_64::{
            __m256i, _mm_set_epi64x, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8,
            _mm256_movemask_epi8, _mm256_or_si256, _mm256_set_epi64x, _mm256_set1_epi8, _mm256_shuffle_epi8,
        };
        // By the low half of a byte: the only blank, and the only brace, colon or comma, that ends so. (Compares that are joined by OR
        // would do, but the compiler takes them apart again.)
        const BLANKS: [u8; 16] = [b' ', 100, 100, 100, 17, 100, 100, 100, 100, b'\t', b'\n', 112, 100, b'\r', 100, 100];
        const MARKS: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b':', b'{', b',', b'}', 0, 0];
        let table = |table: [u8; 16]| {
            let wide = u128::from_le_bytes(table);
            _mm256_broadcastsi128_si256(_mm_set_epi64x((wide >> 64) as i64, wide as i64))
        };
        let (blanks, marks) = (table(BLANKS), table(MARKS));
        let mut masks = Masks { quote: 0, backslash: 0, punctuation: 0, blank: 0, odd: 0 };
        let (parts, _) = block.as_chunks::<32>();
        for (place, part) in parts.iter().enumerate() {
            let (words, _) = part.as_chunks::<8>();
            let [a, b, c, d] = [0, 1, 2, 3].map(|word| i64::from_le_bytes(words[word]));
            let bytes = _mm256_set_epi64x(d, c, b, a);
            let is = |other: __m256i, bytes: __m256i| _mm256_cmpeq_epi8(bytes, other);
            let bits = |vector: __m256i| u64::from(_mm256_movemask_epi8(vector) as u32) << (32 * place);
            masks.quote |= bits(is(_mm256_set1_epi8(b'"' as i8), bytes));
            masks.backslash |= bits(is(_mm256_set1_epi8(b'\\' as i8), bytes));
            // This bit folds brackets onto braces.
            let folded = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
            masks.punctuation |= bits(is(_mm256_shuffle_epi8(marks, bytes), folded));
            masks.blank |= bits(is(_mm256_shuffle_epi8(blanks, bytes), bytes));
            // Signed, so that bytes beyond ASCII are small too.
            masks.odd |= bits(_mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), bytes));
        }
        masks.odd |= masks.backslash;
        masks
    }

    fn plain(block: &[u8; BLOCK]) -> Masks {
        let mut masks = Masks { quote: 0, backslash: 0, punctuation: 0, blank: 0, odd: 0 };
        for (place, &byte) in block.iter().enumerate() {
            let bit = |is: bool| u64::from(is) << place;
            masks.quote |= bit(byte == b'"');
            masks.backslash |= bit(byte == b'\\');
            masks.punctuation |= bit(matches!(byte | 0x20, b'{' | b'}' | b':' | b','));
            masks.blank |= bit(matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
            masks.odd |= bit((byte as i8) < 0x20 || byte == b'\\');
        }
        masks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte by byte, for a text that begins outside strings.
    fn plainly(text: &[u8]) -> (Vec<u32>, Vec<u32>) {
        let (mut tokens, mut odd) = (Vec::new(), Vec::new());
        let (mut in_string, mut is_escaped, mut in_scalar) = (false, false, false);
        for (at, &byte) in text.iter().enumerate() {
            let escapes = byte == b'\\' && !is_escaped;
            if byte == b'"' && !is_escaped {
                tokens.push(at as u32);
                in_string = !in_string;
                in_scalar = false;
            } else if in_string {
                if !(0x20..0x80).contains(&byte) || byte == b'\\' {
                    odd.push(at as u32);
                }
            } else if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                in_scalar = false;
            } else if matches!(byte | 0x20, b'{' | b'}' | b':' | b',') {
                tokens.push(at as u32);
                in_scalar = false;
            } else {
                if !in_scalar {
                    tokens.push(at as u32);
                }
                in_scalar = true;
            }
            is_escaped = escapes;
        }
        (tokens, odd)
    }

    proptest::proptest! {
        #[test]
        fn blocks_agree_with_looking_at_every_byte(
            picks in proptest::collection::vec(0_usize..16, 0..400),
            other in proptest::collection::vec(proptest::num::u8::ANY, 4),
        ) {
            let alphabet = [&br#""\{}[]:, 1a"#[..], b"\n", &other[..]].concat();
            let mut text: Vec<u8> = picks.iter().map(|&pick| alphabet[pick % alphabet.len()]).collect();
            text.resize(text.len().next_multiple_of(BLOCK), b' ');
            let (tokens, odd) = plainly(&text);
            for fill in [Index::fill, |index: &mut Index, text: &[u8]| index.fill_by(text, Masks::plain)] {
                let mut index = Index::default();
                fill(&mut index, &text);
                proptest::prop_assert_eq!(index.tokens(), &tokens[..]);
                proptest::prop_assert_eq!(&index.odd, &odd);
            }
        }
    }
}
