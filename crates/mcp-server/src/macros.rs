//! Macros that list annotated functions.

/// Lists the tools of functions with `#[tool]`, for [`Server::tools`](crate::Server::tools).
#[macro_export]
macro_rules! tools {
    ($($tool:ty),* $(,)?) => { ::std::vec![$(<$tool>::tool()),*] };
}

/// Lists the prompts of functions with `#[prompt]`, for
/// [`Server::prompts`](crate::Server::prompts).
#[macro_export]
macro_rules! prompts {
    ($($prompt:ty),* $(,)?) => { ::std::vec![$(<$prompt>::prompt()),*] };
}

/// Lists the resources of functions with `#[resource]`, for
/// [`Server::resources`](crate::Server::resources).
#[macro_export]
macro_rules! resources {
    ($($resource:ty),* $(,)?) => { ::std::vec![$(<$resource>::resource()),*] };
}
