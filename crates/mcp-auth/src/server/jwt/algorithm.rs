//! Signature algorithms of tokens.

use std::fmt;

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, VerificationAlgorithm,
};

/// A signature algorithm. All algorithms are asymmetric. A server that can verify a token therefore cannot create a token, and a
/// public key cannot be mistaken for a shared secret.
///
/// Specification: [RFC 7518, section 3.1](https://www.rfc-editor.org/rfc/rfc7518#section-3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    ES256,
    /// ECDSA on P-384 with SHA-384.
    ES384,
    /// Ed25519.
    EdDSA,
    /// RSA with SHA-256 and PKCS #1 v1.5 padding.
    RS256,
    /// RSA with SHA-384 and PKCS #1 v1.5 padding.
    RS384,
    /// RSA with SHA-512 and PKCS #1 v1.5 padding.
    RS512,
    /// RSA with SHA-256 and PSS padding.
    PS256,
    /// RSA with SHA-384 and PSS padding.
    PS384,
    /// RSA with SHA-512 and PSS padding.
    PS512,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 9] = [
        Self::ES256,
        Self::ES384,
        Self::EdDSA,
        Self::RS256,
        Self::RS384,
        Self::RS512,
        Self::PS256,
        Self::PS384,
        Self::PS512,
    ];

    /// Returns the name of the algorithm in tokens and keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ES256 => "ES256",
            Self::ES384 => "ES384",
            Self::EdDSA => "EdDSA",
            Self::RS256 => "RS256",
            Self::RS384 => "RS384",
            Self::RS512 => "RS512",
            Self::PS256 => "PS256",
            Self::PS384 => "PS384",
            Self::PS512 => "PS512",
        }
    }

    /// Returns the algorithm with this name, compared byte for byte.
    pub(crate) fn named(name: &str) -> Option<Self> {
        // RFC 9864 names the only curve of EdDSA that is in use.
        let name = if name == "Ed25519" { "EdDSA" } else { name };
        Self::ALL.into_iter().find(|i| i.as_str() == name)
    }

    pub(crate) const fn family(self) -> Family {
        match self {
            Self::ES256 => Family::P256,
            Self::ES384 => Family::P384,
            Self::EdDSA => Family::Ed25519,
            _ => Family::Rsa,
        }
    }

    /// Returns the implementation. RSA keys have 2,048 to 8,192 bits.
    pub(crate) fn verification(self) -> Verification {
        use Verification::{Point, Rsa};
        match self {
            Self::ES256 => Point(&ECDSA_P256_SHA256_FIXED),
            Self::ES384 => Point(&ECDSA_P384_SHA384_FIXED),
            Self::EdDSA => Point(&ED25519),
            Self::RS256 => Rsa(&RSA_PKCS1_2048_8192_SHA256),
            Self::RS384 => Rsa(&RSA_PKCS1_2048_8192_SHA384),
            Self::RS512 => Rsa(&RSA_PKCS1_2048_8192_SHA512),
            Self::PS256 => Rsa(&RSA_PSS_2048_8192_SHA256),
            Self::PS384 => Rsa(&RSA_PSS_2048_8192_SHA384),
            Self::PS512 => Rsa(&RSA_PSS_2048_8192_SHA512),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    P256,
    P384,
    Ed25519,
    Rsa,
}

/// The way in which signatures are verified: with the point of a curve, or with RSA components.
pub(crate) enum Verification {
    Point(&'static dyn VerificationAlgorithm),
    Rsa(&'static RsaParameters),
}
