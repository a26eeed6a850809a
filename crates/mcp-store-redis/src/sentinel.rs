//! The client that asks Sentinels for the master.

use redis::sentinel::{SentinelClient, SentinelNodeConnectionInfo, SentinelServerType};
use redis::{ConnectionAddr, ErrorKind, IntoConnectionInfo as _, RedisError, RedisResult, TlsMode};

/// Creates a client for the master whose name is the host of the URL.
pub(crate) fn client(url: &str, sentinels: &[String]) -> RedisResult<SentinelClient> {
    let info = url.into_connection_info()?;
    let mut node = SentinelNodeConnectionInfo::default()
        .set_redis_connection_info(info.redis_settings().clone());
    let master = match info.addr() {
        ConnectionAddr::Tcp(host, _) => host.clone(),
        ConnectionAddr::TcpTls { host, .. } => {
            node = node.set_tls_mode(TlsMode::Secure);
            host.clone()
        }
        _ => {
            return Err(RedisError::from((
                ErrorKind::InvalidClientConfig,
                "with Sentinel, the URL has the name of the master as its host: redis://mymaster",
            )));
        }
    };
    let sentinels = sentinels.iter().map(String::as_str).collect();
    SentinelClient::build::<&str>(
        sentinels,
        String::from(&*master),
        Some(node),
        SentinelServerType::Master,
    )
}
