//! Traits for values that can be registered: a single item or several items.

use crate::{Prompt, Resource, Tool};

macro_rules! into_items {
    ($trait:ident, $method:ident, $item:ident, $what:literal, $message:literal, $($note:literal),*) => {
        #[doc = concat!("One ", $what, ", or any collection of them.")]
        #[diagnostic::on_unimplemented(message = $message, $(note = $note),*)]
        pub trait $trait<S> {
            #[doc = concat!("Returns the ", $what, "s.")]
            fn $method(self) -> Vec<$item<S>>;
        }

        #[diagnostic::do_not_recommend]
        impl<S, I: IntoIterator<Item = $item<S>>> $trait<S> for I {
            fn $method(self) -> Vec<$item<S>> {
                self.into_iter().collect()
            }
        }
    };
}

into_items!(
    IntoTools,
    into_tools,
    Tool,
    "tool",
    "`{Self}` is not a tool of a server with state `{S}`",
    "to add a function with `#[tool]`, write `.tool(name::tool())`",
    "to add another function, write `.tool(Tool::new(\"name\", function))`",
    "if the tool takes `State<T>`, call `.state(value)` first; if it takes no state, pass `item.with_state(())`"
);

into_items!(
    IntoPrompts,
    into_prompts,
    Prompt,
    "prompt",
    "`{Self}` is not a prompt of a server with state `{S}`",
    "to add a function with `#[prompt]`, write `.prompt(name::prompt())`",
    "to add another function, write `.prompt(Prompt::new(\"name\", function))`",
    "if the prompt takes `State<T>`, call `.state(value)` first; if it takes no state, pass `item.with_state(())`"
);

into_items!(
    IntoResources,
    into_resources,
    Resource,
    "resource",
    "`{Self}` is not a resource of a server with state `{S}`",
    "to add a function with `#[resource]`, write `.resource(name::resource())`",
    "if the resource takes `State<T>`, call `.state(value)` first; if it takes no state, pass `item.with_state(())`"
);

impl<S> IntoTools<S> for Tool<S> {
    fn into_tools(self) -> Vec<Self> {
        vec![self]
    }
}

impl<S> IntoPrompts<S> for Prompt<S> {
    fn into_prompts(self) -> Vec<Self> {
        vec![self]
    }
}

impl<S> IntoResources<S> for Resource<S> {
    fn into_resources(self) -> Vec<Self> {
        vec![self]
    }
}
