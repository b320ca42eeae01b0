//! The door for clients that cannot start a process: HTTP on loopback, only when asked for, only with the token, only
//! for pages and programs of this machine.
//!
//! Does not speak the protocol: that is the SDK's.

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
use tokio::net::TcpListener;

/// Where to listen, and what one must know to be let in.
pub struct Door {
    /// 0 for any that is free.
    pub port: u16,
    pub token: String,
}

type Service = StreamableHttpService<Server, LocalSessionManager>;

pub(crate) async fn serve(server: Server, door: &Door, ready: impl FnOnce(&str)) -> std::io::Result<()> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, door.port))).await?;
    let port = listener.local_addr()?.port();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        settings(port),
    );
    ready(&format!("http://127.0.0.1:{port}/mcp/{}", door.token));
    let token: Arc<str> = door.token.as_str().into();
    loop {
        let (stream, _) = listener.accept().await?;
        let (service, token) = (service.clone(), token.clone());
        let answer =
            hyper::service::service_fn(move |request| let_in(service.clone(), token.clone(), request));
        tokio::spawn(async move {
            let stream = hyper_util::rt::TokioIo::new(stream);
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(stream, answer).await;
        });
    }
}

/// A page of another site that a browser shows must not reach us, by whatever name it calls this machine.
fn settings(port: u16) -> StreamableHttpServerConfig {
    let mut settings = StreamableHttpServerConfig::default();
    settings.allowed_hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}")).to_vec();
    settings.allowed_origins =
        ["127.0.0.1", "localhost"].map(|host| format!("http://{host}:{port}")).to_vec();
    settings.max_request_body_bytes = 1 << 20;
    settings
}

type Answer = Response<Either<BoxBody<Bytes, Infallible>, Empty<Bytes>>>;

async fn let_in(service: Service, token: Arc<str>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    if knows(&request, &token) {
        return Ok(service.handle(request).await.map(Either::Left));
    }
    let mut refused = Response::new(Either::Right(Empty::new()));
    *refused.status_mut() = StatusCode::UNAUTHORIZED;
    Ok(refused)
}

/// The token stands in the path, or in a header for those who can set one.
fn knows(request: &Request<Incoming>, token: &str) -> bool {
    let path = request.uri().path();
    let named = path.strip_prefix("/mcp/").map(|rest| rest.trim_end_matches('/'));
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = header.and_then(|value| value.strip_prefix("Bearer ")).filter(|_| path == "/mcp");
    named.or(bearer).is_some_and(|given| same(given.as_bytes(), token.as_bytes()))
}

/// Takes as long whatever is given.
fn same(a: &[u8], b: &[u8]) -> bool {
    !b.is_empty() && a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}
