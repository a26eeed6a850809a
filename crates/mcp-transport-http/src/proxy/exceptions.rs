//! Hosts without a proxy, in the format of the environment variable `NO_PROXY`.

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::proxy::matcher::Matcher;

/// Returns whether a list contains the host of a URL.
///
/// hyper-util compares names, addresses and blocks of addresses. This function also supports ports, `*.` before a name, lists that
/// are separated by spaces, and names with a dot at the end.
pub(super) fn contain(list: &str, url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_end_matches('.');
    let default = match url.scheme() == Some(&Scheme::HTTPS) {
        true => 443,
        false => 80,
    };
    let port = url.port_u16().unwrap_or(default);
    let entries = list.split(|char: char| char == ',' || char.is_ascii_whitespace());
    let entries = entries.filter_map(|entry| {
        let (name, entry_port) = split(entry);
        let subdomains = name.strip_prefix('*').filter(|rest| rest.starts_with('.'));
        let name = subdomains.unwrap_or(name).trim_end_matches('.');
        entry_port.is_none_or(|other| other == port).then_some(name)
    });
    let hosts = entries.collect::<Vec<_>>().join(",");
    let Ok(target) = format!("http://{host}/").parse::<Uri>() else {
        return false;
    };
    let matcher = Matcher::builder().all("http://proxy").no(hosts).build();
    matcher.intercept(&target).is_none()
}

/// Splits an entry into its host and its port. An IPv6 address with a port is in brackets.
fn split(entry: &str) -> (&str, Option<u16>) {
    if let Some((address, rest)) = entry
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        return (
            address,
            rest.strip_prefix(':').and_then(|port| port.parse().ok()),
        );
    }
    match entry.split_once(':') {
        Some((host, port)) if !port.contains(':') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_match_names_addresses_networks_and_ports() {
        for (list, url, expected) in [
            ("example.com", "https://example.com/", true),
            ("example.com", "https://A.Example.COM/", true),
            ("example.com", "https://a.example.com./", true),
            (".example.com", "https://example.com/", true),
            ("*.example.com", "https://a.example.com/", true),
            ("example.com.", "https://example.com/", true),
            ("example.com", "https://notexample.com/", false),
            ("example.com", "https://example.com.evil/", false),
            ("example.com:443", "https://example.com/", true),
            ("example.com:443", "https://example.com:444/", false),
            ("example.com:80", "http://example.com/", true),
            ("example.com:https", "https://example.com/", false),
            ("a, b  c,,example.com", "https://example.com/", true),
            ("10.0.0.0/8", "http://10.1.2.3:9/", true),
            ("10.0.0.0/8", "http://11.1.2.3/", false),
            ("10.1.2.3:9", "http://10.1.2.3:9/", true),
            ("2001:db8::/32", "http://[2001:db8::5]/", true),
            ("[2001:db8::5]:81", "http://[2001:db8::5]:81/", true),
            ("[2001:db8::5]:81", "http://[2001:db8::5]/", false),
            ("*", "https://example.com/", true),
            ("*:443", "https://example.com/", true),
            ("*:443", "https://example.com:1/", false),
            ("", "https://example.com/", false),
            (",", "https://example.com/", false),
            (":443", "https://example.com/", false),
            (".", "https://example.com/", false),
            ("*.", "https://example.com/", false),
        ] {
            let url: Uri = url.parse().unwrap();
            assert_eq!(contain(list, &url), expected, "{list:?} {url}");
        }
    }
}
