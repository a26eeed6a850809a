// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Conversions between the types of the crate root and the types of this revision.

impl From<crate::CallToolResult> for crate::v2026_07_28::CallToolResult {
    fn from(other: crate::CallToolResult) -> Self {
        Self {
            result_type: crate::constant::Complete,
            content: other.content,
            structured_content: other.structured_content,
            is_error: other.is_error,
            meta: other.meta,
        }
    }
}

impl From<crate::v2026_07_28::CallToolResult> for crate::CallToolResult {
    fn from(other: crate::v2026_07_28::CallToolResult) -> Self {
        Self {
            content: other.content,
            structured_content: other.structured_content,
            is_error: other.is_error,
            meta: other.meta,
        }
    }
}

/// Leaves out `tasks`.
impl From<crate::ClientCapabilities> for crate::v2026_07_28::ClientCapabilities {
    fn from(other: crate::ClientCapabilities) -> Self {
        Self {
            elicitation: other.elicitation,
            experimental: other.experimental,
            extensions: other.extensions,
            roots: other.roots.map(Into::into),
            sampling: other.sampling,
            extra: other.extra,
        }
    }
}

impl From<crate::v2026_07_28::ClientCapabilities> for crate::ClientCapabilities {
    fn from(other: crate::v2026_07_28::ClientCapabilities) -> Self {
        Self {
            elicitation: other.elicitation,
            experimental: other.experimental,
            extensions: other.extensions,
            roots: other.roots.map(Into::into),
            sampling: other.sampling,
            tasks: None,
            extra: other.extra,
        }
    }
}

impl From<crate::CompleteResult> for crate::v2026_07_28::CompleteResult {
    fn from(other: crate::CompleteResult) -> Self {
        Self {
            result_type: crate::constant::Complete,
            completion: other.completion,
            meta: other.meta,
        }
    }
}

impl From<crate::v2026_07_28::CompleteResult> for crate::CompleteResult {
    fn from(other: crate::v2026_07_28::CompleteResult) -> Self {
        Self {
            completion: other.completion,
            meta: other.meta,
        }
    }
}

/// Leaves out `task`, `_meta`.
impl From<crate::CreateMessageRequestParams> for crate::v2026_07_28::CreateMessageRequestParams {
    fn from(other: crate::CreateMessageRequestParams) -> Self {
        Self {
            messages: other.messages,
            max_tokens: other.max_tokens,
            model_preferences: other.model_preferences,
            system_prompt: other.system_prompt,
            include_context: other.include_context,
            metadata: other.metadata,
            stop_sequences: other.stop_sequences,
            temperature: other.temperature,
            tool_choice: other.tool_choice,
            tools: other
                .tools
                .map(|all| all.into_iter().map(Into::into).collect()),
        }
    }
}

impl From<crate::v2026_07_28::CreateMessageRequestParams> for crate::CreateMessageRequestParams {
    fn from(other: crate::v2026_07_28::CreateMessageRequestParams) -> Self {
        Self {
            messages: other.messages,
            max_tokens: other.max_tokens,
            model_preferences: other.model_preferences,
            system_prompt: other.system_prompt,
            include_context: other.include_context,
            metadata: other.metadata,
            stop_sequences: other.stop_sequences,
            temperature: other.temperature,
            tool_choice: other.tool_choice,
            tools: other
                .tools
                .map(|all| all.into_iter().map(Into::into).collect()),
            task: None,
            meta: None,
        }
    }
}

/// Leaves out `task`, `_meta`.
impl From<crate::ElicitRequestFormParams> for crate::v2026_07_28::ElicitRequestFormParams {
    fn from(other: crate::ElicitRequestFormParams) -> Self {
        Self {
            message: other.message,
            requested_schema: other.requested_schema,
        }
    }
}

impl From<crate::v2026_07_28::ElicitRequestFormParams> for crate::ElicitRequestFormParams {
    fn from(other: crate::v2026_07_28::ElicitRequestFormParams) -> Self {
        Self {
            message: other.message,
            requested_schema: other.requested_schema,
            task: None,
            meta: None,
        }
    }
}

impl From<crate::ElicitRequestParams> for crate::v2026_07_28::ElicitRequestParams {
    fn from(other: crate::ElicitRequestParams) -> Self {
        match other {
            crate::ElicitRequestParams::Form(arm) => Self::Form(arm.into()),
            crate::ElicitRequestParams::Url(arm) => Self::Url(arm.into()),
            crate::ElicitRequestParams::Unknown(raw) => Self::Unknown(raw),
        }
    }
}

impl From<crate::v2026_07_28::ElicitRequestParams> for crate::ElicitRequestParams {
    fn from(other: crate::v2026_07_28::ElicitRequestParams) -> Self {
        match other {
            crate::v2026_07_28::ElicitRequestParams::Form(arm) => Self::Form(arm.into()),
            crate::v2026_07_28::ElicitRequestParams::Url(arm) => Self::Url(arm.into()),
            crate::v2026_07_28::ElicitRequestParams::Unknown(raw) => Self::Unknown(raw),
        }
    }
}

/// Leaves out `elicitationId`, `task`, `_meta`.
impl From<crate::ElicitRequestUrlParams> for crate::v2026_07_28::ElicitRequestUrlParams {
    fn from(other: crate::ElicitRequestUrlParams) -> Self {
        Self {
            message: other.message,
            url: other.url,
        }
    }
}

impl From<crate::v2026_07_28::ElicitRequestUrlParams> for crate::ElicitRequestUrlParams {
    fn from(other: crate::v2026_07_28::ElicitRequestUrlParams) -> Self {
        Self {
            message: other.message,
            url: other.url,
            elicitation_id: None,
            task: None,
            meta: None,
        }
    }
}

/// Leaves out `_meta`.
impl From<crate::ElicitResult> for crate::v2026_07_28::ElicitResult {
    fn from(other: crate::ElicitResult) -> Self {
        Self {
            action: other.action,
            content: other.content,
        }
    }
}

impl From<crate::v2026_07_28::ElicitResult> for crate::ElicitResult {
    fn from(other: crate::v2026_07_28::ElicitResult) -> Self {
        Self {
            action: other.action,
            content: other.content,
            meta: None,
        }
    }
}

impl From<crate::EmptyResult> for crate::v2026_07_28::EmptyResult {
    fn from(other: crate::EmptyResult) -> Self {
        Self {
            result_type: crate::constant::Complete,
            meta: other.meta,
        }
    }
}

impl From<crate::v2026_07_28::EmptyResult> for crate::EmptyResult {
    fn from(other: crate::v2026_07_28::EmptyResult) -> Self {
        Self { meta: other.meta }
    }
}

impl From<crate::GetPromptResult> for crate::v2026_07_28::GetPromptResult {
    fn from(other: crate::GetPromptResult) -> Self {
        Self {
            result_type: crate::constant::Complete,
            description: other.description,
            messages: other.messages,
            meta: other.meta,
        }
    }
}

impl From<crate::v2026_07_28::GetPromptResult> for crate::GetPromptResult {
    fn from(other: crate::v2026_07_28::GetPromptResult) -> Self {
        Self {
            description: other.description,
            messages: other.messages,
            meta: other.meta,
        }
    }
}

/// Leaves out `_meta`.
impl From<crate::ListRootsResult> for crate::v2026_07_28::ListRootsResult {
    fn from(other: crate::ListRootsResult) -> Self {
        Self { roots: other.roots }
    }
}

impl From<crate::v2026_07_28::ListRootsResult> for crate::ListRootsResult {
    fn from(other: crate::v2026_07_28::ListRootsResult) -> Self {
        Self {
            roots: other.roots,
            meta: None,
        }
    }
}

/// Leaves out `listChanged`.
impl From<crate::RootsCapability> for crate::v2026_07_28::RootsCapability {
    fn from(other: crate::RootsCapability) -> Self {
        Self { extra: other.extra }
    }
}

impl From<crate::v2026_07_28::RootsCapability> for crate::RootsCapability {
    fn from(other: crate::v2026_07_28::RootsCapability) -> Self {
        Self {
            list_changed: None,
            extra: other.extra,
        }
    }
}

/// Leaves out `tasks`.
impl From<crate::ServerCapabilities> for crate::v2026_07_28::ServerCapabilities {
    fn from(other: crate::ServerCapabilities) -> Self {
        Self {
            completions: other.completions,
            experimental: other.experimental,
            extensions: other.extensions,
            logging: other.logging,
            prompts: other.prompts,
            resources: other.resources,
            tools: other.tools,
            extra: other.extra,
        }
    }
}

impl From<crate::v2026_07_28::ServerCapabilities> for crate::ServerCapabilities {
    fn from(other: crate::v2026_07_28::ServerCapabilities) -> Self {
        Self {
            completions: other.completions,
            experimental: other.experimental,
            extensions: other.extensions,
            logging: other.logging,
            prompts: other.prompts,
            resources: other.resources,
            tasks: None,
            tools: other.tools,
            extra: other.extra,
        }
    }
}

/// Leaves out `execution`.
impl From<crate::Tool> for crate::v2026_07_28::Tool {
    fn from(other: crate::Tool) -> Self {
        Self {
            name: other.name,
            title: other.title,
            description: other.description,
            input_schema: other.input_schema,
            output_schema: other.output_schema,
            icons: other.icons,
            annotations: other.annotations,
            meta: other.meta,
        }
    }
}

impl From<crate::v2026_07_28::Tool> for crate::Tool {
    fn from(other: crate::v2026_07_28::Tool) -> Self {
        Self {
            name: other.name,
            title: other.title,
            description: other.description,
            input_schema: other.input_schema,
            output_schema: other.output_schema,
            execution: None,
            icons: other.icons,
            annotations: other.annotations,
            meta: other.meta,
        }
    }
}
