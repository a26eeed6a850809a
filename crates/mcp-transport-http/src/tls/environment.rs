//! Trusted certificates from the environment variables `SSL_CERT_FILE` and `SSL_CERT_DIR`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls_native_certs::{CertificateResult, load_certs_from_paths};

const FILE: &str = "SSL_CERT_FILE";
const FOLDERS: &str = "SSL_CERT_DIR";

/// Possible files with the certificates of the system, on Unix. Only the first existing file is read.
#[cfg(all(unix, not(target_vendor = "apple"), not(target_os = "android")))]
const SYSTEM_CERTIFICATE_FILES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
    "/etc/openssl/certs/ca-certificates.crt",
];

/// Returns the certificates of the files that the variables name. Files that cannot be read are logged. Invalid certificates are
/// left out.
///
/// On Unix, the verifier reads *only* these files if a variable is set, so this function also returns the certificates of the
/// system.
pub(super) fn roots() -> Vec<CertificateDer<'static>> {
    roots_of(|name| std::env::var_os(name))
}

fn roots_of(variable: impl Fn(&str) -> Option<OsString>) -> Vec<CertificateDer<'static>> {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    let file = value(FILE).map(PathBuf::from);
    let folders = value(FOLDERS);
    let folders = folders.iter().flat_map(std::env::split_paths);
    let mut certificates = Vec::new();
    if let Some(file) = &file {
        certificates.extend(usable(FILE, load_certs_from_paths(Some(file), None)));
    }
    for folder in folders {
        certificates.extend(usable(FOLDERS, load_certs_from_paths(None, Some(&folder))));
    }
    #[cfg(all(unix, not(target_vendor = "apple"), not(target_os = "android")))]
    if variable(FILE).is_some() || variable(FOLDERS).is_some() {
        let system = SYSTEM_CERTIFICATE_FILES
            .iter()
            .map(Path::new)
            .find(|path| path.exists());
        let system = system.map(|path| load_certs_from_paths(Some(path), None));
        certificates.extend(
            system
                .into_iter()
                .flat_map(|found| found.certs)
                .filter(is_usable),
        );
    }
    certificates
}

fn usable(variable: &str, found: CertificateResult) -> Vec<CertificateDer<'static>> {
    for error in found.errors {
        tracing::warn!(%error, "certificates of {variable} cannot be used");
    }
    found.certs.into_iter().filter(is_usable).collect()
}

fn is_usable(certificate: &CertificateDer<'static>) -> bool {
    RootCertStore::empty().add(certificate.clone()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_add_certificates_to_those_of_the_system() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates");
        let ca = folder.join("ca.pem");
        let with = |name: &'static str, value: OsString| {
            roots_of(move |other| (other == name).then(|| value.clone()))
        };
        assert!(roots_of(|_| None).is_empty());
        let own = load_certs_from_paths(Some(&ca), None).certs;
        let found = with(FILE, ca.clone().into());
        assert!(found.contains(&own[0]));
        #[cfg(target_os = "linux")]
        if SYSTEM_CERTIFICATE_FILES
            .iter()
            .any(|path| Path::new(path).exists())
        {
            assert!(found.len() > 1);
            // If the file does not exist, the certificates of the system remain.
            assert!(with(FILE, "/no.pem".into()).len() >= found.len() - 1);
        }
        // `openssl rehash` creates links with such names.
        let hashed = std::env::temp_dir().join(format!("mcp-certificates-{}", std::process::id()));
        std::fs::create_dir_all(&hashed).unwrap();
        std::fs::copy(&ca, hashed.join("0a0b0c0d.0")).unwrap();
        let folders = std::env::join_paths([Path::new("/no"), &hashed]).unwrap();
        assert!(with(FOLDERS, folders).contains(&own[0]));
        std::fs::remove_dir_all(&hashed).unwrap();
    }
}
