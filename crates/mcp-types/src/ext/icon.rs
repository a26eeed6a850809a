//! Icons.

use crate::Icon;

impl Icon {
    /// Whether `src` is an `https:` or `data:` URI; a host drops every other icon without fetching it.
    pub fn is_safe_src(&self) -> bool {
        let scheme = self.src.split_once(':').map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| {
            ["https", "data"]
                .iter()
                .any(|safe| scheme.eq_ignore_ascii_case(safe))
        })
    }
}
