//! From wire names to Rust names.

/// `listChanged` or `list_changed` to `list_changed`.
pub(crate) fn snake(wire: &str) -> String {
    let mut name = String::new();
    for (index, letter) in wire.chars().enumerate() {
        match letter {
            'A'..='Z' => {
                if index > 0 && !name.ends_with('_') {
                    name.push('_');
                }
                name.push(letter.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' => name.push(letter),
            _ if name.ends_with('_') || name.is_empty() => {}
            _ => name.push('_'),
        }
    }
    name
}

/// `resource_link`, `date-time` or `endTurn` to `ResourceLink`, `DateTime` and `EndTurn`.
pub(crate) fn pascal(wire: &str) -> String {
    let mut name = String::new();
    let mut upper = true;
    for letter in wire.chars() {
        if !letter.is_ascii_alphanumeric() {
            upper = true;
        } else if upper {
            name.push(letter.to_ascii_uppercase());
            upper = false;
        } else {
            name.push(letter);
        }
    }
    name
}

/// `sampling/createMessage` to `SAMPLING_CREATE_MESSAGE`.
pub(crate) fn constant(method: &str) -> String {
    snake(method).to_ascii_uppercase()
}

/// What serde's `rename_all = "camelCase"` makes of a field name.
pub(crate) fn camel(rust: &str) -> String {
    let name = pascal(rust);
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        format!("{}{}", first.to_ascii_lowercase(), letters.as_str())
    })
}

/// The last part of a tag value, as an arm name: `ref/prompt` to `Prompt`.
pub(crate) fn arm(tag: &str) -> String {
    pascal(tag.rsplit('/').next().unwrap_or(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_names_become_rust_names() {
        assert_eq!(snake("listChanged"), "list_changed");
        assert_eq!(snake("tools/list_changed"), "tools_list_changed");
        assert_eq!(pascal("date-time"), "DateTime");
        assert_eq!(pascal("input_required"), "InputRequired");
        assert_eq!(
            constant("sampling/createMessage"),
            "SAMPLING_CREATE_MESSAGE"
        );
        assert_eq!(
            constant("notifications/tools/list_changed"),
            "NOTIFICATIONS_TOOLS_LIST_CHANGED"
        );
        assert_eq!(camel("website_url"), "websiteUrl");
        assert_eq!(arm("ref/prompt"), "Prompt");
    }
}
