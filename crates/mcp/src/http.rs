//! HTTP on loopback, for clients that cannot start a process: only when requested, only with the token, and only for pages and
//! programs on this machine.
//!
//! Does not implement the protocol: the SDK does.

use crate::server::Server;
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
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        server_config(port),
    );
    ready(&format!("http://127.0.0.1:{port}/mcp/{}", options.token));
    let token: Arc<str> = options.token.as_str().into();
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // Further connections wait in the kernel's queue, without a file descriptor of ours.
        let slot = slots.clone().acquire_owned().await.map_err(std::io::Error::other)?;
        let Ok((stream, _)) = listener.accept().await else {
            // The client has gone, or there are no file descriptors left, which passes.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (service, token) = (service.clone(), token.clone());
        let answer = hyper::service::service_fn(move |request| {
            handle_request(service.clone(), token.clone(), request)
        });
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
    settings.allowed_hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}")).to_vec();
    settings.allowed_origins =
        ["127.0.0.1", "localhost"].map(|host| format!("http://{host}:{port}")).to_vec();
    settings.max_request_body_bytes = 1 << 20;
    settings
}

type HttpResponse = Response<Either<BoxBody<Bytes, Infallible>, Empty<Bytes>>>;

async fn handle_request(
    service: Service,
    token: Arc<str>,
    request: Request<Incoming>,
) -> Result<HttpResponse, Infallible> {
    if has_token(&request, &token) {
        return Ok(service.handle(request).await.map(Either::Left));
    }
    let mut response = Response::new(Either::Right(Empty::new()));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    Ok(response)
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
