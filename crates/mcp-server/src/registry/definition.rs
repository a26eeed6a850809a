//! Setters and checks that tools, prompts and resources share.

use std::sync::Arc;

use mcp_jsonrpc::quote;
use mcp_protocol::Session;
use mcp_types::Icon;

use crate::{Handler, Kind, Spec};

/// A rule that decides in which sessions an item is visible.
pub(crate) type Visible = Arc<dyn Fn(&Session) -> bool + Send + Sync>;

/// Defines the setters that tools, prompts and resources share.
macro_rules! shared_setters {
    () => {
        /// Sets the description for the model.
        #[must_use]
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.definition.description = Some(description.into());
            self
        }

        /// Sets the display name.
        #[must_use]
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.definition.title = Some(title.into());
            self
        }

        /// Adds an icon. Its URI must be `https:` or `data:`.
        #[must_use]
        pub fn icon(mut self, icon: mcp_types::Icon) -> Self {
            self.definition.icons.get_or_insert_default().push(icon);
            self
        }

        /// Sets the `_meta` of the definition.
        #[must_use]
        pub fn meta(mut self, meta: mcp_types::Meta) -> Self {
            self.definition.meta = Some(meta);
            self
        }

        /// Adds middleware around the handler, inside the middleware of the server. The middleware receives a request with the
        /// name or URI and the arguments of the call, and the messages that the handler sends. The first middleware added is the
        /// outermost.
        #[must_use]
        pub fn layer(mut self, middleware: impl mcp_protocol::middleware::Middleware) -> Self {
            let middleware = mcp_protocol::middleware::SharedMiddleware::new(middleware);
            self.layers.push(middleware);
            self
        }

        /// Makes the item visible only in sessions for which `visible` returns `true`. For other sessions, the item does not
        /// exist: it is not listed and cannot be used. If several rules are set, all of them must return `true`. Call
        /// [`Server::visibility_changed`](crate::Server::visibility_changed) when the result of a rule changes.
        #[must_use]
        pub fn visible_if(
            mut self,
            visible: impl Fn(&mcp_protocol::Session) -> bool + Send + Sync + 'static,
        ) -> Self {
            let earlier = self.visible.take();
            self.visible = Some(std::sync::Arc::new(move |session| {
                earlier.as_ref().is_none_or(|earlier| earlier(session)) && visible(session)
            }));
            self
        }
    };
}
pub(crate) use shared_setters;

/// Defines the setters for completion of arguments and variables.
macro_rules! completion_setters {
    () => {
        /// Sets the completer of the argument or variable `name`. A completer is a function, sync
        /// or async, that returns a `Vec<String>` or [`Completions`](crate::Completions), best
        /// match first. Its parameters are extractors, usually a
        /// [`CompletionRequest`](crate::CompletionRequest) and the [`State`](crate::State).
        #[must_use]
        pub fn complete<M>(
            mut self,
            name: impl Into<String>,
            complete: impl Handler<crate::ForCompletion, S, M>,
        ) -> Self {
            self.completers.add(name.into(), complete);
            self
        }

        /// Completes the argument or variable `name` from a fixed list. Matches ignore case; values
        /// that start with the typed text come before values that only contain it.
        #[must_use]
        pub fn complete_from<T: Into<String>>(
            mut self,
            name: impl Into<String>,
            values: impl IntoIterator<Item = T>,
        ) -> Self {
            self.completers.add_list(name.into(), values);
            self
        }
    };
}
pub(crate) use completion_setters;

/// Adds to `spec` the parts of the definition that follow from the types of the handler. The compiler infers `H` and `M` from the
/// first argument.
pub(crate) fn describe<K: Kind, S, M, H: Handler<K, S, M>>(_: &H, spec: &mut Spec) {
    H::describe(spec);
}

/// Checks icons by the rules of the specification.
///
/// # Errors
/// An icon violates a rule. The text names the icon and what to change.
pub(crate) fn check_icons<'a>(icons: impl IntoIterator<Item = &'a Icon>) -> Result<(), String> {
    for icon in icons {
        let src = quote(&icon.src, 64);
        if !icon.is_safe_src() {
            return Err(format!(
                "icon {src}: clients load only https: and data: URIs"
            ));
        }
        let sizes = icon.sizes.iter().flatten();
        if let Some(size) = sizes.into_iter().find(|size| !is_size(size)) {
            return Err(format!(
                "icon {src}: size {size:?} is neither \"48x48\" nor \"any\""
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
    fn icons_have_valid_sizes_and_safe_uris() {
        let icon = |src: &str, size: &str| Icon::new(src).with_sizes(vec![size.to_owned()]);
        for size in ["48x48", "16x32", "any"] {
            assert_eq!(check_icons(&[icon("https://x/y.png", size)]), Ok(()));
        }
        for size in ["48", "48X48", "x", "48x", "large", ""] {
            let problem = check_icons(&[icon("data:image/png;base64,AA", size)]).unwrap_err();
            assert!(problem.contains("any"), "{problem}");
        }
        assert!(check_icons(&[icon("http://x/y.png", "any")]).is_err());
    }
}
