//! Lists of functions that carry an attribute.

/// A list of tools from functions with `#[tool]`, for [`Server::tools`](crate::Server::tools).
#[macro_export]
macro_rules! tools {
    ($($tool:ty),* $(,)?) => { ::std::vec![$(<$tool>::tool()),*] };
}

/// A list of prompts from functions with `#[prompt]`, for
/// [`Server::prompts`](crate::Server::prompts).
#[macro_export]
macro_rules! prompts {
    ($($prompt:ty),* $(,)?) => { ::std::vec![$(<$prompt>::prompt()),*] };
}

/// A list of resources from functions with `#[resource]`, for
/// [`Server::resources`](crate::Server::resources).
#[macro_export]
macro_rules! resources {
    ($($resource:ty),* $(,)?) => { ::std::vec![$(<$resource>::resource()),*] };
}
