//! [`Error`], the error type for `main`.

use std::error::Error as StdError;
use std::fmt;

/// An error of any module of this crate or of another crate, so that `main` can use `?` for all errors.
///
/// If `main` returns an error, the standard library prints it with `Debug`. For this type, `Debug` prints the text of the error
/// and the texts of its sources, for example `cannot listen on 127.0.0.1:80: permission denied`. Every error converts to this
/// type, so the type does not implement [`std::error::Error`] itself.
///
/// ```no_run
/// use mcp_sdk::server::Server;
///
/// # async fn run() -> Result<(), mcp_sdk::Error> {
/// let name = std::fs::read_to_string("name")?;
/// let server = Server::builder(name, "1.0.0").build()?;
/// mcp_sdk::stdio::serve(server).await?;
/// # Ok(())
/// # }
/// ```
pub struct Error(Box<dyn StdError + Send + Sync>);

impl Error {
    /// Returns the converted error, if it has this type.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

/// Writes the text of the error, without its sources.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Writes the text of the error, followed by the texts of its sources. Leaves out texts of sources that the text of the error
/// already contains.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        let mut source = self.0.source();
        while let Some(error) = source {
            let next = error.to_string();
            if !text.contains(&next) {
                text.push_str(": ");
                text.push_str(&next);
            }
            source = error.source();
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug)]
    struct Outer(io::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the file cannot be read")
        }
    }

    impl StdError for Outer {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn main_prints_the_text_of_an_error_and_its_sources() {
        let error = Error::from(Outer(io::Error::other("the disk is gone")));
        assert_eq!(error.to_string(), "the file cannot be read");
        assert_eq!(
            format!("{error:?}"),
            "the file cannot be read: the disk is gone"
        );
        assert!(error.downcast_ref::<Outer>().is_some());
    }
}
