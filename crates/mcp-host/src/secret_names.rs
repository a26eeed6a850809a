//! Names of variables, headers, options and URL parameters whose values are secret.

/// Texts in upper case that mark a name as secret if it contains one of them.
const SECRET_TEXTS: [&str; 9] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTHORIZATION",
    "COOKIE",
];
/// Words in upper case that mark a name as secret if it contains one of them as a whole word. For example, `PAT` must be a whole
/// word, because `PATH` is not secret.
const SECRET_WORDS: [&str; 2] = ["PASS", "PAT"];

/// Returns whether the name of a variable, header, option or URL parameter says that its value is secret. Case is ignored.
pub fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let mut words = upper.split(|c: char| !c.is_ascii_alphanumeric());
    SECRET_TEXTS.iter().any(|text| upper.contains(text))
        || words.any(|word| SECRET_WORDS.contains(&word))
}
