//! Calls to a remote over HTTP: bounded in time and size, within the limits that the remote sets, and tried again where
//! that is harmless.
//!
//! No error has the address of a call, or a header: they may contain secrets.

use std::io;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, Request, Url, redirect};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, sleep_until};

use crate::remote::RemoteError;

/// The time limits of a connection and of a whole call.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// The size limit of an answer.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// How often a call is made at most.
const TRIES: u32 = 6;
/// The longest wait for a limit of the remote to end. After that the run ends, and the next one goes on.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// The first wait after a failure. Each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// An answer of a remote.
pub(crate) struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// A call to a remote.
pub(crate) struct Call<'a> {
    pub method: Method,
    pub url: &'a str,
    /// The body with its media type.
    pub body: Option<(&'static str, Vec<u8>)>,
    pub headers: HeaderMap,
    /// Whether making the call twice is as good as once.
    pub is_repeatable: bool,
}

/// The connection to a remote.
pub(crate) struct Http {
    client: Client,
    /// The name of the remote, for errors.
    host: String,
    /// The shortest time between two calls that write.
    spacing: Duration,
    last_write: Mutex<Option<Instant>>,
}

impl Http {
    /// Prepares calls, each with these headers. Connects to nothing yet.
    pub fn new(url: &str, headers: HeaderMap, spacing: Duration) -> Result<Self, String> {
        // Another part of the program may have chosen the same one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let host = Url::parse(url).ok().and_then(|url| Some(url.host_str()?.to_owned()));
        let host = host.ok_or_else(|| format!("{url:?} is no address of a remote"))?;
        let client = Client::builder()
            .user_agent(concat!("ait/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(CALL_TIMEOUT)
            // A redirect could lead the secret elsewhere.
            .redirect(redirect::Policy::none())
            .build();
        let client = client.map_err(|error| format!("HTTPS cannot be used: {error}"))?;
        Ok(Self { client, host, spacing, last_write: Mutex::default() })
    }

    /// Makes a call, and returns the answer if it is none of an overloaded remote.
    pub async fn call(&self, call: Call<'_>) -> Result<Answer, RemoteError> {
        let mut last_write = match call.method {
            Method::GET => None,
            _ => Some(self.last_write.lock().await),
        };
        if let Some(last) = last_write.as_deref().copied().flatten() {
            sleep_until(last + self.spacing).await;
        }
        let mut wait = FIRST_WAIT;
        let mut tries = 0;
        loop {
            tries += 1;
            if let Some(last) = &mut last_write {
                **last = Some(Instant::now());
            }
            let Failure { reason, is_lasting } = match self.once(&call).await {
                Ok(answer) => match limit(&answer) {
                    Some(limit) if limit > MAX_WAIT || tries == TRIES => {
                        return Err(RemoteError::Limited(limit));
                    }
                    Some(limit) => {
                        tracing::info!("{} asks to wait for {} s", self.host, limit.as_secs());
                        sleep(limit + jitter(FIRST_WAIT)).await;
                        continue;
                    }
                    None if answer.status < 500 => return Ok(answer),
                    None => {
                        let reason = format!("{} answered with HTTP {}", self.host, answer.status);
                        Failure { reason, is_lasting: false }
                    }
                },
                Err(failure) => failure,
            };
            if is_lasting || !call.is_repeatable || tries == TRIES {
                return Err(RemoteError::Unavailable(reason));
            }
            sleep(wait + jitter(wait)).await;
            wait *= 2;
        }
    }

    async fn once(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let lasting = |reason| Failure { reason, is_lasting: true };
        let failed = |error: reqwest::Error| {
            let error = error.without_url();
            let mut causes = vec![error.to_string()];
            let mut is_lasting = false;
            let mut cause = std::error::Error::source(&error);
            while let Some(error) = cause {
                is_lasting |= is_of_tls(error);
                causes.push(error.to_string());
                cause = error.source();
            }
            let advice = if is_lasting {
                ". Check that `url` is right, and that this machine trusts the authority of its certificate"
            } else {
                ""
            };
            let causes = causes.join(": ");
            let reason = format!("{} cannot be reached: {causes}{advice}", self.host);
            Failure { reason, is_lasting }
        };
        let url = Url::parse(call.url)
            .map_err(|_| lasting(format!("{} has no such address", self.host)))?;
        let mut request = Request::new(call.method.clone(), url);
        request.headers_mut().extend(call.headers.clone());
        if let Some((media_type, body)) = &call.body {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
            *request.body_mut() = Some(body.clone().into());
        }
        let mut response = self.client.execute(request).await.map_err(failed)?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(failed)? {
            body.extend_from_slice(&part);
            if body.len() > MAX_BYTES {
                let reason = format!("{} answered with more than {MAX_BYTES} bytes", self.host);
                return Err(lasting(reason));
            }
        }
        Ok(Answer { status, headers, body })
    }
}

/// Why there was no answer.
struct Failure {
    reason: String,
    /// Whether another try would fail, too.
    is_lasting: bool,
}

/// Returns true for an error of TLS, such as of a certificate. It may be within errors of I/O.
fn is_of_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<rustls::Error>() || inner.is_some_and(|inner| is_of_tls(inner))
}

/// Returns how long the remote asks to wait, if it refused a call because there were too many.
fn limit(answer: &Answer) -> Option<Duration> {
    let number = |name: &str| -> Option<u64> {
        answer.headers.get(name)?.to_str().ok()?.trim().parse().ok()
    };
    let is_spent = number("x-ratelimit-remaining") == Some(0);
    let asks = answer.headers.contains_key(RETRY_AFTER);
    let is_limited = match answer.status {
        429 => true,
        403 => is_spent || asks,
        503 => asks,
        _ => false,
    };
    if !is_limited {
        return None;
    }
    // The time of the reset is by the clock of the remote.
    let until_reset = || {
        let reset = number("x-ratelimit-reset")?;
        let now = http_date(answer.headers.get(DATE)?.to_str().ok()?)?;
        Some(reset.saturating_sub(now))
    };
    const USUAL_S: u64 = 5;
    let seconds = number(RETRY_AFTER.as_str()).or_else(until_reset).unwrap_or(USUAL_S);
    Some(Duration::from_secs(seconds))
}

/// Returns the seconds since 1970 of the date of an answer, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
fn http_date(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split([' ', ':']).collect();
    let [_, day, month, year, hour, minute, second, _] = parts[..] else { return None };
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = MONTHS.find(month)? / 3 + 1;
    let iso = format!("{year}-{month:02}-{day}T{hour}:{minute}:{second}Z");
    u64::try_from(ait_domain::Timestamp::parse(&iso)?.unix_millis() / 1000).ok()
}

fn jitter(most: Duration) -> Duration {
    most.mul_f64(fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_failure_of_tls_is_not_tried_again() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let count = tokio::spawn(async move {
            let mut count = 0;
            while let Ok(Ok((mut stream, _))) =
                tokio::time::timeout(Duration::from_secs(2), listener.accept()).await
            {
                count += 1;
                let _ =
                    tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 no\r\n\r\n")
                        .await;
            }
            count
        });
        let http = Http::new(&url, HeaderMap::new(), Duration::ZERO).unwrap();
        let call = Call {
            method: Method::GET,
            url: &url,
            body: None,
            headers: HeaderMap::new(),
            is_repeatable: true,
        };
        let Err(RemoteError::Unavailable(why)) = http.call(call).await else { panic!("no error") };
        assert!(why.contains("cannot be reached") && why.contains("Check that `url`"), "{why}");
        assert_eq!(count.await.unwrap(), 1);
    }

    #[test]
    fn limits_are_read_by_the_clock_of_the_remote() {
        let answer = |status, headers: &[(&'static str, &'static str)]| {
            let headers = headers
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
            let answer = Answer { status, headers: headers.collect(), body: Vec::new() };
            limit(&answer).map(|limit| limit.as_secs())
        };
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(answer(429, &[("retry-after", "7")]), Some(7));
        assert_eq!(answer(429, &[]), Some(5));
        assert_eq!(answer(403, &[]), None);
        let spent = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "784111787"), date];
        assert_eq!(answer(403, &spent), Some(10));
        assert_eq!(answer(200, &spent), None);
        assert_eq!(http_date("yesterday"), None);
    }
}
