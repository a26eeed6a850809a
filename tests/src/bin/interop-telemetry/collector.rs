//! The collector, and the sink behind it.

use std::error::Error as _;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use http::header::CONTENT_ENCODING;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcp_transport_http::RequestBody;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::checks;
use crate::records::{Records, read};
use crate::report::Fault;

/// How often the collector is started: another program may take a port that was free.
const TRIES: usize = 5;
/// How long a start, and the way of the telemetry through the collector, may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The time between two attempts to connect.
const POLL: Duration = Duration::from_millis(20);

/// A running collector that passes telemetry on to a sink.
pub(crate) struct Collector {
    /// Where it receives OTLP over HTTP.
    pub(crate) url: String,
    records: watch::Receiver<Records>,
    /// Killed on drop.
    _program: Child,
}

impl Collector {
    /// Starts the sink and the collector.
    pub(crate) async fn start(command: &[String]) -> Result<Self, Fault> {
        let (program, args) = command
            .split_first()
            .ok_or("usage: interop-telemetry PROGRAM ARGS..")?;
        let sink = TcpListener::bind("127.0.0.1:0").await?;
        let target = format!("http://{}", sink.local_addr()?);
        let (sender, records) = watch::channel(Records::default());
        tokio::spawn(serve(sink, sender));
        for _ in 0..TRIES {
            let [http, grpc] = free_addresses().await?;
            let mut child = Command::new(program)
                .args(args)
                .args([http.to_string(), grpc.to_string(), target.clone()])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .kill_on_drop(true)
                .spawn()?;
            if is_listening(&mut child, http).await? {
                return Ok(Self {
                    url: format!("http://{http}"),
                    records,
                    _program: child,
                });
            }
        }
        Err(format!("the collector did not start in {TRIES} tries").into())
    }

    /// Returns what arrived, after everything that the checks need has arrived or the limit has passed.
    pub(crate) async fn records(mut self) -> Records {
        let complete = self.records.wait_for(checks::is_complete);
        // If something is missing, the check that needs it reports that.
        let _ = timeout(LIMIT, complete).await;
        self.records.borrow().clone()
    }
}

/// Returns two free addresses. The collector does not report ports that the system chooses.
async fn free_addresses() -> Result<[SocketAddr; 2], Fault> {
    let [http, grpc] = [
        TcpListener::bind("127.0.0.1:0").await?,
        TcpListener::bind("127.0.0.1:0").await?,
    ];
    Ok([http.local_addr()?, grpc.local_addr()?])
}

/// Waits until the collector accepts connections. Returns `false` if it has ended.
async fn is_listening(child: &mut Child, address: SocketAddr) -> Result<bool, Fault> {
    let listening = async {
        loop {
            if child.try_wait()?.is_some() {
                return Ok(false);
            }
            if TcpStream::connect(address).await.is_ok() {
                return Ok(true);
            }
            // sleep: the collector prints nothing when it is ready.
            sleep(POLL).await;
        }
    };
    timeout(LIMIT, listening)
        .await
        .map_err(|_| "the collector does not listen")?
}

/// Receives OTLP over HTTP.
async fn serve(
    listener: TcpListener,
    records: watch::Sender<Records>,
) -> Result<(), std::io::Error> {
    loop {
        let (stream, _) = listener.accept().await?;
        let records = records.clone();
        let service = service_fn(move |request| receive(request, records.clone()));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                let cause = error.source().map(ToString::to_string);
                let cause = cause.unwrap_or_default();
                eprintln!("the collector's connection to the sink failed: {error}: {cause}");
            }
        });
    }
}

/// Stores the telemetry of one request.
async fn receive(
    request: Request<Incoming>,
    records: watch::Sender<Records>,
) -> Result<Response<RequestBody>, Fault> {
    let path = request.uri().path().to_owned();
    let encoding = request.headers().get(CONTENT_ENCODING);
    let is_gzip = encoding.is_some_and(|encoding| encoding == "gzip");
    let received = read(&path, is_gzip, request.into_body()).await?;
    records.send_modify(|records| records.add(received));
    // An empty message of protobuf: everything is accepted.
    Ok(Response::new(RequestBody::default()))
}
