//! What a page may do in the sandbox of a host: its Content Security Policy and its Permissions Policy.

use crate::{Csp, PageUi};

/// Returns the value of `Content-Security-Policy`. Only origins that the page declared and that are well-formed are allowed.
pub(crate) fn content_security_policy(ui: &PageUi) -> String {
    let none = Csp::default();
    let csp = ui.csp.as_ref().unwrap_or(&none);
    let resources = sources("", &csp.resource_domains);
    let own = format!("'self'{resources}");
    let inline = format!("'self' 'unsafe-inline'{resources}");
    let or = |domains: &[String], default: &str| match sources("", domains) {
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
fn sources(start: &str, domains: &[String]) -> String {
    let sources = domains.iter().filter(|domain| is_origin(domain));
    sources.fold(start.to_owned(), |all, domain| all + " " + domain)
}

/// Returns whether a text is an origin, perhaps for all subdomains. A server could otherwise add directives, or a keyword
/// such as `'unsafe-eval'`. Origins without TLS are only those of this machine.
fn is_origin(text: &str) -> bool {
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
    is_safe && is_host && !is_wide && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Permissions;

    #[test]
    fn without_metadata_a_page_reaches_nothing() {
        assert_eq!(
            content_security_policy(&PageUi::default()),
            "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' \
             data:; font-src 'self'; media-src 'self' data:; connect-src 'none'; frame-src 'none'; base-uri 'self'; \
             object-src 'none'"
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
        let policy = content_security_policy(&ui);
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
    fn metadata_cannot_widen_the_policy() {
        let default = content_security_policy(&PageUi::default());
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
            assert_eq!(content_security_policy(&ui), default, "{evil}");
        }
    }
}
