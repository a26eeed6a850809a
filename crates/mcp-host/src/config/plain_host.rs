//! Checks hosts of URLs: all persons and all URL parsers must understand a host in the same way.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Returns whether the host of an `http` URL is a name, an address in brackets, or four decimal numbers. Some parsers convert
/// other numbers to addresses, and a person can mistake a host with other characters for a different host.
pub(super) fn has_plain_host(url: &str) -> bool {
    let authority = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some(address) = authority.strip_prefix('[') {
        let address = address.split(']').next().unwrap_or_default();
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let host = authority.split(':').next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let last = host.trim_end_matches('.').rsplit('.').next();
    let is_number = last.is_some_and(|label| label.starts_with(|c: char| c.is_ascii_digit()));
    host.chars().all(is_plain) && (!is_number || host.parse::<Ipv4Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_unusual_numbers_or_characters_are_not_plain() {
        for url in [
            "http://127.0.0.1:80/",
            "https://a_b.c-d.example./x",
            "http://[::1]:9/",
            "http://localhost",
        ] {
            assert!(has_plain_host(url), "{url}");
        }
        for url in [
            "http://2130706433:1/",
            "http://0x7f.1/",
            "http://127.1/",
            "https://0/",
            "https://good.example;.evil.invalid/",
            "https://good.example&x.evil.invalid/",
            "https://good.example'(x).evil/",
            "https://[x]/",
        ] {
            assert!(!has_plain_host(url), "{url}");
        }
    }
}
