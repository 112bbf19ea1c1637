//! Numbers as people read them.

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// 1 rank, 2 ranks.
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Bytes in a unit of which there are a few.
pub fn bytes(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{count} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_bytes_get_a_unit() {
        let check = |number, digits: &str, unit: &str| {
            assert_eq!(grouped(number), digits);
            assert_eq!(bytes(number), unit);
        };
        check(0, "0", "0 B");
        check(999, "999", "999 B");
        check(1_000, "1,000", "1000 B");
        check(28_589, "28,589", "27.9 KiB");
        check(u64::MAX, "18,446,744,073,709,551,615", "16777216.0 TiB");
        assert_eq!([counted(1, "rank"), counted(2_000, "rank")], ["1 rank", "2,000 ranks"]);
    }
}
