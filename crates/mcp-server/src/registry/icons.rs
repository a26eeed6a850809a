//! Checks of icons.

use mcp_types::Icon;

/// Checks icons by the rules of the specification.
///
/// # Errors
/// The text names the icon and what to change.
pub(crate) fn check<'a>(icons: impl IntoIterator<Item = &'a Icon>) -> Result<(), String> {
    for icon in icons {
        let src: String = icon.src.chars().take(64).collect();
        if !icon.is_safe_src() {
            return Err(format!(
                "icon {src:?}: clients load only https: and data: URIs"
            ));
        }
        let sizes = icon.sizes.iter().flatten();
        if let Some(size) = sizes.into_iter().find(|size| !is_size(size)) {
            return Err(format!(
                "icon {src:?}: size {size:?} is neither \"48x48\" nor \"any\""
            ));
        }
    }
    Ok(())
}

fn is_size(size: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    size == "any"
        || size
            .split_once('x')
            .is_some_and(|(width, height)| number(width) && number(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: SCHEMA-022, ICON-006, M-ICON-001
    #[test]
    fn sizes_are_pixels_or_any_and_places_are_safe() {
        let icon = |src: &str, size: &str| Icon::new(src).with_sizes(vec![size.to_owned()]);
        for size in ["48x48", "16x32", "any"] {
            assert_eq!(check(&[icon("https://x/y.png", size)]), Ok(()));
        }
        for size in ["48", "48X48", "x", "48x", "large", ""] {
            let problem = check(&[icon("data:image/png;base64,AA", size)]).unwrap_err();
            assert!(problem.contains("any"), "{problem}");
        }
        assert!(check(&[icon("http://x/y.png", "any")]).is_err());
    }
}
