//! The metadata of tools and pages: the member `ui` of `_meta`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The metadata of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolUi {
    /// The URI of the page that shows the results of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_uri: Option<String>,
    /// The callers that may call the tool; `None` means the model and the app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Vec<Visibility>>,
}

/// A caller that may call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Visibility {
    /// The model, which sees the tool in the list of tools.
    Model,
    /// The pages of the server that has the tool.
    App,
    /// A value of a later version of the specification.
    #[serde(untagged)]
    Unknown(String),
}

impl ToolUi {
    /// Creates the metadata of a tool. The page with this URI shows the results of the tool.
    pub fn new(resource_uri: impl Into<String>) -> Self {
        Self {
            resource_uri: Some(resource_uri.into()),
            visibility: None,
        }
    }

    /// Sets [`visibility`](Self::visibility).
    #[must_use]
    pub fn with_visibility(mut self, visibility: impl IntoIterator<Item = Visibility>) -> Self {
        self.visibility = Some(visibility.into_iter().collect());
        self
    }

    /// Returns whether the host may list the tool for the model.
    pub fn is_for_model(&self) -> bool {
        self.is_for(&Visibility::Model)
    }

    /// Returns whether a page of the same server may call the tool.
    pub fn is_for_app(&self) -> bool {
        self.is_for(&Visibility::App)
    }

    fn is_for(&self, caller: &Visibility) -> bool {
        let visibility = self.visibility.as_ref();
        visibility.is_none_or(|visibility| visibility.contains(caller))
    }
}

/// The metadata of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct PageUi {
    /// The origins that the page uses; `None` means that it uses no other origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csp: Option<Csp>,
    /// The features of the browser that the page requests.
    #[serde(skip_serializing_if = "Permissions::is_empty")]
    pub permissions: Permissions,
    /// The separate origin that the page requests, in the format of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether the host draws a border and a background; `None` means that the host decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefers_border: Option<bool>,
}

/// The origins that a page uses, such as `https://api.example.com` or `https://*.example.com`. Everything else is blocked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Csp {
    /// Origins of network requests: fetch, XHR and WebSocket.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// Origins of scripts, styles, images, fonts and media.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// Origins of nested frames.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
    /// Origins of the document's base URI.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub base_uri_domains: Vec<String>,
}

/// Defines a setter for each list of origins.
macro_rules! with_origin {
    ($($name:ident: $field:ident, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[must_use]
        pub fn $name(mut self, origin: impl Into<String>) -> Self {
            self.$field.push(origin.into());
            self
        }
    )*};
}

impl Csp {
    /// Creates metadata without origins.
    pub fn new() -> Self {
        Self::default()
    }

    with_origin! {
        with_connect_domain: connect_domains, "Adds to [`connect_domains`](Self::connect_domains).";
        with_resource_domain: resource_domains, "Adds to [`resource_domains`](Self::resource_domains).";
        with_frame_domain: frame_domains, "Adds to [`frame_domains`](Self::frame_domains).";
        with_base_uri_domain: base_uri_domains, "Adds to [`base_uri_domains`](Self::base_uri_domains).";
    }
}

/// Features of the browser that a page requests. A host may refuse them, so the page must check which features it has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Permissions {
    /// The camera.
    pub camera: bool,
    /// The microphone.
    pub microphone: bool,
    /// The location.
    pub geolocation: bool,
    /// Writing to the clipboard.
    pub clipboard_write: bool,
}

impl Permissions {
    /// Creates metadata that requests no feature.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests the camera.
    #[must_use]
    pub fn with_camera(mut self) -> Self {
        self.camera = true;
        self
    }

    /// Requests the microphone.
    #[must_use]
    pub fn with_microphone(mut self) -> Self {
        self.microphone = true;
        self
    }

    /// Requests the location.
    #[must_use]
    pub fn with_geolocation(mut self) -> Self {
        self.geolocation = true;
        self
    }

    /// Requests writing to the clipboard.
    #[must_use]
    pub fn with_clipboard_write(mut self) -> Self {
        self.clipboard_write = true;
        self
    }

    /// Returns whether no feature is requested.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns each feature: its name in JSON, its name in the Permissions Policy of a browser, and whether it is requested.
    pub(crate) fn features(&self) -> [(&'static str, &'static str, bool); 4] {
        [
            ("camera", "camera", self.camera),
            ("microphone", "microphone", self.microphone),
            ("geolocation", "geolocation", self.geolocation),
            ("clipboardWrite", "clipboard-write", self.clipboard_write),
        ]
    }
}

impl Serialize for Permissions {
    /// Serializes a feature as a member whose value is an empty object.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wanted = self.features().into_iter().filter(|(.., wanted)| *wanted);
        let members = wanted.map(|(name, ..)| (name, Map::new()));
        serializer.collect_map(members)
    }
}

impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Map::<String, Value>::deserialize(deserializer)?;
        let has = |name: &str| members.get(name).is_some_and(Value::is_object);
        Ok(Self {
            camera: has("camera"),
            microphone: has("microphone"),
            geolocation: has("geolocation"),
            clipboard_write: has("clipboardWrite"),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_has_the_shape_of_the_specification() {
        let tool = ToolUi::new("ui://a").with_visibility([Visibility::App]);
        let text = json!({ "resourceUri": "ui://a", "visibility": ["app"] });
        assert_eq!(serde_json::to_value(&tool).unwrap(), text);
        assert_eq!(serde_json::from_value::<ToolUi>(text).unwrap(), tool);
        let later = json!({ "visibility": ["model", "cron"], "new": 1 });
        let later: ToolUi = serde_json::from_value(later).unwrap();
        assert!(later.is_for_model() && !later.is_for_app());
        assert!(ToolUi::default().is_for_model() && ToolUi::default().is_for_app());

        let page = PageUi {
            csp: Some(Csp::new().with_connect_domain("https://api.example.com")),
            permissions: Permissions::new().with_camera().with_clipboard_write(),
            domain: None,
            prefers_border: Some(false),
        };
        let text = json!({
            "csp": { "connectDomains": ["https://api.example.com"] },
            "permissions": { "camera": {}, "clipboardWrite": {} },
            "prefersBorder": false,
        });
        assert_eq!(serde_json::to_value(&page).unwrap(), text);
        assert_eq!(serde_json::from_value::<PageUi>(text).unwrap(), page);
        assert_eq!(serde_json::to_value(PageUi::default()).unwrap(), json!({}));
    }
}
