//! Constructors of content blocks from bytes.

use data_encoding::BASE64;
use mcp_types::ContentBlock;

/// Creates a content block with an image, for example with the MIME type `image/png`. The bytes are sent as base64. For an image
/// that is already encoded as base64, use [`ContentBlock::image`].
pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> ContentBlock {
    ContentBlock::image(BASE64.encode(bytes.as_ref()), mime_type)
}

/// Creates a content block with audio, for example with the MIME type `audio/wav`. The bytes are sent as base64. For audio that
/// is already encoded as base64, use [`ContentBlock::audio`].
pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> ContentBlock {
    ContentBlock::audio(BASE64.encode(bytes.as_ref()), mime_type)
}
