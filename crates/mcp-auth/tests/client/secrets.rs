//! Secrets do not appear at any log level.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use mcp_auth::client::Credentials;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::support::{ISSUER, Net, error, refuse, sent, signed_in, token};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

struct LineVisitor<'a>(&'a mut String);

impl Visit for LineVisitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = self.0.lock().unwrap();
        event.record(&mut LineVisitor(&mut text));
    }
}

// proves: AUTH-080, M-AUTH-042, M-AUTH-079
#[tokio::test]
async fn t42_no_secret_appears_in_logs_debug_output_or_requests() {
    let log = Log::default();
    let subscriber = tracing_subscriber::registry().with(log.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    // `tracing` may disable an event that is first reached while another test has no subscriber. So the test reaches all events once before it records them.
    let first = Net::new();
    first.callback("code=c&state=STATE");
    first.tokens(|_| token("t"));
    signed_in(&first.client().build().unwrap()).await;
    tracing::callsite::rebuild_interest_cache();
    let net = Net::new();
    net.callback("code=canary-code&state=STATE");
    net.tokens(|_| token("canary-token"));
    let steps = Log::default();
    let watched = steps.clone();
    let auth = net
        .client()
        .credentials(
            Credentials::new("by-hand")
                .secret("canary-secret")
                .issuer(ISSUER),
        )
        .on_progress(move |step| {
            let mut all = watched.0.lock().unwrap();
            let _ = write!(all, "{step} {step:?}");
        })
        .build()
        .unwrap();
    let message = signed_in(&auth).await;
    let mut told = String::new();
    net.tokens(|_| error(400, "invalid_client"));
    let failed = refuse(&auth, &message, 401, "Bearer").await.unwrap_err();
    let _ = write!(told, "{failed} {failed:?} {auth:?} {message:?}");
    net.tokens(|_| token("canary-2"));
    refuse(&auth, &message, 401, "Bearer").await.unwrap();
    let _ = write!(told, "{:?}", sent(&auth).await.unwrap());
    net.callback("error=access_denied&state=wrong&code=canary-code");
    let failed = auth.sign_in().await.unwrap_err();
    let _ = write!(told, "{failed} {failed:?}");
    let visits = net.visits();
    let (log, steps) = (log.0.lock().unwrap(), steps.0.lock().unwrap());
    assert!(log.contains("tokens for") && steps.contains("signed in"));
    for text in [&*log, &*steps, &told] {
        assert!(!text.contains("canary"), "{text}");
        for visit in &visits {
            assert!(!text.contains(&visit["state"]), "{text}");
            assert!(!text.contains(&visit["code_challenge"]), "{text}");
        }
    }
}
