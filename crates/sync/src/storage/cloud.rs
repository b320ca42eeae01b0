//! S3, Azure and what is compatible with them, through `object_store`. The only asynchronous code: each call runs on a runtime
//! of its own, on the caller's thread.
//!
//! Stores no credentials: they come from the variables that the caller passes, or from the machine's identity in the cloud.

use super::aws_process::ProcessCredentials;
use super::aws_profile::{PROCESS, load_profile};
use super::{Hint, Store, StoreError};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{
    ClientOptions, Error, GetOptions, ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig,
    UpdateVersion,
};
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// A request that takes longer has failed.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// Objects above this size have more time: on a slow line, a pack of 32 MB takes minutes.
const LARGE: usize = 1 << 20;
const LARGE_TIMEOUT: Duration = Duration::from_mins(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Schemes of S3, and of Azure Blob Storage.
const S3: &[&str] = &["s3"];
const AZURE: &[&str] = &["az", "azure"];

pub struct Cloud {
    store: Arc<dyn ObjectStore>,
    pages: Arc<dyn PaginatedListStore>,
    prefix: String,
    runtime: Runtime,
    url: String,
    variables: Vec<(String, String)>,
    /// For large objects. Made when they are needed: idle rounds need neither.
    uploads: OnceCell<Arc<dyn ObjectStore>>,
    downloads: OnceCell<Arc<dyn ObjectStore>>,
}

/// `s3://bucket/prefix`, taken apart.
struct Address<'a> {
    scheme: &'a str,
    bucket: &'a str,
    prefix: &'a str,
}

impl<'a> Address<'a> {
    fn parse(url: &'a str) -> Option<Address<'a>> {
        let (scheme, rest) = url.split_once("://")?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        (!bucket.is_empty()).then(|| Address { scheme, bucket, prefix: prefix.trim_matches('/') })
    }
}

impl Cloud {
    /// Opens `s3://bucket/prefix` or `az://container/prefix`. Of the variables, those count that the tools of the cloud know:
    /// `AWS_ACCESS_KEY_ID`, `AWS_PROFILE`, `AWS_ENDPOINT`, `AZURE_STORAGE_ACCOUNT_NAME` and so on. Without a key among them, the
    /// files of the AWS tools below `HOME` count, then the identity of the machine.
    pub fn open(
        url: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Cloud, StoreError> {
        let refused = |reason: String| StoreError::Refused { name: url.to_owned(), reason };
        let address = Address::parse(url).ok_or_else(|| refused("not a URL with a bucket".into()))?;
        // The provider of the process may be set already; then it is the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let variables: Vec<(String, String)> =
            variables.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        let (store, pages) = build(&address, &variables, small_requests()).map_err(refused)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| refused(error.to_string()))?;
        let prefix = if address.prefix.is_empty() { String::new() } else { format!("{}/", address.prefix) };
        let (url, uploads, downloads) = (url.to_owned(), OnceCell::new(), OnceCell::new());
        Ok(Cloud { store, pages, prefix, runtime, url, variables, uploads, downloads })
    }

    /// The client for an object of this size.
    fn client<'c>(
        &'c self,
        size: usize,
        large: &'c OnceCell<Arc<dyn ObjectStore>>,
        options: fn() -> ClientOptions,
    ) -> &'c Arc<dyn ObjectStore> {
        if size <= LARGE {
            return &self.store;
        }
        large.get_or_init(|| {
            let address = Address::parse(&self.url);
            let built = address.and_then(|address| build(&address, &self.variables, options()).ok());
            // It was built before; if it fails now, the other client does what it can.
            built.map_or_else(|| Arc::clone(&self.store), |(store, _)| store)
        })
    }

    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}{name}", self.prefix))
    }

    /// Writes only if there is no such object, where the storage supports that.
    async fn put_new(&self, path: &Path, bytes: &[u8]) -> object_store::Result<()> {
        let store = self.client(bytes.len(), &self.uploads, uploads);
        let payload = || PutPayload::from(bytes.to_vec());
        match store.put_opts(path, payload(), PutMode::Create.into()).await {
            Err(Error::NotSupported { .. } | Error::NotImplemented { .. }) => {
                store.put(path, payload()).await.map(drop)
            }
            done => done.map(drop),
        }
    }

    async fn list_page(
        &self,
        prefix: &str,
        after: Option<&str>,
        page_token: Option<String>,
    ) -> object_store::Result<(Vec<String>, Option<String>)> {
        let offset = after.map(|after| format!("{}{after}", self.prefix));
        let options = PaginatedListOptions { offset, page_token, ..PaginatedListOptions::default() };
        let page = self.pages.list_paginated(Some(&format!("{}{prefix}", self.prefix)), options).await?;
        let names = page.result.objects.into_iter().map(|object| object.location.to_string());
        Ok((names.filter_map(|name| self.strip(&name)).collect(), page.page_token))
    }

    fn strip(&self, name: &str) -> Option<String> {
        name.strip_prefix(&self.prefix).map(str::to_owned)
    }
}

type Built = (Arc<dyn ObjectStore>, Arc<dyn PaginatedListStore>);

fn build(
    address: &Address<'_>,
    variables: &[(String, String)],
    options: ClientOptions,
) -> Result<Built, String> {
    let built = match address.scheme {
        scheme if S3.contains(&scheme) => build_s3(address.bucket, variables.to_vec(), options),
        scheme if AZURE.contains(&scheme) => build_azure(address.bucket, variables.to_vec(), options),
        other => return Err(format!("`{other}` is neither s3 nor az")),
    };
    built.map_err(|error| error.to_string())
}

fn build_s3(
    bucket: &str,
    mut variables: Vec<(String, String)>,
    options: ClientOptions,
) -> object_store::Result<Built> {
    variables.extend(load_profile(&variables));
    let mut builder = AmazonS3Builder::new().with_retry(no_retries()).with_client_options(options);
    for (name, value) in variables.iter().filter(|(name, _)| name.starts_with("aws_")) {
        if let Ok(key) = name.parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(key, value.clone());
        }
    }
    let find = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    // A key that is written down comes first, as with the AWS tools.
    if let (None, Some(command)) = (find("aws_access_key_id"), find(PROCESS)) {
        builder = builder.with_credentials(Arc::new(ProcessCredentials::new(command, &variables)));
    }
    let store = Arc::new(builder.with_bucket_name(bucket).build()?);
    Ok((store.clone(), store))
}

fn build_azure(
    container: &str,
    variables: Vec<(String, String)>,
    options: ClientOptions,
) -> object_store::Result<Built> {
    let mut builder = MicrosoftAzureBuilder::new().with_retry(no_retries()).with_client_options(options);
    for (name, value) in variables.into_iter().filter(|(name, _)| name.starts_with("azure_")) {
        if let Ok(key) = name.parse::<AzureConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    let store = Arc::new(builder.with_container_name(container).build()?);
    Ok((store.clone(), store))
}

/// [`super::Retry`] repeats calls, so that all storages behave alike and tests need not sleep.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

fn small_requests() -> ClientOptions {
    ClientOptions::new().with_timeout(REQUEST_TIMEOUT).with_connect_timeout(CONNECT_TIMEOUT)
}

fn uploads() -> ClientOptions {
    ClientOptions::new().with_timeout(LARGE_TIMEOUT).with_connect_timeout(CONNECT_TIMEOUT)
}

/// Content that stops coming is noticed as soon as a small request that fails.
fn downloads() -> ClientOptions {
    uploads().with_read_timeout(REQUEST_TIMEOUT)
}

fn store_error(name: &str, error: &Error) -> StoreError {
    let name = name.to_owned();
    match error {
        Error::NotFound { .. } => StoreError::NotFound { name },
        Error::AlreadyExists { .. } | Error::Precondition { .. } => StoreError::Exists { name },
        Error::PermissionDenied { .. }
        | Error::Unauthenticated { .. }
        | Error::InvalidPath { .. }
        | Error::UnknownConfigurationKey { .. } => StoreError::Refused { name, reason: describe(error) },
        _ => {
            let reason = describe(error);
            let is_final = find_status(&reason).is_some_and(is_final_status);
            if is_final {
                StoreError::Refused { name, reason }
            } else {
                StoreError::Unavailable { name, reason }
            }
        }
    }
}

/// The HTTP status in an error of `object_store`, whose types for it are private. Lists report a missing bucket only so.
fn find_status(reason: &str) -> Option<u16> {
    let (_, rest) = reason.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// Client errors, except a timeout and throttling.
fn is_final_status(status: u16) -> bool {
    (400..500).contains(&status) && status != 408 && status != 429
}

/// The error with its causes: the outermost message often names only the operation.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

impl Store for Cloud {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let done = self.runtime.block_on(self.put_new(&self.path(name), bytes));
        done.map_err(|error| store_error(name, &error))
    }

    fn get(&self, name: &str, limit: usize) -> Result<Vec<u8>, StoreError> {
        let path = self.path(name);
        let read = self.runtime.block_on(async {
            let found = self.client(limit, &self.downloads, downloads).get(&path).await?;
            // The size is known before the first byte of the content.
            if found.meta.size > limit as u64 { Ok(None) } else { found.bytes().await.map(Some) }
        });
        match read.map_err(|error| store_error(name, &error))? {
            Some(bytes) if bytes.len() <= limit => Ok(bytes.to_vec()),
            _ => Err(StoreError::TooLarge { name: name.to_owned(), limit }),
        }
    }

    fn has(&self, name: &str) -> Result<bool, StoreError> {
        match self.runtime.block_on(self.store.head(&self.path(name))) {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(store_error(name, &error)),
        }
    }

    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError> {
        let mut names = Vec::new();
        let mut token = None;
        loop {
            let page = self.runtime.block_on(self.list_page(prefix, after, token));
            let (found, next) = page.map_err(|error| store_error(prefix, &error))?;
            names.extend(found);
            token = next;
            if token.is_none() {
                break;
            }
        }
        // Azure has no offset, and no storage promises an order for all its pages.
        names.retain(|name| after.is_none_or(|after| name.as_str() > after));
        names.sort_unstable();
        Ok(names)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        match self.runtime.block_on(self.store.delete(&self.path(name))) {
            Err(error) if !matches!(error, Error::NotFound { .. }) => Err(store_error(name, &error)),
            _ => Ok(()),
        }
    }

    fn has_hints(&self) -> bool {
        true
    }

    fn poll_hint(&self, name: &str, tag: Option<&str>) -> Result<Hint, StoreError> {
        match self.runtime.block_on(self.read_hint(&self.path(name), tag)) {
            Err(Error::NotModified { .. }) => Ok(Hint::Same),
            Err(Error::NotFound { .. }) => Ok(Hint::Missing),
            read => read.map_err(|error| store_error(name, &error)),
        }
    }

    fn put_hint(&self, name: &str, bytes: &[u8], over: Option<&str>) -> Result<Option<String>, StoreError> {
        let written = self.runtime.block_on(self.write_hint(&self.path(name), bytes, over));
        written.map_err(|error| store_error(name, &error))
    }
}

impl Cloud {
    async fn read_hint(&self, path: &Path, tag: Option<&str>) -> object_store::Result<Hint> {
        let options = GetOptions { if_none_match: tag.map(str::to_owned), ..GetOptions::default() };
        let found = self.store.get_opts(path, options).await?;
        let new = found.meta.e_tag.clone();
        // Read to its end, so that the connection can be used again.
        found.bytes().await?;
        Ok(match new {
            None => Hint::Missing,
            // A server may ignore the condition.
            Some(new) if tag == Some(new.as_str()) => Hint::Same,
            Some(new) => Hint::New(new),
        })
    }

    async fn write_hint(
        &self,
        path: &Path,
        bytes: &[u8],
        over: Option<&str>,
    ) -> object_store::Result<Option<String>> {
        let payload = || PutPayload::from(bytes.to_vec());
        if let Some(over) = over {
            let version = UpdateVersion { e_tag: Some(over.to_owned()), version: None };
            if let Ok(written) = self.store.put_opts(path, payload(), PutMode::Update(version).into()).await {
                return Ok(written.e_tag);
            }
        }
        // Another device has written it since, or the storage knows no such condition.
        self.store.put(path, payload()).await.map(|_| None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_client_errors_are_final() {
        let cases =
            [("404 Not Found", true), ("403", true), ("429 Too Many", false), ("503", false), ("x", false)];
        for (status, expected) in cases {
            let found = find_status(&format!("Server returned non-2xx status code: {status}"));
            assert_eq!(found.is_some_and(is_final_status), expected, "{status}");
        }
    }

    #[test]
    fn an_address_names_scheme_bucket_and_prefix() {
        let cases = [
            ("s3://team/loci/", Some(("s3", "team", "loci"))),
            ("az://box", Some(("az", "box", ""))),
            ("s3:///x", None),
            ("/folder", None),
        ];
        for (url, expected) in cases {
            let parsed = Address::parse(url).map(|a| (a.scheme, a.bucket, a.prefix));
            assert_eq!(parsed, expected, "{url}");
        }
        assert!(matches!(Cloud::open("ftp://x/y", []), Err(StoreError::Refused { .. })));
    }
}
