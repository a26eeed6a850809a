//! The root folder of the workspace, and the flags of commands.

use std::path::Path;

/// The root folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Returns which of the known flags are in `args`; rejects other arguments.
pub(crate) fn flags<const N: usize>(
    command: &str,
    known: [&str; N],
    args: &[String],
) -> Result<[bool; N], String> {
    if let Some(unknown) = args.iter().find(|arg| !known.contains(&arg.as_str())) {
        let list = known.join(", ");
        return Err(format!(
            "unknown argument {unknown}; {command} accepts [{list}]"
        ));
    }
    Ok(known.map(|flag| args.iter().any(|arg| arg == flag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_flags_are_found_and_others_rejected() {
        let args = ["--b".to_owned()];
        assert_eq!(flags("x", ["--a", "--b"], &args), Ok([false, true]));
        let error = flags("x", ["--a"], &args).unwrap_err();
        assert!(error.contains("--b"), "{error}");
    }
}
