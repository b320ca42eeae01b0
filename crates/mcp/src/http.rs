//! HTTP on loopback, for clients that cannot start a process: only when requested, only with the token, and only for pages and
//! programs on this machine.
//!
//! Does not implement the protocol: the SDK does.

use crate::server::Server;
use crate::sessions::Sessions;
use http_body_util::combinators::BoxBody;
use http_body_util::{Either, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, StatusCode, header};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// The port to listen on, and the token that clients must send.
pub struct HttpOptions {
    /// 0 for any free port.
    pub port: u16,
    pub token: String,
}

/// Connections served at once. Any local user can open some without the token; the usual limit is 1,024 descriptors.
const MAX_CONNECTIONS: usize = 256;
/// How long a connection may take to send the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

type Service = StreamableHttpService<Server, LocalSessionManager>;

pub(crate) async fn serve_connections(
    server: Server,
    options: &HttpOptions,
    ready: impl FnOnce(&str),
) -> std::io::Result<()> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port))).await?;
    let port = listener.local_addr()?.port();
    let sessions = Arc::new(Sessions::new());
    let service =
        StreamableHttpService::new(move || Ok(server.clone()), sessions.manager.clone(), server_config(port));
    let gate = Arc::new(Gate { service, sessions, token: options.token.clone(), hosts: host_names(port) });
    ready(&format!("http://127.0.0.1:{port}/mcp/{}", options.token));
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // Further connections wait in the kernel's queue, without a file descriptor of ours.
        let slot = slots.clone().acquire_owned().await.map_err(std::io::Error::other)?;
        let Ok((stream, _)) = listener.accept().await else {
            // The client has gone, or there are no file descriptors left, which passes.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let gate = gate.clone();
        let answer = hyper::service::service_fn(move |request| handle_request(gate.clone(), request));
        tokio::spawn(async move {
            let stream = hyper_util::rt::TokioIo::new(stream);
            let mut connection = hyper::server::conn::http1::Builder::new();
            connection.timer(hyper_util::rt::TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
            let _ = connection.serve_connection(stream, answer).await;
            drop(slot);
        });
    }
}

/// Keeps out pages of other sites shown in a browser, under whichever name they address this machine.
fn server_config(port: u16) -> StreamableHttpServerConfig {
    let mut settings = StreamableHttpServerConfig::default();
    settings.allowed_hosts = host_names(port).to_vec();
    settings.allowed_origins = host_names(port).map(|host| format!("http://{host}")).to_vec();
    settings.max_request_body_bytes = 1 << 20;
    settings
}

fn host_names(port: u16) -> [String; 2] {
    ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"))
}

/// What a request passes before the SDK handles it.
struct Gate {
    service: Service,
    sessions: Arc<Sessions>,
    token: String,
    hosts: [String; 2],
}

type HttpResponse = Response<Either<BoxBody<Bytes, Infallible>, Empty<Bytes>>>;

async fn handle_request(gate: Arc<Gate>, request: Request<Incoming>) -> Result<HttpResponse, Infallible> {
    let refused = match () {
        () if !names_only(&request, &gate.hosts) => StatusCode::FORBIDDEN,
        () if !has_token(&request, &gate.token) => StatusCode::UNAUTHORIZED,
        () => {
            match request.headers().get(SESSION).and_then(|id| id.to_str().ok()) {
                Some(id) => gate.sessions.record_use(id),
                None => gate.sessions.make_room().await,
            }
            return Ok(gate.service.handle(request).await.map(Either::Left));
        }
    };
    let mut response = Response::new(Either::Right(Empty::new()));
    *response.status_mut() = refused;
    Ok(response)
}

/// The header with the ID of a session.
const SESSION: &str = "mcp-session-id";

/// Whether a request has exactly one `Host`, and no absolute URI of another host. The SDK checks the first `Host` only.
fn names_only(request: &Request<Incoming>, hosts: &[String]) -> bool {
    let in_uri = request.uri().authority().map(hyper::http::uri::Authority::as_str);
    let named = request.headers().get_all(header::HOST).iter().count();
    named == 1 && in_uri.is_none_or(|authority| hosts.iter().any(|host| host.eq_ignore_ascii_case(authority)))
}

/// The token is in the path, or in a header for clients that can set one.
fn has_token(request: &Request<Incoming>, token: &str) -> bool {
    let path = request.uri().path();
    let in_path = path.strip_prefix("/mcp/").map(|rest| rest.trim_end_matches('/'));
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = header.and_then(|value| value.strip_prefix("Bearer ")).filter(|_| path == "/mcp");
    in_path.or(bearer).is_some_and(|given| equals_constant_time(given.as_bytes(), token.as_bytes()))
}

/// Compares in constant time.
fn equals_constant_time(a: &[u8], b: &[u8]) -> bool {
    !b.is_empty() && a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}
