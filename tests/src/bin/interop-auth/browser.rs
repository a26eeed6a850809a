//! A browser, and a user that fills in the pages of the authorization server.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_auth::client::{Callback, CustomUserAgent, Error, Loopback, UserAgent};
use mcp_tests::tcp::Answer;
use url::Url;

use crate::report::Fault;
use crate::web;

/// The redirect URI of a browser without a listener.
const BACK: &str = "http://127.0.0.1:4711/callback";
/// Maximum number of pages in one visit.
const MOST_PAGES: usize = 16;

/// A browser with its cookies, which clones share.
#[derive(Clone)]
pub(crate) struct Browser(Arc<Inner>);

struct Inner {
    /// The name that its user signs in with.
    user: &'static str,
    refuses: AtomicBool,
    cookies: Mutex<BTreeMap<String, String>>,
    visits: Mutex<Vec<RecordedSignIn>>,
}

/// One visit of the authorization server, from the client's URL to the redirect.
#[derive(Clone, Debug)]
pub(crate) struct RecordedSignIn {
    /// The URL that the client opened.
    pub(crate) url: Url,
    /// The pages that the user filled in: `login`, `consent`.
    pub(crate) pages: Vec<String>,
    /// The URL to which the authorization server redirected the browser.
    pub(crate) back: Url,
}

impl RecordedSignIn {
    /// Returns a parameter of the authorization request.
    pub(crate) fn asked(&self, name: &str) -> Option<String> {
        parameter(&self.url, name)
    }

    /// Returns a parameter of the redirect.
    pub(crate) fn answered(&self, name: &str) -> Option<String> {
        parameter(&self.back, name)
    }
}

impl Browser {
    /// A browser without cookies, of a user with this name.
    pub(crate) fn of(user: &'static str) -> Self {
        Self(Arc::new(Inner {
            user,
            refuses: AtomicBool::new(false),
            cookies: Mutex::default(),
            visits: Mutex::default(),
        }))
    }

    /// Makes the user deny consent from now on.
    pub(crate) fn refuse(&self) {
        self.0.refuses.store(true, Ordering::Relaxed);
    }

    /// All visits so far.
    pub(crate) fn visits(&self) -> Vec<RecordedSignIn> {
        locked(&self.0.visits).clone()
    }

    /// A user agent that listens on a new port for each visit, like desktop programs.
    pub(crate) fn on_a_port(&self) -> impl UserAgent {
        let browser = self.clone();
        Loopback::new(move |url| {
            let (browser, url) = (browser.clone(), url.to_owned());
            tokio::spawn(async move {
                let arrived = async { web::get(&browser.visit(&url).await?, &[]).await };
                if let Err(fault) = arrived.await {
                    // The client continues to wait; this line shows the reason.
                    eprintln!("the browser is lost: {fault}");
                }
            });
        })
    }

    /// A user agent whose redirect URI is always the same.
    pub(crate) fn in_place(&self) -> impl UserAgent {
        self.changing(|_| {})
    }

    /// The same, but an attacker changes the address of the redirect.
    pub(crate) fn changing(
        &self,
        change: impl Fn(&mut Url) + Clone + Send + Sync + 'static,
    ) -> impl UserAgent {
        let browser = self.clone();
        CustomUserAgent::new(BACK, move |url| {
            let (browser, change) = (browser.clone(), change.clone());
            async move {
                let back = browser.visit(&url).await;
                let mut back = back.map_err(|fault| Error::user_agent(fault.to_string()))?;
                change(&mut back);
                Ok(Callback::parse(back.as_str()))
            }
        })
    }

    /// Follows pages and forms until the browser is redirected to another site; returns that URL.
    async fn visit(&self, url: &str) -> Result<Url, Fault> {
        let url: Url = url.parse()?;
        let mut pages = Vec::new();
        let mut at = url.clone();
        let mut answer = self.load(&at, None).await?;
        for _ in 0..MOST_PAGES {
            let mut form = None;
            if let Some(location) = answer.header("location") {
                at = at.join(location)?;
                if at.origin() != url.origin() {
                    let back = at.clone();
                    locked(&self.0.visits).push(RecordedSignIn { url, pages, back });
                    return Ok(at);
                }
            } else {
                let page = Page::read(answer.text()).ok_or_else(|| {
                    format!("{at} is no page: {} {:?}", answer.status, answer.text())
                })?;
                let asks = page.fields.get("prompt").copied().unwrap_or_default();
                pages.push(asks.to_owned());
                if asks == "consent" && self.0.refuses.load(Ordering::Relaxed) {
                    at = at.join(page.abort)?;
                } else {
                    at = at.join(page.action)?;
                    form = Some(page.filled(self.0.user));
                }
            }
            answer = self.load(&at, form).await?;
        }
        Err(format!("the pages of {at} go round in circles").into())
    }

    async fn load(&self, url: &Url, form: Option<Vec<(String, String)>>) -> Result<Answer, Fault> {
        let cookies: Vec<String> = locked(&self.0.cookies)
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let cookies = cookies.join("; ");
        let headers = [("cookie", &*cookies)];
        let answer = match form {
            None => web::get(url, &headers).await?,
            Some(fields) => web::form(url, &fields, &headers).await?,
        };
        let set = answer
            .headers
            .iter()
            .filter(|(name, _)| name == "set-cookie");
        for (_, cookie) in set {
            // The names of the cookies differ, so paths and hosts need not be compared.
            let pair = cookie.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let mut cookies = locked(&self.0.cookies);
            match value {
                "" => cookies.remove(name),
                _ => cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        Ok(answer)
    }
}

/// A page with a form.
struct Page<'a> {
    action: &'a str,
    /// The link that denies consent.
    abort: &'a str,
    fields: HashMap<&'a str, &'a str>,
}

impl<'a> Page<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let form = text.split_once("<form ")?.1;
        let inputs = form.split("<input ").skip(1);
        let fields = inputs.filter_map(|input| {
            let tag = input.split('>').next()?;
            Some((
                attribute(tag, "name")?,
                attribute(tag, "value").unwrap_or_default(),
            ))
        });
        let links = text.split("<a ").skip(1);
        let abort = links
            .filter_map(|link| attribute(link.split('>').next()?, "href"))
            .find(|link| link.ends_with("/abort"));
        Some(Self {
            action: attribute(form.split('>').next()?, "action")?,
            abort: abort?,
            fields: fields.collect(),
        })
    }

    /// The fields of the form, including the user's name and password.
    fn filled(&self, user: &str) -> Vec<(String, String)> {
        let fields = self.fields.iter().map(|(&name, &value)| {
            let value = match name {
                "login" => user,
                "password" => "any will do",
                _ => value,
            };
            (name.to_owned(), value.to_owned())
        });
        fields.collect()
    }
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    rest.split('"').next()
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    let mut all = url.query_pairs();
    all.find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
