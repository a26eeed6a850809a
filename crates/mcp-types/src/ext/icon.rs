//! Icons.

use crate::Icon;

impl Icon {
    /// The icons that a host may fetch; icons with other sources are left out.
    pub fn safe(icons: &[Self]) -> impl Iterator<Item = &Self> {
        icons.iter().filter(|icon| icon.is_safe_src())
    }

    /// Whether `src` is an `https:` or `data:` URI; a host ignores other icons without fetching them.
    pub fn is_safe_src(&self) -> bool {
        let scheme = self.src.split_once(':').map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| {
            ["https", "data"]
                .iter()
                .any(|safe| scheme.eq_ignore_ascii_case(safe))
        })
    }
}
