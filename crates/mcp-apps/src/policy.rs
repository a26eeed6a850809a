//! The permissions of a page in the sandbox of a host: its Content Security Policy and its Permissions Policy.

use crate::{Csp, PageUi};

/// Returns the value of `Content-Security-Policy`. The value allows the well-formed origins that the page has declared. It allows
/// IP addresses and origins of this machine only if `allows_local` is set.
pub(crate) fn content_security_policy(ui: &PageUi, allows_local: bool) -> String {
    let none = Csp::default();
    let csp = ui.csp.as_ref().unwrap_or(&none);
    let sources = |domains: &[String]| sources(domains, allows_local);
    let resources = sources(&csp.resource_domains);
    let own = format!("'self'{resources}");
    let inline = format!("'self' 'unsafe-inline'{resources}");
    let or = |domains: &[String], default: &str| match sources(domains) {
        found if found.is_empty() => default.to_owned(),
        found => found.trim_start().to_owned(),
    };
    let directives = [
        ("default-src", "'none'".to_owned()),
        ("script-src", inline.clone()),
        ("style-src", inline),
        ("img-src", format!("'self' data:{resources}")),
        ("font-src", own),
        ("media-src", format!("'self' data:{resources}")),
        ("connect-src", or(&csp.connect_domains, "'none'")),
        ("frame-src", or(&csp.frame_domains, "'none'")),
        ("base-uri", or(&csp.base_uri_domains, "'self'")),
        // `default-src` does not apply to forms. A form could otherwise send the content of the page to any origin.
        ("form-action", "'none'".to_owned()),
        ("object-src", "'none'".to_owned()),
    ];
    let directives = directives.map(|(name, value)| format!("{name} {value}"));
    directives.join("; ")
}

/// Returns the value of the attribute `allow` of a frame.
pub(crate) fn allow(ui: &PageUi) -> String {
    let wanted = ui.permissions.features();
    let wanted = wanted.iter().filter(|(.., wanted)| *wanted);
    wanted
        .map(|(_, name, _)| *name)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Returns the well-formed origins, each with a space before it.
fn sources(domains: &[String], allows_local: bool) -> String {
    let sources = domains
        .iter()
        .filter(|domain| is_origin(domain, allows_local));
    sources.fold(String::new(), |all, domain| all + " " + domain)
}

/// Returns whether a text is an origin; its host may begin with `*.` for all subdomains. Without this check, a server could add
/// directives, or a keyword such as `'unsafe-eval'`. An origin without TLS is accepted only if it is on this machine.
fn is_origin(text: &str, allows_local: bool) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = rest.split_once(':').unwrap_or((rest, "1"));
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let name = host.strip_prefix("*.").unwrap_or(host);
    let is_host = name.split('.').all(is_label);
    let is_wide = host != name && !name.contains('.');
    let is_safe = match scheme {
        "https" | "wss" => true,
        "http" | "ws" => matches!(host, "localhost" | "127.0.0.1"),
        _ => false,
    };
    let is_allowed = allows_local || !is_local_or_address(name);
    is_safe && is_host && !is_wide && is_allowed && port.parse::<u16>().is_ok()
}

/// Returns whether the host of a URL names this machine or is an IP address. As in browsers, the host is an address if its last
/// label is a number, such as `127.1` or `0x7f000001`.
fn is_local_or_address(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").or(last.strip_prefix("0X"));
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || hex.is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_number || last.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Permissions;

    #[test]
    fn a_page_without_metadata_can_use_no_origin() {
        assert_eq!(
            content_security_policy(&PageUi::default(), false),
            "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' \
             data:; font-src 'self'; media-src 'self' data:; connect-src 'none'; frame-src 'none'; base-uri 'self'; \
             form-action 'none'; object-src 'none'"
        );
        assert_eq!(allow(&PageUi::default()), "");
    }

    #[test]
    fn declared_origins_and_features_are_allowed() {
        let ui = PageUi {
            csp: Some(
                Csp::new()
                    .with_connect_domain("wss://live.example.com:8443")
                    .with_resource_domain("https://*.example.com")
                    .with_resource_domain("https://cdn.example.org/")
                    .with_frame_domain("https://video.example.com")
                    .with_base_uri_domain("https://base.example.com"),
            ),
            permissions: Permissions::new().with_microphone().with_clipboard_write(),
            ..PageUi::default()
        };
        let policy = content_security_policy(&ui, false);
        for part in [
            "script-src 'self' 'unsafe-inline' https://*.example.com https://cdn.example.org/; ",
            "img-src 'self' data: https://*.example.com https://cdn.example.org/; ",
            "connect-src wss://live.example.com:8443; ",
            "frame-src https://video.example.com; ",
            "base-uri https://base.example.com; ",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert_eq!(allow(&ui), "microphone; clipboard-write");
    }

    #[test]
    fn metadata_cannot_add_directives_to_the_policy() {
        let default = content_security_policy(&PageUi::default(), false);
        for evil in [
            "*",
            "https:",
            "https://*",
            "https://*.com",
            "'unsafe-eval'",
            "data:",
            "https://a.example; script-src *",
            "https://a.example, script-src *",
            "https://a.example *",
            "https://a.example\r\nX: y",
            "https://a.example/path",
            "https://a.example:*",
            "https://a.example:99999",
            "https://user@a.example",
            "https://",
            "https://é.example",
            "http://a.example",
            "javascript://a.example",
            "http://localhost:8080",
            "ws://127.0.0.1:9222",
            "https://localhost",
            "https://api.localhost",
            "https://10.0.0.1",
            "https://192.168.0.1:8443",
            "https://127.1",
            "https://2130706433",
            "https://0x7f000001",
            "https://a.0x7f",
            "https://a.example.",
            "",
        ] {
            let csp = Csp::new()
                .with_connect_domain(evil)
                .with_resource_domain(evil)
                .with_frame_domain(evil)
                .with_base_uri_domain(evil);
            let ui = PageUi {
                csp: Some(csp),
                ..PageUi::default()
            };
            assert_eq!(content_security_policy(&ui, false), default, "{evil}");
        }
    }

    #[test]
    fn a_page_reaches_this_machine_only_if_the_host_allows_it() {
        let csp = Csp::new()
            .with_connect_domain("http://localhost:8080")
            .with_connect_domain("https://192.168.0.1");
        let ui = PageUi {
            csp: Some(csp),
            ..PageUi::default()
        };
        let connects = "connect-src http://localhost:8080 https://192.168.0.1; ";
        assert!(content_security_policy(&ui, true).contains(connects));
        assert!(content_security_policy(&ui, false).contains("connect-src 'none'; "));
    }
}
