//! One HTTP request to the configured address: no redirects, no proxy from the environment, nothing unencrypted off the
//! machine, and a limit on time and size.
//!
//! Does not know what is requested.

use crate::failure::{Failure, FailureClass};
use crate::retry_time;
use record::Stamp;
use serde_json::Value;
use std::io::Read;
use std::net::IpAddr;
use std::time::Duration;
use ureq::http::Uri;
use ureq::{Agent, Proxy, SendBody};

/// An answer of ten sentences has a few kilobytes.
const MAX_RESPONSE_BYTES: u64 = 1 << 20;
/// Characters kept of an error page.
const MAX_MESSAGE_CHARS: usize = 300;

/// The address that requests are sent to.
#[derive(Debug)]
pub(crate) struct Endpoint {
    url: String,
    loopback: bool,
    proxy: Option<Proxy>,
}

#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("`{0}` is not a server URL")]
    InvalidUrl(String),
    #[error("`{0}` is not encrypted: use https for any server but this machine")]
    Unencrypted(String),
    #[error("the URL must not contain a password: URLs are logged and displayed")]
    Password,
    #[error("`{0}` is not a proxy URL")]
    InvalidProxy(String),
}

/// A response with any status.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: String,
}

impl Endpoint {
    pub(crate) fn new(base: &str, path: &str, proxy: Option<&str>) -> Result<Endpoint, AddressError> {
        let no_address = || AddressError::InvalidUrl(base.to_string());
        let uri: Uri = base.parse().map_err(|_| no_address())?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(no_address)?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(AddressError::Password);
        }
        let loopback = is_loopback(host);
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if loopback => {}
            Some("http") => return Err(AddressError::Unencrypted(base.to_string())),
            _ => return Err(no_address()),
        }
        let url = format!("{}{path}", base.trim_end_matches('/'));
        let named = |text: &str| Proxy::new(text).map_err(|_| AddressError::InvalidProxy(text.to_string()));
        Ok(Endpoint { url, loopback, proxy: proxy.map(named).transpose()? })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sends the request and reads the whole response, within the time limit.
    pub(crate) fn post(
        &self,
        headers: &[(&str, String)],
        body: &str,
        within: Duration,
    ) -> Result<HttpResponse, Failure> {
        let agent: Agent = Agent::config_builder()
            .timeout_global(Some(within))
            .https_only(!self.loopback)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(self.proxy.clone()) // otherwise ureq takes one from the environment
            .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        let mut request = agent.post(&self.url).header("content-type", "application/json");
        request = request.header("content-length", body.len().to_string());
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let mut payload = RequestBody { unread: body.as_bytes(), was_read: false };
        let sent = request.send(SendBody::from_reader(&mut payload));
        let mut response =
            sent.map_err(|error| classify_error(&error, within).with_unsent(!payload.was_read))?;
        let retry_after =
            response.headers().get("retry-after").and_then(|value| Some(value.to_str().ok()?.to_string()));
        let status = response.status().as_u16();
        let bytes = response.body_mut().with_config().limit(MAX_RESPONSE_BYTES).read_to_vec();
        let body =
            String::from_utf8_lossy(&bytes.map_err(|error| classify_error(&error, within))?).into_owned();
        Ok(HttpResponse { status, retry_after, body })
    }
}

/// The request body. ureq reads from it only once the connection is established and secure: a body that was never read was
/// never sent, whether name resolution, routing, a proxy or a certificate failed.
struct RequestBody<'p> {
    unread: &'p [u8],
    was_read: bool,
}

impl Read for RequestBody<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.was_read = true;
        self.unread.read(into)
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Classifies a request without a complete response.
fn classify_error(error: &ureq::Error, within: Duration) -> Failure {
    match error {
        ureq::Error::Timeout(_) => Failure::of_job(
            FailureClass::Transient,
            format!("no complete response within {} s", within.as_secs_f32().ceil()),
        ),
        ureq::Error::BodyExceedsLimit(_) => Failure::of_job(
            FailureClass::Poison,
            format!("the response is larger than {} kB", MAX_RESPONSE_BYTES >> 10),
        ),
        // The connection existed: another request may succeed.
        ureq::Error::Io(error) if was_connected(error) => {
            Failure::of_job(FailureClass::Transient, format!("the connection was lost: {error}"))
        }
        ureq::Error::Protocol(error) => {
            Failure::of_job(FailureClass::Transient, format!("the connection was lost: {error}"))
        }
        error => Failure::of_provider(FailureClass::Transient, format!("cannot reach the server: {error}")),
    }
}

fn was_connected(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, InvalidData, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | InvalidData | UnexpectedEof)
}

impl HttpResponse {
    /// Classifies a status other than success.
    pub(crate) fn to_failure(&self, now: Stamp) -> Failure {
        let words = format!("the server returned {}: {}", self.status, self.error_text());
        let quota = retry_time::quota_reset_time(&self.error_text(), now);
        let requested = self.retry_after.as_deref().and_then(|text| retry_time::parse_retry_after(text, now));
        let until = requested.max(quota);
        match self.status {
            402 => Failure::of_provider(FailureClass::Quota, words).with_until(until),
            400..=499 if quota.is_some() => {
                Failure::of_provider(FailureClass::Quota, words).with_until(until)
            }
            429 => Failure::of_provider(FailureClass::RateLimited, words).with_until(until),
            401 | 403 | 404 | 405 => Failure::of_provider(FailureClass::Auth, words),
            300..=399 => {
                Failure::of_provider(FailureClass::Auth, format!("{words} (redirects are not followed)"))
            }
            // A single request may cause an error; these four statuses say that the server is at fault.
            502 | 503 | 504 | 529 => Failure::of_provider(FailureClass::Transient, words).with_until(until),
            408 | 425 | 500..=599 => Failure::of_either(FailureClass::Transient, words).with_until(until),
            _ => Failure::of_job(FailureClass::Refused, words),
        }
    }

    /// The message in the body: `error.message`, `message`, or its beginning.
    pub(crate) fn error_text(&self) -> String {
        let json = serde_json::from_str(&self.body).unwrap_or(Value::Null);
        let fields = [&json["error"]["message"], &json["message"], &json["error"], &json["detail"]];
        let text = fields.into_iter().find_map(Value::as_str).unwrap_or(&self.body);
        let text: String = text.chars().filter(|c| !c.is_control()).take(MAX_MESSAGE_CHARS).collect();
        if text.trim().is_empty() { "no message".to_string() } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Fault;

    #[test]
    fn only_https_and_loopback_addresses_are_accepted() {
        for (base, whole) in [
            ("https://api.example.com", "https://api.example.com/v1/x"),
            ("https://api.example.com/proxy/", "https://api.example.com/proxy/v1/x"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/x"),
            ("http://127.9.9.9", "http://127.9.9.9/v1/x"),
            ("http://[::1]:8080", "http://[::1]:8080/v1/x"),
            ("http://localhost:11434", "http://localhost:11434/v1/x"),
        ] {
            assert_eq!(Endpoint::new(base, "/v1/x", None).unwrap().url(), whole);
        }
        for base in [
            "http://api.example.com",
            "http://10.0.0.1",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "ftp://127.0.0.1",
            "api.example.com",
            "https://",
            "",
            "https://me:secret@api.example.com",
        ] {
            assert!(Endpoint::new(base, "/v1/x", None).is_err(), "{base}");
        }
        assert!(Endpoint::new("https://api.example.com", "", Some("not a proxy")).is_err());
    }

    #[test]
    fn a_status_is_classified_with_its_fault() {
        let now = Stamp::parse(b"2026-11-15T12:00:00Z");
        let quota = r#"{"error":{"message":"You exceeded your current quota"}}"#;
        for (status, body, class, fault) in [
            (400, "{}", FailureClass::Refused, Fault::Job),
            (
                400,
                r#"{"error":{"message":"Your credit balance is too low"}}"#,
                FailureClass::Quota,
                Fault::Provider,
            ),
            (401, "no", FailureClass::Auth, Fault::Provider),
            (402, "", FailureClass::Quota, Fault::Provider),
            (404, "no such model", FailureClass::Auth, Fault::Provider),
            (413, "", FailureClass::Refused, Fault::Job),
            (422, "", FailureClass::Refused, Fault::Job),
            (429, "slow down", FailureClass::RateLimited, Fault::Provider),
            (429, quota, FailureClass::Quota, Fault::Provider),
            (500, "", FailureClass::Transient, Fault::Either),
            (503, "", FailureClass::Transient, Fault::Provider),
            (529, "overloaded", FailureClass::Transient, Fault::Provider),
            (302, "", FailureClass::Auth, Fault::Provider),
        ] {
            let response =
                HttpResponse { status, retry_after: Some("60".to_string()), body: body.to_string() };
            let failure = response.to_failure(now);
            assert_eq!((failure.class, failure.fault), (class, fault), "{status} {body}");
        }
    }
}
